"""Derivatives. MLX records nothing: it runs a function again to differentiate it, and must know the
cotangents by then."""

from typing import Any

import mlx.core as mx
import numpy as np

from trellis.backend import Surroundings

from .tracing import counted, depth, has_history


def vjp(
    fn: Any, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, Any]:
    """The function runs now, and once more for each call of the map that is returned."""
    around = Surroundings()
    (outputs, aux), changes = around.run(lambda: fn(list(xs)))
    around.keep(changes)

    def pull(cotangents: list[Any]) -> list[Any]:
        used = [i for i, g in enumerate(cotangents) if g is not None]
        reached: list[bool] = []

        def again(*leaves: Any) -> list[Any]:
            with counted("derived"):
                (ys, _), _ = around.run(lambda: fn(_marked(list(leaves), reached)))
            # MLX forgets a cotangent where one array is returned twice.
            return list(_distinct([ys[i] for i in used]))

        if not xs or not used:
            return [None if sparse else mx.zeros_like(x) for x in xs]
        found = mx.vjp(again, list(xs), [cotangents[i] for i in used])[1]
        if sparse and not reached:
            return [None] * len(xs)
        return list(found)

    return outputs, aux, pull


def value_and_grad(fn: Any, xs: list[Any]) -> tuple[list[Any], Any, list[Any]]:
    """In one run: the cotangent of a single number is known."""
    kept: list[Any] = []
    reached: list[bool] = []

    def of_leaves(leaves: list[Any]) -> Any:
        with counted("derived"):
            outputs, aux = fn(_marked(leaves, reached))
        kept[:] = [aux]
        return outputs[0]

    if not xs:
        outputs, aux = fn([])
        return outputs, aux, []
    value, found = mx.value_and_grad(of_leaves)(list(xs))
    return [value], kept[0], list(found) if reached else [None] * len(xs)


def _marked(leaves: list[Any], reached: list[bool]) -> list[Any]:
    """The arrays, through a function whose derivative notes that it was asked for: MLX gives zeros
    where nothing leads back to an array."""

    def note(primals: Any, cotangents: Any, outputs: Any) -> Any:
        reached.append(True)
        return cotangents

    same = mx.custom_function(_same)
    same.vjp(note)
    return list(same(leaves))


def _same(xs: list[Any]) -> list[Any]:
    return list(xs)


_distinct = mx.custom_function(_same)
_distinct.vjp(lambda primals, cotangents, outputs: cotangents)


def custom_vjp(fn: Any, rule: Any) -> Any:
    counts: list[int] = []

    def forward(xs: list[Any]) -> list[Any]:
        ys = list(fn(list(xs)))
        counts[:] = [len(ys)]
        return ys or [mx.zeros(())]  # MLX crashes for a function without results

    def backward(primals: Any, cotangents: Any, outputs: Any) -> Any:
        found = rule(list(primals), list(outputs), list(cotangents))
        return [mx.zeros_like(x) if g is None else g for x, g in zip(primals, found, strict=True)]

    made = mx.custom_function(forward)
    made.vjp(backward)

    def call(xs: list[Any]) -> list[Any]:
        ys = made(list(xs))
        return list(ys)[: counts[0]]

    return call


def checkpoint(fn: Any) -> Any:
    """`fn` without its intermediate values: it runs again for its derivative.

    A custom derivative would lose the gradients of other arrays than the arguments. If the results
    depend on such an array that is being differentiated, all values are kept.
    """

    def call(xs: list[Any]) -> list[Any]:
        if not depth.derived or depth.compiled or depth.mapped:
            return list(fn(list(xs)))
        ys = list(fn([_copied(x) for x in xs]))
        if not ys or any([has_history(y) for y in ys]):
            return list(fn(list(xs)))
        made = mx.custom_function(lambda leaves: ys)
        made.vjp(again)
        return list(made(list(xs)))

    def again(primals: Any, cotangents: Any, outputs: Any) -> Any:
        # Not before the cotangents are there: MLX would run all checkpointed functions at once.
        leaves = mx.depends(list(primals), list(cotangents))
        with counted("derived"):
            return mx.vjp(lambda *xs: list(fn(list(xs))), leaves, list(cotangents))[1]

    return call


def _copied(x: Any) -> Any:
    """The values alone: MLX keeps all that was computed from an array that is differentiated, also
    behind stop_gradient."""
    mx.eval(x)
    whole = x.view(mx.uint16) if x.dtype == mx.bfloat16 else x  # which NumPy does not know
    return mx.array(np.array(whole), dtype=whole.dtype).view(x.dtype)


def stop_gradient(x: Any, /) -> Any:
    return mx.stop_gradient(x)


def of_one(fn: Any, rule: Any) -> Any:
    """A function of one array with `rule(x, y, upstream)` as its derivative, created once."""

    def backward(primal: Any, cotangent: Any, output: Any) -> Any:
        return rule(primal, output, cotangent)

    made = mx.custom_function(fn)
    made.vjp(backward)
    return made
