"""Square roots and logarithms of matrices, by iteration."""

from collections.abc import Callable
from math import cos, inf, nan, sin
from typing import Any

from numpy.polynomial.legendre import leggauss

from .._array.control import while_loop
from .._array.linalg import inv, slogdet, solve
from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Backend
from .functions import Formula, function_of

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
# It converges in ten steps where it does at all, next to numbers below 0 in twenty.
_STEPS = 30
# What is 0 is halved in each step.
_HALVINGS = 60
# By how much complex matrices are turned away from the numbers below 0: an eigenvalue next to them
# costs the square of its distance in digits.
_ANGLE = 2.0**-5
# The logarithm next to 1 is a sum over seven nodes, exact in float64 up to this norm (N. Higham,
# Functions of Matrices, 2008, table 11.1).
_NEAR = 0.264
_ROOTS = 60
_NODES, _WEIGHTS = [(0.5 * (x + shift)).tolist() for x, shift in zip(leggauss(7), (1.0, 0.0))]


def sqrtm(x: A, /) -> A:
    """The principal square root of square matrices: x = sqrtm(x) @ sqrtm(x).

    Its derivatives, of any order, do not mind repeated eigenvalues. Complex matrices are
    computed as real ones of twice the size. Of a real matrix with an eigenvalue below 0 the result
    is nan, as in `numpy.sqrt`; that of a complex one is imaginary there, and so it may be of other
    eigenvalues of this matrix up to 0.03 below the axis. A singular matrix has a root if 0 has as
    many vectors as it is repeated, to half of the digits, and no derivative; else the result is
    nan.

    >>> import numpy as np, trellis
    >>> trellis.linalg.sqrtm(np.array([[4.0, 1.0], [0.0, 4.0]])).round(6)
    array([[2.  , 0.25],
           [0.  , 2.  ]])
    """
    try:
        half = complex(cos(_ANGLE / 2), sin(_ANGLE / 2))
        root: A = _turned("sqrtm", _root_of_any, x, lambda found: half * found)
        return root
    except Exception as error:
        return explain(error, sqrtm)


def logm(x: A, /) -> A:
    """The principal logarithm of square matrices, the inverse of `expm`.

    Its derivatives, of any order, do not mind repeated eigenvalues. Complex matrices are
    computed as real ones of twice the size. Of a real matrix with an eigenvalue below 0 the result
    is nan, as in `numpy.log`; a complex one has pi times 1j there, and so it may have at other
    eigenvalues up to 0.03 below the axis. Of a singular matrix the result is nan.

    >>> import numpy as np, trellis
    >>> trellis.linalg.logm(np.array([[1.0, 1.0], [0.0, 1.0]])).round(6)
    array([[0., 1.],
           [0., 0.]])
    """
    try:
        logarithm: A = _turned("logm", _logarithm, x, _with_angle)
        return logarithm
    except Exception as error:
        return explain(error, logm)


def _with_angle(logarithm: Any) -> Any:
    xp = xp_of(logarithm)
    size, kind = int(logarithm.shape[-1]), logarithm.dtype
    identity = xp.eye(size, dtype=kind, device=xp.device(logarithm))
    return logarithm + complex(0.0, _ANGLE) * identity


def _norm(xp: Backend, x: Any) -> Any:
    return xp.max(xp.sum(xp.abs(x), axis=-2, keepdims=True), axis=-1, keepdims=True)


def _inverse(xp: Backend, x: Any, identity: Any) -> Any:
    """The inverse; nan of what has none, for which some frameworks raise."""
    is_good = xp.isfinite(_norm(xp, x))
    sign = slogdet(xp.where(is_good, x, identity)).sign
    is_good = xp.logical_and(is_good, xp.expand_dims(sign, axis=(-2, -1)) != 0)
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
    return xp.where(_is_root(xp, root, x), root, nan)


def _is_root(xp: Backend, root: Any, x: Any) -> Any:
    """Half of the digits at least: it converged."""
    error = _norm(xp, xp.matmul(root, root) - x)
    return error <= _EPSILON[xp.dtype_name(x.dtype)] ** 0.5 * _norm(xp, x)


def _root_of_any(xp: Backend, x: Any) -> Any:
    """Where that fails, of singular matrices too: Meini's iteration, which inverts no x (Higham
    2008, section 6.3). It gains one bit in each step for eigenvalues that are 0."""
    root = _root(xp, x)
    has_failed = xp.any(xp.isnan(root), axis=(-2, -1), keepdims=True)
    if xp.is_concrete(has_failed) and not bool(xp.any(has_failed)):
        return root
    identity = xp.eye(int(x.shape[-1]), dtype=x.dtype, device=xp.device(x))
    norm = _norm(xp, x)
    norm = xp.where(xp.logical_and(has_failed, norm > 0.0), norm, xp.ones_like(norm))
    scaled = xp.where(has_failed, x, identity) / norm
    small = _EPSILON[xp.dtype_name(x.dtype)]

    def goes_on(state: Any) -> Any:
        count, rest, _ = state
        return xp.logical_and(count < _HALVINGS, xp.any(xp.abs(rest) > 0.01 * small))

    def step(state: Any) -> Any:
        count, rest, total = state
        rest = -xp.matmul(rest, xp.matmul(_inverse(xp, total, identity), rest))
        return count + 1.0, rest, total + 2.0 * rest

    count = xp.zeros((), dtype=x.dtype, device=xp.device(x))
    start = (count, identity - scaled, 2.0 * (identity + scaled))
    _, _, total = while_loop(goes_on, step, start)
    found = 0.25 * xp.sqrt(norm) * total
    found = xp.where(_is_root(xp, found, x), found, nan)
    found = xp.where(_norm(xp, x) == 0.0, x, found)
    return xp.where(has_failed, found, root)


def _turned(name: str, formula: Formula, x: Any, back: Callable[[Any], Any]) -> Any:
    """`formula` of matrices; where that of a complex one fails, of one that is turned a little."""
    xp = xp_of(x)
    first = function_of(name, formula, x)
    if "complex" not in xp.dtype_name(x.dtype) or 0 in tuple(x.shape):
        return first
    has_failed = xp.any(xp.isnan(first), axis=(-2, -1), keepdims=True)
    if xp.is_concrete(has_failed) and not bool(xp.any(has_failed)):
        return first
    # Once more from the beginning: nan has no derivative, even where it is not chosen.
    has_failed = xp.stop_gradient(has_failed)
    turn = complex(cos(_ANGLE), -sin(_ANGLE))
    found = function_of(name, formula, xp.where(has_failed, turn * x, x))
    return xp.where(has_failed, back(found), found)


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
