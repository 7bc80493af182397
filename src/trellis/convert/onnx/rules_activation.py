"""Activations."""

import math

from ...graph import Value
from ..rules import Rule
from .builder import OnnxBuilder
from .table import rules


@rules("Relu")
def relu(g: OnnxBuilder, x: Value) -> Value:
    return g.F.relu(x) if g.is_float(x) else g.t.maximum(x, 0)


@rules("LeakyRelu")
def leaky_relu(g: OnnxBuilder, x: Value, alpha: float = 0.01) -> Value:
    return g.F.leaky_relu(x, negative_slope=alpha)


@rules("PRelu")
def prelu(g: OnnxBuilder, x: Value, slope: Value) -> Value:
    return g.t.where(g.t.less(x, 0), g.t.multiply(x, slope), x)


@rules("Elu")
def elu(g: OnnxBuilder, x: Value, alpha: float = 1.0) -> Value:
    return g.F.elu(x, alpha=alpha)


@rules("Celu")
def celu(g: OnnxBuilder, x: Value, alpha: float = 1.0) -> Value:
    # alpha * elu(x / alpha) is x above zero and alpha * (exp(x / alpha) - 1) below.
    return g.t.multiply(g.F.elu(g.t.divide(x, alpha)), alpha)


@rules("Selu")
def selu(g: OnnxBuilder, x: Value, alpha: float = 1.6732632, gamma: float = 1.050701) -> Value:
    if math.isclose(alpha, 1.6732632, rel_tol=1e-5) and math.isclose(gamma, 1.050701, rel_tol=1e-5):
        return g.F.selu(x)
    return g.t.multiply(g.F.elu(x, alpha=alpha), gamma)


@rules("Gelu")
def gelu(g: OnnxBuilder, x: Value, approximate: str = "none") -> Value:
    return g.F.gelu(x, approximate=approximate == "tanh")


@rules("Swish")
def swish(g: OnnxBuilder, x: Value, alpha: float = 1.0) -> Value:
    if alpha == 1.0:
        return g.F.silu(x)
    return g.t.multiply(x, g.F.sigmoid(g.t.multiply(x, alpha)))


@rules("HardSigmoid")
def hard_sigmoid(g: OnnxBuilder, x: Value, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return g.t.clip(g.t.add(g.t.multiply(x, alpha), beta), 0.0, 1.0)


@rules("ThresholdedRelu")
def thresholded_relu(g: OnnxBuilder, x: Value, alpha: float = 1.0) -> Value:
    return g.t.where(g.t.greater(x, alpha), x, 0.0)


@rules("Shrink")
def shrink(g: OnnxBuilder, x: Value, bias: float = 0.0, lambd: float = 0.5) -> Value:
    if not g.is_float(x):
        kind = x.dtype or "float32"
        return g.cast(
            g.described(shrink(g, g.cast(x, "float32"), bias, lambd), None, "float32"), kind
        )
    low = g.t.where(g.t.less(x, -lambd), g.t.add(x, bias), 0.0)
    return g.t.where(g.t.greater(x, lambd), g.t.subtract(x, bias), low)


def _along(name: str) -> Rule:
    def convert(g: OnnxBuilder, x: Value, axis: int | None = None) -> Value:
        """Before version 13 the axes from `axis` on are taken together."""
        fn = g.s.hardmax if name == "hardmax" else getattr(g.F, name)
        if g.opset >= 13:
            return fn(x, axis=-1 if axis is None else axis)
        first = 1 if axis is None else axis
        rank = g.rank(x)
        if rank is not None and first % max(rank, 1) == rank - 1:
            return fn(x, axis=-1)
        rows = g.described(g.s.flattened(x, first), None, x.dtype)
        return g.s.reshaped_like(fn(rows, axis=-1), x)

    return convert


rules("Softmax")(_along("softmax"))
rules("LogSoftmax")(_along("log_softmax"))
rules("Hardmax")(_along("hardmax"))
