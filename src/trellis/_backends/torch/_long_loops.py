"""Loops of many steps under torch.compile, which unrolls them: that takes 0.1 to 0.3 s for a step.

A scan of `LONG` steps stays one loop of the graph, by torch's own operator, which runs at about the
speed of the loop without a compiler. (A shorter one is unrolled, which is faster when it runs.) It
has no derivative inside a compiled function, and its body may write to nothing outside, as draws
do. There such a scan ends the compilation, and the function runs without the compiler from then on;
inside a derivative already from `MANY` steps. Its loop is then taken in pieces of `PIECE` steps:
one piece is compiled, with its derivative, and called from Python.
"""

import logging
import threading
import types
from collections.abc import Callable
from typing import Any

import torch

from ..._core import tree
from ..._core.tracing import functions_inside, name_for_users
from ._private import run_while_tracing

LONG = 256
MANY, PIECE = 32, 8

# Whether loops may stay loops (changed while a function that has one is compiled again), and how
# many were traced so far.
loops_in_graph: dict[str, int] = {"are_kept": True, "count": 0}

# Whether the call under way is one of ours, which can leave the compiler; and whether it has.
state = threading.local()
# One compiled piece for each body, by its code; None where the compiler cannot take it.
_pieces: dict[Any, Callable[..., Any] | None] = {}
_traced = {"count": 0}

_TOO_LONG = "steps are too many to unroll"
_LOG = logging.getLogger("trellis")


class TooLong(RuntimeError):
    """Ends a compilation."""


def leave_the_compiler(length: int) -> None:
    """Raise while a function is traced."""
    raise TooLong(f"A scan of {length} {_TOO_LONG}.")


def is_too_long(error: Exception) -> bool:
    """Whether a compilation was ended by `leave_the_compiler`."""
    text = str(error)
    return _TOO_LONG in text or TooLong.__name__ in text


def note_a_loop() -> None:
    """Count one more, while a function is traced."""
    loops_in_graph["count"] += 1


def unrolled(compiled: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call of a function whose loops the compiler cannot keep."""
    loops_in_graph["are_kept"] = False
    try:
        return compiled(*args, **kwargs)
    finally:
        loops_in_graph["are_kept"] = True


def say_so(fn: Any) -> None:
    """One line for users, once for each function."""
    _LOG.warning(
        f"trellis: {name_for_users(fn)}() has a scan of {MANY} steps or more inside "
        f"a derivative, or of {LONG} with draws, which torch.compile would unroll for a minute or "
        "more. It runs without the compiler, but for the loop inside the derivative, of which "
        f"{PIECE} steps are compiled."
    )


may_leave = run_while_tracing(lambda: getattr(state, "is_ours", False))


def _note_a_piece() -> None:
    _traced["count"] += 1


_note = run_while_tracing(_note_a_piece)


def in_pieces(fn: Any, carry: Any, leaves: list[Any], spec: Any, begin: int) -> Any:
    """The carry after some pieces from the step `begin` on, the stacked leaves of their outputs,
    and the step after them."""
    length, outputs, i = leaves[0].shape[0], [], begin
    key = _codes(fn)
    if key not in _pieces:
        _pieces[key] = _compiled_piece()
    call, before = _pieces[key], _traced["count"]
    while call is not None and i + PIECE <= length:
        xs = tree.unflatten(spec, [leaf[i : i + PIECE] for leaf in leaves])
        try:
            carry, ys = call(fn, carry, xs)
        except Exception as error:
            if not type(error).__module__.startswith("torch._"):
                raise
            # A branch on values, say: without the compiler the body runs, or says what is wrong.
            _pieces[key] = call = None
            break
        outputs.append(ys)
        i += PIECE
        if _traced["count"] > before + 2:
            # It is compiled anew for each piece, as a body that counts its draws is.
            _pieces[key] = call = None
    return carry, outputs, i


def _codes(fn: Any) -> Any:
    """The code of a body, and of the functions that it wraps."""
    return (fn.__code__, *[inner.__code__ for inner in functions_inside(fn)])


def _compiled_piece() -> Callable[..., Any]:
    """Several steps of a body, compiled; a function of its own for each body."""

    def piece(fn: Any, carry: Any, xs: Any) -> Any:
        _note()
        leaves, spec = tree.flatten(xs)
        outputs = []
        for i in range(PIECE):
            carry, y = fn(carry, tree.unflatten(spec, [leaf[i] for leaf in leaves]))
            outputs.append(tree.leaves(y))
        return carry, [stacked([ys[j] for ys in outputs]) for j in range(len(outputs[0]))]

    own = types.FunctionType(piece.__code__.replace(), piece.__globals__, "piece")
    return torch.compile(own, fullgraph=True)


def stacked(column: list[Any]) -> Any:
    """The same output of several steps as one tensor."""
    return torch.stack([y if isinstance(y, torch.Tensor) else torch.tensor(y) for y in column])
