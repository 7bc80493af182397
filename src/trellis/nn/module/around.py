"""What stands around the `_forward` of a module: adapters, small weights.

Each has a method `around(module, level, args, kwargs)`, and calls `forward(module, level, ...)` for
what is inside it. They are added with `surround`, the outermost last.
"""

from typing import Any

from ..._core.container import Container
from .call import Call, here
from .node import Node


def surround(node: Node, layer: Any) -> None:
    """Put one more around the module."""
    node.arounds.append(layer)
    node.update_plain()


def release(node: Node, layer: Any) -> None:
    """Take it away again."""
    node.arounds = [each for each in node.arounds if each is not layer]
    node.update_plain()


def forward(module: Any, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the module computes, with the first `level` of what is around it."""
    if level == 0:
        return module._forward(*args, **kwargs)
    return module.__node__.arounds[level - 1].around(module, level - 1, args, kwargs)


def forward_with(
    module: Any, v: Container, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The same with other variables, which need not be those that the tree holds."""
    outer = here.call
    call = Call(module.__node__, v, None, outer)
    here.call = call
    try:
        return forward(module, level, args, kwargs)
    finally:
        here.call = outer


def weight_of(layer: Any) -> Any:
    """The weight of a layer, also where it is stored as something smaller."""
    for each in layer.__node__.arounds:
        if hasattr(each, "restored"):
            return each.restored(layer)["w"]
    return layer.v["w"]
