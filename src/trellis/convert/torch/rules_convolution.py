"""Convolution."""

from collections.abc import Callable, Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from .builder import Dims, Tensor, TorchBuilder
from .table import rule

LETTERS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def each(value: Dims, dims: int) -> tuple[int, ...]:
    """One number for each axis."""
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values * dims if len(values) == 1 else values


def short(values: tuple[int, ...]) -> Any:
    """One number where all are the same: it reads better."""
    return values[0] if len(set(values)) == 1 else values


def padding_of(
    padding: Dims | str, dims: int, kernel: Sequence[Any], dilation: Sequence[int]
) -> Any:
    if isinstance(padding, str):
        if padding == "valid":
            return 0
        spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return tuple([(span // 2, span - span // 2) for span in spans])
    pads = each(padding, dims)
    return pads[0] if len(set(pads)) == 1 else tuple([(p, p) for p in pads])


def batched(g: TorchBuilder, x: Tensor, dims: int, fn: Callable[[Any], Any]) -> Any:
    """`fn(x)`; an `x` without a batch axis is a batch of one."""
    if len(x.shape) == dims + 2:
        return fn(x)
    found = fn(g.noted(g.t.expand_dims(x, axis=0), (1, *x.shape), x.dtype))
    if isinstance(found, tuple):
        return tuple([g.t.squeeze(y, axis=0) for y in found])
    return g.t.squeeze(found, axis=0)


def exact(g: TorchBuilder, *xs: Tensor | None) -> Any:
    """Integers as numbers of float64, which holds sums of up to 2**53, and the way back; other
    types stay."""
    kind = g.out.dtype
    if "int" not in (kind or ""):
        return (*xs, lambda y: y)
    if g.dtype("int64") != "int64":
        raise NotSupportedError(
            f"{g.source} of integers is computed in float64, which {g.to} does not have as it is "
            "set up."
        )
    made = [None if x is None else g.cast(x, "float64") for x in xs]
    return (*made, lambda y: g.cast(g.noted(y, None, "float64"), kind))


@rule("aten.conv1d", "aten.conv2d", "aten.conv3d")
def conv(g: TorchBuilder, x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Dims = 1,
         padding: Dims | str = 0, dilation: Dims = 1, groups: int = 1) -> Any:  # fmt: skip
    x, weight, bias, back = exact(g, x, weight, bias)
    dims = len(weight.shape) - 2
    strides, dilations = each(stride, dims), each(dilation, dims)
    pads = padding_of(padding, dims, weight.shape[2:], dilations)
    options: dict[str, Any] = {} if bias is None else {"bias": bias}
    if set(dilations) != {1}:
        options["dilations"] = short(dilations)
    if groups == 1:
        fn, options["data_format"] = getattr(g.F, f"conv{dims}d"), LETTERS[dims]
    else:
        fn, options["data_format"] = g.F.conv_general_dilated, "channel_first"
        options |= {"dims": dims, "feature_group_count": groups}
    options["filter_format"] = "channel_first"
    return back(batched(g, x, dims, lambda x: fn(x, weight, short(strides), pads, **options)))


@rule("aten.convolution", "aten._convolution")
def convolution(
    g: TorchBuilder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Dims,
    padding: Dims | str,
    dilation: Dims,
    transposed: bool,
    output_padding: Dims,
    groups: int,
) -> Any:
    if transposed:
        return conv_transpose(
            g, x, weight, bias, stride, padding, output_padding, groups, dilation
        )  # fmt: skip
    return conv(g, x, weight, bias, stride, padding, dilation, groups)


@rule("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def conv_transpose(g: TorchBuilder, x: Tensor, weight: Tensor, bias: Tensor | None = None,
                   stride: Dims = 1, padding: Dims = 0, output_padding: Dims = 0, groups: int = 1,
                   dilation: Dims = 1) -> Any:  # fmt: skip
    x, weight, bias, back = exact(g, x, weight, bias)
    dims = len(weight.shape) - 2
    strides, dilations, pads = [each(i, dims) for i in (stride, dilation, padding)]
    extra = each(output_padding, dims)
    sizes = x.shape[-dims:]
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
        options["dilations"] = short(dilations)
    pairs = pads[0] if len(set(pads)) == 1 else tuple([(p, p) for p in pads])
    return back(batched(g, x, dims, lambda x: g.F.conv_general_transpose(
        x, weight, short(strides), pairs, dims=dims, data_format="channel_first",
        filter_format="channel_first", feature_group_count=groups, **options,
    )))  # fmt: skip
