"""Differentiation on NumPy: real reverse mode over the tape. All functions here work on flat
lists.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from autograd.core import add_outgrads
from autograd.tracer import trace_stack

from ..._core import tree
from ..._core.dtypes import FLOATING
from ..interface import AuxFn, ListFn
from . import _einops
from ._helpers import NATIVE
from ._record import entry, primitive
from ._tape import Parts, TracedArray, stop

FLOAT_DTYPES = frozenset([NATIVE[name] for name in FLOATING])

stop_gradient = stop


def vjp(fn: AuxFn, xs: list[Any], once: bool = False) -> tuple[list[Any], Any, ListFn]:
    """`fn(xs) -> (outputs, aux)`, run once; returns outputs, aux, and the map from cotangents to
    gradients.
    """
    # Levels only ever rise: threads that differentiate at the same time cannot confuse them, which
    # a shared count up and down could.
    level = trace_stack.top + 1
    trace_stack.top = level
    _einops.introduce()
    roots = [entry([], _nothing) for _ in xs]
    boxes = [TracedArray(x, level, root) for x, root in zip(xs, roots, strict=True)]
    try:
        outputs, aux = fn(boxes)
    except RuntimeError as error:
        _einops.explain(error)
        raise

    def unboxed(x: Any) -> Any:
        return x._value if isinstance(x, TracedArray) and x._trace == level else x

    nodes = [y._node if isinstance(y, TracedArray) and y._trace == level else None for y in outputs]

    def pull(cotangents: list[Any]) -> list[Any]:
        found = _backward(nodes, cotangents, once)
        return [_finished(found.get(root), x) for root, x in zip(roots, xs, strict=True)]

    values = [unboxed(y) for y in outputs]
    return values, None if aux is None else tree.map(unboxed, aux), pull


def _nothing(g: Any) -> tuple[()]:
    """What goes back from an input of the function."""
    return ()


def _backward(nodes: list[Any], cotangents: list[Any], once: bool) -> dict[Any, Any]:
    """The gradients at the roots that the outputs depend on.

    With `once`, what an entry of the tape has kept is let go of as soon as it has been used.
    """
    outgrads: dict[Any, Any] = {}
    for node, g in zip(nodes, cotangents, strict=True):
        if node is not None and g is not None:
            outgrads[node] = _added(outgrads.get(node), g)
    counts = _counts(list(outgrads))
    ready = [node for node in outgrads if counts[node] == 0]
    roots: dict[Any, Any] = {}
    # An infinite gradient is a result, not an accident, so NumPy does not warn about it here.
    with np.errstate(all="ignore"):
        while ready:
            node = ready.pop()
            outgrad = outgrads.pop(node)[0]
            if not node.parents:
                roots[node] = outgrad
                continue
            for parent, ingrad in zip(node.parents, node.vjp(outgrad), strict=True):
                outgrads[parent] = _added(outgrads.get(parent), ingrad)
                counts[parent] -= 1
                if counts[parent] == 0:
                    ready.append(parent)
            if once:
                node.parents = node.vjp = None
            del outgrad, ingrad
    return roots


def _counts(ends: list[Any]) -> dict[Any, int]:
    """For all entries that `ends` depend on, how often others were made from them."""
    counts = dict.fromkeys(ends, 0)
    waiting = list(ends)
    while waiting:
        for parent in waiting.pop().parents:
            if parent in counts:
                counts[parent] += 1
            else:
                counts[parent] = 1
                waiting.append(parent)
    return counts


def _added(before: Any, g: Any) -> tuple[Any, bool]:
    """The sum of two gradients, and whether the backward pass made it, and may write into it."""
    if type(g) is Parts:
        return (g if before is None else before[0].plus(g)), False
    if type(g) is np.ndarray:
        if before is None:
            return g, False
        total, is_ours = before
        if type(total) is np.ndarray and total.dtype == g.dtype and total.shape == g.shape:
            return np.add(total, g, out=total if is_ours else None), True
    found: tuple[Any, bool] = add_outgrads(before, g)
    return found


def _finished(g: Any, x: Any) -> Any:
    """A gradient in the shape and dtype of its input; zeros where nothing came back."""
    dtype = x.dtype
    if g is None:
        return np.zeros(x.shape, dtype=dtype)
    if type(g) is TracedArray:
        return g if g.dtype == dtype else g.astype(dtype)
    if type(g) is not np.ndarray or g.dtype is not dtype:
        g = np.asarray(g, dtype=dtype)
    # A broadcast view or somebody's own array must not be handed out for writing.
    flags = g.flags
    return g if flags.writeable and flags.owndata else g.copy()


def jvp(fn: AuxFn, xs: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any], Any]:
    """Forward mode through reverse mode twice: the pullback is linear, and its own pullback is
    the jvp.
    """
    outputs, aux, pull = vjp(fn, xs)
    zeros = [np.zeros(np.shape(y), dtype=y.dtype) for y in outputs]
    _, _, push = vjp(lambda cotangents: (pull(cotangents), None), zeros)
    return outputs, push(tangents), aux


def jacobian(fn: ListFn, xs: list[Any]) -> list[list[Any]]:
    """For each output the list of its derivatives by each input, one backward pass per element."""
    outputs, _, pull = vjp(lambda leaves: (fn(leaves), None), xs)
    rows: list[list[Any]] = []
    for i, y in enumerate(outputs):
        shape = np.shape(y)
        per_element = []
        for index in np.ndindex(shape):
            cotangents = [np.zeros(np.shape(z), dtype=z.dtype) for z in outputs]
            cotangents[i][index] = 1
            per_element.append(pull(cotangents))
        columns = []
        for j, x in enumerate(xs):
            if per_element:
                stacked = np.stack([row[j] for row in per_element])
            else:
                stacked = np.zeros((0, *np.shape(x)), dtype=x.dtype)
            columns.append(np.reshape(stacked, (*shape, *np.shape(x))))
        rows.append(columns)
    return rows


def vmap(
    fn: ListFn, xs: list[Any], axes: list[int | None], out_axes: list[int], size: int
) -> list[Any]:
    """A loop: NumPy has nothing to vectorise a Python function with."""
    rows = []
    for i in range(size):
        picked = [
            x if axis is None else np.take(x, i, axis=axis)
            for x, axis in zip(xs, axes, strict=True)
        ]
        rows.append(fn(picked))
    spread = out_axes if len(out_axes) == len(rows[0]) else out_axes * len(rows[0])
    return [np.stack([row[j] for row in rows], axis=spread[j]) for j in range(len(rows[0]))]


def custom_vjp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    """`fn` with `rule(xs, ys, upstream) -> gradients` as its derivative."""

    def opaque(*xs: Any) -> tuple[Any, ...]:
        return tuple(fn(list(xs)))

    def vjps(argnums: Any, ys: Any, xs: Any, kwargs: Any) -> Any:
        def back(upstream: Any) -> list[Any]:
            gradients = rule(list(xs), [ys[i] for i in range(len(ys))], list(upstream))
            return [gradients[n] for n in argnums]

        return back

    recorded = primitive(opaque, vjps)

    def call(xs: list[Any]) -> list[Any]:
        ys = recorded(*xs)
        return [ys[i] for i in range(len(ys))]

    return call


def checkpoint(fn: ListFn) -> ListFn:
    """Keep no intermediate values: run `fn` again in the backward pass."""

    def rule(xs: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        _, _, pull = vjp(lambda leaves: (fn(leaves), None), xs)
        return pull(upstream)

    return custom_vjp(fn, rule)
