"""Boxes in images: features of regions, and the best of boxes that overlap."""

import itertools
from collections.abc import Sequence
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError, TracingError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import broadcast_shapes, one_of
from .._core.typing import A, Array, Backend
from ._arguments import check_indices, differ, flag, known, number, per_axis, whole_number
from ._layout import LETTERS, WORDS, check_rank, is_first, spatial_sizes
from ._precision import all_precise

# Regions of interest ------------------------------------------------------------------------------


def roi_align(
    x: A,
    boxes: A,
    batch_indices: A,
    /,
    *,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    mode: str = "avg",
    data_format: str = "channel_last",
) -> A:
    """The features of `x` in each box, at `output_size` positions (height, width).

    boxes has shape (boxes, 4), each (x1, y1, x2, y2) in the coordinates of the image, which
    `spatial_scale` brings to those of `x`; batch_indices (boxes,) names the images. Each box is cut
    into bins; in each bin `sampling_ratio` points along each axis are read by linear interpolation,
    and their mean or ("max") the largest of their terms is taken (ONNX's RoiAlign). A ratio of 0
    takes as many points as a bin has elements, which depends on the boxes and cannot be compiled.
    `aligned` boxes are shifted by half an element (ONNX's "half_pixel"); others are at least one
    element wide ("output_half_pixel").

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x, box = np.arange(16.0).reshape(1, 4, 4, 1), np.array([[0.0, 0.0, 4.0, 4.0]])
    >>> F.roi_align(x, box, np.array([0]), output_size=2, sampling_ratio=2).ravel()
    array([ 2.5,  4.5, 10.5, 12.5])
    """
    try:
        if has_nest(x, boxes, batch_indices):
            options = {
                "output_size": output_size,
                "spatial_scale": spatial_scale,
                "sampling_ratio": sampling_ratio,
                "aligned": aligned,
                "mode": mode,
                "data_format": data_format,
            }
            return call_leafwise(roi_align, (x, boxes, batch_indices), options)
        xp = xp_of_all(x, boxes, batch_indices)
        one_of("roi_align", "mode", mode, ("avg", "max"))
        flag("roi_align", "aligned", aligned)
        first = is_first("roi_align", "data_format", data_format, {**LETTERS[2], **WORDS})
        check_rank("roi_align", x, 2, data_format)
        outs = per_axis("roi_align", "output_size", output_size, 2)
        ratio = whole_number("roi_align", "sampling_ratio", sampling_ratio, least=0)
        scale = number("roi_align", "spatial_scale", spatial_scale)
        _check_boxes(x, boxes, batch_indices)
        (x, boxes), kind = all_precise("roi_align", xp, x, boxes)
        sizes = spatial_sizes("roi_align", x, first)
        x = xp.moveaxis(x, 1, -1) if first else x
        # Along the height and along the width: (boxes, positions, points) each.
        axes = []
        for i in range(2):
            start, end = [boxes[:, j] * scale - (0.5 if aligned else 0.0) for j in (1 - i, 3 - i)]
            length = end - start if aligned else xp.maximum(end - start, 1.0)
            axes.append(_points(xp, start, length / outs[i], outs[i], ratio))
        y = _read(xp, x, batch_indices, sizes, outs, axes, mode)
        y = xp.moveaxis(y, -1, 1) if first else y
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, roi_align)


def _check_boxes(x: Array, boxes: Array, batch_indices: Array) -> None:
    shape, indices = tuple(boxes.shape), tuple(batch_indices.shape)
    if len(shape) != 2 or shape[1] != 4 or len(indices) != 1 or differ(shape[0], indices[0]):
        raise ShapeError(
            "roi_align() expects boxes of shape (boxes, 4) and batch_indices of (boxes,), got "
            f"{shape} and {indices}."
        )
    if x.shape[0] is not None:
        check_indices("roi_align", "batch_indices", batch_indices, x.shape[0])


def _points(xp: Backend, start: Array, bin_size: Array, out: int, ratio: int) -> tuple[Any, Any]:
    """Where the points lie (boxes, out, points), and which of them count (boxes, 1, points)."""
    if ratio > 0:
        count, most = xp.zeros_like(start) + ratio, ratio
    else:
        sizes = xp.stop_gradient(bin_size)
        if not xp.is_concrete(sizes):
            raise TracingError(
                "roi_align() with sampling_ratio=0 takes more points in larger boxes, which a "
                "compiled program cannot know. Write sampling_ratio=2, for example."
            )
        count = xp.ceil(sizes)
        most = max(int(xp.max(count)), 1) if start.shape[0] else 1
    count = xp.reshape(count, (-1, 1, 1))
    points = xp.arange(most, dtype=start.dtype, device=xp.device(start))
    share = (points + 0.5) / xp.maximum(count, 1.0)
    bins = xp.arange(out, dtype=start.dtype, device=xp.device(start))
    bins = xp.reshape(bins, (1, out, 1))
    start, bin_size = [xp.reshape(each, (-1, 1, 1)) for each in (start, bin_size)]
    return start + (bins + share) * bin_size, points < count


def _read(xp: Backend, x: Array, images: Array, sizes: Sequence[int], outs: Sequence[int],
          axes: list[Any], mode: str) -> Any:  # fmt: skip
    """The points' values out of their four neighbours, and one value per position of these."""
    height, width = sizes
    rows = xp.reshape(x, (-1, x.shape[-1]))
    image = xp.reshape(xp.astype(images, xp.arange(1).dtype, copy=False), (-1, 1, 1, 1, 1))
    taps = [_taps(xp, places, n) for (places, _), n in zip(axes, sizes, strict=True)]
    (_, down), (_, across) = axes
    counts = xp.logical_and(down[:, :, :, None, None], across[:, :, None, None, :])
    counts = xp.expand_dims(counts, axis=-1)  # (boxes, 1, points, 1, points, 1)
    result = None
    for (i, weight_i), (j, weight_j) in itertools.product(*taps):
        # (boxes, out, points, out, points)
        place = (image * height + i[:, :, :, None, None]) * width + j[:, None, None, :, :]
        weight = weight_i[:, :, :, None, None] * weight_j[:, None, None, :, :]
        shape = (place.shape[0], outs[0], place.shape[2], outs[1], place.shape[4], x.shape[-1])
        part = xp.reshape(xp.take(rows, xp.reshape(place, (-1,)), axis=0), known(*shape))
        part = part * xp.expand_dims(weight, axis=-1)
        if result is None:
            result = part
        else:
            result = result + part if mode == "avg" else xp.where(part > result, part, result)
    if mode == "max":
        return _largest(xp, result, counts)  # type: ignore[arg-type]
    total = xp.sum(xp.where(counts, result, 0.0), axis=(2, 4))
    number_of_points = xp.sum(xp.astype(counts, total.dtype), axis=(2, 4))
    return total / xp.maximum(number_of_points, 1.0)


def _largest(xp: Backend, terms: Array, counts: Array) -> Any:
    """The largest term over both axes of points; 0 where no point counts.

    By index: the derivative of a maximum asks which element equals it, and XLA may have computed
    the products twice, rounded differently.
    """
    terms, counts = [xp.permute_dims(each, (0, 1, 3, 2, 4, 5)) for each in (terms, counts)]
    outs, points, channels = terms.shape[1:3], terms.shape[3] * terms.shape[4], terms.shape[5]
    terms = xp.reshape(terms, known(terms.shape[0], *outs, points, channels))
    counts = xp.reshape(counts, known(counts.shape[0], 1, 1, points, 1))
    best = xp.argmax(xp.where(counts, terms, -xp.inf), axis=3, keepdims=True)
    found = xp.take_along_axis(terms, best, axis=3)[:, :, :, 0, ...]
    return xp.where(xp.any(counts, axis=3), found, 0.0)


def _taps(xp: Backend, place: Array, n: int) -> list[tuple[Any, Any]]:
    """Both neighbours of points along an axis; points more than 1 outside have no weight."""
    is_near = xp.logical_and(place >= -1, place <= n)
    inside = xp.clip(xp.where(is_near, place, 0.0), 0, n - 1)
    low = xp.stop_gradient(xp.floor(inside))
    high = xp.clip(low + 1, 0, n - 1)
    whole, rest = xp.arange(1).dtype, inside - low
    return [
        (xp.astype(low, whole), xp.where(is_near, 1 - rest, 0.0)),
        (xp.astype(high, whole), xp.where(is_near, rest, 0.0)),
    ]


# The best of boxes that overlap -------------------------------------------------------------------


def non_max_suppression(
    boxes: A,
    scores: A,
    /,
    *,
    max_output: int,
    iou_threshold: float = 0.5,
    score_threshold: float | None = None,
    box_format: str = "corners",
) -> tuple[A, A]:
    """The indices of boxes by falling score, without those that overlap a better one.

    boxes has shape (..., boxes, 4), scores (..., boxes); axes before these broadcast, so boxes
    (batch, 1, boxes, 4) and scores (batch, classes, boxes) choose in each class of each image. A
    box is two opposite corners, or with `box_format="center"` its centre, width and height. A box
    is dropped if its score is not above `score_threshold`, or its intersection with a chosen one
    over their union is above `iou_threshold` (ONNX). Of equal scores the lower index is first.

    The result, indices (..., max_output) and counts (...), has a shape that does not depend on
    values: where there are fewer boxes, -1 follows.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> boxes = np.array([[0.0, 0, 2, 2], [0, 0, 2, 1.8], [3, 3, 4, 4]])
    >>> chosen, count = F.non_max_suppression(boxes, np.array([0.8, 0.9, 0.5]), max_output=3)
    >>> chosen, int(count)
    (array([ 1,  2, -1]), 2)
    """
    try:
        if has_nest(boxes, scores):
            options = {
                "max_output": max_output,
                "iou_threshold": iou_threshold,
                "score_threshold": score_threshold,
                "box_format": box_format,
            }
            return call_leafwise(non_max_suppression, (boxes, scores), options)
        name = "non_max_suppression"
        xp = xp_of_all(boxes, scores)
        one_of(name, "box_format", box_format, ("corners", "center"))
        most = whole_number(name, "max_output", max_output, least=1)
        threshold = number(name, "iou_threshold", iou_threshold)
        least = (
            -xp.inf if score_threshold is None else number(name, "score_threshold", score_threshold)
        )
        shape, outer = tuple(boxes.shape), tuple(scores.shape)[:-1]
        if (
            len(shape) < 2
            or shape[-1] != 4
            or not scores.shape
            or differ(shape[-2], scores.shape[-1])
        ):
            raise ShapeError(
                f"{name}() expects boxes of shape (..., boxes, 4) and scores of (..., boxes), got "
                f"{shape} and {tuple(scores.shape)}."
            )
        outer = broadcast_shapes(shape[:-2], outer, function=name)
        if None in (*outer, shape[-2]):
            raise ShapeError(f"{name}() needs known sizes while tracing, got {shape}.")
        (boxes, scores), _ = all_precise(name, xp, boxes, scores)
        boxes, scores = xp.stop_gradient(boxes), xp.stop_gradient(scores)
        scores = xp.broadcast_to(scores, (*outer, shape[-2]))
        corners = [xp.broadcast_to(c, scores.shape) for c in _corners(xp, boxes, box_format)]
        chosen = _chosen(xp, corners, scores, most, threshold, least)
        return chosen, xp.sum(xp.astype(chosen >= 0, chosen.dtype), axis=-1)
    except Exception as error:
        return explain(error, non_max_suppression)


def _corners(xp: Backend, boxes: Array, box_format: str) -> list[Any]:
    """The lower and the upper ends along both axes."""
    a, b, c, d = [boxes[..., i] for i in range(4)]
    if box_format == "center":
        a, b, c, d = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    return [xp.minimum(a, c), xp.minimum(b, d), xp.maximum(a, c), xp.maximum(b, d)]


def _chosen(
    xp: Backend, corners: list[Any], scores: Array, most: int, threshold: float, least: float
) -> Any:
    """One box after another: the best that is left, which takes away those that it overlaps."""
    x1, y1, x2, y2 = corners
    area = (x2 - x1) * (y2 - y1)
    numbers = xp.arange(scores.shape[-1], device=xp.device(scores))
    steps = xp.arange(most, device=xp.device(scores))
    zero = xp.zeros_like(area)
    limit = zero + threshold  # an array: a loop that torch compiles takes no float from outside

    def goes_on(state: tuple[Any, ...]) -> Any:
        step, is_left, _ = state
        return xp.logical_and(step < most, xp.any(is_left))

    def choose(state: tuple[Any, ...]) -> Any:
        step, is_left, chosen = state
        best = xp.argmax(xp.where(is_left, scores, -xp.inf), axis=-1, keepdims=True)
        best = xp.astype(best, numbers.dtype, copy=False)
        ends = [xp.take_along_axis(c, best, axis=-1) for c in (x1, y1, x2, y2, area)]
        width = xp.minimum(x2, ends[2]) - xp.maximum(x1, ends[0])
        height = xp.minimum(y2, ends[3]) - xp.maximum(y1, ends[1])
        shared = xp.maximum(width, zero) * xp.maximum(height, zero)
        union = area + ends[4] - shared
        overlaps = xp.logical_and(shared > 0, union > 0)
        share = xp.where(overlaps, shared / xp.where(overlaps, union, zero + 1), zero)
        is_out = xp.logical_or(xp.logical_and(overlaps, share > limit), numbers == best)
        found = xp.where(xp.any(is_left, axis=-1, keepdims=True), best, xp.zeros_like(best) - 1)
        chosen = xp.where(steps == step, found, chosen)
        return step + 1, xp.logical_and(is_left, xp.logical_not(is_out)), chosen

    none = xp.zeros((*scores.shape[:-1], most), dtype=numbers.dtype, device=xp.device(scores)) - 1
    start = xp.zeros((), dtype=numbers.dtype, device=xp.device(scores))
    return xp.while_loop(goes_on, choose, (start, scores > least, none))[2]
