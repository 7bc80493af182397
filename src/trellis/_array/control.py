"""Branches and loops that compile: native control flow while tracing, plain Python otherwise.

States and operands may be any nests of arrays. A loop body keeps shapes and types as they are.
"""

from collections.abc import Callable
from typing import Any

from .._core.arrays import is_array
from .._core.dispatch import xp_of_any
from .._core.errors import ShapeError
from .._core.kinds import check_callable, shown
from .._core.tree import leaves
from .._core.typing import Array, Nest, T


def cond(
    pred: Array | bool,
    true_fn: Callable[..., T],
    false_fn: Callable[..., T],
    /,
    *operands: object,
) -> T:
    """`true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`; both give the same
    structure.

    >>> import numpy as np, trellis
    >>> trellis.cond(np.array(True), lambda x: x + 1, lambda x: x - 1, np.array([1.0, 2.0]))
    array([2., 3.])
    """
    if not isinstance(pred, bool) and len(getattr(pred, "shape", ())) > 0:
        raise ShapeError(f"cond() decides by one truth, got {shown(pred)}.")
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
    state: T = xp_of_any(*leaves(init)).while_loop(cond_fn, body_fn, init)
    return state


def scan(fn: Callable[[T, Any], tuple[T, Any]], init: T, xs: Nest, /) -> tuple[T, Any]:
    """Run `carry, y = fn(carry, x)` over the slices of `xs` along axis 0; gives the last carry and
    all y.

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
            raise ShapeError(f"scan() goes along the first axis of xs, got {shown(x)}.")
    return xp_of_any(*leaves((init, xs))).scan(fn, init, xs)
