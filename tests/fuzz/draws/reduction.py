"""Reductions, running sums, searching, sorting, sets."""

import numpy as np
import scipy.special
from hypothesis import strategies as st

from ..call import Call
from ..drawing import (
    ANY,
    COMMON_FLOATS,
    COMPLEX,
    FLOATING,
    INEXACT,
    INTEGER,
    NUMERIC,
    REAL,
    array,
    axes_of,
    axis_of,
    drawn,
    indices,
    options,
    shapes,
)


def axes_and_keepdims(draw, ndim):
    chosen = options(draw, keepdims=(True, False))
    if draw(st.booleans()):
        chosen["axis"] = axes_of(draw, ndim)
    return chosen


@drawn("sum", "prod", "mean", "std", "var", "max", "min", "all", "any", "logsumexp")
def reduced(draw, op):
    types = {"max": REAL, "min": REAL, "all": ANY, "any": ANY, "std": (*REAL,), "var": (*REAL,)}
    types = {**types, "logsumexp": (*INEXACT, *INTEGER)}.get(op, NUMERIC)
    if op in ("sum", "prod", "mean"):
        types = ANY
    kind = draw(st.sampled_from(("plain", "special"))) if op not in ("std", "var") else "plain"
    x = array(draw, types, kind=kind)
    chosen = axes_and_keepdims(draw, x.values.ndim)
    if op in ("sum", "prod") and draw(st.booleans()):
        wider = [t for t in ("float64", "complex128", "int64") if _widens(x.values.dtype.name, t)]
        chosen["dtype"] = draw(st.sampled_from(wider)) if wider else None
    if op in ("std", "var") and draw(st.booleans()):
        chosen["correction"] = draw(st.sampled_from((0, 1, 0.5)))
    oracle = {"std": None, "var": None, "logsumexp": scipy.special.logsumexp}
    expected = oracle.get(op, getattr(np, op, None))
    empty = x.values.size == 0
    if op in ("logsumexp", "max", "min", "mean") and (empty or kind == "special"):
        expected = None
    if kind == "special" and op in ("sum", "prod"):
        expected = None  # what overflows on the way depends on the order
    if kind == "special" and x.values.dtype.kind in "fcV" and op in ("sum", "prod", "mean"):
        x = array(draw, x.values.dtype.name, x.values.shape, "plain")
    if "dtype" in chosen:
        expected = None
    return Call(op, (x,), chosen, expected=expected, gradient=kind == "plain", units=128)


def _widens(name, wide):
    if name in COMPLEX:
        return wide == "complex128"
    if name in FLOATING:
        return wide != "int64"
    return name != "uint64"


@drawn("cumulative_sum", "cumulative_prod")
def running(draw, op):
    x = array(draw, NUMERIC, draw(shapes(1)))
    chosen = options(draw, include_initial=(True, False))
    if x.values.ndim > 1 or draw(st.booleans()):
        chosen["axis"] = axis_of(draw, x.values.ndim)
    return Call(op, (x,), chosen, units=128)


@drawn("diff")
def diff(draw, op):
    x = array(draw, NUMERIC, draw(shapes(1)))
    axis = axis_of(draw, x.values.ndim)
    chosen = {"axis": axis, **options(draw, n=(0, 1, 2, 3))}
    for side in ("prepend", "append"):
        if draw(st.booleans()):
            shape = list(x.values.shape)
            shape[axis] = draw(st.sampled_from((1, 2, 0)))
            chosen[side] = array(draw, x.values.dtype.name, shape)
    return Call(op, (x,), chosen)


@drawn("argmax", "argmin")
def found(draw, op):
    x = array(draw, REAL, kind=draw(st.sampled_from(("plain", "special"))))
    chosen = options(draw, keepdims=(True, False))
    if x.values.ndim and draw(st.booleans()):
        chosen["axis"] = axis_of(draw, x.values.ndim)
    return Call(op, (x,), chosen)


@drawn("count_nonzero")
def counted(draw, op):
    x = array(draw, ANY, kind="special")
    return Call(op, (x,), axes_and_keepdims(draw, x.values.ndim))


@drawn("nonzero", "unique_values", "unique_counts", "unique_inverse", "unique_all")
def of_unknown_length(draw, op):
    types = ANY if op == "nonzero" else (*REAL, "bool")
    kind = draw(st.sampled_from(("plain", "special")))
    x = array(draw, types, draw(shapes(1)) if op == "nonzero" else None, kind)
    return Call(op, (x,), gradient=False, compiled=False)


@drawn("searchsorted")
def searchsorted(draw, op):
    name = draw(st.sampled_from(REAL))
    x1 = array(draw, name, draw(shapes(1, 1)))
    x2 = array(draw, name)
    chosen = options(draw, side=("left", "right"))
    if draw(st.booleans()):
        chosen["sorter"] = type(x1)(np.argsort(x1.values, kind="stable").astype("int64"))
    else:
        x1 = type(x1)(np.sort(x1.values), x1.layout)
    return Call(op, (x1, x2), chosen)


@drawn("histogram")
def histogram(draw, op):
    x = array(draw, COMMON_FLOATS, draw(shapes(1, empty=False)))
    chosen = {}
    bins = draw(st.sampled_from((2, 4, [-2.0, 0.0, 0.5, 3.0])))
    if isinstance(bins, int):
        chosen["range"] = draw(st.sampled_from(((-2.0, 2.0), (0.0, 4.0))))
    if draw(st.booleans()):
        chosen["weights"] = array(draw, x.values.dtype.name, x.values.shape)
    return Call(op, (x, bins), chosen)


@drawn("sort", "argsort")
def sorted_(draw, op):
    kind = draw(st.sampled_from(("plain", "special")))
    x = array(draw, (*REAL, "bool"), draw(shapes(1)), kind)
    axis = axis_of(draw, x.values.ndim)
    chosen = {"axis": axis, **options(draw, descending=(True, False), stable=(True,))}
    return Call(op, (x,), chosen, gradient=kind == "plain")


@drawn("topk")
def topk(draw, op):
    kind = draw(st.sampled_from(("plain", "special")))
    x = array(draw, REAL, draw(shapes(1)), kind)
    axis = axis_of(draw, x.values.ndim)
    k = draw(st.integers(0, x.values.shape[axis]))
    chosen = {"axis": axis, **options(draw, largest=(True, False))}
    return Call(op, (x, k), chosen, gradient=kind == "plain")


@drawn("segment_sum")
def segment_sum(draw, op):
    x = array(draw, NUMERIC, draw(shapes(1)))
    ids = indices(draw, 3, x.values.shape[:1])
    return Call(op, (x, ids), {"num_segments": draw(st.sampled_from((3, 4)))})


@drawn("one_hot")
def one_hot(draw, op):
    x = array(draw, INTEGER, draw(shapes()))
    chosen = options(draw, dtype=("float32", "int64", "bool", "complex64"))
    if draw(st.booleans()):
        chosen["axis"] = axis_of(draw, x.values.ndim + 1)
    return Call(op, (x, draw(st.sampled_from((3, 1, 0, 4)))), chosen)


@drawn("can_cast", "result_type", "dtype")
def types(draw, op):
    x = array(draw, ANY)
    if op == "dtype":
        return Call(op, (x,), compiled=False, gradient=False)
    if op == "can_cast":
        return Call(op, (x, draw(st.sampled_from(ANY))), compiled=False, gradient=False)
    others = draw(st.lists(st.sampled_from((*ANY, 1, 2.5, 1j)), max_size=2))
    return Call(op, (x, *others), compiled=False, gradient=False)
