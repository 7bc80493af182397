"""Optimizer steps as functions: pure, over pytrees, differentiable.

These are exactly the formulas below. The classes of `trellis.optim` follow the papers instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from .._core import tree
from .._core.arrays import plain
from .._core.dispatch import xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype, name_of
from .._core.errors import DtypeError, ShapeError
from .._core.explain import explain
from .._core.guards import check_numbers
from .._core.typing import Array, Backend, Nest, T
from .._gradients.transforms import stop_gradient
from .engine import HALF, Leaves, Now, cast_like
from .moments import AdamStep, Moments

Columns = list[Leaves]
_MANY = 8  # operations over lists are faster from this many leaves on


def optimizer_update(w: T, effective_grad: Nest, lr: Nest, /, *, stop_gradients: bool = True) -> T:
    """`w - effective_grad * lr`, leaf by leaf; `w` is not modified.

    With `stop_gradients` the result is a constant for any enclosing gradient.

    >>> import numpy as np, trellis
    >>> trellis.optimizer_update(np.array([1.0, 2.0]), np.array([0.5, -0.5]), 0.1)
    array([0.95, 2.05])
    """
    try:
        return _descended("optimizer_update", w, effective_grad, plain(lr), stop_gradients)
    except Exception as error:
        return explain(error, optimizer_update)


def _descended(who: str, w: T, g: Any, lr: Any, stop_gradients: bool) -> T:
    updated: T = tree.map(partial(_descend, who), w, g, lr)
    return stop_gradient(updated) if stop_gradients else updated


def _descend(who: str, w: Array, g: Array, lr: Array | float) -> Any:
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
        return _descended("gradient_descent_update", w, dcdw, plain(lr), stop_gradients)
    except Exception as error:
        return explain(error, gradient_descent_update)


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
        check_numbers(decay_lambda)

        def update(w: Array, g: Array, lr: Array | float) -> Any:
            xp = xp_of_all(w, g, lr)
            w, g, lr = _floats(xp, "lars_update", w, g, lr)
            length = _norm(xp, w)
            ratio = length * lr / (_norm(xp, g) + 1e-12)
            if decay_lambda > 0:
                ratio = ratio / (length * decay_lambda)
            return w - cast_like(xp, ratio, w) * g

        updated: T = tree.map(update, w, dcdw, plain(lr))
        return stop_gradient(updated) if stop_gradients else updated
    except Exception as error:
        return explain(error, lars_update)


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
        rule = _adam_rule(beta1, beta2, epsilon)

        def over(gs: Leaves, ms: Leaves, vs: Leaves, step: Array | float) -> Columns:
            gs, now, state = _prepared("adam_step", gs, ms, vs, step)
            effective, moments = rule.apply(now, gs, state)
            return [effective, *moments]

        return _over_lists(over, (dcdw, mw, vw), step)
    except Exception as error:
        return explain(error, adam_step)


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
        rule = _adam_rule(beta1, beta2, epsilon)

        def over(ws: Leaves, gs: Leaves, ms: Leaves, vs: Leaves, step: Any, lr: Any) -> Columns:
            gs, now, state = _prepared("adam_update", gs, ms, vs, step)
            is_plain = stop_gradients and not hasattr(lr, "dtype")
            if is_plain and len(ws) >= _MANY and _are_alike(now.xp, ws, gs, *state):
                new, moments = rule.descended(now, ws, gs, state, lr)
            else:
                effective, moments = rule.apply(now, gs, state)
                rows = zip(ws, effective, strict=True)
                new = [_descend("adam_update", w, e, lr) for w, e in rows]
            return [_stopped(new, stop_gradients), *moments]

        return _over_lists(over, (w, dcdw, mw_tm1, vw_tm1), step, plain(lr))
    except Exception as error:
        return explain(error, adam_update)


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
        rule = _adam_rule(beta1, beta2, epsilon)
        check_numbers(decay_lambda)

        def trusted(w: Array, effective: Array, lr: Array | float) -> Any:
            xp = xp_of_all(w, effective, lr)
            w, effective, lr = _floats(xp, "lamb_update", w, effective, lr)
            other = _norm(xp, effective + decay_lambda * w if decay_lambda > 0 else effective)
            ratio = xp.minimum(_norm(xp, w) / (other + 1e-12), max_trust_ratio)
            return w - cast_like(xp, ratio * lr, w) * effective

        def over(
            ws: Leaves, gs: Leaves, ms: Leaves, vs: Leaves, step: Array | float, lr: Array | float
        ) -> Columns:
            gs, now, state = _prepared("lamb_update", gs, ms, vs, step)
            effective, moments = rule.apply(now, gs, state)
            new = [trusted(w, e, lr) for w, e in zip(ws, effective, strict=True)]
            return [_stopped(new, stop_gradients), *moments]

        return _over_lists(over, (w, dcdw, mw_tm1, vw_tm1), step, plain(lr))
    except Exception as error:
        return explain(error, lamb_update)


# Parts --------------------------------------------------------------------------------------------


def _adam_rule(beta1: float, beta2: float, epsilon: float) -> AdamStep:
    check_numbers(beta1, beta2, epsilon)
    return AdamStep(float(beta1), float(beta2), float(epsilon))


def _over_lists(
    fn: Callable[..., Columns], nests: tuple[Any, ...], *alone: Any
) -> tuple[Any, Any, Any]:
    """Three pytrees from the three lists that `fn(*lists, *alone)` returns.

    `alone` is used for all leaves at once; if it is a pytree too, the leaves are processed singly.
    """
    if not any([tree.is_nest(each) for each in alone]):
        columns, spec = tree.align(nests)
        if spec is None:
            [a], [b], [c] = fn(*[[x] for x in nests], *alone)
            return a, b, c
        found = fn(*columns, *alone) if columns[0] else [[], [], []]
    else:
        columns, spec = tree.align((*nests, *alone))
        assert spec is not None
        n = len(nests)
        rows = [fn(*[[x] for x in row[:n]], *row[n:]) for row in zip(*columns, strict=True)]
        found = [[row[i][0] for row in rows] for i in range(3)]
    a, b, c = [tree.unflatten(spec, column) for column in found]
    return a, b, c


def _stopped(xs: Leaves, stop: bool) -> Leaves:
    return [stop_gradient(x) for x in xs] if stop else xs


def _prepared(
    who: str, gs: Leaves, ms: Leaves, vs: Leaves, step: Array | float
) -> tuple[Leaves, Now, Moments]:
    """The arguments of the rule."""
    xp = xp_of_all(*gs, *ms, *vs, step)
    if len(gs) < _MANY or not _are_alike(xp, gs, ms, vs):
        rows = [_floats(xp, who, *row) for row in zip(gs, ms, vs, strict=True)]
        gs, ms, vs = [[row[i] for row in rows] for i in range(3)]
    return gs, Now(xp, _one_number(xp, step), [], None), Moments(ms, vs)


def _one_number(xp: Any, step: Any) -> Any:
    """The step as a number or an array without axes."""
    if not hasattr(step, "dtype"):
        return step
    if any([int(n) != 1 for n in step.shape]):
        raise ShapeError(
            f"step must be a number or an array of one element, got shape {tuple(step.shape)}."
        )
    if xp.dtype_name(step.dtype) in COMPLEX:
        raise DtypeError(f"step must be a real number, got an array of {step.dtype}.")
    return xp.reshape(step, ())


def _are_alike(xp: Backend, ws: Leaves, *columns: Leaves) -> bool:
    """Whether all are floats of one dtype, and the columns have the shapes of the first.

    Lists are compared as wholes: checking leaf by leaf would take longer than some steps.
    """
    if not all([hasattr(x, "dtype") for column in (ws, *columns) for x in column]):
        return False
    dtypes, shapes = [w.dtype for w in ws], [w.shape for w in ws]
    if dtypes[0] not in xp.FLOAT_DTYPES or dtypes.count(dtypes[0]) != len(dtypes):
        return False
    return all(
        [[x.dtype for x in xs] == dtypes and [x.shape for x in xs] == shapes for xs in columns]
    )


def _floats(xp: Backend, who: str, *xs: Any) -> list[Any]:
    """Integer arrays take the dtype of the float arrays among the arguments, or the default
    float."""
    dtypes = [x.dtype for x in xs if hasattr(x, "dtype")]
    floats = [dtype for dtype in dtypes if dtype in xp.FLOAT_DTYPES]
    if len(floats) == len(dtypes) and not any([isinstance(x, complex) for x in xs]):
        return list(xs)
    for x in xs:
        found = name_of(x.dtype) if hasattr(x, "dtype") else type(x).__name__
        if isinstance(x, complex) or found in COMPLEX:
            raise DtypeError(
                f"{who}() takes floating-point arguments, got {found}. "
                "Update the real and the imaginary parts as two variables."
            )
    target = floats[0] if floats else default_dtype()
    is_int = [hasattr(x, "dtype") and name_of(x.dtype) not in FLOATING for x in xs]
    return [xp.astype(x, target) if cast else x for x, cast in zip(xs, is_int, strict=True)]


def _norm(xp: Backend, x: Array) -> Any:
    """The 2-norm of all elements; half precision is summed in float32, where 1e-12 is not 0."""
    if name_of(x.dtype) in HALF:
        x = xp.astype(x, "float32")
    return xp.linalg.vector_norm(x)
