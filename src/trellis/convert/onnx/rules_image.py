"""Images at other sizes and places, and boxes in them."""

import math
from typing import Any

from ..._core.errors import ArgumentError
from ...graph import Value
from .builder import OnnxBuilder
from .table import rules

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic",
          "bicubic": "cubic"}  # fmt: skip


@rules("Resize")
def resize(
    g: OnnxBuilder,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    antialias: int = 0,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:
    if g.opset < 11:  # version 10: (x, scales), places without halves, rounded down
        roi, scales = None, roi
        coordinate_transformation_mode, nearest_mode = "asymmetric", "floor"
    rank = g.rank(x)
    if rank is None:
        raise ArgumentError("the number of axes is not known before the model runs")
    where = tuple([axis % rank for axis in axes]) if axes else tuple(range(rank))
    options: dict[str, Any] = {
        "axes": where,
        "mode": _MODES[mode],
        "coordinates": coordinate_transformation_mode,
    }
    if mode == "nearest":
        options["rounding"] = nearest_mode
    if mode == "cubic":
        options["cubic"] = cubic_coeff_a
        options["exclude_outside"] = bool(exclude_outside)
    elif exclude_outside:
        options["exclude_outside"] = True
    if antialias:
        options["antialias"] = True
    if coordinate_transformation_mode == "tf_crop_and_resize":
        options["extrapolation"] = extrapolation_value
        if roi is not None:
            options["regions"] = g.s.regions(roi)
            known = g.array(roi)
            if known is not None:
                half = known.size // 2
                flat = [float(n) for n in known.ravel()]
                options["regions"] = tuple(zip(flat[:half], flat[half:]))
    if sizes is not None and g.ints(sizes) != ():
        wanted = g.integers(sizes)
        return g.s.resized_to(x, wanted, policy=keep_aspect_ratio_policy, **options)
    if scales is None:
        raise ArgumentError("neither scales nor sizes are given")
    array = g.array(scales)
    factors = g.s.numbers(scales) if array is None else tuple([float(s) for s in array.ravel()])
    known_sizes = g.sizes(x)
    if known_sizes is not None and isinstance(factors, tuple):
        moved = [(a, s) for a, s in zip(where, factors) if s != 1 or "regions" in options]
        if "regions" not in options:
            options["axes"] = tuple([a for a, _ in moved])
        outs = tuple([math.floor(known_sizes[a] * s) for a, s in moved])
        return g.s.resized(x, outs, scales=tuple([s for _, s in moved]), **options)
    return g.s.resized_by(x, factors, **options)


@rules("Upsample")
def upsample(
    g: OnnxBuilder,
    x: Value,
    factors: Value | None = None,
    mode: str = "nearest",
    scales: Any = None,
) -> Value:
    array = g.array(factors)
    if scales is None:
        scales = g.s.numbers(factors) if array is None else tuple([float(s) for s in array.ravel()])
    axes = tuple(range(g.rank(x) or 4))
    return g.s.resized_by(
        x, scales, axes=axes, mode=_MODES[mode], coordinates="asymmetric", rounding="floor"
    )


@rules("GridSample")
def grid_sample(
    g: OnnxBuilder,
    x: Value,
    grid: Value,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Value:
    return g.F.grid_sample(
        x, grid, method=_MODES[mode], padding=padding_mode, align_corners=bool(align_corners),
        data_format="channel_first",
    )  # fmt: skip


@rules("RoiAlign")
def roi_align(
    g: OnnxBuilder,
    x: Value,
    rois: Value,
    batch: Value,
    coordinate_transformation_mode: str | None = None,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    if coordinate_transformation_mode is None:
        is_half = g.opset >= 16
    else:
        is_half = coordinate_transformation_mode == "half_pixel"
    return g.F.roi_align(
        x, rois, batch, output_size=(output_height, output_width), spatial_scale=spatial_scale,
        sampling_ratio=sampling_ratio, aligned=is_half, mode=mode, data_format="channel_first",
    )  # fmt: skip


@rules("MaxRoiPool")
def max_roi_pool(
    g: OnnxBuilder, x: Value, rois: Value, pooled_shape: Any = (1, 1), spatial_scale: float = 1.0
) -> Value:
    return g.s.max_roi_pooled(x, rois, size=tuple(pooled_shape), scale=spatial_scale)


@rules("NonMaxSuppression")
def non_max_suppression(
    g: OnnxBuilder,
    boxes: Value,
    scores: Value,
    count: Value | None = None,
    overlap: Value | None = None,
    score: Value | None = None,
    center_point_box: int = 0,
) -> Value:
    return g.s.boxes_kept(
        boxes, scores,
        count=0 if count is None else g.integer(count),
        overlap=0.0 if overlap is None else _number(g, overlap),
        score=None if score is None else _number(g, score),
        by_centre=bool(center_point_box), dtype=g.dtype("int64"),
    )  # fmt: skip


def _number(g: OnnxBuilder, value: Value) -> Any:
    known = g.number(value)
    return g.s.number(value) if isinstance(known, Value) else known
