"""Normalizations."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from ...graph import Value
from .builder import OnnxBuilder
from .table import TYPES, rules


@rules("BatchNormalization")
def batch_norm(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    **older: Any,
) -> Any:
    options = {"weight": scale, "bias": bias, "epsilon": epsilon, "channel_axis": 1}
    if training_mode:
        found = g.s.batch_norm_training(x, scale, bias, mean, variance, epsilon, momentum)
        return g.items(found, 3)
    if g.train:
        found = g.F.batch_norm(
            x, mean, variance, training=Value("training"), momentum=round(1 - momentum, 7),
            **options,
        )  # fmt: skip
        chains = {value.name: chain for chain, value in g.graph.buffers.items()}
        for i, statistic in ((1, mean), (2, variance)):
            if statistic.name in chains:
                g.graph.updates[chains[statistic.name]] = g.item(found, i)
    else:
        found = g.F.batch_norm(x, mean, variance, **options)
    return g.item(found, 0)


@rules("InstanceNormalization")
def instance_norm(
    g: OnnxBuilder, x: Value, scale: Value, bias: Value, epsilon: float = 1e-5
) -> Value:
    return g.F.instance_norm(x, weight=scale, bias=bias, epsilon=epsilon, channel_axis=1)


@rules("GroupNormalization")
def group_norm(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    epsilon: float = 1e-5,
    num_groups: int = 1,
    stash_type: int = 1,
) -> Value:
    if g.opset < 21:  # one number for each group
        channels = x.shape[1] if x.shape is not None else None
        if not isinstance(channels, int):
            raise NotSupportedError("the number of channels is not known before the model runs")
        scale = g.t.repeat(scale, channels // num_groups)
        bias = g.t.repeat(bias, channels // num_groups)
    return g.F.group_norm(x, num_groups, weight=scale, bias=bias, epsilon=epsilon, channel_axis=1)


@rules("LayerNormalization")
def layer_norm(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    bias: Value | None = None,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Value, ...]:
    rank = g.known_rank(x)
    axes = tuple(range(axis % rank, rank))
    where: Any = -1 if axes == (rank - 1,) else axes
    if scale.shape == tuple([(x.shape or ())[i] for i in axes]):
        y = g.F.layer_norm(x, axis=where, weight=scale, bias=bias, epsilon=epsilon)
    else:
        y = g.t.multiply(g.F.layer_norm(x, axis=where, epsilon=epsilon), scale)
        y = y if bias is None else g.t.add(y, bias)
    kind = TYPES.get(stash_type, "float32")
    wide = g.cast(x, kind)
    mean = g.t.mean(wide, axis=axes, keepdims=True)
    spread = g.t.var(wide, axis=axes, keepdims=True)
    return y, mean, g.t.rsqrt(g.t.add(spread, epsilon))


@rules("RMSNormalization")
def rms_norm(
    g: OnnxBuilder,
    x: Value,
    scale: Value,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Value:
    rank = g.known_rank(x)
    axes = tuple(range(axis % rank, rank))
    if scale.shape == tuple([(x.shape or ())[i] for i in axes]):
        where: Any = -1 if axes == (rank - 1,) else axes
        return g.F.rms_norm(x, axis=where, weight=scale, epsilon=epsilon)
    return g.t.multiply(g.F.rms_norm(x, axis=axes, epsilon=epsilon), scale)


@rules("LRN")
def local_response_norm(
    g: OnnxBuilder,
    x: Value,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
    size: int = 5,
) -> Value:
    options = {"size": size, "alpha": alpha, "beta": beta, "k": bias, "channel_axis": 1}
    if size % 2 == 1:
        return g.F.local_response_norm(x, **options)
    # Of an even number of channels, one more follows than goes before: the other way round.
    return g.t.flip(g.F.local_response_norm(g.t.flip(x, axis=1), **options), axis=1)


@rules("LpNormalization")
def lp_norm(g: OnnxBuilder, x: Value, axis: int = -1, p: int = 2) -> Value:
    options = {"axis": axis, "keepdims": True}
    if p == 1:
        norm = g.t.sum(g.t.abs(x), **options)
    else:
        norm = g.t.sqrt(g.t.sum(g.t.square(x), **options))
    # A row of zeros stays one.
    return g.t.divide(x, g.t.where(g.t.equal(norm, 0), 1.0, norm))


@rules("MeanVarianceNormalization")
def mean_variance_norm(g: OnnxBuilder, x: Value, axes: Sequence[int] = (0, 2, 3)) -> Value:
    options = {"axis": tuple(axes), "keepdims": True}
    spread = g.t.add(g.t.std(x, **options), 1e-9)
    return g.t.divide(g.t.subtract(x, g.t.mean(x, **options)), spread)
