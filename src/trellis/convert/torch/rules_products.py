"""Products of matrices, attention, linear algebra."""

from collections.abc import Sequence
from typing import Any

from ..._core.typing import Scalar
from .builder import Tensor, TorchBuilder
from .table import rule


@rule("aten.linear")
def linear(g: TorchBuilder, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if len(weight.shape) == 1:
        y = g.t.matmul(x, weight)
        return y if bias is None else g.t.add(y, bias)
    return g.F.linear(x, weight) if bias is None else g.F.linear(x, weight, bias=bias)


@rule("aten.matmul", "aten.mm", "aten.bmm", "aten.dot", "aten.mv", "aten.__matmul__",
      "aten.linalg_matmul")  # fmt: skip
def matmul(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    return g.t.matmul(x, y)


def _scales(x: Tensor, *numbers: Scalar) -> tuple[Any, ...]:
    """The scales of a sum, in the type of integers cut off to one of them."""
    is_whole = "int" in (x.dtype or "")
    return tuple([int(n) if is_whole and isinstance(n, float) else n for n in numbers])


@rule("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(
    g: TorchBuilder, x: Tensor, y: Tensor, z: Tensor, beta: Scalar = 1, alpha: Scalar = 1
) -> Any:
    beta, alpha = _scales(x, beta, alpha)
    product = g.t.matmul(y, z)
    if alpha != 1:
        product = g.t.multiply(product, alpha)
    if beta == 0:
        return product
    return g.t.add(product, x if beta == 1 else g.t.multiply(x, beta))


@rule("aten.addbmm")
def addbmm(
    g: TorchBuilder, x: Tensor, y: Tensor, z: Tensor, beta: Scalar = 1, alpha: Scalar = 1
) -> Any:
    beta, alpha = _scales(x, beta, alpha)
    product = g.t.multiply(g.t.sum(g.t.matmul(y, z), axis=0), alpha)
    return product if beta == 0 else g.t.add(g.t.multiply(x, beta), product)


@rule("aten.outer", "aten.ger")
def outer(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    return g.t.multiply(g.t.expand_dims(x, axis=1), y)


@rule("aten.einsum")
def einsum(g: TorchBuilder, equation: str, xs: Sequence[Tensor], path: object = None) -> Any:
    # The path is an order of products, which changes nothing but the time.
    return g.t.einsum(equation.replace(" ", ""), *xs)


@rule("aten.tensordot")
def tensordot(
    g: TorchBuilder, x: Tensor, y: Tensor, dims_x: Sequence[int], dims_y: Sequence[int]
) -> Any:
    return g.t.tensordot(x, y, axes=(tuple(dims_x), tuple(dims_y)))


@rule("aten.bilinear")
def bilinear(
    g: TorchBuilder, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Any:
    out = g.t.einsum("...i,oij,...j->...o", x, weight, y)
    return out if bias is None else g.t.add(out, bias)


@rule("aten.cdist", "aten._cdist_forward")
def cdist(
    g: TorchBuilder, x: Tensor, y: Tensor, p: float = 2.0, compute_mode: object = None
) -> Any:
    # The mode says whether torch multiplies matrices for it: rounding, not meaning.
    gaps = g.t.subtract(g.t.expand_dims(x, axis=-2), g.t.expand_dims(y, axis=-3))
    found = g.linalg.vector_norm(gaps, axis=-1, ord=float(p))
    if p == 0:  # counts what differs, and is nan where one is nan
        is_nan = g.t.any(g.t.isnan(gaps), axis=-1)
        found = g.t.where(is_nan, float("nan"), found)
    return found


@rule("aten.cosine_similarity")
def cosine_similarity(
    g: TorchBuilder, x: Tensor, y: Tensor, dim: int = 1, eps: float = 1e-8
) -> Any:
    if x.shape != y.shape:
        found = g.t.broadcast_arrays(x, y)
        x, y = g.items(found, 2)  # type: ignore[assignment]
    return g.F.cosine_similarity(x, y, axis=dim, epsilon=eps)


@rule("aten.cross", "aten.linalg_cross")
def cross(g: TorchBuilder, x: Tensor, y: Tensor, dim: int = -1) -> Any:
    return g.linalg.cross(x, y, axis=dim)


@rule("aten.scaled_dot_product_attention")
def attention(g: TorchBuilder, query: Tensor, key: Tensor, value: Tensor,
              attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
              scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    options: dict[str, Any] = {}
    if attn_mask is not None:
        options["mask"] = attn_mask
    if is_causal:
        options["is_causal"] = True
    if scale is not None:
        options["scale"] = scale
    if dropout_p > 0:  # in evaluation too where the program itself says so
        options |= {"dropout_p": dropout_p, "training": g.training if g.train else True}
    return g.F.scaled_dot_product_attention(query, key, value, **options)


@rule("transformers.grouped_mm_fallback", "aten._grouped_mm")
def grouped_matmul(g: TorchBuilder, x: Tensor, weight: Tensor, offsets: Tensor) -> Any:
    """Rows up to offsets[0] with the first matrix, those up to offsets[1] with the second, ..."""
    first = g.t.zeros((1,), dtype=g.dtype(offsets.dtype), backend=g.to)
    return g.F.grouped_matmul(x, weight, g.t.diff(offsets, prepend=first))


@rule("aten.linalg_matrix_power", "aten.matrix_power")
def matrix_power(g: TorchBuilder, x: Tensor, n: int) -> Any:
    return g.linalg.matrix_power(x, n)


@rule("aten.vdot", "aten.linalg_vecdot")
def vecdot(g: TorchBuilder, x: Tensor, y: Tensor, dim: int = -1) -> Any:
    x, y = g.alike(x, y)
    return g.t.vecdot(x, y) if dim == -1 else g.t.vecdot(x, y, axis=dim)


@rule("aten.inner")
def inner(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    x, y = g.alike(x, y)
    if not x.shape or not y.shape:
        return g.t.multiply(x, y)
    return g.t.tensordot(x, y, axes=((-1,), (-1,)))


@rule("aten.linalg_slogdet")
def slogdet(g: TorchBuilder, x: Tensor) -> Any:
    found = g.linalg.slogdet(x)
    return g.items(found, 2)
