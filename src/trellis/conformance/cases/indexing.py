import numpy as np

import trellis

from .case import NO_FLOATS, Case, numbers

x = numbers(4, 3)
v = numbers(3, seed=1)
rows = np.array([2, 0, 2])
mask = np.array([True, False, True, False])


def _updated(x, index, value, ufunc=None):
    x = np.array(x)
    if ufunc is None:
        x[index] = value
    else:
        ufunc.at(x, index, value)
    return x


def _put(ufunc):
    """torch's formula, element by element: x[indices[i, j], j] for axis 0."""

    def of(x, indices, values, axis=-1):
        out = np.array(x)
        values = np.broadcast_to(values, indices.shape)
        for place in np.ndindex(indices.shape):
            target = list(place)
            target[axis] = indices[place]
            target = tuple(target)
            out[target] = values[place] if ufunc is None else ufunc(out[target], values[place])
        return out

    return of


# Repeated, negative, and only for the first two rows.
columns = np.array([[2, 0, 2, 2], [-1, 1, -2, 1]])


CASES = [
    Case(
        "at",
        (x, 5.0),
        lambda x, s: _updated(x, 1, 5.0),
        about="int",
        call=lambda x, s: trellis.at(x, 1).set(s),
    ),
    Case(
        "at",
        (x, v),
        lambda x, v: _updated(x, 1, v),
        about="row",
        call=lambda x, v: trellis.at(x)[1].set(v),
    ),
    Case(
        "at",
        (x, v),
        lambda x, v: _updated(x, slice(0, 4, 2), v),
        about="slice",
        call=lambda x, v: trellis.at(x)[::2].set(v),
    ),
    Case(
        "at",
        (x, 1.5),
        lambda x, s: _updated(x, (slice(None), 1), 1.5),
        about="column",
        call=lambda x, s: trellis.at(x)[:, 1].set(s),
    ),
    Case(
        "at",
        (x, 1.5),
        lambda x, s: _updated(x, (..., -1), 1.5),
        about="ellipsis",
        call=lambda x, s: trellis.at(x)[..., -1].set(s),
    ),
    Case(
        "at",
        (x, 0.0, mask),
        lambda x, s, m: _updated(x, m, 0.0),
        about="mask",
        call=lambda x, s, m: trellis.at(x)[m].set(s),
    ),
    Case(
        "at",
        (x, v, np.array([2, 0])),
        lambda x, v, i: _updated(x, i, v),
        about="index array",
        call=lambda x, v, i: trellis.at(x)[i].set(v),
    ),
    Case(
        "at",
        (x, v, rows, np.array([0, 1, 2])),
        lambda x, v, i, j: _updated(x, (i, j), v),
        about="two index arrays",
        call=lambda x, v, i, j: trellis.at(x)[i, j].set(v),
    ),
    Case(
        "at",
        (x, v, rows),
        lambda x, v, i: _updated(x, i, v, np.add),
        about="add, repeated",
        call=lambda x, v, i: trellis.at(x)[i].add(v),
    ),
    Case(
        "at",
        (x, 2.0, rows),
        lambda x, s, i: _updated(x, i, s, np.multiply),
        about="multiply, repeated",
        call=lambda x, s, i: trellis.at(x)[i].multiply(s),
    ),
    Case(
        "at",
        (x, v, rows),
        lambda x, v, i: _updated(x, i, v, np.subtract),
        about="subtract, repeated",
        call=lambda x, v, i: trellis.at(x)[i].subtract(v),
    ),
    Case(
        "at",
        (np.array([7, 200, 3], "uint8"), np.array([9, 1], "uint8")),
        # Beyond their range, as these integers have it everywhere.
        lambda x, v: np.array([254, 199, 3], "uint8"),
        about="subtract, unsigned",
        call=lambda x, v: trellis.at(x)[:2].subtract(v),
        gradient=NO_FLOATS,
    ),
    Case(
        "at",
        (x, v, np.array([2, 0])),
        lambda x, v, i: _updated(x, i, x[i] / v),
        about="divide",
        call=lambda x, v, i: trellis.at(x)[i].divide(v),
    ),
    Case(
        "at",
        (x, 4.0, rows),
        lambda x, s, i: _updated(x, i, x[i] / 4),
        about="divide, repeated",
        call=lambda x, s, i: trellis.at(x)[i].divide(s),
    ),
    Case(
        "at",
        (x, 2.0, mask),
        lambda x, s, m: _updated(x, m, x[m] / 2),
        about="divide, mask",
        call=lambda x, s, m: trellis.at(x)[m].divide(s),
    ),
    Case(
        "at",
        (np.abs(x) + 0.5, v, np.array([2, 0])),
        lambda x, v, i: _updated(x, i, x[i] ** v),
        about="power",
        call=lambda x, v, i: trellis.at(x)[i].power(v),
    ),
    Case(
        "at",
        (x, 3.0, mask),
        lambda x, s, m: _updated(x, m, x[m] ** 3),
        about="power, mask",
        call=lambda x, s, m: trellis.at(x)[m].power(s),
    ),
    Case(
        "at",
        (x, v, rows),
        lambda x, v, i: _updated(x, i, v, np.minimum),
        about="min",
        call=lambda x, v, i: trellis.at(x)[i].min(v),
    ),
    Case(
        "at",
        (x, v, rows),
        lambda x, v, i: _updated(x, i, v, np.maximum),
        about="max",
        call=lambda x, v, i: trellis.at(x)[i].max(v),
    ),
    Case(
        "at",
        (np.arange(4), 7),
        [0, 1, 2, 8],
        about="integers",
        gradient=NO_FLOATS,
        call=lambda x, s: trellis.at(x, -1).add(s - 2),
    ),
    Case("put_along_axis", (x, columns, numbers(2, 4, seed=3)), _put(None)),
    *[
        Case(
            "put_along_axis",
            (x, columns, numbers(2, 4, seed=3)),
            _put(ufunc),
            about=reduce,
            kwargs={"reduce": reduce},
        )
        for reduce, ufunc in [
            ("add", np.add),
            ("multiply", np.multiply),
            ("min", np.minimum),
            ("max", np.maximum),
        ]
    ],
    Case(
        "put_along_axis",
        (numbers(3, 2, 2), np.array([[[1, 2]]]), 4.0),
        lambda x, i, s: _put(None)(x, i, s, 0),
        about="first axis, one number",
        kwargs={"axis": 0},
    ),
    Case(
        "put_along_axis",
        (np.arange(4), np.array([3, 3, 0], "uint8"), np.array([10, 20, 30])),
        [30, 1, 2, 33],
        about="integers",
        kwargs={"reduce": "add"},
        gradient=NO_FLOATS,
    ),
    Case(
        "scatter", (x, np.array([3, 1]), numbers(2, 3, seed=2)), lambda x, i, u: _updated(x, i, u)
    ),
    Case(
        "scatter",
        (x, np.array([2, 2]), numbers(4, 2, seed=2)),
        about="add, last axis",
        expected=lambda x, i, u: _updated(x, (slice(None), i), u, np.add),
        kwargs={"axis": -1, "reduce": "add"},
    ),
    Case(
        "scatter",
        (x, rows, 1.0),
        lambda x, i, s: _updated(x, i, 1.0, np.maximum),
        about="max",
        kwargs={"reduce": "max"},
    ),
    Case(
        "segment_sum",
        (x, np.array([0, 2, 0, 2])),
        lambda x, i: np.stack([x[0] + x[2], 0 * x[0], x[1] + x[3]]),
        kwargs={"num_segments": 3},
    ),
    Case(
        "segment_sum",
        (np.array([1, 2, 4]), np.array([1, 1, 0])),
        [4, 3],
        about="integers",
        kwargs={"num_segments": 2},
        gradient=NO_FLOATS,
    ),
    Case("take", (x, rows), lambda x, i: x[i], kwargs={"axis": 0}),
    Case("take", (x, rows), lambda x, i: x[:, i], about="last axis", kwargs={"axis": -1}),
    Case("take", (v, rows), lambda v, i: v[i], about="vector"),
    Case("take", (x, np.array([], int)), np.zeros((0, 3)), about="nothing", kwargs={"axis": 0}),
    Case(
        "take_along_axis",
        (x, np.array([[0], [2], [1], [0]])),
        lambda x, i: np.take_along_axis(x, i, 1),
    ),
    Case(
        "take_along_axis",
        (x, np.array([[3, 0, 1]])),
        lambda x, i: np.take_along_axis(x, i, 0),
        about="first axis",
        kwargs={"axis": 0},
    ),
]
