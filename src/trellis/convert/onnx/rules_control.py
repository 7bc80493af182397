"""Branches and loops: those whose course is known are written out, others run as they are."""

from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Function, Value
from .builder import OnnxBuilder
from .scope import Branch
from .table import rules

_UNROLLED = 16  # steps of a loop that are written out


@rules("If")
def choose(
    g: OnnxBuilder, condition: Value, then_branch: Branch, else_branch: Branch, outputs: int = 1
) -> Any:
    known = g.array(condition)
    if known is not None:
        return tuple((then_branch if bool(np.ravel(known)[0]) else else_branch)())
    sides = [_function(g, branch, []) for branch in (then_branch, else_branch)]
    return g.unpacked(g.s.choose(condition, *sides), outputs)


@rules("Loop")
def loop(
    g: OnnxBuilder,
    count: Value | None,
    condition: Value | None = None,
    *carried: Value,
    body: Branch,
    outputs: int = 1,
) -> Any:
    if count is None and condition is None:
        raise NotSupportedError("a Loop without a count and a condition, which never ends")
    trips = None if count is None else g.ints(count)
    is_on = g.array(condition)
    collected = len(body.outputs) - 1 - len(carried)
    if (
        trips is not None
        and isinstance(trips[0], int)
        and 0 < trips[0] <= _UNROLLED
        and (condition is None or (is_on is not None and bool(is_on)))
    ):
        found = _unrolled(g, trips[0], body, carried, collected)
        if found is not None:
            return found
    names = [*body.inputs]
    with g.function() as step:
        inputs = []
        for i, name in enumerate(names):
            shape, dtype = body.input_type(i)
            inputs.append(g.input(name, shape, dtype))
        step.outputs = tuple(body(*inputs))
    limit = None if count is None else g.integer(count)
    start = True if condition is None else condition
    found = g.s.loop(
        limit, start, step, tuple(carried), collected, dtype=g.dtype("int64"), backend=g.to
    )
    return g.items(found, outputs)


def _unrolled(
    g: OnnxBuilder, trips: int, body: Branch, carried: tuple[Value, ...], collected: int
) -> Any:
    """The steps one after another, if the loop cannot end before its count."""
    mark = g.mark()
    rows: list[list[Any]] = [[] for _ in range(collected)]
    state = list(carried)
    for i in range(trips):
        results = body(g.constant(np.array(i, np.int64)), g.constant(np.array(True)), *state)
        goes_on = g.array(results[0])
        if goes_on is None or not bool(goes_on):
            if goes_on is None:
                del g._functions[-1].nodes[mark:]
                return None
            trips = i + 1
        state = results[1 : 1 + len(carried)]
        for row, value in zip(rows, results[1 + len(carried) :]):
            row.append(value)
        if i + 1 == trips:
            break
    return (*state, *[g.t.stack(row, axis=0) for row in rows])


@rules("Scan")
def scan(
    g: OnnxBuilder,
    *xs: Any,
    body: Branch,
    num_scan_inputs: int = 1,
    scan_input_axes: Any = None,
    scan_input_directions: Any = None,
    scan_output_axes: Any = None,
    scan_output_directions: Any = None,
    directions: Any = None,
    outputs: int = 1,
) -> Any:
    if g.opset < 9:
        return _batched_scan(g, xs, body, num_scan_inputs, directions, outputs)
    split = len(xs) - num_scan_inputs
    return _scan(
        g, list(xs[:split]), list(xs[split:]), body, scan_input_axes, scan_input_directions,
        scan_output_axes, scan_output_directions,
    )  # fmt: skip


def _scan(
    g: OnnxBuilder, states: list[Value], xs: list[Value], body: Branch,
    in_axes: Any, in_turned: Any, out_axes: Any, out_turned: Any,
) -> Any:  # fmt: skip
    rows = []
    for i, x in enumerate(xs):
        axis = in_axes[i] if in_axes else 0
        x = g.t.moveaxis(x, axis, 0) if axis else x
        rows.append(g.t.flip(x, axis=0) if in_turned and in_turned[i] else x)
    count = len(states)
    with g.function() as step:
        types = [body.input_type(i) for i in range(len(body.inputs))]
        state = g.input("state")
        row = g.input("row")
        values = list(g.items(state, count))
        values += list(g.items(row, len(rows)))
        values = [g.described(x, *kind) for x, kind in zip(values, types)]
        results = body(*values)
        step.outputs = (tuple(results[:count]), tuple(results[count:]))
    # A state may be given in another type than the body keeps it in; shapes stay.
    found = g.t.scan(step, tuple(states), tuple(rows))
    last, ys = g.items(found, 2)
    results = list(g.items(last, count))
    for i in range(len(body.outputs) - count):
        y = g.item(ys, i)
        y = g.t.flip(y, axis=0) if out_turned and out_turned[i] else y
        axis = out_axes[i] if out_axes else 0
        results.append(g.t.moveaxis(y, 0, axis) if axis else y)
    return tuple(results)


def _batched_scan(
    g: OnnxBuilder, xs: Any, body: Branch, count: int, directions: Any, outputs: int
) -> Any:
    """Version 8: each of a batch is scanned by itself."""
    lengths, *arrays = xs
    sizes = None if arrays[0].shape is None else arrays[0].shape[0]
    if lengths is not None or not isinstance(sizes, int):
        raise NotSupportedError("a Scan of version 8 with lengths, or of an open batch")
    split = len(arrays) - count
    parts = []
    for i in range(sizes):
        each = [g.item(x, i) for x in arrays]
        parts.append(_scan(g, each[:split], each[split:], body, None, directions, None, None))
    return tuple([g.t.stack([part[i] for part in parts], axis=0) for i in range(outputs)])


def _function(g: OnnxBuilder, branch: Branch, inputs: list[Value]) -> Function:
    with g.function() as made:
        results = branch(*inputs)
        # The printer names a function after its first value: a branch without calls needs one.
        if not made.nodes and not made.inputs:
            results = [g.t.positive(x) if x.dtype != "bool" else g.t.logical_or(x, x)
                       for x in results]  # fmt: skip
        made.outputs = results[0] if len(results) == 1 else tuple(results)
    return made


@rules("Optional", "OptionalGetElement")
def optional(g: OnnxBuilder, x: Value | None = None, type: object = None) -> Value | None:
    """What may be missing and is there: the value itself."""
    return x


@rules("OptionalHasElement")
def has_element(g: OnnxBuilder, x: Value | None = None) -> Value:
    return g.constant(np.array(x is not None))
