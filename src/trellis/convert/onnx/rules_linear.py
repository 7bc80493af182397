"""Products of matrices, and determinants."""

from ...graph import Value
from .builder import OnnxBuilder
from .table import rules


@rules("MatMul")
def matmul(g: OnnxBuilder, x: Value, y: Value) -> Value:
    return g.t.matmul(x, y)


@rules("Gemm")
def gemm(
    g: OnnxBuilder,
    a: Value,
    b: Value,
    c: Value | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    x = g.t.matrix_transpose(a) if transA else a
    if transB and alpha == 1.0 and beta == 1.0 and (c is None or g.rank(c) == 1):
        if c is None or c.shape == (b.shape or (None,))[:1]:
            return g.F.linear(x, b, bias=c)
    y = g.t.matmul(x, g.t.matrix_transpose(b) if transB else b)
    if alpha != 1.0:
        y = g.t.multiply(y, alpha if g.is_float(a) else int(alpha))
    if c is None or beta == 0.0:
        return y
    if beta != 1.0:
        c = g.t.multiply(c, beta if g.is_float(a) else int(beta))
    return g.t.add(y, c)


@rules("Einsum")
def einsum(g: OnnxBuilder, *xs: Value, equation: str = "") -> Value:
    return g.t.einsum(equation.replace(" ", ""), *xs)


@rules("Det")
def determinant(g: OnnxBuilder, x: Value) -> Value:
    return g.linalg.det(x)
