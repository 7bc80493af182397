"""Operations of TensorFlow for linear algebra and diagonals."""

from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from .builder import Operand, TensorFlowBuilder
from .rules_layers import adjoint_of

matrix_rules = Rules()


@matrix_rules("Cholesky", "MatrixInverse", "MatrixDeterminant")
def linear_algebra(g: TensorFlowBuilder, x: Value, *, adjoint: bool = False) -> Value:
    x = adjoint_of(g, x) if adjoint else x
    name = {"Cholesky": "cholesky", "MatrixInverse": "inv", "MatrixDeterminant": "det"}[g.source]
    return getattr(g.linalg, name)(x)  # type: ignore[no-any-return]


@matrix_rules("LogMatrixDeterminant")
def log_determinant(g: TensorFlowBuilder, x: Value) -> Any:
    return g.items(g.linalg.slogdet(x), 2)


@matrix_rules("MatrixSolve")
def matrix_solve(g: TensorFlowBuilder, a: Value, b: Operand, *, adjoint: bool = False) -> Value:
    return g.linalg.solve(adjoint_of(g, a) if adjoint else a, g.array(b))


@matrix_rules("MatrixTriangularSolve")
def triangular_solve(
    g: TensorFlowBuilder, a: Value, b: Operand, *, lower: bool, adjoint: bool
) -> Value:
    return g.s.triangular_solve(a, g.array(b), lower=lower, transpose=adjoint, conjugate=adjoint)


@matrix_rules("Svd")
def svd(
    g: TensorFlowBuilder, x: Value, *, compute_uv: bool = True, full_matrices: bool = False
) -> Any:
    """TensorFlow gives the singular values first, and V itself."""
    if not compute_uv:
        values = g.linalg.svdvals(x)
        return values, values, values  # nobody may read the others: they are empty
    u, values, adjoint = g.items(g.linalg.svd(x, full_matrices=full_matrices), 3)
    v = g.t.matrix_transpose(adjoint)
    return values, u, g.t.conj(v) if "complex" in g.out[1].dtype else v


@matrix_rules("Qr")
def qr(g: TensorFlowBuilder, x: Value, *, full_matrices: bool = False) -> Any:
    return g.items(g.linalg.qr(x, mode="complete" if full_matrices else "reduced"), 2)


@matrix_rules("Eig")
def eig(g: TensorFlowBuilder, x: Value, *, compute_v: bool = True, Tout: object = None) -> Any:
    """Its kernels have one complex type for each type of matrices, so Tout says nothing new."""
    if not compute_v:
        values = g.linalg.eigvals(x)
        return values, values  # nobody may read the vectors: they are empty
    return g.items(g.linalg.eig(x), 2)


@matrix_rules("SelfAdjointEigV2")
def eigh(g: TensorFlowBuilder, x: Value, *, compute_v: bool = True) -> Any:
    """Only the lower triangle is read."""
    half = g.s.symmetric_from(x, lower=True)
    if not compute_v:
        values = g.linalg.eigvalsh(half)
        return values, values  # nobody may read the vectors: they are empty
    return g.items(g.linalg.eigh(half), 2)


@matrix_rules("Cross")
def cross(g: TensorFlowBuilder, x: Value, y: Operand) -> Value:
    return g.linalg.cross(x, g.array(y))


def _one_diagonal(g: TensorFlowBuilder, k: Operand) -> int:
    found = set(g.ints(k, "A diagonal"))
    if len(found) != 1:
        raise NotSupportedError(f"{g.source}: only one diagonal at a time is read, got k={found}.")
    return int(found.pop())


@matrix_rules("MatrixDiagPartV3", "MatrixDiagPart")
def diagonal(
    g: TensorFlowBuilder,
    x: Value,
    k: Operand | None = None,
    padding_value: Operand | None = None,
    *,
    align: str = "",
) -> Value:
    """The padding is for several diagonals of different lengths, as is `align`."""
    return g.linalg.diagonal(x, offset=0 if k is None else _one_diagonal(g, k))


@matrix_rules("MatrixDiagV3", "MatrixDiag")
def matrix_diag(
    g: TensorFlowBuilder,
    x: Value,
    k: Operand | None = None,
    num_rows: Operand | None = None,
    num_cols: Operand | None = None,
    padding_value: Operand | None = None,
    *,
    align: str = "",
) -> Value:
    """The vector on a diagonal of a square matrix, whose other elements are `padding_value`."""
    sizes = [-1 if n is None else g.axis(n) for n in (num_rows, num_cols)]
    offset = 0 if k is None else _one_diagonal(g, k)
    side = (x.shape or (0,))[-1]
    side = side + abs(offset) if isinstance(side, int) else None
    if any([n not in (-1, side) for n in sizes]):
        raise NotSupportedError(f"{g.source}: only square matrices are read, got sizes {sizes}.")
    made = g.s.diagonal_matrix(x, offset=offset)
    padding = 0 if padding_value is None else np.asarray(padding_value).item()
    if padding == 0:
        return made
    eye = g.t.eye(side, k=offset, dtype="bool", backend=g.to)
    return g.t.where(eye, made, padding)


@matrix_rules("MatrixSetDiagV3", "MatrixSetDiag")
def set_diagonal(
    g: TensorFlowBuilder, x: Operand, values: Operand, k: Operand | None = None, *, align: str = ""
) -> Value:
    offset = 0 if k is None else _one_diagonal(g, k)
    return g.s.with_diagonal(g.array(x), g.array(values), offset=offset)


@matrix_rules("Diag")
def tensor_diagonal(g: TensorFlowBuilder, x: Value) -> Value:
    """All elements on the diagonal of a tensor with twice the axes."""
    shape = tuple(x.shape or ())
    made = g.s.diagonal_matrix(g.t.reshape(x, (-1,)))
    return made if len(shape) == 1 else g.t.reshape(made, (*shape, *shape))


@matrix_rules("DiagPart")
def tensor_diagonal_part(g: TensorFlowBuilder, x: Value) -> Value:
    shape: Any = x.shape or ()
    sizes = [int(n) for n in shape[: len(shape) // 2]]
    if len(sizes) == 1:
        return g.linalg.diagonal(x)
    side = int(np.prod(sizes))
    return g.t.reshape(g.linalg.diagonal(g.t.reshape(x, (side, side))), tuple(sizes))


_FOURIER = [
    f"{name}{axes}" for name in ("FFT", "IFFT", "RFFT", "IRFFT") for axes in ("", "2D", "3D")
]


@matrix_rules(*_FOURIER)
def fourier(
    g: TensorFlowBuilder,
    x: Value,
    length: Operand | None = None,
    *,
    Tcomplex: str = "",
    Treal: str = "",
) -> Value:
    """Along the last axes; of real numbers cut or filled with zeros to `length`."""
    name, _, axes = g.source.lower().partition("fft")
    count = int(axes[0]) if axes else 1
    options: dict[str, Any] = {"axes": tuple(range(-count, 0))}
    if length is not None:
        options["s"] = g.ints(length, "A length")
    return getattr(g.fft, f"{name}fftn")(x, **options)  # type: ignore[no-any-return]
