"""Linear algebra that can be composed; decompositions are native functions or NumPy's."""

from ...._core.errors import ShapeError
from ...._core.shapes import check_three, normal_axis
from ...._core.typing import DTypeLike
from ...array_api import Axes, Native
from ..norms import norm_of_matrices, norm_of_vectors
from ..promotion import floating, together, type_name
from . import xp


def _wide(x: Native) -> Native:
    """Integers in the default float, 16-bit floats in float32."""
    x = floating(xp, x)
    return xp.astype(x, "float32") if type_name(xp, x) in ("float16", "bfloat16") else x


def cross(x1: Native, x2: Native, /, *, axis: int = -1) -> Native:
    x1, x2 = together(xp, x1, x2)
    first, second = normal_axis(axis, len(x1.shape)), normal_axis(axis, len(x2.shape))
    x1, x2 = xp.moveaxis(x1, first, -1), xp.moveaxis(x2, second, -1)
    check_three(x1.shape[-1], x2.shape[-1])
    a, b = xp.unstack(x1, axis=-1), xp.unstack(x2, axis=-1)
    parts = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
    return xp.moveaxis(xp.stack(parts, axis=-1), -1, axis if axis < 0 else first)


def diagonal(x: Native, /, *, offset: int = 0) -> Native:
    rows, columns = x.shape[-2:]
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    first = offset if offset >= 0 else -offset * columns
    if not length:
        first = 0
    index = first + xp.arange(length, device=xp.device(x)) * (columns + 1)
    return xp.take(xp.reshape(x, (*x.shape[:-2], rows * columns)), index, axis=-1)


def matrix_transpose(x: Native, /) -> Native:
    return xp.matrix_transpose(x)


def matmul(x1: Native, x2: Native, /) -> Native:
    return xp.matmul(x1, x2)


def tensordot(x1: Native, x2: Native, /, *, axes: int | tuple[Axes, Axes] = 2) -> Native:
    return xp.tensordot(x1, x2, axes=axes)  # type: ignore[arg-type]


def vecdot(x1: Native, x2: Native, /, *, axis: int = -1) -> Native:
    return xp.vecdot(x1, x2, axis=axis)


def eigvalsh(x: Native, /) -> Native:
    return xp.linalg.eigh(x).eigenvalues


def eigvals(x: Native, /) -> Native:
    return xp.linalg.eig(x).eigenvalues


def svdvals(x: Native, /) -> Native:
    return xp.linalg.svd(x, full_matrices=False).S


def matrix_norm(x: Native, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Native:
    if ord in ("fro", None):
        return xp.linalg.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    kind = floating(xp, x).dtype
    norm = norm_of_matrices(xp, _wide(x), keepdims=keepdims, ord=ord)
    return xp.astype(norm, _part(kind), copy=False)


def _part(dtype: Native) -> str:
    """The type of absolute values: for complex numbers that of their parts."""
    name = xp.dtype_name(dtype)
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def vector_norm(
    x: Native, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2
) -> Native:
    kind = floating(xp, x).dtype
    norm = norm_of_vectors(xp, _wide(x), axis=axis, keepdims=keepdims, ord=ord)
    return xp.astype(norm, _part(kind), copy=False)


def matrix_power(x: Native, n: int, /) -> Native:
    if n < 0:
        return matrix_power(xp.linalg.inv(x), -n)
    result = None
    if n == 0:
        unit = xp.eye(x.shape[-1], dtype=x.dtype, device=xp.device(x))
        return xp.broadcast_to(unit, x.shape)
    while n > 0:
        if n % 2:
            result = x if result is None else xp.matmul(result, x)
        n //= 2
        x = xp.matmul(x, x) if n else x
    return result


def matrix_rank(x: Native, /, *, rtol: float | Native | None = None) -> Native:
    x = _wide(x)
    s = xp.linalg.svdvals(x)
    if 0 in x.shape[-2:]:
        return xp.count_nonzero(s > 0, axis=-1)
    if rtol is None:
        rtol = max(x.shape[-2:]) * xp.finfo(s.dtype).eps
    limit = xp.expand_dims(xp.asarray(rtol, dtype=s.dtype), -1) * xp.max(s, axis=-1, keepdims=True)
    return xp.count_nonzero(s > limit, axis=-1)


def outer(x1: Native, x2: Native, /) -> Native:
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        raise ShapeError(
            f"outer() expects two vectors, got {len(x1.shape)} and {len(x2.shape)} axes."
        )
    return xp.multiply(xp.expand_dims(x1, 1), xp.expand_dims(x2, 0))


def trace(x: Native, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Native:
    return xp.sum(xp.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)
