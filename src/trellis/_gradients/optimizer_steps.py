"""Optimizer steps as functions: pure, over pytrees, differentiable.

These are exactly the formulas below. The classes of `trellis.optim` follow the papers instead.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype, name_of
from .._core.errors import DtypeError, ShapeError
from .._core.explain import explain
from .._core.guards import check_number
from .._core.typing import Nest, T
from .transforms import stop_gradient


def optimizer_update(w: T, effective_grad: Nest, lr: Nest, /, *, stop_gradients: bool = True) -> T:
    """`w - effective_grad * lr`, leaf by leaf; `w` is not modified.

    With `stop_gradients` the result is a constant for any enclosing gradient.

    >>> import numpy as np, trellis
    >>> trellis.optimizer_update(np.array([1.0, 2.0]), np.array([0.5, -0.5]), 0.1)
    array([0.95, 2.05])
    """
    try:
        return _descended("optimizer_update", w, effective_grad, lr, stop_gradients)
    except Exception as error:
        explain(error, optimizer_update)


def _descended(who: str, w: T, g: Any, lr: Any, stop_gradients: bool) -> T:
    updated: T = tree.map(partial(_descend, who), w, g, lr)
    return stop_gradient(updated) if stop_gradients else updated


def _descend(who: str, w: Any, g: Any, lr: Any) -> Any:
    xp = xp_of_all(w, g, lr)
    w, g, lr = _floats(xp, who, w, g, lr)
    return w - g * lr


def gradient_descent_update(w: T, dcdw: Nest, lr: Nest, /, *, stop_gradients: bool = True) -> T:
    """Plain gradient descent: `w - lr * dcdw`; equal to `optimizer_update`, bit for bit.

    >>> import numpy as np, trellis
    >>> trellis.gradient_descent_update(np.array([1.0]), np.array([0.5]), 0.1)
    array([0.95])
    """
    try:
        return _descended("gradient_descent_update", w, dcdw, lr, stop_gradients)
    except Exception as error:
        explain(error, gradient_descent_update)


def lars_update(
    w: T, dcdw: Nest, lr: Nest, /, *, decay_lambda: float = 0, stop_gradients: bool = True
) -> T:
    """`w - r * dcdw` with `r = lr * ||w|| / (||dcdw|| + 1e-12)`, norms per leaf.

    With `decay_lambda > 0`, r is divided by `||w|| * decay_lambda`: this cancels `||w||` and adds
    no weight decay. `trellis.optim.LARS` follows the paper instead.

    >>> import numpy as np, trellis
    >>> trellis.lars_update(np.array([3.0, 4.0]), np.array([0.6, 0.8]), 0.1)
    array([2.7, 3.6])
    """

    try:

        def update(w: Any, g: Any, lr: Any) -> Any:
            xp = xp_of_all(w, g, lr)
            w, g, lr = _floats(xp, "lars_update", w, g, lr)
            length = _norm(xp, w)
            ratio = length * lr / (_norm(xp, g) + 1e-12)
            if decay_lambda > 0:
                ratio = ratio / (length * decay_lambda)
            return w - _cast(xp, ratio, w) * g

        updated: T = tree.map(update, w, dcdw, lr)
        return stop_gradient(updated) if stop_gradients else updated
    except Exception as error:
        explain(error, lars_update)


def adam_step(
    dcdw: T,
    mw: Nest,
    vw: Nest,
    step: Nest,
    /,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-7,
) -> tuple[T, T, T]:
    """One step of Adam's moments: `(effective_grad, mw_new, vw_new)`.

        m = beta1 * mw + (1 - beta1) * dcdw;  v = beta2 * vw + (1 - beta2) * dcdw**2
        a = sqrt(1 - beta2**step) / (1 - beta1**step + epsilon)
        effective_grad = a * m / (sqrt(max(v, 0)) + epsilon)

    `step` is a number or an array of one element, also a traced one.

    >>> import numpy as np, trellis
    >>> g, m, v = trellis.adam_step(np.array([1.0, 2.0, 3.0]), np.ones(3), np.ones(1), 3)
    >>> m
    array([1. , 1.1, 1.2])
    """
    try:
        if type(beta1) is not float:
            check_number(beta1)
        if type(beta2) is not float:
            check_number(beta2)
        if type(epsilon) is not float:
            check_number(epsilon)
        one = partial(_adam_step, "adam_step", (beta1, beta2, epsilon))
        return _map_tuple(one, dcdw, mw, vw, step)
    except Exception as error:
        explain(error, adam_step)


def _adam_step(
    who: str, numbers: tuple[float, float, float], g: Any, m: Any, v: Any, step: Any
) -> tuple[Any, Any, Any]:
    """The formula of `adam_step` for one leaf."""
    beta1, beta2, epsilon = numbers
    xp = xp_of_all(g, m, v, step)
    g, m, v = _floats(xp, who, g, m, v)
    m_new = beta1 * m + (1 - beta1) * g
    v_new = beta2 * v + (1 - beta2) * (g * g)
    scale = _bias_correction(xp, step, beta1, beta2, epsilon, m_new)
    return scale * m_new / (_root(xp, v_new) + epsilon), m_new, v_new


def adam_update(
    w: T,
    dcdw: Nest,
    lr: Nest,
    mw_tm1: Nest,
    vw_tm1: Nest,
    step: Nest,
    /,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-7,
    stop_gradients: bool = True,
) -> tuple[T, T, T]:
    """`adam_step`, then `optimizer_update`: `(w_new, mw, vw)`; `lr` comes before the moments.

    `stop_gradients` acts on `w_new` only; the moments stay differentiable. `trellis.optim.Adam`
    follows the paper (epsilon in one denominator only).

    >>> import numpy as np, trellis
    >>> zero = np.zeros(1)
    >>> w, m, v = trellis.adam_update(np.array([1.0]), np.array([0.5]), 0.1, zero, zero, 1)
    >>> np.round(w, 6)
    array([0.900001])
    """
    try:
        if type(beta1) is not float:
            check_number(beta1)
        if type(beta2) is not float:
            check_number(beta2)
        if type(epsilon) is not float:
            check_number(epsilon)
        numbers = beta1, beta2, epsilon
        columns, spec = tree.align((w, dcdw, mw_tm1, vw_tm1))
        if spec is not None and stop_gradients and _are_lists_alike(columns, lr, step):
            parts = _adam_over_lists(columns, lr, step, beta1, beta2, epsilon)
            w_new, m_new, v_new = [tree.unflatten(spec, part) for part in parts]
            return stop_gradient(w_new), m_new, v_new

        def one(w: Any, g: Any, lr: Any, m: Any, v: Any, step: Any) -> tuple[Any, Any, Any]:
            effective, m_new, v_new = _adam_step("adam_update", numbers, g, m, v, step)
            return _stopped(_descend("adam_update", w, effective, lr), stop_gradients), m_new, v_new

        return _map_tuple(one, w, dcdw, lr, mw_tm1, vw_tm1, step)
    except Exception as error:
        explain(error, adam_update)


def _are_lists_alike(columns: list[list[Any]], lr: Any, step: Any) -> bool:
    """Many float leaves that match one by one, and one number for all: fit for lists."""
    first = columns[0]
    if len(first) < 8 or tree.is_nest(lr) or tree.is_nest(step) or hasattr(lr, "dtype"):
        return False
    if hasattr(step, "dtype") and len(step.shape) > 0:
        return False
    if not all([hasattr(x, "dtype") for column in columns for x in column]):
        return False
    dtype = first[0].dtype
    xp = xp_of_all(*[x for column in columns for x in column])
    return dtype in xp.FLOAT_DTYPES and all(
        [
            x.dtype == dtype and x.shape == w.shape
            for column in columns
            for x, w in zip(column, first, strict=True)
        ]
    )


def _adam_over_lists(
    columns: list[list[Any]], lr: Any, step: Any, beta1: Any, beta2: Any, epsilon: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """The formula of `adam_update`, operation by operation over all leaves at once."""
    ws, gs, ms, vs = columns
    xp = xp_of_all(ws[0], step)
    m = xp.foreach_add(xp.foreach_mul(ms, beta1), gs, alpha=1 - beta1, reuse=True)
    v = xp.foreach_addcmul(xp.foreach_mul(vs, beta2), gs, gs, 1 - beta2, reuse=True)
    # The weights come out as constants, so this side of the formula needs no gradient.
    still_m, still_v = xp.foreach_detach(m), xp.foreach_detach(v)
    root = xp.foreach_sqrt(xp.foreach_maximum(still_v, 0.0), reuse=True)
    below = xp.foreach_add(root, epsilon, reuse=True)
    scale = _bias_correction(xp, step, beta1, beta2, epsilon, ws[0])
    if hasattr(scale, "dtype"):
        effective = xp.foreach_div(xp.foreach_mul(still_m, scale * lr), below, reuse=True)
        return xp.foreach_add(ws, effective, alpha=-1), m, v
    return xp.foreach_addcdiv(ws, still_m, below, -lr * scale), m, v


def lamb_update(
    w: T,
    dcdw: Nest,
    lr: Nest,
    mw_tm1: Nest,
    vw_tm1: Nest,
    step: Nest,
    /,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-7,
    max_trust_ratio: float = 10,
    decay_lambda: float = 0,
    stop_gradients: bool = True,
) -> tuple[T, T, T]:
    """`w - r * lr * eff` with `eff` from `adam_step`.

    `r = min(||w|| / (r2 + 1e-12), max_trust_ratio)`, where `r2` is `||eff + decay_lambda * w||`:
    the decay changes only the norm. Norms and ratio are per leaf. `trellis.optim.LAMB` follows the
    paper instead.

    >>> import numpy as np, trellis
    >>> zero = np.zeros(1)
    >>> w, m, v = trellis.lamb_update(np.array([1.0]), np.array([0.5]), 0.1, zero, zero, 1)
    >>> np.round(w, 6)
    array([0.9])
    """
    try:
        if type(beta1) is not float:
            check_number(beta1)
        if type(beta2) is not float:
            check_number(beta2)
        if type(epsilon) is not float:
            check_number(epsilon)
        numbers = beta1, beta2, epsilon

        def one(w: Any, g: Any, lr: Any, m: Any, v: Any, step: Any) -> tuple[Any, Any, Any]:
            effective, m_new, v_new = _adam_step("lamb_update", numbers, g, m, v, step)
            xp = xp_of_all(w, effective, lr)
            w, effective, lr = _floats(xp, "lamb_update", w, effective, lr)
            other = _norm(xp, effective + decay_lambda * w if decay_lambda > 0 else effective)
            ratio = xp.minimum(_norm(xp, w) / (other + 1e-12), max_trust_ratio)
            w_new = w - _cast(xp, ratio * lr, w) * effective
            return _stopped(w_new, stop_gradients), m_new, v_new

        return _map_tuple(one, w, dcdw, lr, mw_tm1, vw_tm1, step)
    except Exception as error:
        explain(error, lamb_update)


# Parts --------------------------------------------------------------------------------------------


def _map_tuple(fn: Callable[..., tuple[Any, ...]], *trees: Any) -> tuple[Any, Any, Any]:
    """Leaf by leaf; a tuple of pytrees, never a pytree of tuples."""
    columns, spec = tree.align(trees)
    if spec is None:
        a, b, c = fn(*trees)
        return a, b, c
    rows = [fn(*row) for row in zip(*columns, strict=True)]
    a, b, c = [tree.unflatten(spec, [row[i] for row in rows]) for i in range(3)]
    return a, b, c


def _stopped(x: Any, stop: bool) -> Any:
    return stop_gradient(x) if stop else x


def _floats(xp: Any, who: str, *xs: Any) -> list[Any]:
    """Integer arrays take the dtype of the float arrays among the arguments, or the default
    float."""
    for x in xs:
        if isinstance(x, complex) or (hasattr(x, "dtype") and name_of(x.dtype) in COMPLEX):
            found = name_of(getattr(x, "dtype", "complex"))
            raise DtypeError(
                f"{who}() takes floating-point arguments, got {found}. "
                "Update the real and the imaginary parts as two variables."
            )
    dtypes = [x.dtype for x in xs if hasattr(x, "dtype")]
    floats = [dtype for dtype in dtypes if dtype in xp.FLOAT_DTYPES]
    if len(floats) == len(dtypes):
        return list(xs)
    target = floats[0] if floats else default_dtype()
    is_int = [hasattr(x, "dtype") and name_of(x.dtype) not in FLOATING for x in xs]
    return [xp.astype(x, target) if cast else x for x, cast in zip(xs, is_int, strict=True)]


def _norm(xp: Any, x: Any) -> Any:
    """The 2-norm of all elements; half precision is summed in float32, where 1e-12 is not 0."""
    if name_of(x.dtype) in ("float16", "bfloat16"):
        x = xp.astype(x, "float32")
    return xp.linalg.vector_norm(x)


def _cast(xp: Any, x: Any, like: Any) -> Any:
    return x if x.dtype == like.dtype else xp.astype(x, like.dtype)


def _root(xp: Any, v: Any) -> Any:
    """sqrt(max(v, 0)) with gradient 0, not inf, where v is clamped or zero."""
    is_positive = v > 0
    return xp.where(
        is_positive, xp.sqrt(xp.where(is_positive, v, xp.ones_like(v))), xp.zeros_like(v)
    )


def _bias_correction(
    xp: Any, step: Any, beta1: float, beta2: float, epsilon: float, like: Any
) -> Any:
    """sqrt(1 - beta2**step) / (1 - beta1**step + epsilon), accurate in float32."""
    if not hasattr(step, "dtype"):
        return math.sqrt(1 - beta2**step) / (1 - beta1**step + epsilon)
    if any([int(n) != 1 for n in step.shape]):
        raise ShapeError(
            f"step must be a number or an array of one element, got shape {tuple(step.shape)}."
        )
    t = xp.reshape(xp.astype(step, like.dtype), ())
    below1, below2 = _one_minus_power(xp, beta1, t), _one_minus_power(xp, beta2, t)
    return xp.sqrt(below2) / (below1 + epsilon)


def _one_minus_power(xp: Any, beta: float, t: Any) -> Any:
    """1 - beta**t. In float32, 1 - 0.999**1 loses five digits; expm1 loses none."""
    if beta == 0:
        return xp.where(t == 0, xp.zeros_like(t), xp.ones_like(t))
    return -xp.expm1(t * math.log(beta))
