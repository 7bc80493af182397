"""A derivative of our own for several arrays, also where a compiler follows Python."""

import math
from collections.abc import Callable
from typing import Any

from .._core.arrays import shape_of
from .._core.errors import NotSupportedError
from .._core.following import is_followed
from .._core.typing import Backend


def with_rule(
    xp: Backend,
    forward: Callable[[list[Any]], list[Any]],
    backward: Callable[[list[Any], list[Any], list[Any]], list[Any]],
    leaves: list[Any],
) -> list[Any]:
    """`forward(leaves)`, with the gradients of `backward`; None is none.

    Dynamo traces a custom derivative of one array, and not of several: there they are joined.
    """
    if not is_followed():
        return list(xp.custom_vjp(forward, backward)(leaves))
    places = [i for i, x in enumerate(leaves) if x.dtype in xp.FLOAT_DTYPES]
    shapes = [shape_of(leaves[i]) for i in places]
    for i in places:
        if leaves[i].dtype != leaves[places[0]].dtype:
            raise NotSupportedError(
                "torch.compile differentiates solutions by arrays of one dtype only, and got "
                f"{leaves[places[0]].dtype} and {leaves[i].dtype}. Leave torch.compile away here."
            )

    def apart(whole: Any) -> list[Any]:
        full, start = list(leaves), 0
        for i, shape in zip(places, shapes, strict=True):
            size = math.prod(shape)
            full[i] = xp.reshape(whole[start : start + size], shape)
            start += size
        return full

    def joined(parts: list[Any]) -> Any:
        return xp.concat([xp.reshape(parts[i], (-1,)) for i in places], axis=0)

    def back(wholes: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        full = apart(wholes[0])
        found = backward(full, ys, upstream)
        return [joined([xp.zeros_like(x) if g is None else g for g, x in zip(found, full)])]

    return list(xp.custom_vjp(lambda wholes: forward(apart(wholes[0])), back)([joined(leaves)]))
