"""Linear algebra and Fourier transforms."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Value
from .builder import Tensor, TorchBuilder
from .table import rule


def adjoint(g: TorchBuilder, x: Value, dtype: str | None) -> Any:
    turned = g.t.matrix_transpose(x)
    return g.t.conj(turned) if "complex" in (dtype or "") else turned


# Operations with `_ex` say about each matrix whether it was a good one. This is no result here
# (None: models that use it raise), since matrices that are not raise on most frameworks.


def _symmetric(g: TorchBuilder, x: Tensor, triangle: str) -> Any:
    """Only one triangle is read, which counts where a matrix is not symmetric."""
    part = g.t.tril(x) if triangle == "L" else g.t.triu(x)
    rest = g.t.tril(x, k=-1) if triangle == "L" else g.t.triu(x, k=1)
    if "complex" in (x.dtype or ""):  # of the diagonal LAPACK reads the real part
        diagonal = g.t.real(g.t.subtract(part, rest))
        part = g.t.add(rest, g.cast(diagonal, x.dtype))
    whole = g.t.add(part, adjoint(g, rest, x.dtype))
    # torch's derivative is that of the whole matrix: zero is added, with it.
    nothing = g.t.subtract(x, g.t.stop_gradient(x))
    return g.t.add(g.t.stop_gradient(whole), nothing)


@rule("aten.linalg_solve", "aten._linalg_solve_ex", "aten.linalg_solve_ex")
def solve(g: TorchBuilder, x: Tensor, y: Tensor, left: bool = True,
          check_errors: bool = False) -> Any:  # fmt: skip
    is_vector = len(y.shape) == 1 or y.shape == x.shape[:-1]
    rows: Value = g.t.expand_dims(y, axis=-1) if is_vector else y
    if left:
        found = g.linalg.solve(x, rows)
    else:
        turned = g.linalg.solve(g.t.matrix_transpose(x), g.t.matrix_transpose(rows))
        found = g.t.matrix_transpose(turned)
    found = g.t.squeeze(found, axis=-1) if is_vector else found
    if "_ex" not in g.source:
        return found
    return (found, None, None, None) if "_linalg" in g.source else (found, None)


@rule("aten.linalg_inv_ex")
def inv_ex(g: TorchBuilder, x: Tensor, check_errors: bool = False) -> Any:
    return g.linalg.inv(x), None


def _triangular(g: TorchBuilder, x: Tensor, upper: bool, unitriangular: bool) -> Any:
    if not unitriangular:
        return g.t.triu(x) if upper else g.t.tril(x)
    part = g.t.triu(x, k=1) if upper else g.t.tril(x, k=-1)
    return g.t.add(part, g.t.eye(x.shape[-1], dtype=g.dtype(x.dtype), backend=g.to))


@rule("aten.linalg_solve_triangular")
def solve_triangular(g: TorchBuilder, x: Tensor, y: Tensor, upper: bool, left: bool = True,
                     unitriangular: bool = False) -> Any:  # fmt: skip
    matrix = _triangular(g, x, upper, unitriangular)
    if left:
        return g.linalg.solve(matrix, y)
    turned = g.linalg.solve(g.t.matrix_transpose(matrix), g.t.matrix_transpose(y))
    return g.t.matrix_transpose(turned)


@rule("aten.triangular_solve")
def triangular_solve(g: TorchBuilder, y: Tensor, x: Tensor, upper: bool = True,
                     transpose: bool = False, unitriangular: bool = False) -> Any:  # fmt: skip
    matrix = _triangular(g, x, upper, unitriangular)
    matrix = adjoint(g, matrix, x.dtype) if transpose else matrix
    wide = g.out.shape[:-2]
    copy = x if x.shape[:-2] == wide else g.t.broadcast_to(x, (*wide, *x.shape[-2:]))
    return g.linalg.solve(matrix, y), copy


@rule("aten.cholesky", "aten.linalg_cholesky", "aten.linalg_cholesky_ex")
def cholesky(g: TorchBuilder, x: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    """Of the two triangles the one that comes out is read."""
    if upper:
        lower = g.linalg.cholesky(adjoint(g, x, x.dtype))
        found = adjoint(g, lower, x.dtype)
    else:
        found = g.linalg.cholesky(x)
    return (found, None) if "_ex" in g.source else found


@rule("aten.linalg_pinv", "aten.pinverse")
def pinv(g: TorchBuilder, x: Tensor, rcond: Any = None, hermitian: bool = False, atol: Any = None,
         rtol: Any = None) -> Any:  # fmt: skip
    """Of Hermitian matrices torch takes eigenvalues; the result is the same."""
    rtol = rcond if rtol is None else rtol
    if "pinverse" in g.source and rtol is None:
        rtol = 1e-15
    if atol is not None and not (isinstance(atol, (int, float)) and atol == 0):
        raise NotSupportedError(f"{g.source}: atol={atol} has no counterpart here; rtol= has.")
    matrix = _symmetric(g, x, "L") if hermitian else x
    return g.linalg.pinv(matrix) if rtol is None else g.linalg.pinv(matrix, rtol=rtol)


@rule("aten.linalg_matrix_rank")
def matrix_rank(g: TorchBuilder, x: Tensor, tol: Any = None, hermitian: bool = False,
                atol: Any = None, rtol: Any = None) -> Any:  # fmt: skip
    """What torch takes it apart into holds its tolerances in float64, which JAX refuses."""
    matrix = _symmetric(g, x, "L") if hermitian else x
    if tol is not None:
        atol, rtol = tol, 0.0
    if atol is None:
        given = {} if rtol is None else {"rtol": rtol}
        return g.t.astype(g.linalg.matrix_rank(matrix, **given), g.dtype("int64"))
    if 0 in x.shape:
        return g.t.zeros(g.out.shape, **g.created())
    atol, rtol = [_per_matrix(g, each) for each in (atol, rtol)]
    if rtol is None:
        rtol = _usual_tolerance(g, x, atol)
    values = g.linalg.svdvals(matrix)
    relative = g.t.multiply(g.t.max(values, axis=-1, keepdims=True), rtol)
    is_above = g.t.greater(values, g.t.maximum(relative, atol))
    return g.t.sum(g.t.astype(is_above, g.dtype("int64")), axis=-1)


def _per_matrix(g: TorchBuilder, x: Any) -> Any:
    """Numbers for each matrix, for all of its values."""
    return g.t.expand_dims(x, axis=-1) if isinstance(x, Value) else x


def _usual_tolerance(g: TorchBuilder, x: Tensor, atol: Any) -> Any:
    """The relative one that torch takes beside an absolute one: none where that is not 0."""
    sizes = [n for n in x.shape[-2:] if isinstance(n, int)]
    if len(sizes) < 2:
        raise NotSupportedError(f"{g.source}: with atol= alone, the sizes of matrices are fixed.")
    usual = max(sizes) * float(np.finfo(x.dtype or "float32").eps)
    if isinstance(atol, Value):
        return g.t.where(g.t.greater(atol, 0.0), 0.0, usual)
    return 0.0 if atol > 0 else usual


@rule("aten.linalg_eig")
def eig(g: TorchBuilder, x: Tensor) -> Any:
    return g.items(g.linalg.eig(x), 2)


@rule("aten.linalg_eigh", "aten._linalg_eigh")
def eigh(g: TorchBuilder, x: Tensor, triangle: str = "L", compute_v: bool = True) -> Any:
    found = g.linalg.eigh(_symmetric(g, x, triangle))
    return g.items(found, 2)


@rule("aten.linalg_eigvalsh")
def eigvalsh(g: TorchBuilder, x: Tensor, triangle: str = "L") -> Any:
    return g.linalg.eigvalsh(_symmetric(g, x, triangle))


@rule("aten.linalg_svd", "aten._linalg_svd")
def svd(g: TorchBuilder, x: Tensor, full_matrices: bool | None = None, compute_uv: bool = True,
        driver: object = None) -> Any:  # fmt: skip
    """The driver is a kernel of CUDA. Without vectors the program uses the values alone."""
    if not compute_uv:
        return None, g.linalg.svdvals(x), None
    full = "_linalg" not in g.source if full_matrices is None else full_matrices
    found = g.linalg.svd(x, full_matrices=full)
    return g.items(found, 3)


@rule("aten.linalg_svdvals")
def svdvals(g: TorchBuilder, x: Tensor, driver: object = None) -> Any:
    return g.linalg.svdvals(x)


@rule("aten.linalg_qr")
def qr(g: TorchBuilder, x: Tensor, mode: str = "reduced") -> Any:
    found = g.linalg.qr(x, mode="reduced" if mode == "r" else mode)
    q, r = g.items(found, 2)
    return (None, r) if mode == "r" else (q, r)


# torch's numbers for scaling: none, by the root of the count, by the count.
_FORWARD = {0: "backward", 1: "ortho", 2: "forward"}
_INVERSE = {0: "forward", 1: "ortho", 2: "backward"}


@rule("aten._fft_c2c")
def fft_complex(
    g: TorchBuilder, x: Tensor, dim: Sequence[int], normalization: int, forward: bool
) -> Any:
    fn = g.fft.fftn if forward else g.fft.ifftn
    return fn(x, axes=tuple(dim), norm=(_FORWARD if forward else _INVERSE)[normalization])


@rule("aten._fft_r2c")
def fft_real(
    g: TorchBuilder, x: Tensor, dim: Sequence[int], normalization: int, onesided: bool
) -> Any:
    if onesided:
        return g.fft.rfftn(x, axes=tuple(dim), norm=_FORWARD[normalization])
    return g.fft.fftn(g.cast(x, g.out.dtype), axes=tuple(dim), norm=_FORWARD[normalization])


@rule("aten._fft_c2r")
def fft_to_real(
    g: TorchBuilder, x: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int
) -> Any:
    sizes = tuple([x.shape[axis] for axis in dim[:-1]])
    return g.fft.irfftn(
        x, s=(*sizes, last_dim_size), axes=tuple(dim), norm=_INVERSE[normalization]
    )  # fmt: skip


@rule("aten.fft_fft", "aten.fft_ifft", "aten.fft_rfft", "aten.fft_irfft", "aten.fft_hfft",
      "aten.fft_ihfft")  # fmt: skip
def fft(
    g: TorchBuilder, x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
) -> Any:
    name = g.source.partition("fft_")[2].partition(".")[0]
    return getattr(g.fft, name)(x, n=n, axis=dim, norm=norm or "backward")


@rule("aten.fft_fftn", "aten.fft_ifftn", "aten.fft_rfftn", "aten.fft_irfftn", "aten.fft_fft2",
      "aten.fft_ifft2", "aten.fft_rfft2", "aten.fft_irfft2")  # fmt: skip
def fftn(g: TorchBuilder, x: Tensor, s: Sequence[int] | None = None,
         dim: Sequence[int] | None = None, norm: str | None = None) -> Any:  # fmt: skip
    name = g.source.partition("fft_")[2].partition(".")[0]
    dim = (-2, -1) if dim is None and name.endswith("2") else dim
    options = {"s": s if s is None else tuple(s), "axes": dim if dim is None else tuple(dim)}
    return getattr(g.fft, name.replace("2", "n"))(x, norm=norm or "backward", **options)
