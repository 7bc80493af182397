import numpy as np

import trellis

from .case import COMPLEX, CORNER, NO_FLOATS, NOT_FLOAT, Case, complex_numbers, numbers

x = numbers(2, 3)
cube = numbers(2, 3, 4)
whole = np.array([[1, 5, 3], [7, 2, 4]])
flags = np.array([[True, True, False], [True, True, True]])
small = np.array([100, 100, 100], "int8")
nan = np.array([[1.0, np.nan], [3.0, 4.0]])


def _logsumexp(x, axis=None, keepdims=False):
    return np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))


CASES = [
    Case("all", (flags,), False, gradient=NO_FLOATS),
    Case(
        "all",
        (flags,),
        [[False], [True]],
        about="axis",
        kwargs={"axis": 1, "keepdims": True},
        gradient=NO_FLOATS,
    ),
    Case(
        "all",
        (np.zeros((0, 2)),),
        [True, True],
        about="of nothing",
        kwargs={"axis": 0},
        gradient=NOT_FLOAT,
    ),
    Case("all", (np.array([1.0, 0.0, np.nan]),), False, about="floats", gradient=NOT_FLOAT),
    Case("allclose", (x, x * (1 + 1e-7)), True, gradient=NOT_FLOAT),
    Case("allclose", (x, 1.0), False, about="number", gradient=NOT_FLOAT),
    Case("any", (flags,), True, gradient=NO_FLOATS),
    Case(
        "any", (~flags,), [False, False, True], about="axis", kwargs={"axis": 0}, gradient=NO_FLOATS
    ),
    Case("any", (np.zeros((0,)),), False, about="of nothing", gradient=NOT_FLOAT),
    Case("cumulative_prod", (x,), lambda x: np.cumprod(x, 1), kwargs={"axis": 1}),
    Case(
        "cumulative_prod",
        (np.array([2, 3, 4]),),
        [1, 2, 6, 24],
        about="initial",
        kwargs={"include_initial": True},
        gradient=NO_FLOATS,
    ),
    Case("cumulative_sum", (x,), lambda x: np.cumsum(x, 0), kwargs={"axis": 0}),
    Case(
        "cumulative_sum",
        (x,),
        lambda x: np.cumsum(np.pad(x, ((0, 0), (1, 0))), 1),
        about="initial",
        kwargs={"axis": -1, "include_initial": True},
    ),
    Case("cumulative_sum", (small,), [100, 200, 300], about="small integers", gradient=NO_FLOATS),
    Case("diff", (x,), lambda x: np.diff(x)),
    Case("diff", (cube,), lambda x: np.diff(x, 2, 1), about="twice", kwargs={"axis": 1, "n": 2}),
    Case(
        "diff",
        (x, numbers(2, 1), numbers(2, 2)),
        about="joined",
        expected=lambda x, p, a: np.diff(np.concatenate([p, x, a], 1)),
        call=lambda x, p, a: trellis.diff(x, prepend=p, append=a),
    ),
    Case("logsumexp", (x,), _logsumexp),
    Case(
        "logsumexp",
        (cube,),
        lambda x: _logsumexp(x, (0, 2), True),
        about="axes",
        kwargs={"axis": (0, 2), "keepdims": True},
    ),
    Case(
        "logsumexp",
        (np.array([[1000.0, 1000.0], [-1000.0, -1000.0]]),),
        np.array([1000.0, -1000.0]) + np.log(2),
        about="large",
        kwargs={"axis": 1},
    ),
    Case(
        "logsumexp",
        (np.array([[-np.inf, -np.inf], [np.inf, 0.0]]),),
        [-np.inf, np.inf],
        about="infinite",
        kwargs={"axis": 1},
        gradient=CORNER,
    ),
    Case("max", (x,), np.max),
    Case(
        "max",
        (cube,),
        lambda x: x.max((0, 2), keepdims=True),
        about="axes",
        kwargs={"axis": (0, 2), "keepdims": True},
    ),
    Case("max", (whole,), [5, 7], about="integers", kwargs={"axis": 1}, gradient=NO_FLOATS),
    Case("max", (nan,), [np.nan, 4.0], about="nan", kwargs={"axis": 1}, gradient=CORNER),
    Case("mean", (x,), np.mean),
    Case("mean", (cube,), lambda x: x.mean((0, -1)), about="axes", kwargs={"axis": (0, -1)}),
    Case(
        "mean",
        (whole,),
        [3.0, 13 / 3],
        about="integers",
        kwargs={"axis": 1},
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("min", (x,), lambda x: x.min(0), kwargs={"axis": 0}),
    Case("min", (whole,), 1, about="integers", gradient=NO_FLOATS),
    Case("min", (nan,), np.nan, about="nan", gradient=CORNER),
    Case("prod", (x,), np.prod),
    Case(
        "prod",
        (x,),
        lambda x: x.prod(1, keepdims=True),
        about="axis",
        kwargs={"axis": 1, "keepdims": True},
    ),
    Case("prod", (np.array([1.0, 0.0, 2.0]),), 0.0, about="zero"),
    Case("prod", (small,), 1_000_000, about="small integers", gradient=NO_FLOATS),
    Case("prod", (np.zeros((2, 0)),), [1.0, 1.0], about="of nothing", kwargs={"axis": 1}),
    Case("std", (x,), np.std),
    Case(
        "std",
        (x,),
        lambda x: x.std(1, ddof=1),
        about="correction",
        kwargs={"axis": 1, "correction": 1},
    ),
    Case("sum", (x,), np.sum),
    Case(
        "sum",
        (cube,),
        lambda x: x.sum((0, 2), keepdims=True),
        about="axes",
        kwargs={"axis": (0, 2), "keepdims": True},
    ),
    Case("sum", (small,), 300, about="small integers", gradient=NO_FLOATS),
    Case("sum", (flags,), [2, 3], about="bools", kwargs={"axis": 1}, gradient=NO_FLOATS),
    Case(
        "sum",
        (whole,),
        np.asarray([9.0, 13.0], "float32"),
        about="dtype",
        kwargs={"axis": 1, "dtype": "float32"},
        gradient=NO_FLOATS,
    ),
    Case("sum", (np.zeros((0, 2)),), [0.0, 0.0], about="of nothing", kwargs={"axis": 0}),
    Case("sum", (complex_numbers(3),), np.sum, about="complex", gradient=COMPLEX),
    Case("sum", (x,), lambda x: x, about="no axes", kwargs={"axis": ()}),
    Case("var", (x,), np.var),
    Case(
        "var",
        (cube,),
        lambda x: x.var((1, 2), ddof=1, keepdims=True),
        about="correction",
        kwargs={"axis": (1, 2), "correction": 1, "keepdims": True},
    ),
    Case("array_equal", (x, x.copy()), True, gradient=NOT_FLOAT),
    Case("array_equal", (x, numbers(2)), False, about="shapes differ", gradient=NOT_FLOAT),
    Case(
        "array_equal",
        (np.array([1.0, np.nan]), np.array([1.0, np.nan])),
        True,
        kwargs={"equal_nan": True},
        about="nan",
        gradient=NOT_FLOAT,
    ),
    Case(
        "sum",
        (cube,),
        lambda x: x.sum((0, 2)),
        about="a list of axes",
        kwargs={"axis": [0, 2]},
    ),
]
