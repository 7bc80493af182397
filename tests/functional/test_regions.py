"""Functions of boxes: every kind of box in both layouts, and mistakes in arguments."""

import numpy as np
import pytest

from trellis import functional as F
from trellis.conformance.cases.functional.regions import aligned as aligned_by_loops
from trellis.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, TracingError
from trellis.testing import assert_close

rng = np.random.default_rng(5)
X = rng.normal(size=(2, 4, 5, 3)).astype("float32")
BOXES = np.array([[0.3, 0.4, 3.1, 2.2], [1.0, 1.0, 4.0, 3.5]], "float32")
SCORES = np.array([0.5, 0.7], "float32")
IMAGES = np.array([0, 1], "int32")


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 3])
@pytest.mark.parametrize("aligned", [True, False])
def test_boxes_of_all_kinds(mode, ratio, aligned, backend, array):
    """Inside, beyond the edges, turned over, far away, and larger than the image."""
    boxes = np.array(
        [[0.6, 0.8, 6.2, 4.4], [7, -3, 15, 5], [5, 5, 3, 2], [-9, -9, -6, -5], [-4, -4, 20, 20]],
        "float32",
    )
    images = np.array([0, 1, 1, 0, 1])
    expected = aligned_by_loops(mode, ratio, aligned)(X, boxes, images).astype("float32")
    arrays = (array(boxes), array(images.astype("int32")))
    options = {"sampling_ratio": ratio, "aligned": aligned, "mode": mode, "spatial_scale": 0.5}
    y = F.roi_align(array(X), *arrays, output_size=(2, 3), **options)
    # Sums of float32 in another order.
    assert_close(y, expected, rtol=1e-5, atol=1e-6, backend=backend)
    first = array(np.moveaxis(X, -1, 1))
    y = F.roi_align(first, *arrays, output_size=(2, 3), data_format="NCHW", **options)
    assert_close(y, np.moveaxis(expected, -1, 1), rtol=1e-5, atol=1e-6)


def test_points_by_box_cannot_be_compiled(backend, array, compiled):
    fn = compiled(lambda boxes: F.roi_align(array(X), boxes, array(IMAGES), output_size=2))
    if backend == "numpy":  # it has no compiler
        assert tuple(fn(array(BOXES)).shape) == (2, 2, 2, 3)
        return
    # Dynamo wraps what is raised while it traces.
    kind = Exception if backend == "torch" else TracingError
    with pytest.raises(kind, match="sampling_ratio=2"):
        fn(array(BOXES))


@pytest.mark.parametrize(
    ("boxes", "images", "options", "error", "message"),
    [
        (BOXES[:, :3], IMAGES, {}, ShapeError, "boxes, 4"),
        (BOXES, IMAGES[:1], {}, ShapeError, "boxes, 4"),
        (BOXES, IMAGES + 1, {}, ArgumentError, "from 0 to 1, got 2"),
        (BOXES, SCORES, {}, DtypeError, "integer batch_indices"),
        (BOXES, IMAGES, {"mode": "mean"}, ArgumentError, "'avg'"),
        (BOXES, IMAGES, {"sampling_ratio": -1}, ArgumentError, "at least 0"),
        (BOXES, IMAGES, {"aligned": "half_pixel"}, ArgumentTypeError, "True or False"),
        (BOXES, IMAGES, {"data_format": "NWC"}, ArgumentError, "'NHWC'"),
        (BOXES, IMAGES, {"spatial_scale": "1"}, ArgumentTypeError, "a number"),
    ],
)
def test_roi_align_bad_input(boxes, images, options, error, message, array):
    with pytest.raises(error, match=message):
        F.roi_align(array(X), array(boxes), array(images), output_size=2, **options)


@pytest.mark.parametrize(
    ("boxes", "scores", "options", "error", "message"),
    [
        (BOXES[:, :3], SCORES, {}, ShapeError, "boxes, 4"),
        (BOXES, SCORES[:1], {}, ShapeError, "boxes, 4"),
        (BOXES, SCORES, {"max_output": 0}, ArgumentError, "at least 1"),
        (BOXES, SCORES, {"iou_threshold": "0.5"}, ArgumentTypeError, "a number"),
        (BOXES, SCORES, {"box_format": "xywh"}, ArgumentError, "'center'"),
    ],
)
def test_non_max_suppression_bad_input(boxes, scores, options, error, message, array):
    with pytest.raises(error, match=message):
        F.non_max_suppression(array(boxes), array(scores), **{"max_output": 2, **options})
