"""Derivatives of NumPy's linear algebra, for stacks of matrices, in the matrices' own precision.

Those of eigenvectors and singular vectors need distinct values (`shared/repeated.py`).
"""

import sys
from typing import Any

import numpy as np

from ...._core.errors import NotSupportedError
from ...._core.shapes import normal_axes
from ...shared.repeated import checked, weights
from .._tape import RULES, composed, constant, defvjp, differentiable, primitive, unbroadcast

_xp: Any = sys.modules[__package__.rpartition(".")[0]]

constant(np.linalg.matrix_rank)


def _t(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _h(x: Any) -> Any:
    return np.conjugate(_t(x)) if np.iscomplexobj(x) else _t(x)


def _eye(x: Any) -> Any:
    return np.eye(x.shape[-1], dtype=x.dtype)


differentiable(np.linalg.inv, lambda ans, x: lambda g: -np.matmul(np.matmul(_t(ans), g), _t(ans)))


_solve: Any = differentiable(
    np.linalg.solve,
    lambda ans, a, b: lambda g: unbroadcast(-np.matmul(_solve(_t(a), g), _t(ans)), a),
    lambda ans, a, b: lambda g: unbroadcast(_solve(_t(a), g), b),
)


@composed(np.linalg.solve)
def _solve_rule(a: Any, b: Any) -> Any:
    return _solve(a, b[..., None])[..., 0] if b.ndim == 1 else _solve(a, b)


@primitive
def _cofactors(x: Any) -> Any:
    """det(x) times the transposed inverse, which exists for singular matrices too.

    With x = U diag(s) Vh it is det(U) det(Vh) times conj(U) diag(products of the other s) conj(Vh).
    """
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=bool), np.ones((), s.dtype), s[..., None, :])
    sign = np.linalg.det(u) * np.linalg.det(vh)
    middle = np.prod(others, axis=-1)
    return sign[..., None, None] * np.matmul(
        np.conjugate(u) * middle[..., None, :], np.conjugate(vh)
    )


def _cofactors_vjp(ans: Any, x: Any) -> Any:
    """The inverse of a singular matrix raises: it has only a first derivative."""
    inverse = _t(np.linalg.inv(x))
    scale = _determinant(x)[..., None, None]

    def vjp(g: Any) -> Any:
        total = np.sum(g * ans, axis=(-2, -1), keepdims=True)
        return total * inverse - scale * np.matmul(np.matmul(inverse, _t(g)), inverse)

    return vjp


defvjp(_cofactors, _cofactors_vjp)
_determinant = differentiable(
    np.linalg.det, lambda ans, x: lambda g: g[..., None, None] * _cofactors(x)
)


def _in_parts(function: Any, vjp: Any, **options: Any) -> Any:
    """A function of several results as a primitive that gives NumPy's named tuple; the gradient of
    one that is not used is None."""
    parts: Any = primitive(lambda x: tuple(function(x, **options)))
    parts.keeps_none = True
    defvjp(parts, vjp)
    result = type(function(np.eye(1)))
    return lambda a: result(*parts(a))


RULES[np.linalg.slogdet] = _in_parts(
    np.linalg.slogdet,
    lambda ans, x: lambda g: None if g[1] is None else g[1][..., None, None] * _t(np.linalg.inv(x)),
)


# Decompositions -----------------------------------------------------------------------------------


def _cholesky_vjp(lower: Any, x: Any) -> Any:
    def vjp(g: Any) -> Any:
        inner = np.tril(np.matmul(_t(lower), g))
        half = np.tril(inner, k=-1) + 0.5 * inner * _eye(lower)
        back = _solve(_t(lower), half)
        s = _t(_solve(_t(lower), _t(back)))
        return (s + _t(s)) * 0.5

    return vjp


_cholesky = differentiable(np.linalg.cholesky, _cholesky_vjp)


@composed(np.linalg.cholesky)
def _cholesky_rule(x: Any, *, upper: bool = False) -> Any:
    return _h(_cholesky(x)) if upper else _cholesky(x)


def _differences(values: Any) -> Any:
    """1 / (v_j - v_i), and 0 on the diagonal and of equal values, which `_checked` knows."""
    gaps = values[..., None, :] - values[..., :, None]
    is_zero = gaps == 0
    return np.where(
        is_zero, np.zeros((), values.dtype), 1 / np.where(is_zero, np.ones((), values.dtype), gaps)
    )


def _checked(function: str, values: Any, g: Any) -> Any:
    """The gradient by the vectors in columns, which must not be that of repeated values."""
    if values.shape[-1] < 2:
        return g
    return checked(_xp, function, weights(_xp, _xp.stop_gradient(values))[..., None, :], g)


def _eigh_vjp(ans: Any, x: Any) -> Any:
    values, vectors = ans

    def vjp(g: Any) -> Any:
        by_values, by_vectors = g
        inner = 0.0 if by_values is None else by_values[..., None, :] * _eye(vectors)
        if by_vectors is not None:
            by_vectors = _checked("eigh", values, by_vectors)
            inner = inner + _differences(values) * np.matmul(_t(vectors), by_vectors)
        full = np.matmul(np.matmul(np.conjugate(vectors), inner), _t(vectors))
        # Only one triangle is read: the derivative is that of the symmetric matrix.
        return (full + _h(full)) * 0.5

    return vjp


RULES[np.linalg.eigh] = _in_parts(np.linalg.eigh, _eigh_vjp)


def _eig_vjp(ans: Any, x: Any) -> Any:
    values, vectors = ans

    def vjp(g: Any) -> Any:
        by_values, by_vectors = g
        eye = _eye(vectors)
        inner = 0.0 if by_values is None else by_values[..., None, :] * eye
        if by_vectors is not None:
            turned = np.matmul(_t(vectors), _checked("eig", values, by_vectors))
            # The vectors have length 1: their derivative has no component along themselves.
            along = np.matmul(np.matmul(_t(vectors), np.conjugate(vectors)), np.real(turned) * eye)
            inner = inner + _differences(values) * (turned - along)
        full = np.matmul(_solve(_t(vectors), inner), _t(vectors))
        return full if np.iscomplexobj(x) else np.real(full).astype(x.dtype)

    return vjp


RULES[np.linalg.eig] = _in_parts(np.linalg.eig, _eig_vjp)


@primitive
def _eigenvalues_of_any(x: Any) -> Any:
    """In the order of `eig`, whose vectors the derivative needs."""
    return np.linalg.eig(x).eigenvalues


def _eigenvalues_of_any_vjp(ans: Any, x: Any) -> Any:
    """Needs no distinct eigenvalues, but vectors that are a basis: others raise in `solve`."""
    vectors = np.linalg.eig(x).eigenvectors

    def vjp(g: Any) -> Any:
        full = np.matmul(_solve(_t(vectors), g[..., None, :] * _eye(vectors)), _t(vectors))
        return full if np.iscomplexobj(x) else np.real(full).astype(x.dtype)

    return vjp


defvjp(_eigenvalues_of_any, _eigenvalues_of_any_vjp)
RULES[np.linalg.eigvals] = _eigenvalues_of_any


def _eigenvalues_vjp(ans: Any, x: Any) -> Any:
    """Does not use the derivative of the eigenvectors, which equal eigenvalues do not have."""
    vectors = np.linalg.eigh(x).eigenvectors

    def vjp(g: Any) -> Any:
        full = np.matmul(np.conjugate(vectors) * g[..., None, :], _t(vectors))
        return (full + _h(full)) * 0.5

    return vjp


differentiable(np.linalg.eigvalsh, _eigenvalues_vjp)


def _svd_vjp(ans: Any, x: Any) -> Any:
    u, s, vh = ans
    if np.iscomplexobj(x):
        raise NotSupportedError("svd() of complex matrices has no derivative on the numpy backend.")

    def vjp(g: Any) -> Any:
        gu, gs, gvh = g
        rows, columns, rank = x.shape[-2], x.shape[-1], s.shape[-1]
        middle = np.zeros((rank, rank), x.dtype)
        if gs is not None:
            middle = middle + gs[..., None, :] * np.eye(rank, dtype=x.dtype)
        # 1 / (s_j**2 - s_i**2). Squares of small values that differ may be equal.
        sums = s[..., None, :] + s[..., :, None]
        gaps = _differences(s) / np.where(sums == 0, np.ones((), s.dtype), sums)
        if gu is not None:
            gu = _checked("svd", s, gu)
            left = gaps * np.matmul(_t(u), gu)
            middle = middle + (left + _t(left)) * s[..., None, :]
        if gvh is not None:
            v, gv = _t(vh), _checked("svd", s, _t(gvh))
            right = gaps * np.matmul(vh, gv)
            middle = middle + s[..., :, None] * (right + _t(right))
        out = np.matmul(np.matmul(u, middle), vh)
        if gu is not None and rows > rank:
            rest = gu / s[..., None, :]
            out = out + np.matmul(rest - np.matmul(u, np.matmul(_t(u), rest)), vh)
        if gvh is not None and columns > rank:
            rest = _t(gv / s[..., None, :])
            out = out + np.matmul(u, rest - np.matmul(np.matmul(rest, v), vh))
        return out

    return vjp


_svd = _in_parts(np.linalg.svd, _svd_vjp, full_matrices=False)


@composed(np.linalg.svd)
def _svd_rule(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return np.linalg.svdvals(x)
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise NotSupportedError(
            "svd() of a non-square matrix is differentiable only with full_matrices=False: the "
            "other vectors are not unique."
        )
    return _svd(x)


def _singular_values_vjp(ans: Any, x: Any) -> Any:
    """Does not use the derivative of the vectors, which equal singular values do not have."""
    if np.iscomplexobj(x):
        raise NotSupportedError(
            "svdvals() of complex matrices has no derivative on the numpy backend."
        )
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return lambda g: np.matmul(u * g[..., None, :], vh)


_singular_values = differentiable(np.linalg.svdvals, _singular_values_vjp)


def _qr_vjp(ans: Any, x: Any) -> Any:
    q, r = ans

    def vjp(g: Any) -> Any:
        gq, gr = [np.zeros_like(y) if part is None else part for part, y in zip(g, ans)]
        m = np.matmul(r, _t(gr)) - np.matmul(_t(gq), q)
        symmetric = np.tril(m) + _t(np.tril(m, k=-1))
        return _t(_solve(r, _t(gq + np.matmul(q, symmetric))))

    return vjp


_qr = _in_parts(np.linalg.qr, _qr_vjp)


@composed(np.linalg.qr)
def _qr_rule(x: Any, mode: str = "reduced") -> Any:
    if mode != "reduced" and x.shape[-1] != x.shape[-2]:
        raise NotSupportedError(f"qr(mode={mode!r}) has no derivative; use mode='reduced'.")
    rows, columns = x.shape[-2:]
    # Of a wide matrix the first square decides q; the rest is q's transpose times the rest of x.
    square = _qr(x[..., :rows])
    if rows >= columns:
        return square
    q, r = square
    return type(square)(q, np.concatenate((r, np.matmul(_h(q), x[..., rows:])), axis=-1))


# Composed -----------------------------------------------------------------------------------------


@primitive
def _pseudo_inverse(x: Any, rtol: Any) -> Any:
    return np.linalg.pinv(x, rtol=rtol)


def _pseudo_inverse_vjp(p: Any, x: Any, rtol: Any) -> Any:
    """The derivative of Golub and Pereyra, which needs no distinct singular values."""
    if np.iscomplexobj(x):
        raise NotSupportedError(
            "pinv() of complex matrices has no derivative on the numpy backend."
        )

    def vjp(g: Any) -> Any:
        rows = np.matmul(np.matmul(_t(g), p), _t(p))
        columns = np.matmul(np.matmul(_t(p), p), _t(g))
        out = rows - np.matmul(x, np.matmul(p, rows))
        out = out + columns - np.matmul(np.matmul(columns, p), x)
        return out - np.matmul(np.matmul(_t(p), g), _t(p))

    return vjp


defvjp(_pseudo_inverse, _pseudo_inverse_vjp)


_UNSAID = object()


@composed(np.linalg.pinv)
def _pinv(x: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _UNSAID) -> Any:
    if rcond is not None or rtol is _UNSAID:
        rtol = 1e-15 if rcond is None else rcond  # NumPy's default
    return _pseudo_inverse(x, rtol)


@composed(np.linalg.matrix_power)
def _matrix_power(x: Any, n: int) -> Any:
    if n == 0:
        return np.broadcast_to(_eye(x), x.shape)
    base = np.linalg.inv(x) if n < 0 else x
    result: Any = None
    n = abs(n)
    while n:
        if n % 2:
            result = base if result is None else np.matmul(result, base)
        base, n = np.matmul(base, base) if n > 1 else base, n // 2
    return result


@composed(np.cross, np.linalg.cross)
def _cross(
    x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(x, axisa, -1), np.moveaxis(y, axisb, -1)
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, axis=axisc)


@composed(np.linalg.vector_norm)
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        squares = size * size if np.iscomplexobj(x) else x * x
        return _root_of_sum(squares, axis, keepdims, 0.5)
    return _root_of_sum(size**ord, axis, keepdims, 1.0 / ord)


def _root_of_sum(powers: Any, axis: Any, keepdims: bool, exponent: float) -> Any:
    """(sum)**exponent whose gradient at a sum of 0 is 0, not nan."""
    total = np.sum(powers, axis=axis, keepdims=keepdims)
    is_zero = total == 0
    safe = np.where(is_zero, np.ones((), total.dtype), total)
    root = np.sqrt(safe) if exponent == 0.5 else safe**exponent
    return np.where(is_zero, np.zeros((), total.dtype), root)


@composed(np.linalg.matrix_norm)
def _matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro":
        return np.linalg.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(x), axis=-2 if ord in (1, -1) else -1)
        norm = np.max(sums, axis=-1) if ord in (1, np.inf) else np.min(sums, axis=-1)
    else:
        s = _singular_values(x)
        extreme = np.max if ord == 2 else np.min
        norm = np.sum(s, axis=-1) if ord == "nuc" else extreme(s, axis=-1)
    return norm[..., None, None] if keepdims else norm


@composed(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A vector norm for one axis, a matrix norm for two; without an order, all is one vector."""
    axes = tuple(range(x.ndim)) if axis is None else normal_axes(axis, x.ndim)
    if len(axes) == 1 or ord is None:
        order = 2 if ord is None else ord
        return np.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=order)
    if len(axes) != 2:
        raise ValueError("A norm with an order is of one axis or of two.")
    norm = np.linalg.matrix_norm(np.moveaxis(x, axes, (-2, -1)), ord=ord)
    return np.expand_dims(norm, axes) if keepdims else norm
