"""How a call gets onto the tape, with as little Python for each call as it takes."""

from collections.abc import Callable
from typing import Any

from autograd.core import VJPNode, primitive_vjps
from autograd.tracer import box_type_mappings, box_types, new_box

__all__ = ["RULES", "entry", "primitive"]

# NumPy function -> what to call when one of its arguments is traced.
RULES: dict[Any, Callable[..., Any]] = {}


def entry(parents: list[Any], vjp: Callable[[Any], Any]) -> VJPNode:
    """An entry of the tape: made from `parents`, and how a gradient goes back to each of them."""
    node = VJPNode.__new__(VJPNode)
    node.parents = parents
    node.vjp = vjp
    return node


def primitive(
    function: Callable[..., Any], vjps: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """`function`, recorded where an argument is traced; autograd's `defvjp` gives it derivatives.

    That is for good: a function that is made for one call brings its own, in the form that
    `defvjp_argnums` takes.

    It does what autograd's own `primitive` does for arrays, in a third of the time: of nested
    gradients the innermost is recorded first, and the function itself sees plain values only.
    """

    def record(*args: Any, **kwargs: Any) -> Any:
        level, places, is_nested = -1, [], False
        for i, arg in enumerate(args):
            if type(arg) in box_types:
                trace = arg._trace
                if trace == level:
                    places.append(i)
                elif trace > level:
                    is_nested = level >= 0
                    level, places = trace, [i]
                else:
                    is_nested = True
        if not places:
            return function(*args, **kwargs)
        values, parents = list(args), []
        for i in places:
            box = args[i]
            value = values[i] = box._value
            parents.append(box._node)
            if type(value) in box_types:
                is_nested = True
        ans = record(*values, **kwargs) if is_nested else function(*values, **kwargs)
        if type(parents[0]) is VJPNode:
            node = VJPNode.__new__(VJPNode)
            node.parents = parents
            node.vjp = (vjps or primitive_vjps[record])(places, ans, values, kwargs)
        else:  # autograd's forward mode, which has no rules of ours and says so
            node = type(parents[0])(ans, record, values, kwargs, places, parents)
        try:
            return box_type_mappings[type(ans)](ans, level, node)
        except KeyError:
            return new_box(ans, level, node)  # which raises

    record.__name__ = getattr(function, "__name__", "function")
    record.__doc__ = function.__doc__
    record.__wrapped__ = function  # type: ignore[attr-defined]
    return record
