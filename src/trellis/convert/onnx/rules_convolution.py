"""Convolutions and what is made of them."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import ArgumentError
from ...graph import Value
from .builder import OnnxBuilder
from .table import rules
from .windows import Window, groups


@rules("Conv")
def convolution(
    g: OnnxBuilder, x: Value, w: Value, b: Value | None = None, group: int = 1, **attributes: Any
) -> Value:
    window, group = Window(**attributes), groups(group)
    sizes = window.sizes(w)
    options = window.options(x, sizes)
    if len(sizes) <= 3 and min([n for pair in options["padding"] for n in pair]) >= 0:
        dims = len(sizes)
        more: dict[str, Any] = {"data_format": "channel_first", "dims": dims}
        if group == 1:
            more = {"data_format": ("NCW", "NCHW", "NCDHW")[dims - 1]}
        if max(options["dilations"]) > 1:
            more["dilations"] = options["dilations"]
        if group > 1:
            more["feature_group_count"] = group
        if b is not None:
            more["bias"] = b
        call = getattr(g.F, "conv_general_dilated" if group > 1 else f"conv{dims}d")
        strides, padding = options["strides"], options["padding"]
        return call(x, w, strides, padding, filter_format="channel_first", **more)
    return g.s.convolution(x, w, b, groups=group, **options)


@rules("ConvTranspose")
def transposed(
    g: OnnxBuilder,
    x: Value,
    w: Value,
    b: Value | None = None,
    group: int = 1,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    **attributes: Any,
) -> Value:
    window = Window(**attributes)
    sizes, auto_pad = window.sizes(w), window.auto_pad
    dims = len(sizes)
    strides, dilations = window.steps(dims)
    extra = tuple(output_padding) if output_padding else (0,) * dims
    spans = [(k - 1) * d + 1 for k, d in zip(sizes, dilations, strict=True)]
    padding = window.explicit(dims)
    if output_shape or auto_pad.startswith("SAME"):
        padding = []
        for i in range(dims):
            n = (x.shape or (None,) * (dims + 2))[i + 2]
            if not output_shape and not isinstance(n, int):
                # SAME means n * stride places, whatever n is.
                total = spans[i] - strides[i] + extra[i]
            elif not isinstance(n, int):
                raise ArgumentError("output_shape needs the sizes of the image to be fixed")
            else:
                wanted = output_shape[-dims:][i] if output_shape else n * strides[i]
                total = strides[i] * (n - 1) + extra[i] + spans[i] - wanted
            half = total // 2
            pair = (half, total - half) if auto_pad == "SAME_UPPER" else (total - half, half)
            padding.append(pair)
    return g.s.transposed_convolution(
        x, w, b, strides=strides, padding=tuple(padding), dilations=dilations,
        output_padding=extra, groups=groups(group),
    )  # fmt: skip


@rules("DeformConv")
def deformed(
    g: OnnxBuilder,
    x: Value,
    w: Value,
    offset: Value,
    b: Value | None = None,
    mask: Value | None = None,
    group: int = 1,
    offset_group: int = 1,
    **attributes: Any,
) -> Value:
    window = Window(**attributes)
    options = window.options(x, window.sizes(w))
    return g.s.deformed_convolution(
        x, w, offset, b, mask, groups=groups(group), offset_groups=groups(offset_group), **options
    )


@rules("Col2Im")
def fold(
    g: OnnxBuilder,
    x: Value,
    image_shape: Value,
    block_shape: Value,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    padding = Window(pads=pads).explicit(len(pads) // 2) if pads else 0
    return g.F.fold(
        x, g.integers(image_shape), g.integers(block_shape), tuple(strides) if strides else 1,
        padding, dilations=tuple(dilations) if dilations else 1, data_format="channel_first",
    )  # fmt: skip
