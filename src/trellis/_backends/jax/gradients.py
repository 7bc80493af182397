"""Differentiation on JAX: its own transforms. All functions here work on flat lists."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..interface import AuxFn, ListFn

FLOAT_DTYPES = frozenset(
    [jnp.dtype(name) for name in ("float16", "bfloat16", "float32", "float64")]
)

stop_gradient = jax.lax.stop_gradient


def vjp(
    fn: AuxFn, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, ListFn]:
    is_reached = [True]

    def watched(leaves: list[Any]) -> tuple[list[Any], Any]:
        ys, found = fn(leaves)
        # What depends on a leaf is traced as the leaf is. (Inside a second derivative what depends
        # on the outer leaves looks alike, and counts as reached.)
        is_reached[0] = any([type(y) is type(x) for y in ys for x in leaves[:1]])
        return ys, found

    outputs, pull, aux = jax.vjp(watched if sparse else fn, xs, has_aux=True)

    def pull_back(cotangents: list[Any]) -> list[Any]:
        if not is_reached[0]:
            return [None] * len(xs)
        # None means an output that is not differentiated.
        gs = [
            jnp.zeros_like(y) if g is None else g for g, y in zip(cotangents, outputs, strict=True)
        ]
        return pull(gs)[0]

    return outputs, aux, pull_back


def jvp(fn: AuxFn, xs: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any], Any]:
    outputs, out_tangents, aux = jax.jvp(fn, (xs,), (tangents,), has_aux=True)
    return outputs, out_tangents, aux


def jacobian(fn: ListFn, xs: list[Any]) -> list[list[Any]]:
    return jax.jacrev(fn)(xs)


def vmap(
    fn: ListFn, xs: list[Any], axes: list[int | None], out_axes: list[int], size: int
) -> list[Any]:
    return jax.vmap(fn, in_axes=(axes,), out_axes=out_axes[0] if len(out_axes) == 1 else out_axes)(
        xs
    )


def custom_vjp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    @jax.custom_vjp
    def call(xs: list[Any]) -> list[Any]:
        return fn(xs)

    def forward(xs: list[Any]) -> tuple[list[Any], Any]:
        ys = fn(xs)
        return ys, (xs, ys)

    def backward(saved: Any, upstream: list[Any]) -> tuple[list[Any]]:
        xs, ys = saved
        return (rule(xs, ys, upstream),)

    call.defvjp(forward, backward)
    return call


def custom_jvp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
    push: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    """JAX transposes `push` for reverse mode."""

    @jax.custom_jvp
    def call(xs: list[Any]) -> list[Any]:
        return fn(xs)

    @call.defjvp
    def _tangents(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        ys = call(primals[0])
        return ys, push(primals[0], ys, tangents[0])

    return call


def checkpoint(fn: ListFn) -> ListFn:
    return jax.checkpoint(fn)
