"""Differentiation on NumPy: reverse mode over the tape. All functions here work on flat
lists.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ..._core import tree
from ..._core.dtypes import FLOATING
from ..._core.errors import TracingError
from ..interface import AuxFn, ListFn
from . import _einops
from ._helpers import NATIVE
from ._record import Node, Parts, backward, entry, numbers
from ._tape import TracedArray, parts_of, primitive, stop

FLOAT_DTYPES = frozenset([NATIVE[name] for name in FLOATING])

stop_gradient = stop

# They only increase, so threads that differentiate at the same time have different ones.
_levels = count(1)


def vjp(
    fn: AuxFn, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, ListFn]:
    """`fn(xs) -> (outputs, aux)`, run once; returns outputs, aux, and the map from cotangents to
    gradients.
    """
    level = next(_levels)
    _einops.introduce()
    roots = [entry([], []) for _ in xs]
    boxes = [TracedArray(x, level, root) for x, root in zip(xs, roots, strict=True)]
    try:
        outputs, aux = fn(boxes)
    except RuntimeError as error:
        _einops.explain(error)
        raise

    def unboxed(x: Any) -> Any:
        found = _level(x)
        if found > level:
            raise TracingError(
                "A result depends on an array of an inner gradient function that has ended. Do not "
                "keep such arrays, nor write them into an array from outside that function: return "
                "what is needed from it."
            )
        return x._value if found == level else x

    nodes = _nodes(outputs, level)

    def pull(cotangents: list[Any]) -> list[Any]:
        found = backward(zip(nodes, cotangents, strict=True), once)
        if sparse and not found:
            return [None] * len(xs)
        return [_finished(found.get(root), x) for root, x in zip(roots, xs, strict=True)]

    values = [unboxed(y) for y in outputs]
    return values, None if aux is None else tree.map(unboxed, aux), pull


def _finished(g: Any, x: Any) -> Any:
    """A gradient in the shape and dtype of its input; zeros if it has none."""
    dtype = x.dtype
    if g is None:
        return np.zeros(x.shape, dtype=dtype)
    if type(g) is TracedArray:
        return g if g.dtype == dtype else g.astype(dtype)
    if type(g) is not np.ndarray or g.dtype is not dtype:
        g = np.asarray(g, dtype=dtype)
    # A broadcast view, or an array that is in use elsewhere, must not be returned: callers may
    # write to it.
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
    """A loop: NumPy cannot vectorise a Python function."""
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

    def function(*xs: Any) -> tuple[Any, ...]:
        return tuple(fn(list(xs)))

    def backs(places: list[int], ys: Any, xs: list[Any], kwargs: Any) -> Any:
        def back(upstream: list[Any]) -> list[Any]:
            gradients = rule(list(xs), list(ys), upstream)
            return [gradients[i] for i in places]

        return back

    recorded = primitive(function, backs)
    return lambda xs: list(recorded(*xs))


def checkpoint(fn: ListFn) -> ListFn:
    """Keep no intermediate values: run `fn` again in the backward pass.

    Arrays that `fn` uses without taking them as arguments get gradients too: they are the older
    entries of the tape that its results depend on.
    """

    def call(xs: list[Any]) -> list[Any]:
        newest = next(numbers)
        level, _, ys = _on_new_roots(fn, xs)
        if level == 0:
            return ys
        places = [i for i, x in enumerate(xs) if _level(x) == level]
        outside = _older(_nodes(ys, level), newest)

        def back(given: Parts) -> list[Any]:
            _, roots, again = _on_new_roots(fn, xs, level)
            ends = zip(_nodes(again, level), given.gs, strict=True)
            found = backward(ends, until=newest)
            wanted = [*[roots[i] for i in places], *outside]
            if not found.keys() <= {*roots.values(), *outside}:
                raise TracingError(
                    "A checkpointed function used other arrays when it ran again for its gradient. "
                    "It must compute the same each time: give it what changes as an argument."
                )
            return [found.get(node) for node in wanted]

        whole = entry([*[xs[i]._node for i in places], *outside], back)
        parts = parts_of(tuple([_value(y, level) for y in ys]), level, whole)
        return [part if _level(y) == level else y for part, y in zip(parts, ys, strict=True)]

    return call


def _on_new_roots(
    fn: ListFn, xs: list[Any], level: int = 0
) -> tuple[int, dict[int, Node], list[Any]]:
    """The results of `fn`, recorded from its arguments on; with their level, and the new roots."""
    level = level or max([_level(x) for x in xs], default=0)
    leaves, roots = list(xs), {}
    for i, x in enumerate(xs):
        if _level(x) == level and level > 0:
            roots[i] = entry([], [])
            leaves[i] = TracedArray(x._value, level, roots[i])
    ys = fn(leaves)
    return max([level, *[_level(y) for y in ys]]), roots, ys


def _older(ends: list[Node | None], newest: int) -> list[Node]:
    """The entries older than `newest` that newer ones depend on."""
    seen = {node for node in ends if node is not None}
    waiting, found = list(seen), []
    while waiting:
        node = waiting.pop()
        if node.number > newest:
            found.append(node)
            continue
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return found


def _level(x: Any) -> int:
    return x._level if type(x) is TracedArray else 0


def _value(x: Any, level: int) -> Any:
    return x._value if _level(x) == level else x


def _nodes(ys: list[Any], level: int) -> list[Node | None]:
    return [y._node if _level(y) == level else None for y in ys]
