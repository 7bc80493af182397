"""State-space models: the recurrence of Mamba, in parallel over time."""

from typing import Any

from .._array.control import associative_scan
from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Array
from ._precision import all_precise


def selective_scan(x: A, delta: A, a: A, b: A, c: A, /, *, skip: Array | None = None) -> A:
    """The recurrence of Mamba: `h = exp(delta * a) * h + delta * b * x`, `y = sum(c * h)`.

    x and delta have shape (batch, length, channels), a (channels, states), b and c (batch, length,
    states); each channel has a state of its own, which is 0 at first. `skip`, of shape (channels,),
    adds `skip * x`. The states of all positions are computed in about 2 log2(length) steps, and
    take memory for batch * length * channels * states elements.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x, one = np.array([[[1.0], [0.0], [0.0]]]), np.ones((1, 3, 1))
    >>> F.selective_scan(x, one, np.log([[0.5]]), one, one)[0, :, 0]  # halved at every step
    array([1.  , 0.5 , 0.25])
    """
    try:
        if has_nest(x, delta, a, b, c):
            return call_leafwise(selective_scan, (x, delta, a, b, c), {"skip": skip})
        xp = xp_of_all(x, delta, a, b, c)
        _check_shapes(x, delta, a, b, c, skip)
        (x, delta, a, b, c, skip), kind = all_precise("selective_scan", xp, x, delta, a, b, c, skip)
        step = xp.expand_dims(delta, axis=-1)
        decay = xp.exp(step * a)  # (batch, length, channels, states)
        inflow = step * xp.expand_dims(b, axis=-2) * xp.expand_dims(x, axis=-1)
        _, states = associative_scan(_one_after_the_other, (decay, inflow), axis=1)
        y = xp.sum(states * xp.expand_dims(c, axis=-2), axis=-1)
        if skip is not None:
            y = y + x * skip
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, selective_scan)


def _one_after_the_other(first: Any, second: Any) -> Any:
    """h -> a2 * (a1 * h + b1) + b2 is a step of the same form."""
    return first[0] * second[0], second[0] * first[1] + second[1]


def _check_shapes(x: Array, delta: Array, a: Array, b: Array, c: Array, skip: Array | None) -> None:
    shapes = [tuple(each.shape) for each in (x, delta, a, b, c)]
    if [len(shape) for shape in shapes] != [3, 3, 2, 3, 3]:
        raise ShapeError(_expected(shapes))
    channels, states = shapes[2]
    row = shapes[0][:2]
    fits = shapes[0] == shapes[1] and shapes[0][2] == channels
    if not fits or shapes[3] != (*row, states) or shapes[4] != (*row, states):
        raise ShapeError(_expected(shapes))
    if skip is not None and tuple(skip.shape) != (channels,):
        raise ShapeError(
            f"selective_scan() expects skip of shape ({channels},), got {tuple(skip.shape)}."
        )


def _expected(shapes: list[Any]) -> str:
    return (
        "selective_scan() expects x and delta (batch, length, channels), a (channels, states), b "
        f"and c (batch, length, states), got {', '.join([str(shape) for shape in shapes])}."
    )
