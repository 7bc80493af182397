"""Reading and writing by index; control flow."""

import numpy as np
from hypothesis import strategies as st

import trellis

from ..call import Call, Given
from ..drawing import (
    ANY,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    array,
    axis_of,
    broadcast,
    drawn,
    indices,
    shapes,
)


@drawn("take")
def take(draw, op):
    x = array(draw, ANY, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    chosen = {} if x.values.ndim == 1 and draw(st.booleans()) else {"axis": axis}
    i = indices(draw, x.values.shape[axis], draw(shapes(1, 1)), negative=True)
    return Call(op, (x, i), chosen, expected=np.take)


@drawn("take_along_axis")
def take_along_axis(draw, op):
    x = array(draw, ANY, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    size = list(x.values.shape)
    size[axis] = draw(st.sampled_from((1, 2, 0)))
    i = indices(draw, x.values.shape[axis], size, negative=True)
    return Call(op, (x, i), {"axis": axis}, expected=np.take_along_axis)


WAYS = ("set", "add", "multiply", "min", "max")


@drawn("scatter")
def scatter(draw, op):
    way = draw(st.sampled_from(WAYS))
    x = array(draw, REAL if way in ("min", "max") else NUMERIC, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    i = indices(draw, x.values.shape[axis], draw(shapes(1, 1)), negative=True)
    if way == "set":
        i = _distinct(i, x.values.shape[axis])
    size = list(x.values.shape)
    size[axis] = i.values.size
    updates = array(draw, x.values.dtype.name, size)
    if draw(st.booleans()):
        updates = draw(st.sampled_from((0, 1, 2)))
    return Call(op, (x, i, updates), {"axis": axis, "reduce": way})


@drawn("put_along_axis")
def put_along_axis(draw, op):
    way = draw(st.sampled_from(WAYS))
    x = array(draw, REAL if way in ("min", "max") else NUMERIC, draw(shapes(1, empty=False)))
    axis = axis_of(draw, x.values.ndim)
    size = list(x.values.shape)
    size[axis] = draw(st.sampled_from((1, 2, 0)))
    i = indices(draw, x.values.shape[axis], size, negative=True)
    values = array(draw, x.values.dtype.name, size)
    return Call(op, (x, i, values), {"axis": axis, "reduce": way})


def _distinct(i, size):
    """Which of several values wins at one index is open."""
    places, first = np.unique(i.values.astype("int64") % size, return_index=True)
    return Given(i.values[np.sort(first)])


@drawn("at")
def at(draw, op):
    way = draw(st.sampled_from((*WAYS, "subtract")))
    x = array(draw, REAL if way in ("min", "max") else NUMERIC)
    index = tuple(_index(draw, n) for n in x.values.shape[: draw(st.integers(0, 3))])
    how = draw(st.sampled_from(("plain", "ellipsis", "new axis", "mask")))
    if how == "ellipsis" and len(index) <= x.values.ndim:
        index = (*index, ...)
    if how == "new axis":
        index = (None, *index)
    if how == "mask":
        index = (Given(np.array(draw(_bools(x.values.size)), bool).reshape(x.values.shape)),)
    place = x.values[tuple(i.values if isinstance(i, Given) else i for i in index)]
    value = array(draw, x.values.dtype.name, broadcast(draw, np.shape(place)))
    if how == "mask" or draw(st.booleans()):
        value = draw(st.sampled_from((0, 1, 2)))

    def update(x, index, value):
        return getattr(trellis.at(x, index), way)(value)

    return Call(f"{op}", (x, index, value), invoke=update, compiled=how != "mask")


def _bools(count):
    return st.lists(st.booleans(), min_size=count, max_size=count)


def _index(draw, n):
    bounds = st.sampled_from((None, 0, 1, 2, -1, -2))
    steps = st.sampled_from((None, 1, 2, -1, -2))
    if n and draw(st.booleans()):
        return draw(st.integers(-n, n - 1))
    return slice(draw(bounds), draw(bounds), draw(steps))


@drawn("cond")
def cond(draw, op):
    x = array(draw, NUMERIC)
    pred = array(draw, "bool", ())

    def choose(pred, x):
        return trellis.cond(pred, lambda x: trellis.add(x, x), lambda x: trellis.multiply(x, x), x)

    return Call(op, (pred, x), invoke=choose)


@drawn("while_loop")
def while_loop(draw, op):
    x = array(draw, FLOATING)
    rounds = array(draw, INTEGER, (), kind="positive")

    def loop(x, n):
        return trellis.while_loop(
            lambda state: trellis.greater(state[1], 0),
            lambda state: (trellis.add(state[0], state[0]), trellis.subtract(state[1], 1)),
            (x, n),
        )

    # JAX has no reverse derivative of a loop whose length it does not know.
    return Call(op, (x, rounds), invoke=loop, gradient=False)


@drawn("scan")
def scan(draw, op):
    xs = array(draw, NUMERIC, draw(shapes(1, empty=False)))
    start = array(draw, xs.values.dtype.name, xs.values.shape[1:])

    def run(start, xs):
        return trellis.scan(
            lambda carry, x: (trellis.add(carry, x), trellis.multiply(carry, x)), start, xs
        )

    return Call(op, (start, xs), invoke=run)
