"""Regions of interest by loops over boxes, bins, points and their neighbours."""

import math

import numpy as np

from ..case import Case, numbers

features = numbers(2, 3, 4, 1)
# One inside, one beyond two edges.
boxes = np.array([[0.3, 1.7, 6.9, 5.3], [3.1, -3.3, 9.1, 4.9]])
images = np.array([0, 1])


def neighbours(place, n):
    """Indices and weights along one axis; nothing more than 1 outside."""
    if place < -1 or place > n:
        return [(0, 0.0), (0, 0.0)]
    place = min(max(place, 0), n - 1)
    low = min(int(place), n - 1)
    return [(low, 1 - (place - low)), (min(low + 1, n - 1), place - low)]


def aligned(mode, ratio, shift):
    def of(x, boxes, images):
        height, width = x.shape[1:3]
        y = np.zeros((len(boxes), 2, 3, x.shape[3]))
        for k, p, q in np.ndindex(y.shape[:3]):
            left, top, right, bottom = boxes[k] * 0.5 - (0.5 if shift else 0.0)
            tall, wide = bottom - top, right - left
            if not shift:
                tall, wide = max(tall, 1.0), max(wide, 1.0)
            rows, columns = ratio or math.ceil(tall / 2), ratio or math.ceil(wide / 3)
            terms = []
            for i in range(rows):
                for j in range(columns):
                    down = neighbours(top + (p + (i + 0.5) / rows) * tall / 2, height)
                    across = neighbours(left + (q + (j + 0.5) / columns) * wide / 3, width)
                    point = [a * b * x[images[k], r, c] for r, a in down for c, b in across]
                    terms.append(np.max(point, 0) if mode == "max" else np.sum(point, 0))
            if terms:
                y[k, p, q] = np.max(terms, 0) if mode == "max" else np.mean(terms, 0)
        return y

    return of


def region_case(mode, ratio, shift, **more):
    options = {"output_size": (2, 3), "spatial_scale": 0.5, "sampling_ratio": ratio, "mode": mode}
    return Case(
        "functional.roi_align",
        (features, boxes, images),
        aligned(mode, ratio, shift),
        kwargs={**options, "aligned": shift},
        about=f"{mode}, {ratio} points, {'aligned' if shift else 'not aligned'}",
        **more,
    )


UPRIGHT = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11]])

CASES = [
    region_case("avg", 2, True),
    region_case("max", 2, True),
    # 0 takes away 1 and 2, whose parts of the union are 0.82; 3 is elsewhere.
    Case(
        "functional.non_max_suppression",
        (UPRIGHT, np.array([0.9, 0.75, 0.6, 0.95])),
        ([3, 0, -1], 2),
        kwargs={"max_output": 3},
        gradient="integers come out",
    ),
    Case(
        "functional.non_max_suppression",
        (UPRIGHT[:, [2, 1, 0, 3]][None], np.array([[0.9, 0.75, 0.6, 0.2], [0.1, 0.5, 0.5, 0.5]])),
        ([[0, 1], [1, 2]], [2, 2]),
        about="classes, thresholds, equal scores",
        kwargs={"max_output": 2, "iou_threshold": 0.85, "score_threshold": 0.3},
        gradient="integers come out",
    ),
    Case(
        "functional.non_max_suppression",
        (np.array([[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [5, 5, 0, 0]]), np.array([0.1, 0.9, 0.5])),
        ([1, 2, -1, -1], 2),
        about="centres, an empty box",
        kwargs={"max_output": 4, "box_format": "center"},
        gradient="integers come out",
    ),
]
