import numpy as np

from .case import NO_FLOATS, PYTHON, Case, numbers

x = numbers(2, 3)
cube = numbers(2, 3, 4)
whole = np.arange(6).reshape(2, 3)

CASES = [
    Case("broadcast_arrays", (x, numbers(3)), lambda x, y: (x, np.stack([y, y])), then=tuple),
    Case("broadcast_to", (x, (4, 2, 3)), lambda x, s: np.stack([x] * 4)),
    Case("concat", ([x, numbers(1, 3)],), lambda xs: np.concatenate(xs)),
    Case(
        "concat",
        ([x, numbers(2, 1)],),
        lambda xs: np.concatenate(xs, 1),
        about="last axis",
        kwargs={"axis": -1},
    ),
    Case(
        "concat",
        ([x, numbers(2)],),
        lambda xs: np.concatenate([xs[0].ravel(), xs[1]]),
        about="flattened",
        kwargs={"axis": None},
    ),
    Case(
        "concat",
        ([np.array([1], "int8"), np.array([300], "int32")],),
        np.array([1, 300], "int32"),
        about="promotion",
        gradient=NO_FLOATS,
    ),
    Case("expand_dims", (x,), lambda x: x[:, None], kwargs={"axis": 1}),
    Case("expand_dims", (x, -1), lambda x, a: x[..., None], about="last axis"),
    Case("flip", (x,), lambda x: x[::-1, ::-1]),
    Case("flip", (cube,), lambda x: x[::-1, :, ::-1], about="axes", kwargs={"axis": (0, -1)}),
    Case("moveaxis", (cube, 0, -1), lambda x, s, d: np.moveaxis(x, 0, -1)),
    Case("moveaxis", (cube, (0, 1), (2, 0)), lambda x, s, d: np.moveaxis(x, s, d), about="two"),
    Case("pad", (x, 1), lambda x, p: np.pad(x, 1)),
    Case(
        "pad",
        (x, ((0, 2), (1, 0))),
        lambda x, p: np.pad(x, p, constant_values=1.5),
        about="per axis",
        kwargs={"constant_values": 1.5},
    ),
    Case(
        "pad",
        (x, ((1, 1), (2, 1))),
        lambda x, p: np.pad(x, p, "reflect"),
        about="reflect",
        kwargs={"mode": "reflect"},
    ),
    Case(
        "pad", (x, (2, 1)), lambda x, p: np.pad(x, p, "edge"), about="edge", kwargs={"mode": "edge"}
    ),
    Case(
        "pad", (x, (1, 2)), lambda x, p: np.pad(x, p, "wrap"), about="wrap", kwargs={"mode": "wrap"}
    ),
    Case(
        "pad",
        (numbers(3), (2, 3)),
        lambda x, p: np.pad(x, p, "wrap"),
        about="wrap a vector",
        kwargs={"mode": "wrap"},
    ),
    Case(
        "pad",
        (whole, (0, 1)),
        np.pad(whole, (0, 1), "edge"),
        about="integers",
        kwargs={"mode": "edge"},
        gradient=NO_FLOATS,
    ),
    Case("permute_dims", (cube, (2, 0, 1)), lambda x, a: np.transpose(x, a)),
    Case("repeat", (x, 2), lambda x, n: np.repeat(x, 2)),
    Case("repeat", (x, 3), lambda x, n: np.repeat(x, 3, 1), about="axis", kwargs={"axis": 1}),
    Case(
        "repeat",
        (x, np.array([2, 0, 1])),
        lambda x, n: np.repeat(x, n, 1),
        about="one number each",
        kwargs={"axis": -1},
        compiled={
            "jax": "the shape of the result depends on values",
            "torch": "the shape of the result depends on values",
        },
    ),
    Case("reshape", (x, (3, 2)), lambda x, s: x.reshape(3, 2)),
    Case("reshape", (cube, (-1, 4)), lambda x, s: x.reshape(6, 4), about="one unknown"),
    Case("reshape", (numbers(1), ()), lambda x, s: x[0], about="no axes"),
    Case("roll", (x, 1), lambda x, s: np.roll(x, 1)),
    Case(
        "roll",
        (x, (1, -2)),
        lambda x, s: np.roll(x, s, (0, 1)),
        about="axes",
        kwargs={"axis": (0, 1)},
    ),
    Case("roll", (x,), lambda x: np.roll(x, -1, 1), about="axis", kwargs={"shift": -1, "axis": -1}),
    Case("sliding_window", (x, 2), lambda x, w: np.stack([x[:, :2], x[:, 1:]], 1)),
    Case(
        "sliding_window",
        (numbers(7, 2), 3),
        about="steps",
        expected=lambda x, w: np.stack([x[0:3].T, x[2:5].T, x[4:7].T]),
        kwargs={"axis": 0, "step": 2},
    ),
    Case("squeeze", (numbers(1, 3, 1),), lambda x: x[0, :, 0], kwargs={"axis": (0, 2)}),
    Case("squeeze", (numbers(2, 1), 1), lambda x, a: x[:, 0], about="one axis"),
    Case("stack", ([x, x + 1],), lambda xs: np.stack(xs)),
    Case(
        "stack", ((x, x + 1),), lambda xs: np.stack(xs, -1), about="last axis", kwargs={"axis": -1}
    ),
    Case("tile", (x, (2, 1)), lambda x, r: np.tile(x, r)),
    Case("tile", (x, (2, 1, 2)), lambda x, r: np.tile(x, r), about="more axes"),
    Case("tile", (x, (2,)), lambda x, r: np.tile(x, r), about="fewer axes"),
    Case("unstack", (cube,), lambda x: (x[0], x[1])),
    Case(
        "unstack",
        (x,),
        lambda x: (x[:, 0], x[:, 1], x[:, 2]),
        about="last axis",
        kwargs={"axis": -1},
    ),
    Case("squeeze", (numbers(1, 3, 1),), lambda x: x[0, :, 0], about="all of them"),
    Case(
        "expand_dims",
        (x,),
        lambda x: x[None, :, :, None],
        kwargs={"axis": (0, -1)},
        about="several",
    ),
    Case("atleast_nd", (numbers(3),), lambda x: x[None, None], kwargs={"ndim": 3}),
    Case("broadcast_shapes", ((2, 1), (3,)), (2, 3), gradient=PYTHON, compiled=PYTHON),
    Case(
        "roll",
        (x, np.array(1)),
        lambda x, n: np.roll(x, n, axis=1),
        kwargs={"axis": 1},
        about="by an array",
    ),
    Case(
        "roll",
        (x, np.array([1, -2])),
        lambda x, n: np.roll(x, n, axis=(0, 1)),
        kwargs={"axis": (0, 1)},
        about="by an array, axes",
    ),
]
