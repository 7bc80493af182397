"""mx.compile behind `trellis.compile`, and control flow."""

import functools
from typing import Any

import mlx.core as mx

from trellis import tree
from trellis.errors import ArgumentTypeError, TracingError

from .tracing import counted, depth
from .types import array


def compile_function(
    fn: Any,
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Any:
    """Arrays are arguments of the compiled program; everything else is part of it, and another
    value makes another program. Nothing is donated: MLX decides itself whose memory it uses."""
    programs: dict[Any, _Program] = {}

    def on_leaves(leaves: list[Any], spec: Any, args: Any, kwargs: Any) -> Any:
        arrays = [x for x in leaves if isinstance(x, array)]
        others = tuple([None if isinstance(x, array) else (type(x), x) for x in leaves])
        try:
            program = programs.get((spec, others))
        except TypeError:
            raise ArgumentTypeError(
                "A compiled function takes arrays, and other values only if they can be hashed, "
                f"got {[type(x).__name__ for x in leaves if not isinstance(x, array)]}."
            ) from None
        if program is None:
            program = programs[spec, others] = _Program(fn, spec, others)
        return program(arrays)

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        return on_leaves(leaves, spec, args, kwargs)

    called.on_leaves = on_leaves  # type: ignore[attr-defined]
    return called


class _Program:
    """A function of arrays alone. Its results are put together as in the last trace, unless traces
    for other shapes differ in that: then each has a program of its own."""

    def __init__(self, fn: Any, spec: Any, others: tuple[Any, ...]):
        self._fn, self._spec, self._others = fn, spec, others
        self._form: Any = None  # the structure of the result, and its values that are no arrays
        self._by_shapes: dict[Any, _Program] | None = None
        self._compiled = mx.compile(self._run)

    def __call__(self, arrays: list[Any]) -> Any:
        if self._by_shapes is not None:
            key = tuple([(x.shape, x.dtype) for x in arrays])
            if key not in self._by_shapes:
                self._by_shapes[key] = _Program(self._fn, self._spec, self._others)
            return self._by_shapes[key](arrays)
        before = self._form
        found = list(self._compiled(arrays))
        if before is not None and before != self._form:
            self._by_shapes = {}
        spec, others = self._form
        leaves = [found.pop(0) if x is None else x[0] for x in others]
        return tree.unflatten(spec, leaves)

    def _run(self, arrays: list[Any]) -> list[Any]:
        remaining = list(arrays)
        leaves = [remaining.pop(0) if x is None else x[1] for x in self._others]
        args, kwargs = tree.unflatten(self._spec, leaves)
        with counted("compiled"):
            outputs, spec = tree.flatten(self._fn(*args, **kwargs))
        self._form = spec, tuple([None if isinstance(y, array) else (y,) for y in outputs])
        return [y for y in outputs if isinstance(y, array)] or [mx.zeros(())]


def cond(pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    if isinstance(pred, array):
        _refuse("cond")
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Any, body_fn: Any, init: Any) -> Any:
    _refuse("while_loop")
    state = init
    while bool(cond_fn(state)):
        state = body_fn(state)
    return state


def _refuse(function: str) -> None:
    if depth.compiled:
        raise TracingError(
            f"{function}() looks at a value, and mx.compile has no control flow: it cannot be part "
            "of a compiled function on MLX. Call it outside, or use trellis.where."
        )


def layer_types() -> tuple[type, ...]:
    import sys

    layers = sys.modules.get("mlx.nn")
    return () if layers is None else (layers.Module,)
