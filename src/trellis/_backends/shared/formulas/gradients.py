"""All derivatives from `vjp`, and vectorisation by a loop."""

import itertools
from typing import Any

from ...array_api import Native
from ...interface import AuxFn, ListFn, Natives
from . import xp


def value_and_grad(fn: AuxFn, xs: Natives) -> tuple[Natives, Any, list[Any]]:
    """The pullback of 1."""
    values, aux, pull = xp.vjp(fn, xs, once=True, sparse=True)
    return values, aux, pull([xp.ones_like(values[0])])


def jvp(fn: AuxFn, xs: Natives, tangents: Natives) -> tuple[Natives, Natives, object]:
    """Reverse mode twice: the pullback is linear, and its own pullback is the jvp."""
    outputs, aux, pull = xp.vjp(fn, xs)
    zeros = [xp.zeros_like(y) for y in outputs]
    _, _, push = xp.vjp(lambda cotangents: (pull(cotangents), None), zeros)
    return outputs, push(tangents), aux


def custom_jvp(fn: ListFn, rule: Any, push: Any) -> ListFn:
    """Forward mode here is reverse mode twice."""
    return xp.custom_vjp(fn, rule)


def jacobian(fn: ListFn, xs: Natives) -> list[Natives]:
    """One backward pass for each element of each output."""
    outputs, _, pull = xp.vjp(lambda leaves: (fn(leaves), None), xs)
    rows = []
    for i, y in enumerate(outputs):
        shape = tuple(y.shape)
        found = []
        for index in itertools.product(*[range(n) for n in shape]):
            cotangents = [xp.zeros_like(z) for z in outputs]
            cotangents[i] = xp.index_set(cotangents[i], index, 1)
            found.append(pull(cotangents))
        columns = []
        for j, x in enumerate(xs):
            stacked = (
                xp.stack([row[j] for row in found])
                if found
                else xp.zeros((0, *x.shape), dtype=x.dtype)
            )
            columns.append(xp.reshape(stacked, (*shape, *x.shape)))
        rows.append(columns)
    return rows


def vmap(
    fn: ListFn, xs: Natives, axes: list[int | None], out_axes: list[int], size: int
) -> Natives:
    rows = []
    for i in range(size):
        picked = [
            x if axis is None else xp.moveaxis(x, axis, 0)[i, ...]
            for x, axis in zip(xs, axes, strict=True)
        ]
        rows.append(fn(picked))
    count = len(rows[0])
    spread = out_axes if len(out_axes) == count else out_axes * count
    return [xp.stack([row[j] for row in rows], axis=spread[j]) for j in range(count)]


def checkpoint(fn: ListFn) -> ListFn:
    """`fn` itself: a custom derivative would lose the gradients of what `fn` closes over."""
    return fn


def stop_gradient(x: Native, /) -> Native:
    """Through a function whose derivative is None."""

    def nothing(xs: Natives, ys: Natives, upstream: list[Native]) -> Natives:
        return [xp.from_numpy(xp.to_numpy(xs[0]) * 0)]

    return xp.custom_vjp(lambda xs: list(xs), nothing)([x])[0]
