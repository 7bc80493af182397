"""Loops as ONNX has them."""

from collections.abc import Callable
from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from .integers import number


def choose(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any], /) -> Any:
    """What one of two functions gives. Where the condition is known the other does not run, and
    the shapes of their results may differ; while compiling they may not.

    >>> import numpy as np
    >>> choose(np.array([True]), lambda: np.zeros(2), lambda: np.zeros(3))
    array([0., 0.])
    """
    condition = t.reshape(condition, ())
    if xp_of(condition).is_concrete(condition):
        return then() if bool(condition) else otherwise()
    return t.cond(condition, then, otherwise)


def loop(
    limit: int | None,
    condition: Any,
    step: Callable[..., Any],
    carried: tuple[Any, ...],
    collected: int,
    /,
    *,
    dtype: str,
    backend: str,
) -> tuple[Any, ...]:
    """`step(i, condition, *carried)` gives the next condition, what is carried on, and so many
    rows to be collected; it runs while the condition holds, at most `limit` times.

    A loop that collects nothing compiles; how many rows there are is known only by running.
    """
    if not collected and carried:
        state = (
            t.asarray(0, dtype=dtype, backend=backend),
            t.asarray(True, backend=backend) if condition is True else t.reshape(condition, ()),
            carried,
        )

        def goes_on(state: Any) -> Any:
            return state[1] if limit is None else t.logical_and(state[1], state[0] < limit)

        def next_state(state: Any) -> Any:
            i, holds, values = state
            holds, *values = step(i, holds, *values)
            return (i + 1, t.reshape(holds, ()), tuple(values))

        return tuple(t.while_loop(goes_on, next_state, state)[2])
    rows: list[list[Any]] = [[] for _ in range(collected)]
    i = 0
    values = list(carried)
    holds = condition
    while (limit is None or i < limit) and (holds is True or bool(number(holds))):
        given = t.asarray(True, backend=backend) if holds is True else holds
        holds, *found = step(t.asarray(i, dtype=dtype, backend=backend), given, *values)
        values = found[: len(carried)]
        for row, value in zip(rows, found[len(carried) :]):
            row.append(value)
        i += 1
    return (*values, *[t.stack(row, axis=0) for row in rows])
