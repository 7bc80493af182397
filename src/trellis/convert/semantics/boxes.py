"""The best of boxes in images."""

from typing import Any

import numpy as np

import trellis as t
from trellis import functional as F

from ..._core.dispatch import xp_of
from ..._core.typing import Array


def boxes_kept(
    boxes: Array,
    scores: Array,
    /,
    *,
    count: int = 0,
    overlap: float = 0.0,
    score: float | None = None,
    by_centre: bool = False,
    dtype: str = "int64",
) -> Any:
    """The best boxes of each class that overlap no better one by more than `overlap`: rows of
    (image, class, box), at most `count` for each class. It runs uncompiled."""
    most = min(count, boxes.shape[1])
    if most == 0:
        return xp_of(boxes).zeros((0, 3), dtype=dtype, device=xp_of(boxes).device(boxes))
    found, _ = F.non_max_suppression(
        t.expand_dims(boxes, 1), scores, max_output=most, iou_threshold=overlap,
        score_threshold=score, box_format="center" if by_centre else "corners",
    )  # fmt: skip
    chosen = t.to_numpy(found)
    image, kind, place = np.nonzero(chosen >= 0)
    rows = np.stack([image, kind, chosen[image, kind, place]], axis=1)
    return xp_of(boxes).from_numpy(rows.astype(dtype))
