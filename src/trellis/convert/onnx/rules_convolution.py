"""Convolutions and what is made of them."""

from typing import Any

from ..._core.errors import ArgumentError
from ...graph import Value
from ..semantics.convolution import same_padding
from .builder import OnnxBuilder
from .table import rules


def window_options(
    g: OnnxBuilder,
    x: Value,
    window: tuple[int, ...],
    auto_pad: str,
    strides: Any,
    pads: Any,
    dilations: Any,
) -> dict[str, Any]:
    """Strides, dilations and explicit padding for each spatial axis."""
    dims = len(window)
    strides = tuple(strides) if strides else (1,) * dims
    dilations = tuple(dilations) if dilations else (1,) * dims
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        sizes = (x.shape or ())[2:]
        if len(sizes) != dims or not all([isinstance(n, int) for n in sizes]):
            raise ArgumentError(
                f"auto_pad={auto_pad} needs the sizes of the image; give args and dynamic={{}}, so "
                "that they are fixed"
            )
        is_lower = auto_pad == "SAME_LOWER"
        known: Any = sizes
        padding = same_padding(known, window, strides, dilations, more_at_begin=is_lower)
    elif auto_pad == "VALID" or not pads:
        padding = [(0, 0)] * dims
    else:
        padding = [(pads[i], pads[i + dims]) for i in range(dims)]
    return {"strides": strides, "padding": tuple(padding), "dilations": dilations}


def window_of(w: Value, kernel_shape: Any) -> tuple[int, ...]:
    """The size of the filters along their spatial axes."""
    if kernel_shape:
        return tuple(kernel_shape)
    sizes = (w.shape or ())[2:]
    if not sizes or not all([isinstance(n, int) for n in sizes]):
        raise ArgumentError("the size of the filters is not known before the model runs")
    return sizes  # type: ignore[return-value]


@rules("Conv")
def convolution(
    g: OnnxBuilder,
    x: Value,
    w: Value,
    b: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    window = window_of(w, kernel_shape)
    options = window_options(g, x, window, auto_pad, strides, pads, dilations)
    if len(window) <= 3 and min([n for pair in options["padding"] for n in pair]) >= 0:
        dims = len(window)
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
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    window = window_of(w, kernel_shape)
    dims = len(window)
    strides = tuple(strides) if strides else (1,) * dims
    dilations = tuple(dilations) if dilations else (1,) * dims
    extra = tuple(output_padding) if output_padding else (0,) * dims
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    padding = [(0, 0)] * dims
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
    elif pads and auto_pad != "VALID":
        padding = [(pads[i], pads[i + dims]) for i in range(dims)]
    return g.s.transposed_convolution(
        x, w, b, strides=strides, padding=tuple(padding), dilations=dilations,
        output_padding=extra, groups=group,
    )  # fmt: skip


@rules("DeformConv")
def deformed(
    g: OnnxBuilder,
    x: Value,
    w: Value,
    offset: Value,
    b: Value | None = None,
    mask: Value | None = None,
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    offset_group: int = 1,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    options = window_options(g, x, window_of(w, kernel_shape), "NOTSET", strides, pads, dilations)
    return g.s.deformed_convolution(
        x, w, offset, b, mask, groups=group, offset_groups=offset_group, **options
    )


@rules("Col2Im")
def fold(
    g: OnnxBuilder,
    x: Value,
    image_shape: Value,
    block_shape: Value,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    return g.s.columns_to_image(
        x, g.integers(image_shape), g.integers(block_shape),
        dilations=None if dilations is None else tuple(dilations),
        pads=None if pads is None else tuple(pads),
        strides=None if strides is None else tuple(strides),
    )  # fmt: skip
