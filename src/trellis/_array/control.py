"""Branches and loops that compile: native control flow while tracing, plain Python otherwise.

States and operands may be any pytrees of arrays. A loop body must keep shapes and types.
"""

from collections.abc import Callable
from typing import Any

from .._core.arrays import is_array
from .._core.dispatch import xp_of_any
from .._core.errors import ArgumentTypeError, DtypeError, ShapeError
from .._core.kinds import check_callable, shown
from .._core.tracing import is_followed
from .._core.tree import leaves
from .._core.typing import Array, Nest, T


def cond(
    pred: Array | bool,
    true_fn: Callable[..., T],
    false_fn: Callable[..., T],
    /,
    *operands: object,
) -> T:
    """`true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`; both return the same
    structure.

    >>> import numpy as np, trellis
    >>> trellis.cond(np.array(True), lambda x: x + 1, lambda x: x - 1, np.array([1.0, 2.0]))
    array([2., 3.])
    """
    if pred is None:
        raise ArgumentTypeError("cond() expects True, False or an array for pred, got None.")
    if not isinstance(pred, bool) and len(getattr(pred, "shape", ())) > 0:
        raise ShapeError(f"cond() expects one truth value for pred, got {shown(pred)}.")
    if is_array(pred) and "complex" in str(pred.dtype):  # type: ignore[union-attr]
        raise DtypeError("cond() expects a bool or a real number for pred, got a complex one.")
    check_callable("cond", true_fn)
    check_callable("cond", false_fn)
    result: T = xp_of_any(pred, *leaves(operands)).cond(pred, true_fn, false_fn, *operands)
    return result


def while_loop(cond_fn: Callable[[T], Any], body_fn: Callable[[T], T], init: T, /) -> T:
    """`body_fn` applied to the state, beginning with `init`, as long as `cond_fn(state)` holds.

    >>> import numpy as np, trellis
    >>> trellis.while_loop(lambda s: s["n"] < 3, lambda s: {"n": s["n"] + 1}, {"n": np.array(0)})
    {'n': np.int64(3)}
    """
    check_callable("while_loop", cond_fn)
    check_callable("while_loop", body_fn)

    def checked(state: T) -> Any:
        decision = cond_fn(state)
        if len(getattr(decision, "shape", ())) > 0:
            raise ShapeError(
                f"while_loop() expects cond_fn to return one truth value, got {shown(decision)}."
            )
        return decision

    seen: list[bool] = []

    def stepped(state: T) -> T:
        new = body_fn(state)
        if not seen:
            if not is_followed():  # torch.compile traces this once, and cannot record it
                seen.append(True)
            _check_same("while_loop", "state", leaves(state), leaves(new))
        return new

    state: T = xp_of_any(*leaves(init)).while_loop(checked, stepped, init)
    return state


def scan(fn: Callable[[T, Any], tuple[T, Any]], init: T, xs: Nest, /) -> tuple[T, Any]:
    """Run `carry, y = fn(carry, x)` over the slices of `xs` along axis 0; returns the last carry
    and all y.

    >>> import numpy as np, trellis
    >>> carry, ys = trellis.scan(lambda c, x: (c + x, c * x), np.array(0.0), np.array([1.0, 2.0]))
    >>> ys
    array([0., 2.])
    """
    check_callable("scan", fn)
    arrays = leaves(xs)
    if not arrays:
        raise ShapeError("scan() needs at least one array in xs, to know how many steps to take.")
    for x in arrays:
        if not is_array(x) or len(x.shape) == 0:
            raise ShapeError(f"scan() runs over the first axis of xs, got {shown(x)}.")
    seen: list[bool] = []

    def checked(carry: T, x: Array) -> tuple[T, Any]:
        new, y = fn(carry, x)
        if not seen:
            if not is_followed():  # torch.compile traces this once, and cannot record it
                seen.append(True)
            _check_same("scan", "carry", leaves(carry), leaves(new))
        return new, y

    return xp_of_any(*leaves((init, xs))).scan(checked, init, xs)


def _check_same(function: str, what: str, before: list[Any], after: list[Any]) -> None:
    """A compiled loop needs one type for its state; the first step shows whether it has one."""
    for old, new in zip(before, after, strict=False):
        is_same = tuple(getattr(old, "shape", ())) == tuple(getattr(new, "shape", ()))
        if is_array(old) and is_array(new):
            is_same = is_same and old.dtype == new.dtype
        if not is_same:
            raise ShapeError(
                f"{function}() needs a {what} that keeps its shape and dtype, got {shown(old)} "
                f"and then {shown(new)}."
            )
