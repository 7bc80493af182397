"""grid_sample against torch: every method, padding and corner rule, in both layouts."""

import numpy as np
import pytest

from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ArgumentError, ArgumentTypeError, ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(17)
IN_TORCH = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}
# Inside, beyond both edges, and so far away that a reflection turns several times.
PLACES = np.concatenate([rng.uniform(-1.5, 1.5, size=(2, 3, 4)), rng.uniform(-9, 9, (2, 3, 2))], 2)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_images(method, padding, align_corners, backend, array, x64):
    x = rng.normal(size=(2, 3, 4, 5))
    grid = np.stack([PLACES, PLACES[:, ::-1, ::-1]], -1)
    expected = T.grid_sample(
        torch.tensor(x), torch.tensor(grid.copy()), IN_TORCH[method], padding, align_corners
    ).numpy()
    options = {"method": method, "padding": padding, "align_corners": align_corners}
    with x64():
        y = F.grid_sample(array(x), array(grid), data_format="channel_first", **options)
        assert_close(y, expected, rtol=1e-9, atol=1e-9, backend=backend)
        y = F.grid_sample(array(np.moveaxis(x, 1, -1)), array(grid), **options)
        assert_close(y, np.moveaxis(expected, 1, -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["nearest", "linear"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_volumes(method, padding, backend, array, x64):
    x = rng.normal(size=(2, 2, 3, 4, 5))
    grid = rng.uniform(-2, 2, size=(2, 1, 3, 2, 3))
    expected = T.grid_sample(
        torch.tensor(x), torch.tensor(grid), IN_TORCH[method], padding, False
    ).numpy()
    options = {"method": method, "padding": padding, "data_format": "NCDHW"}
    with x64():
        y = F.grid_sample(array(x), array(grid), **options)
        assert_close(y, expected, rtol=1e-9, atol=1e-9, backend=backend)


@pytest.mark.parametrize(("method", "padding"), [("linear", "reflection"), ("cubic", "border")])
def test_gradients(method, padding, array, x64):
    x, grid = rng.normal(size=(1, 3, 4, 1)), rng.uniform(-1.6, 1.6, size=(1, 2, 3, 2))
    with x64():
        check_gradients(
            lambda x, grid: F.grid_sample(x, grid, method=method, padding=padding),
            (array(x), array(grid)),
            order=1,
        )


@pytest.mark.parametrize(
    ("shape", "options", "error", "message"),
    [
        ((1, 2, 2), {}, ShapeError, "4 axes"),
        ((1, 2, 2, 3), {}, ShapeError, "batch, ..., 2"),
        ((2, 2, 2, 2), {}, ShapeError, "batch"),
        ((1, 2, 2, 2), {"method": "bilinear"}, ArgumentError, "'linear'"),
        ((1, 2, 2, 2), {"padding": "wrap"}, ArgumentError, "'border'"),
        ((1, 2, 2, 2), {"align_corners": "no"}, ArgumentTypeError, "True or False"),
    ],
)
def test_bad_input(shape, options, error, message, array):
    x = array(np.ones((1, 4, 4, 2), "float32"))
    with pytest.raises(error, match=message):
        F.grid_sample(x, array(np.zeros(shape, "float32")), **options)
