"""Products of matrices, attention, linear algebra."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
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


@rule("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(
    g: TorchBuilder, x: Tensor, y: Tensor, z: Tensor, beta: Scalar = 1, alpha: Scalar = 1
) -> Any:
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
    product = g.t.sum(g.t.matmul(y, z), axis=0)
    return g.t.add(g.t.multiply(x, beta), g.t.multiply(product, alpha))


@rule("aten.outer", "aten.ger")
def outer(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    return g.t.multiply(g.t.expand_dims(x, axis=1), y)


@rule("aten.einsum")
def einsum(g: TorchBuilder, equation: str, xs: Sequence[Tensor], **_: object) -> Any:
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
def cdist(g: TorchBuilder, x: Tensor, y: Tensor, p: float = 2.0, *_: object) -> Any:
    gaps = g.t.subtract(g.t.expand_dims(x, axis=-2), g.t.expand_dims(y, axis=-3))
    return g.linalg.vector_norm(gaps, axis=-1, ord=float(p))


@rule("aten.cosine_similarity")
def cosine_similarity(
    g: TorchBuilder, x: Tensor, y: Tensor, dim: int = 1, eps: float = 1e-8
) -> Any:
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
    if dropout_p > 0 and g.train:
        options |= {"dropout_p": dropout_p, "training": g.training}
    return g.F.scaled_dot_product_attention(query, key, value, **options)


@rule("transformers.grouped_mm_fallback", "aten._grouped_mm")
def grouped_matmul(
    g: TorchBuilder, x: Tensor, weight: Tensor, offsets: Tensor, *_: object, **__: object
) -> Any:
    """Rows up to offsets[0] with the first matrix, those up to offsets[1] with the second, ..."""
    first = g.t.zeros((1,), dtype=g.dtype(offsets.dtype), backend=g.to)
    return g.F.grouped_matmul(x, weight, g.t.diff(offsets, prepend=first))


@rule("aten.linalg_solve")
def solve(g: TorchBuilder, x: Tensor, y: Tensor) -> Any:
    return g.linalg.solve(x, y)


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


@rule("aten.linalg_qr")
def qr(g: TorchBuilder, x: Tensor, mode: str = "reduced") -> Any:
    if mode == "r":
        raise NotSupportedError('qr with mode="r", which gives no Q')
    found = g.linalg.qr(x, mode=mode)
    return g.items(found, 2)


@rule("aten.linalg_eigh")
def eigh(g: TorchBuilder, x: Tensor, triangle: str = "L") -> Any:
    # The triangle that is read counts only where the matrix is not symmetric.
    part = g.t.tril(x) if triangle == "L" else g.t.triu(x)
    rest = g.t.tril(x, k=-1) if triangle == "L" else g.t.triu(x, k=1)
    found = g.linalg.eigh(g.t.add(part, g.t.conj(g.t.matrix_transpose(rest))))
    return g.items(found, 2)


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
