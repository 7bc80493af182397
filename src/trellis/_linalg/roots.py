"""Square roots and logarithms of matrices, by iteration."""

from math import inf, nan
from typing import Any

from numpy.polynomial.legendre import leggauss

from .._array.control import while_loop
from .._array.linalg import inv, solve
from .._core.explain import explain
from .._core.typing import A, Backend
from .functions import function_of

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
# It converges in ten steps where it does at all.
_STEPS = 30
# The logarithm next to 1 is a sum over seven nodes, exact in float64 up to this norm (N. Higham,
# Functions of Matrices, 2008, table 11.1).
_NEAR = 0.264
_ROOTS = 60
_NODES, _WEIGHTS = [(0.5 * (x + shift)).tolist() for x, shift in zip(leggauss(7), (1.0, 0.0))]


def sqrtm(x: A, /) -> A:
    """The principal square root of square matrices: x = sqrtm(x) @ sqrtm(x).

    Its derivatives, of any order, do not mind repeated eigenvalues. Complex matrices are
    computed as real ones of twice the size. The result is nan where an eigenvalue is a real number
    below 0, which has no principal value; singular matrices raise or are nan, as in `inv`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.sqrtm(np.array([[4.0, 1.0], [0.0, 4.0]])).round(6)
    array([[2.  , 0.25],
           [0.  , 2.  ]])
    """
    try:
        root: A = function_of("sqrtm", _root, x)
        return root
    except Exception as error:
        return explain(error, sqrtm)


def logm(x: A, /) -> A:
    """The principal logarithm of square matrices, the inverse of `expm`.

    Its derivatives, of any order, do not mind repeated eigenvalues. Complex matrices are
    computed as real ones of twice the size. The result is nan where an eigenvalue is a real number
    below 0, which has no principal value; singular matrices raise or are nan, as in `inv`.

    >>> import numpy as np, trellis
    >>> trellis.linalg.logm(np.array([[1.0, 1.0], [0.0, 1.0]])).round(6)
    array([[0., 1.],
           [0., 0.]])
    """
    try:
        logarithm: A = function_of("logm", _logarithm, x)
        return logarithm
    except Exception as error:
        return explain(error, logm)


def _norm(xp: Backend, x: Any) -> Any:
    return xp.max(xp.sum(xp.abs(x), axis=-2, keepdims=True), axis=-1, keepdims=True)


def _inverse(xp: Backend, x: Any, identity: Any) -> Any:
    """The inverse; nan of what has none, for which some frameworks raise."""
    is_good = xp.logical_and(xp.isfinite(_norm(xp, x)), _norm(xp, x) > 0.0)
    return xp.where(is_good, inv(xp.where(is_good, x, identity)), nan)


def _root(xp: Backend, x: Any) -> Any:
    """The product form of Denman and Beavers' iteration, scaled (Higham 2008, section 6.3)."""
    identity = xp.eye(int(x.shape[-1]), dtype=x.dtype, device=xp.device(x))
    small = int(x.shape[-1]) * _EPSILON[xp.dtype_name(x.dtype)]

    def goes_on(state: Any) -> Any:
        count, _, _, far = state
        return xp.logical_and(count < _STEPS, xp.any(far > small))

    def step(state: Any) -> Any:
        count, root, rest, far = state
        inverse = _inverse(xp, rest, identity)
        # Both norms equal, as long as it is far away.
        scale = xp.sqrt(_norm(xp, inverse) / _norm(xp, rest))
        scale = xp.where(far > 0.01, scale, xp.ones_like(scale))
        turned = inverse / scale
        root = 0.5 * xp.sqrt(scale) * (root + xp.matmul(root, turned))
        rest = 0.5 * (identity + 0.5 * (scale * rest + turned))
        return count + 1.0, root, rest, _norm(xp, rest - identity)

    count = xp.zeros((), dtype=x.dtype, device=xp.device(x))
    far = xp.full_like(_norm(xp, x), inf)
    _, root, _, _ = while_loop(goes_on, step, (count, x, x, far))
    error = _norm(xp, xp.matmul(root, root) - x)
    # Half of the digits at least: it converged.
    is_root = error <= _EPSILON[xp.dtype_name(x.dtype)] ** 0.5 * _norm(xp, x)
    return xp.where(is_root, root, nan)


def _logarithm(xp: Backend, x: Any) -> Any:
    identity = xp.eye(int(x.shape[-1]), dtype=x.dtype, device=xp.device(x))

    def is_far(near: Any) -> Any:
        return _norm(xp, near - identity) > _NEAR

    def goes_on(state: Any) -> Any:
        count, near, _ = state
        return xp.logical_and(count < _ROOTS, xp.any(is_far(near)))

    def step(state: Any) -> Any:
        count, near, factor = state
        root = _root(xp, near)
        chosen = is_far(near)
        return count + 1.0, xp.where(chosen, root, near), xp.where(chosen, 2.0 * factor, factor)

    count = xp.zeros((), dtype=x.dtype, device=xp.device(x))
    start = (count, x, xp.ones_like(_norm(xp, x)))
    _, near, factor = while_loop(goes_on, step, start)
    rest = near - identity
    total = xp.zeros_like(rest)
    for node, weight in zip(_NODES, _WEIGHTS):
        total = total + weight * solve(identity + node * rest, rest)
    return factor * total
