"""Operations of TensorFlow that are layers: products, convolutions, pools, norms, reductions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from .builder import Operand, TensorFlowBuilder

layer_rules = Rules()


@layer_rules("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def matmul(
    g: TensorFlowBuilder,
    x: Operand,
    y: Operand,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adj_x: bool = False,
    adj_y: bool = False,
    Tout: str = "",
) -> Value:
    """Adjoint matrices (`adj_x`) are conjugated too, transposed ones are not. The result may be
    wider than the operands."""
    kind = g.out[0].dtype
    x, y = g.cast(g.array(x), kind), g.cast(g.array(y), kind)
    if transpose_a or adj_x:
        x = adjoint_of(g, x) if adj_x else g.t.matrix_transpose(x)
    is_plain = transpose_b or (adj_y and "complex" not in kind)
    if is_plain and y.shape is not None and len(y.shape) == 2:
        return g.F.linear(x, y)
    if transpose_b or adj_y:
        y = adjoint_of(g, y) if adj_y else g.t.matrix_transpose(y)
    return g.t.matmul(x, y)


def adjoint_of(g: TensorFlowBuilder, x: Value) -> Value:
    """The conjugate transpose of matrices."""
    flipped = g.t.matrix_transpose(x)
    return g.t.conj(flipped) if "complex" in str(x.dtype) else flipped


@layer_rules("Einsum")
def einsum(g: TensorFlowBuilder, *xs: Operand, equation: str) -> Value:
    arrays = [g.array(x) for x in xs]
    if "..." in equation:
        equation = _spelled(equation, [len(x.shape or ()) for x in arrays])
    return g.t.einsum(equation, *arrays)


def _spelled(equation: str, ranks: list[int]) -> str:
    """An equation with letters in the place of `...`."""
    given, _, out = equation.partition("->")
    terms = given.split(",")
    free = [c for c in "zyxwvutsrqponm" if c not in equation]
    hidden = [n - len(term.replace("...", "")) for term, n in zip(terms, ranks) if "..." in term]
    letters = "".join(free[: max(hidden)])
    done = [
        term.replace("...", letters[len(letters) - (n - len(term.replace("...", ""))) :])
        for term, n in zip(terms, ranks)
    ]
    return f"{','.join(done)}->{out.replace('...', letters)}"


@layer_rules("BiasAdd", "BiasAddV1")
def bias_add(g: TensorFlowBuilder, x: Value, bias: Operand, *, data_format: str = "NHWC") -> Value:
    bias = g.array(bias)
    rank = len(x.shape or ())
    if data_format.startswith("NC") and rank > 2:
        bias = g.t.reshape(bias, (-1, *[1] * (rank - 2)))
    return g.t.add(x, bias)


class _Window:
    """Where the windows of a layer lie, said for the spatial axes alone."""

    def __init__(
        self,
        strides: Sequence[int],
        padding: str,
        data_format: str,
        dilations: Sequence[int] = (),
        explicit_paddings: Sequence[int] = (),
    ):
        self.data_format, self.is_first = data_format, data_format.startswith("NC")
        self.strides = self.spatial(strides)
        ends = [int(n) for n in explicit_paddings]
        pairs = self.spatial(list(zip(ends[::2], ends[1::2])))
        self.padding: Any = pairs if padding == "EXPLICIT" else padding
        steps = self.spatial(dilations)
        self.options: dict[str, Any] = {} if set(steps) <= {1} else {"dilations": steps}

    def spatial(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Those of the values that belong to the spatial axes."""
        return tuple(values[2:] if self.is_first else values[1:-1])


@layer_rules("Conv2D", "Conv3D")
def conv(
    g: TensorFlowBuilder,
    x: Operand,
    filters: Operand,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
) -> Value:
    x, filters = g.array(x), g.array(filters)
    n = len(filters.shape or ()) - 2
    window = _Window(strides, padding, data_format, dilations, explicit_paddings)
    options = window.options
    x_shape: Any = x.shape
    filter_shape: Any = filters.shape
    channels, inner = x_shape[1 if window.is_first else -1], filter_shape[-2]
    if isinstance(channels, int) and isinstance(inner, int) and channels != inner:
        if window.is_first:
            options["data_format"] = "channel_first"
        return g.F.conv_general_dilated(
            x, filters, window.strides, window.padding, dims=n,
            feature_group_count=channels // inner, **options,
        )  # fmt: skip
    if window.is_first:
        options["data_format"] = window.data_format
    fn = getattr(g.F, f"conv{n}d")
    return fn(x, filters, window.strides, window.padding, **options)  # type: ignore[no-any-return]


@layer_rules("DepthwiseConv2dNative")
def depthwise_conv(
    g: TensorFlowBuilder,
    x: Operand,
    filters: Operand,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
) -> Value:
    x, filters = g.array(x), g.array(filters)
    filter_shape: Any = filters.shape
    height, width, channels, times = filter_shape
    window = _Window(strides, padding, data_format, dilations, explicit_paddings)
    options = window.options
    if times == 1:
        if window.is_first:
            options["data_format"] = window.data_format
        return g.F.depthwise_conv2d(x, filters, window.strides, window.padding, **options)
    rows = g.t.reshape(filters, (height, width, 1, channels * times))
    if window.is_first:
        options["data_format"] = "channel_first"
    return g.F.conv_general_dilated(
        x, rows, window.strides, window.padding, dims=2, feature_group_count=channels, **options
    )


@layer_rules("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_transpose(
    g: TensorFlowBuilder,
    size: Operand,
    filters: Operand,
    x: Operand,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
) -> Value:
    """The gradient of a convolution: `size` is the shape that it was applied to."""
    x, filters = g.array(x), g.array(filters)
    n = len(filters.shape or ()) - 2
    window = _Window(strides, padding, data_format, dilations, explicit_paddings)
    options = {"output_shape": window.spatial(g.ints(size)), **window.options}
    if window.is_first:
        options["data_format"] = window.data_format
    fn = getattr(g.F, f"conv{n}d_transpose")
    return fn(x, filters, window.strides, window.padding, **options)  # type: ignore[no-any-return]


@layer_rules("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")
def pool(
    g: TensorFlowBuilder,
    x: Value,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str,
    explicit_paddings: Sequence[int] = (),
) -> Value:
    """Averages never count padding, in TensorFlow as here."""
    window = _Window(strides, padding, data_format, (), explicit_paddings)
    options = {"data_format": window.data_format} if window.is_first else {}
    fn = getattr(g.F, f"{g.source[:3].lower()}_pool{len(ksize) - 2}d")
    return fn(  # type: ignore[no-any-return]
        x, window.spatial(ksize), window.strides, window.padding, **options
    )


@layer_rules("FusedBatchNormV3", "FusedBatchNormV2", "FusedBatchNorm")
def batch_norm(
    g: TensorFlowBuilder,
    x: Value,
    scale: Operand,
    offset: Operand,
    mean: Operand,
    variance: Operand,
    *,
    epsilon: float,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    axis = 1 if data_format.startswith("NC") else -1
    scale, offset = g.array(scale), g.array(offset)
    small = float(str(np.float32(epsilon)))
    if not is_training:
        mean, variance = g.array(mean), g.array(variance)
        options = {"weight": scale, "bias": offset, "epsilon": small}
        if axis == 1:
            options["channel_axis"] = 1
        y = g.items(g.F.batch_norm(x, mean, variance, **options), 1)[0]
        return (y, mean, variance, mean, variance, mean)[: len(g.out)]
    made = g.s.batch_normalized(x, scale, offset, epsilon=small, channel_axis=axis)
    # TensorFlow has no derivatives of the statistics.
    y, *rest = g.items(made, 4)
    now, spread, unbiased = [g.t.stop_gradient(x) for x in rest]
    return (y, now, unbiased, now, spread, now)[: len(g.out)]


@layer_rules("Softmax", "LogSoftmax")
def softmax(g: TensorFlowBuilder, x: Value) -> Value:
    return g.F.softmax(x) if g.source == "Softmax" else g.F.log_softmax(x)


@layer_rules("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
def cross_entropy(g: TensorFlowBuilder, x: Value, labels: Operand) -> Any:
    """The loss, and its derivative by `x`."""
    is_sparse = g.source.startswith("Sparse")
    fn = g.s.sparse_softmax_cross_entropy if is_sparse else g.s.softmax_cross_entropy
    return g.items(fn(x, g.array(labels)), 2)


@layer_rules("AdjustContrastv2")
def adjust_contrast(g: TensorFlowBuilder, x: Value, factor: Operand) -> Value:
    mean = g.t.mean(x, axis=(-3, -2), keepdims=True)
    return g.t.add(g.t.multiply(g.t.subtract(x, mean), g.array(factor)), mean)


@layer_rules("L2Loss")
def l2_loss(g: TensorFlowBuilder, x: Value) -> Value:
    return g.t.multiply(g.t.sum(g.t.square(x)), 0.5)


_REDUCTIONS = {
    "All": "all", "Any": "any", "Max": "max", "Mean": "mean", "Min": "min", "Prod": "prod",
    "Sum": "sum",
}  # fmt: skip


@layer_rules(*_REDUCTIONS, "EuclideanNorm")
def reduce(g: TensorFlowBuilder, x: Operand, axes: Operand, *, keep_dims: bool = False) -> Value:
    x = g.array(x)
    found = g.ints(axes, "An axis")
    rank = len(x.shape or ())
    if not found:
        return x
    options: dict[str, Any] = {}
    if len({i % rank for i in found}) < rank or keep_dims:
        options["axis"] = found[0] if len(found) == 1 else found
    if keep_dims:
        options["keepdims"] = True
    if g.source == "EuclideanNorm":
        return g.t.sqrt(g.t.sum(g.t.square(x), **options))
    kind = g.out[0].dtype
    if g.source in ("Sum", "Prod") and "int" in kind:
        options["dtype"] = g.dtype(kind)
    if g.source == "Mean" and "int" in kind:
        total = g.t.sum(x, dtype=g.dtype(kind), **options)
        return g.t.truncate_divide(total, g.s.count_along(x, found))
    return getattr(g.t, _REDUCTIONS[g.source])(x, **options)  # type: ignore[no-any-return]


@layer_rules("ArgMax", "ArgMin")
def argmax(g: TensorFlowBuilder, x: Value, axis: Operand, *, output_type: str = "int64") -> Value:
    fn = g.t.argmax if g.source == "ArgMax" else g.t.argmin
    return g.t.astype(fn(x, axis=g.axis(axis)), g.dtype(g.out[0].dtype))


@layer_rules("Cumsum", "Cumprod", "CumulativeLogsumexp")
def cumulative(
    g: TensorFlowBuilder, x: Value, axis: Operand, *, exclusive: bool, reverse: bool
) -> Value:
    along = g.axis(axis) % len(x.shape or ())
    if g.source == "CumulativeLogsumexp":
        if exclusive:
            raise NotSupportedError(f"{g.source}: exclusive=True is not read.")
        x = g.t.flip(x, axis=along) if reverse else x
        made = g.s.accumulate(x, axis=along, by="logsumexp")
        return g.t.flip(made, axis=along) if reverse else made
    word = g.source[3:]
    if exclusive or reverse:
        return g.s.running(x, axis=along, by=word, exclusive=exclusive, reverse=reverse)
    options = {"dtype": g.dtype(g.out[0].dtype)} if "int" in g.out[0].dtype else {}
    return getattr(g.t, f"cumulative_{word}")(x, axis=along, **options)  # type: ignore[no-any-return]


ANY_ORDER = "TopKV2 in any order"


@layer_rules("TopKV2", "TopK")
def top_k(
    g: TensorFlowBuilder, x: Value, k: Operand, *, sorted: bool = True, index_type: str = "int32"
) -> Any:
    if not sorted:
        g.source = ANY_ORDER
    count = k if isinstance(k, int) else g.axis(k)
    values, indices = g.items(g.t.topk(x, count), 2)
    return values, g.t.astype(indices, g.dtype(g.out[1].dtype))


@layer_rules("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
def resize(
    g: TensorFlowBuilder,
    x: Value,
    size: Operand,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Value:
    return g.s.resize_images(
        x, g.ints(size), method=g.source.removeprefix("Resize").lower(),
        align_corners=align_corners, half_pixel_centers=half_pixel_centers,
    )  # fmt: skip


@layer_rules("SpaceToBatchND", "BatchToSpaceND")
def space_to_batch(g: TensorFlowBuilder, x: Value, block: Operand, edges: Operand) -> Value:
    fn = g.s.space_to_batch if g.source == "SpaceToBatchND" else g.s.batch_to_space
    flat = g.ints(edges)
    pairs = [(flat[2 * i], flat[2 * i + 1]) for i in range(len(flat) // 2)]
    return fn(x, g.ints(block), pairs)


@layer_rules("DepthToSpace", "SpaceToDepth")
def depth_to_space(
    g: TensorFlowBuilder, x: Value, *, block_size: int, data_format: str = "NHWC"
) -> Value:
    if data_format not in ("NHWC", "NCHW"):
        raise NotSupportedError(f"{g.source}: data_format={data_format!r} is not read.")
    fn = g.s.depth_to_space if g.source == "DepthToSpace" else g.s.space_to_depth
    return fn(x, block_size, channel_last=data_format == "NHWC")
