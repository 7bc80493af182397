"""One entry on the tape for a whole layer, with a derivative written over plain arrays.

Such a derivative may work in place in its own memory, which derivatives over traced arrays cannot.
It is used for first derivatives only. For all others (derivatives of derivatives, jvp) the formula
of the layer is used instead: it consists of NumPy functions that all have derivatives.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._record import Parts, entry
from ._tape import TracedArray, parts_of
from .gradients import vjp

_FLOATS = (np.dtype("float32"), np.dtype("float64"))
Places = list[int]


def fused(
    forward: Callable[..., tuple[tuple[Any, ...], Any]],
    backward: Callable[[list[Any], Any, Places], list[Any]],
    formula: Callable[..., tuple[Any, ...]],
) -> Callable[..., tuple[Any, ...]]:
    """A function of arrays, Nones and static arguments that returns a tuple of arrays.

    `forward(*args)` returns the results and what the derivative needs; `backward(gs, kept, places)`
    the gradients of the arguments at `places`, in their order, from one gradient (or None) for each
    result. It may be called several times, so it must not change `kept`. Neither function may write
    into arrays that others can see. `formula(*args)` returns the same results and can be
    differentiated in every way. The arrays among the arguments that are traced must be floats of
    one type, float32 or
    float64; otherwise the formula runs.
    """

    def call(*args: Any) -> tuple[Any, ...]:
        places = [i for i, arg in enumerate(args) if type(arg) is TracedArray]
        if not places:
            return formula(*args)
        level, values = args[places[0]]._level, list(args)
        for i in places:
            box = args[i]
            if box._level != level:
                return formula(*args)
            values[i] = box._value
        if not is_plain(values):
            return formula(*args)
        results, kept = forward(*values)

        def back(given: Any) -> list[Any]:
            gs = given.gs if type(given) is Parts else [given]
            if any([type(g) is TracedArray for g in gs]):
                return _by_formula(formula, values, places, gs)
            return backward(gs, kept, places)

        node = entry([args[i]._node for i in places], back)
        if len(results) == 1:
            return (TracedArray(results[0], level, node),)
        return parts_of(results, level, node)

    return call


def is_plain(values: Sequence[Any]) -> bool:
    """Whether all arrays are plain NumPy arrays, and all but masks of one type that BLAS supports.

    NumPy turns results without axes into scalars, which cannot be written to.
    """
    dtype = None
    for x in values:
        if type(x) is np.ndarray:
            if x.dtype.kind == "b":
                continue  # a mask
            if x.ndim == 0:
                return False
            if dtype is None:
                dtype = x.dtype
                if dtype not in _FLOATS:
                    return False
            elif x.dtype is not dtype and x.dtype != dtype:
                return False
        elif isinstance(x, (np.ndarray, np.generic, TracedArray)):
            return False
    return True


def _by_formula(
    formula: Callable[..., tuple[Any, ...]], values: list[Any], places: Places, gs: list[Any]
) -> list[Any]:
    def on_leaves(leaves: list[Any]) -> tuple[list[Any], None]:
        args = list(values)
        for i, leaf in zip(places, leaves, strict=True):
            args[i] = leaf
        return list(formula(*args)), None

    _, _, pull = vjp(on_leaves, [values[i] for i in places])
    return pull(gs)
