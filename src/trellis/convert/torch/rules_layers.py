"""Normalisation, convolution, pooling, resizing."""

from typing import Any

from ..._core.errors import NotSupportedError
from .builder import TorchBuilder
from .table import rule

_LETTERS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


# Normalisation ------------------------------------------------------------------------------------


def _affine(weight: Any, bias: Any) -> dict[str, Any]:
    return {k: v for k, v in {"weight": weight, "bias": bias}.items() if v is not None}


@rule("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(g: TorchBuilder, x: Any, shape: Any, weight: Any = None, bias: Any = None,
               eps: float = 1e-5, *_: Any) -> Any:  # fmt: skip
    axes = -1 if len(shape) == 1 else tuple(range(-len(shape), 0))
    y = g.F.layer_norm(x, axis=axes, epsilon=eps, **_affine(weight, bias))
    return (y, None, None) if "native" in g.source else y


@rule("aten.rms_norm", "aten._fused_rms_norm")
def rms_norm(g: TorchBuilder, x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    axes = -1 if len(shape) == 1 else tuple(range(-len(shape), 0))
    limits = {"float16": 0.0009765625, "bfloat16": 0.0078125, "float64": 2.220446049250313e-16}
    eps = limits.get(x.dtype, 1.1920928955078125e-07) if eps is None else eps
    y = g.F.rms_norm(x, axis=axes, epsilon=eps, **_affine(weight, None))
    return (y, None) if "_fused" in g.source else y


@rule("aten.group_norm")
def group_norm(g: TorchBuilder, x: Any, groups: int, weight: Any = None, bias: Any = None,
               eps: float = 1e-5, *_: Any) -> Any:  # fmt: skip
    return g.F.group_norm(x, groups, epsilon=eps, channel_axis=1, **_affine(weight, bias))


@rule("aten.native_group_norm")
def native_group_norm(g: TorchBuilder, x: Any, weight: Any, bias: Any, n: Any, c: Any, hw: Any,
                      groups: int, eps: float) -> Any:  # fmt: skip
    return group_norm(g, x, groups, weight, bias, eps), None, None


@rule("aten.instance_norm")
def instance_norm(g: TorchBuilder, x: Any, weight: Any, bias: Any, mean: Any, var: Any,
                  use_input_stats: bool, momentum: float, eps: float, *_: Any) -> Any:  # fmt: skip
    if use_input_stats:
        return g.F.instance_norm(x, epsilon=eps, channel_axis=1, **_affine(weight, bias))
    return batch_norm(g, x, weight, bias, mean, var, False, momentum, eps)


@rule("aten.batch_norm")
def batch_norm(g: TorchBuilder, x: Any, weight: Any, bias: Any, mean: Any, var: Any,
               training: bool, momentum: float, eps: float, *_: Any) -> Any:  # fmt: skip
    channels = x.shape[1]
    if mean is None:  # statistics of the batch, in evaluation too
        zeros = g.t.zeros((channels,), dtype=x.dtype, backend=g.to)
        ones = g.t.ones((channels,), dtype=x.dtype, backend=g.to)
        found = g.F.batch_norm(
            x, zeros, ones, epsilon=eps, channel_axis=1, training=True, **_affine(weight, bias)
        )
        return g.item(found, 0)
    options: dict[str, Any] = _affine(weight, bias)
    if training and g.train:
        options |= {"training": g.training, "momentum": momentum}
    found = g.F.batch_norm(x, mean, var, epsilon=eps, channel_axis=1, **options)
    if training and g.train:
        g.update(mean, g.item(found, 1))
        g.update(var, g.item(found, 2))
    return g.item(found, 0)


@rule("aten._native_batch_norm_legit_no_training")
def batch_norm_evaluated(g: TorchBuilder, x: Any, weight: Any, bias: Any, mean: Any, var: Any,
                         momentum: float, eps: float) -> Any:  # fmt: skip
    return batch_norm(g, x, weight, bias, mean, var, False, momentum, eps), None, None


@rule("aten._native_batch_norm_legit_functional")
def batch_norm_functional(g: TorchBuilder, x: Any, weight: Any, bias: Any, mean: Any, var: Any,
                          training: bool, momentum: float, eps: float) -> Any:  # fmt: skip
    options: dict[str, Any] = _affine(weight, bias)
    if training:
        options |= {"training": g.training, "momentum": momentum}
    found = g.F.batch_norm(x, mean, var, epsilon=eps, channel_axis=1, **options)
    return g.item(found, 0), None, None, g.item(found, 1), g.item(found, 2)


@rule("aten._weight_norm", "aten._weight_norm_interface")
def weight_norm(g: TorchBuilder, v: Any, size: Any, dim: int = 0) -> Any:
    axes = tuple([axis for axis in range(len(v.shape)) if axis != dim % len(v.shape)])
    norm = g.linalg.vector_norm(v, axis=axes, keepdims=True)
    y = g.t.multiply(v, g.t.divide(size, norm))
    return (y, norm) if "interface" in g.source else y


@rule("aten.local_response_norm")
def local_response_norm(g: TorchBuilder, x: Any, size: int, alpha: Any, beta: Any, k: Any) -> Any:
    return g.F.local_response_norm(x, size=size, alpha=alpha, beta=beta, k=k, channel_axis=1)


# Convolution --------------------------------------------------------------------------------------


def _each(value: Any, dims: int) -> tuple[int, ...]:
    """One number for each axis."""
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values * dims if len(values) == 1 else values


def _short(values: tuple[int, ...]) -> Any:
    """One number where all are the same: it reads better."""
    return values[0] if len(set(values)) == 1 else values


def _padding(padding: Any, dims: int, kernel: Any, dilation: Any) -> Any:
    if isinstance(padding, str):
        if padding == "valid":
            return 0
        spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return tuple([(span // 2, span - span // 2) for span in spans])
    pads = _each(padding, dims)
    return pads[0] if len(set(pads)) == 1 else tuple([(p, p) for p in pads])


@rule("aten.conv1d", "aten.conv2d", "aten.conv3d")
def conv(g: TorchBuilder, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
         dilation: Any = 1, groups: int = 1) -> Any:  # fmt: skip
    dims = len(weight.shape) - 2
    if len(x.shape) == dims + 1:  # without a batch axis
        y = conv(g, g.noted(g.t.expand_dims(x, axis=0), (1, *x.shape), x.dtype), weight, bias,
                 stride, padding, dilation, groups)  # fmt: skip
        return g.t.squeeze(y, axis=0)
    strides, dilations = _each(stride, dims), _each(dilation, dims)
    pads = _padding(padding, dims, weight.shape[2:], dilations)
    options: dict[str, Any] = {} if bias is None else {"bias": bias}
    if set(dilations) != {1}:
        options["dilations"] = _short(dilations)
    if groups == 1:
        return getattr(g.F, f"conv{dims}d")(
            x, weight, _short(strides), pads, data_format=_LETTERS[dims],
            filter_format="channel_first", **options,
        )  # fmt: skip
    return g.F.conv_general_dilated(
        x, weight, _short(strides), pads, dims=dims, data_format="channel_first",
        filter_format="channel_first", feature_group_count=groups, **options,
    )  # fmt: skip


@rule("aten.convolution", "aten._convolution")
def convolution(g: TorchBuilder, x: Any, weight: Any, bias: Any, stride: Any, padding: Any,
                dilation: Any, transposed: bool, output_padding: Any, groups: int, *_: Any) -> Any:
    if transposed:
        return conv_transpose(
            g, x, weight, bias, stride, padding, output_padding, groups, dilation
        )  # fmt: skip
    return conv(g, x, weight, bias, stride, padding, dilation, groups)


@rule("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def conv_transpose(g: TorchBuilder, x: Any, weight: Any, bias: Any = None, stride: Any = 1,
                   padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                   dilation: Any = 1) -> Any:  # fmt: skip
    dims = len(weight.shape) - 2
    if len(x.shape) == dims + 1:  # without a batch axis
        y = conv_transpose(g, g.noted(g.t.expand_dims(x, axis=0), (1, *x.shape), x.dtype), weight,
                           bias, stride, padding, output_padding, groups, dilation)  # fmt: skip
        return g.t.squeeze(y, axis=0)
    strides, dilations, pads = [_each(i, dims) for i in (stride, dilation, padding)]
    extra = _each(output_padding, dims)
    sizes = x.shape[2:]
    options: dict[str, Any] = {} if bias is None else {"bias": bias}
    if set(extra) != {0}:
        if not all([isinstance(n, int) for n in sizes]):
            raise NotSupportedError(
                f"{g.source} with output_padding needs images of a fixed size; convert without "
                "dynamic= for their axes."
            )
        options["output_shape"] = tuple([
            (n - 1) * s - 2 * p + d * (k - 1) + e + 1
            for n, s, p, d, k, e in zip(sizes, strides, pads, dilations, weight.shape[2:], extra)
        ])  # fmt: skip
    if set(dilations) != {1}:
        options["dilations"] = _short(dilations)
    pairs = pads[0] if len(set(pads)) == 1 else tuple([(p, p) for p in pads])
    return g.F.conv_general_transpose(
        x, weight, _short(strides), pairs, dims=dims, data_format="channel_first",
        filter_format="channel_first", feature_group_count=groups, **options,
    )  # fmt: skip


# Pooling ------------------------------------------------------------------------------------------


@rule("aten.max_pool1d", "aten.max_pool2d", "aten.max_pool3d", "aten.max_pool1d_with_indices",
      "aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")  # fmt: skip
def max_pool(g: TorchBuilder, x: Any, kernel: Any, stride: Any = (), padding: Any = 0,
             dilation: Any = 1, ceil_mode: bool = False) -> Any:  # fmt: skip
    dims = int(g.source.partition("pool")[2][0])
    window = _each(kernel, dims)
    strides = _each(stride, dims) if stride else window
    options: dict[str, Any] = {"data_format": _LETTERS[dims]}
    if set(_each(dilation, dims)) != {1}:
        options["dilations"] = _short(_each(dilation, dims))
    if ceil_mode:
        options["ceil_mode"] = True
    with_indices = "with_indices" in g.source
    if with_indices:
        options["return_indices"] = True
    pads = _padding(padding, dims, window, 1)
    batched = len(x.shape) == dims + 2
    y = getattr(g.F, f"max_pool{dims}d")(
        x if batched else g.t.expand_dims(x, axis=0), _short(window), _short(strides), pads,
        **options,
    )  # fmt: skip
    found = (g.item(y, 0), g.item(y, 1)) if with_indices else (y,)
    found = found if batched else tuple([g.t.squeeze(i, axis=0) for i in found])
    return found if with_indices else found[0]


@rule("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def avg_pool(g: TorchBuilder, x: Any, kernel: Any, stride: Any = (), padding: Any = 0,
             ceil_mode: bool = False, count_include_pad: bool = True,
             divisor_override: int | None = None) -> Any:  # fmt: skip
    dims = int(g.source.partition("pool")[2][0])
    window = _each(kernel, dims)
    strides = _each(stride, dims) if stride else window
    pads = _padding(padding, dims, window, 1)
    options: dict[str, Any] = {"data_format": _LETTERS[dims]}
    if count_include_pad and pads != 0 or divisor_override:
        options["count_include_pad"] = True
    if ceil_mode:
        options["ceil_mode"] = True
    batched = len(x.shape) == dims + 2
    y = getattr(g.F, f"avg_pool{dims}d")(
        x if batched else g.t.expand_dims(x, axis=0), _short(window), _short(strides), pads,
        **options,
    )  # fmt: skip
    if divisor_override:
        count = 1
        for size in window:
            count *= size
        y = g.t.multiply(y, count / divisor_override)
    return y if batched else g.t.squeeze(y, axis=0)


@rule("aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d",
      "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d")  # fmt: skip
def adaptive_avg_pool(g: TorchBuilder, x: Any, output_size: Any) -> Any:
    dims = len(output_size)
    if set(output_size) == {1}:
        return g.t.mean(x, axis=tuple(range(-dims, 0)), keepdims=True)
    batched = len(x.shape) == dims + 2
    y = g.F.adaptive_avg_pool(
        x if batched else g.t.expand_dims(x, axis=0), g.out.shape[-dims:],
        data_format="channel_first",
    )  # fmt: skip
    return y if batched else g.t.squeeze(y, axis=0)


@rule("aten.adaptive_max_pool1d", "aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d")
def adaptive_max_pool(g: TorchBuilder, x: Any, output_size: Any) -> Any:
    dims = len(output_size)
    batched = len(x.shape) == dims + 2
    found = g.F.adaptive_max_pool(
        x if batched else g.t.expand_dims(x, axis=0), g.out.shape[-dims:],
        data_format="channel_first", return_indices=True,
    )  # fmt: skip
    pair = g.item(found, 0), g.item(found, 1)
    return pair if batched else tuple([g.t.squeeze(i, axis=0) for i in pair])


# Resizing -----------------------------------------------------------------------------------------


@rule("aten.upsample_linear1d", "aten.upsample_bilinear2d", "aten.upsample_trilinear3d",
      "aten.upsample_bicubic2d")  # fmt: skip
def upsample(g: TorchBuilder, x: Any, output_size: Any, align_corners: bool, *scales: Any) -> Any:
    dims = len(x.shape) - 2
    method = {"linear1d": "linear", "bilinear2d": "bilinear", "trilinear3d": "trilinear",
              "bicubic2d": "bicubic"}[g.source.partition("upsample_")[2].partition(".")[0]]
    return g.s.resize_like_torch(
        x, _sizes(g, x, output_size, scales), method=method, align_corners=align_corners,
        scales=_scales(scales, dims),
    )  # fmt: skip


@rule("aten.upsample_nearest1d", "aten.upsample_nearest2d", "aten.upsample_nearest3d",
      "aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d",
      "aten._upsample_nearest_exact3d")  # fmt: skip
def upsample_nearest(g: TorchBuilder, x: Any, output_size: Any, *scales: Any) -> Any:
    dims = len(x.shape) - 2
    method = "nearest-exact" if "exact" in g.source else "nearest"
    return g.s.resize_like_torch(
        x, _sizes(g, x, output_size, scales), method=method, scales=_scales(scales, dims)
    )


def _sizes(g: TorchBuilder, x: Any, output_size: Any, scales: Any) -> tuple[Any, ...]:
    wanted = g.out.shape[2:]
    if all([isinstance(n, int) for n in wanted]):
        return tuple(wanted)
    if output_size is not None:
        return tuple(output_size)
    raise NotSupportedError(
        f"{g.source} by a factor needs images of a fixed size; convert without dynamic= for them."
    )


def _scales(scales: Any, dims: int) -> tuple[float, ...] | None:
    """The factors by which coordinates grow, where torch was given some."""
    if len(scales) == 1 and isinstance(scales[0], (list, tuple)):
        return tuple(scales[0])
    given = [s for s in scales if s is not None]
    return tuple(given) if len(given) == dims else None


@rule("aten.im2col")
def im2col(g: TorchBuilder, x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return g.s.columns(x, tuple(kernel), tuple(dilation), tuple(padding), tuple(stride))
