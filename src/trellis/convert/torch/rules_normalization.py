"""Normalisation."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from .builder import Size, Tensor, TorchBuilder
from .table import rule

# Of a layer that has none, None.
Weights: TypeAlias = Tensor | None


def _affine(weight: Weights, bias: Weights) -> dict[str, Any]:
    return {k: v for k, v in {"weight": weight, "bias": bias}.items() if v is not None}


@rule("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(g: TorchBuilder, x: Tensor, shape: Sequence[int], weight: Weights = None,
               bias: Weights = None, eps: float = 1e-5) -> Any:  # fmt: skip
    axes = -1 if len(shape) == 1 else tuple(range(-len(shape), 0))
    y = g.F.layer_norm(x, axis=axes, epsilon=eps, **_affine(weight, bias))
    return (y, None, None) if "native" in g.source else y


@rule("aten.rms_norm", "aten._fused_rms_norm")
def rms_norm(g: TorchBuilder, x: Tensor, shape: Sequence[int], weight: Weights = None,
             eps: float | None = None) -> Any:  # fmt: skip
    axes = -1 if len(shape) == 1 else tuple(range(-len(shape), 0))
    limits = {"float16": 0.0009765625, "bfloat16": 0.0078125, "float64": 2.220446049250313e-16}
    eps = limits.get(x.dtype, 1.1920928955078125e-07) if eps is None else eps
    y = g.F.rms_norm(x, axis=axes, epsilon=eps, **_affine(weight, None))
    return (y, None) if "_fused" in g.source else y


@rule("aten.group_norm")
def group_norm(g: TorchBuilder, x: Tensor, groups: int, weight: Weights = None,
               bias: Weights = None, eps: float = 1e-5) -> Any:  # fmt: skip
    return g.F.group_norm(x, groups, epsilon=eps, channel_axis=1, **_affine(weight, bias))


@rule("aten.native_group_norm")
def native_group_norm(g: TorchBuilder, x: Tensor, weight: Weights, bias: Weights, n: Size, c: Size,
                      hw: Size, groups: int, eps: float) -> Any:  # fmt: skip
    return group_norm(g, x, groups, weight, bias, eps), None, None


@rule("aten.instance_norm")
def instance_norm(g: TorchBuilder, x: Tensor, weight: Weights, bias: Weights, mean: Tensor,
                  var: Tensor, use_input_stats: bool, momentum: float,
                  eps: float) -> Any:  # fmt: skip
    if use_input_stats:
        return g.F.instance_norm(x, epsilon=eps, channel_axis=1, **_affine(weight, bias))
    return batch_norm(g, x, weight, bias, mean, var, False, momentum, eps)


@rule("aten.batch_norm")
def batch_norm(g: TorchBuilder, x: Tensor, weight: Weights, bias: Weights, mean: Tensor,
               var: Tensor, training: bool, momentum: float, eps: float) -> Any:  # fmt: skip
    channels = x.shape[1]
    if mean is None:  # statistics of the batch, in evaluation too
        zeros = g.t.zeros((channels,), dtype=x.dtype, backend=g.to)
        ones = g.t.ones((channels,), dtype=x.dtype, backend=g.to)
        found = g.F.batch_norm(
            x, zeros, ones, epsilon=eps, channel_axis=1, training=True, **_affine(weight, bias)
        )
        return g.item(found, 0)
    options: dict[str, Any] = _affine(weight, bias)
    if training:  # in evaluation where the program itself says so: `F.batch_norm(training=True)`
        options |= {"training": g.training if g.train else True, "momentum": momentum}
    found = g.F.batch_norm(x, mean, var, epsilon=eps, channel_axis=1, **options)
    if training and g.train:
        g.update(mean, g.item(found, 1))
        g.update(var, g.item(found, 2))
    return g.item(found, 0)


@rule("aten._native_batch_norm_legit_no_training")
def batch_norm_evaluated(g: TorchBuilder, x: Tensor, weight: Weights, bias: Weights, mean: Tensor,
                         var: Tensor, momentum: float, eps: float) -> Any:  # fmt: skip
    return batch_norm(g, x, weight, bias, mean, var, False, momentum, eps), None, None


@rule("aten._native_batch_norm_legit_functional")
def batch_norm_functional(g: TorchBuilder, x: Tensor, weight: Weights, bias: Weights, mean: Tensor,
                          var: Tensor, training: bool, momentum: float,
                          eps: float) -> Any:  # fmt: skip
    options: dict[str, Any] = _affine(weight, bias)
    if training:
        options |= {"training": g.training, "momentum": momentum}
    found = g.F.batch_norm(x, mean, var, epsilon=eps, channel_axis=1, **options)
    return g.item(found, 0), None, None, g.item(found, 1), g.item(found, 2)


@rule("aten._weight_norm", "aten._weight_norm_interface")
def weight_norm(g: TorchBuilder, v: Tensor, size: Tensor, dim: int = 0) -> Any:
    axes = tuple([axis for axis in range(len(v.shape)) if axis != dim % len(v.shape)])
    norm = g.linalg.vector_norm(v, axis=axes, keepdims=True)
    y = g.t.multiply(v, g.t.divide(size, norm))
    return (y, norm) if "interface" in g.source else y


@rule("aten.local_response_norm")
def local_response_norm(
    g: TorchBuilder, x: Tensor, size: int, alpha: float, beta: float, k: float
) -> Any:
    return g.F.local_response_norm(x, size=size, alpha=alpha, beta=beta, k=k, channel_axis=1)
