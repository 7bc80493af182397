"""Statistics, sampled functions, diagonals, segments and sets: functions written over others."""

import numpy as np
from hypothesis import strategies as st

import trellis

from ..call import Call, Given
from ..drawing import (
    COMMON_FLOATS,
    INTEGER,
    NUMERIC,
    REAL,
    array,
    axis_of,
    drawn,
    indices,
    options,
    shapes,
)
from .reduction import axes_and_keepdims


@drawn("quantile", "percentile", "median")
def quantiles(draw, op):
    x = array(draw, (*COMMON_FLOATS, *INTEGER), draw(shapes(1, empty=False)))
    chosen = axes_and_keepdims(draw, x.values.ndim)
    if chosen.get("axis") == ():
        del chosen["axis"]
    if op == "median":
        return Call(op, (x,), chosen, gradient=False)
    whole = 1 if op == "quantile" else 100
    q = draw(st.sampled_from((0.25, [0.0, 0.5], [0.75])))
    q = [whole * share for share in q] if isinstance(q, list) else whole * q
    chosen |= options(draw, method=("lower", "higher", "nearest", "midpoint"))
    # Ties are many here, and which of equal elements moves is each framework's own.
    return Call(op, (x, q), chosen, gradient=False, units=8)


@drawn("nansum", "nanmean", "nanmax", "nanmin")
def without_nan(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1, empty=False)))
    x.values[...] = np.where(x.values == 0.5, np.nan, x.values)
    chosen = axes_and_keepdims(draw, x.values.ndim)
    return Call(op, (x,), chosen, gradient=op in ("nansum", "nanmean"), units=64)


@drawn("cov")
def covariance(draw, op):
    x = array(draw, COMMON_FLOATS, draw(st.sampled_from([(3,), (2, 3), (2, 3, 4)])))
    return Call(op, (x,), options(draw, correction=(0, 1)), units=64)


@drawn("bincount")
def bincount(draw, op):
    x = indices(draw, 4, draw(shapes(1, 1)))
    return Call(op, (x,), {"length": 5})


@drawn("nunique")
def nunique(draw, op):
    return Call(op, (array(draw, (*REAL, "bool")),), gradient=False)


@drawn("angle", "deg2rad", "rad2deg", "sinc")
def one_by_one(draw, op):
    types = (*COMMON_FLOATS, "complex64") if op == "angle" else (*COMMON_FLOATS, *INTEGER)
    x = array(draw, types, kind="positive")
    return Call(op, (x,), options(draw, deg=(True, False)) if op == "angle" else {}, units=16)


@drawn("unwrap")
def unwrap(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1, empty=False)))
    chosen = {"axis": axis_of(draw, x.values.ndim), "period": 8.0}
    return Call(op, (x,), chosen, units=16)


@drawn("trapezoid")
def trapezoid(draw, op):
    x = array(draw, (*COMMON_FLOATS, *INTEGER), draw(shapes(1, empty=False)))
    chosen = {"axis": axis_of(draw, x.values.ndim), **options(draw, dx=(0.5, 2.0))}
    return Call(op, (x,), chosen, units=64)


@drawn("gradient")
def gradient(draw, op):
    x = array(draw, COMMON_FLOATS, draw(st.sampled_from([(3,), (4,), (3, 4)])))
    return Call(
        op, (x, draw(st.sampled_from((0.5, 2.0)))), options(draw, edge_order=(1, 2)), units=64
    )


@drawn("interp")
def interp(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes()))
    name = x.values.dtype.name
    points = Given(np.array([-2.125, -0.375, 0.625, 3.125], name))
    values = array(draw, name, (4,))
    return Call(op, (x, points, values), options(draw, left=(0.5,), right=(-1.0,)), units=32)


@drawn("digitize")
def digitize(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes()))
    edges = np.array([-2.0, 0.0, 0.5, 3.0], x.values.dtype)
    edges = edges if draw(st.booleans()) else edges[::-1].copy()
    return Call(op, (x, Given(edges)), options(draw, right=(True, False)))


@drawn("convolve", "correlate")
def convolved(draw, op):
    name = draw(st.sampled_from((*COMMON_FLOATS, "int32", "complex64")))
    pair = [array(draw, name, (draw(st.sampled_from((1, 2, 3, 5))),)) for _ in range(2)]
    return Call(op, tuple(pair), options(draw, mode=("full", "same", "valid")), units=64)


@drawn("create_diagonal", "diag")
def diagonals(draw, op):
    shape = draw(st.sampled_from([(2,), (3,), (1,), (2, 3)]))
    x = array(draw, NUMERIC, shape)
    name = "offset" if op == "create_diagonal" else "k"
    return Call(op, (x,), options(draw, **{name: (-1, 0, 1)}))


@drawn("kron")
def kron(draw, op):
    name = draw(st.sampled_from(NUMERIC))
    return Call(op, (array(draw, name, (2,)), array(draw, name, draw(shapes(1, 2)))))


@drawn("unravel_index")
def unravel_index(draw, op):
    return Call(op, (indices(draw, 6, draw(shapes())), (2, 3)))


@drawn("segment_max", "segment_min", "segment_prod", "segment_mean", "segment_softmax")
def segments(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1)))
    ids = indices(draw, 3, x.values.shape[:1])
    # Of equal elements each framework moves another one.
    smooth = op not in ("segment_max", "segment_min")
    return Call(op, (x, ids), {"num_segments": 4}, gradient=smooth, units=64)


@drawn("isin")
def isin(draw, op):
    name = draw(st.sampled_from((*NUMERIC, "bool")))
    pair = array(draw, name), array(draw, name)
    return Call(op, pair, options(draw, invert=(True, False)))


@drawn("setdiff1d", "union1d")
def sets(draw, op):
    name = draw(st.sampled_from(REAL))
    pair = array(draw, name, draw(shapes(1))), array(draw, name, draw(shapes(1)))
    return Call(op, pair, gradient=False, compiled=False)


@drawn("partition", "argpartition")
def partitioned(draw, op):
    x = array(draw, REAL, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    kth = draw(st.integers(0, x.values.shape[axis] - 1))
    return Call(op, (x, kth), {"axis": axis}, gradient=False)


@drawn("array_equal")
def array_equal(draw, op):
    x = array(draw, NUMERIC)
    other = x if draw(st.booleans()) else array(draw, x.values.dtype.name)
    return Call(op, (x, other), options(draw, equal_nan=(True, False)))


@drawn("atleast_nd")
def atleast_nd(draw, op):
    return Call(op, (array(draw, NUMERIC),), {"ndim": draw(st.integers(0, 4))})


@drawn("fori_loop")
def fori_loop(draw, op):
    x = array(draw, COMMON_FLOATS)
    count = draw(st.integers(0, 3))
    return Call(op, (x,), invoke=lambda x: trellis.fori_loop(0, count, lambda i, c: c * 2 + x, x))


@drawn("associative_scan")
def associative_scan(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    reverse = draw(st.booleans())
    return Call(
        op,
        (x,),
        invoke=lambda x: trellis.associative_scan(trellis.add, x, axis=axis, reverse=reverse),
        units=64,
    )


@drawn("switch")
def switch(draw, op):
    x = array(draw, COMMON_FLOATS)
    index = Given(np.array(draw(st.integers(-1, 3)), "int32"))
    branches = [lambda x: x + 1, lambda x: x * 2, lambda x: -x]
    return Call(op, (x, index), invoke=lambda x, i: trellis.switch(i, branches, x))


@drawn("apply_where")
def apply_where(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(0)))
    return Call(
        op,
        (x,),
        invoke=lambda x: trellis.apply_where(x != 0, x, lambda x: 1 / x, fill_value=0.0),
        units=8,
    )
