"""Mistakes in arguments: the same error in the same words on every framework."""

import numpy as np
import pytest

import trellis
from trellis import errors

vector = np.array([1.0, 2.0, 3.0], "float32")
matrix = np.ones((2, 3), "float32")
square = np.eye(3, dtype="float32")
index = np.array([0], "int32")
empty = np.ones((0, 3), "float32")

# Function, arrays, further arguments, options, error, and its text in full.
MISTAKES = [
    ("pad", [matrix], [1], {"mode": "mirror"}, errors.ArgumentError,
     "pad() expects mode to be 'constant', 'reflect', 'edge' or 'wrap', got 'mirror'."),
    ("pad", [matrix], [[(1, 1)] * 3], {}, errors.ShapeError,
     "pad() got 3 pairs for an array of 2 dimensions."),
    ("pad", [matrix], [(-1, 2)], {}, errors.ArgumentError,
     "pad() cannot take elements away, got the pair (-1, 2). Slice instead."),
    ("pad", [empty], [1], {"mode": "wrap"}, errors.ShapeError,
     "pad() with mode 'wrap' has nothing to repeat on an axis of length 0."),
    ("sliding_window", [vector], [4], {}, errors.ShapeError,
     "A window of 4 with step 1 does not fit an axis of 3. The window has to be between 1 "
     "and the axis, the step at least 1."),
    ("sliding_window", [vector], [2], {"axis": 1}, errors.AxisError,
     "axis 1 is out of range for an array of 1 dimensions."),
    ("topk", [vector], [4], {}, errors.ArgumentError,
     "topk() can take 0 to 3 elements of this axis, got 4."),
    ("topk", [vector], [1], {"axis": -2}, errors.AxisError,
     "axis -2 is out of range for an array of 1 dimensions."),
    ("searchsorted", [vector, vector], [], {"side": "middle"}, errors.ArgumentError,
     "searchsorted() expects side to be 'left' or 'right', got 'middle'."),
    ("meshgrid", [vector, vector], [], {"indexing": "yx"}, errors.ArgumentError,
     "meshgrid() expects indexing to be 'xy' or 'ij', got 'yx'."),
    ("linalg.qr", [square], [], {"mode": "full"}, errors.ArgumentError,
     "qr() expects mode to be 'reduced' or 'complete', got 'full'."),
    ("linalg.matrix_norm", [square], [], {"ord": 3}, errors.ArgumentError,
     "matrix_norm() expects ord to be 'fro', 'nuc', 1, -1, 2, -2, inf, -inf or None, got 3."),
    ("fft.fft", [vector], [], {"norm": "none"}, errors.ArgumentError,
     "fft() expects norm to be 'backward', 'ortho' or 'forward', got 'none'."),
    ("fft.hfft", [vector], [], {"n": 0}, errors.ArgumentError,
     "A Fourier transform needs at least one point, got n=0. Pass n: by default irfft() and hfft() "
     "return 2 * (points - 1) points."),
    ("fft.fftn", [matrix], [], {"s": (2, 2), "axes": (0,)}, errors.ShapeError,
     "fftn() needs s and axes of equal lengths, got 2 and 1."),
    ("scatter", [vector, index, vector[:1]], [], {"reduce": "sum"}, errors.ArgumentError,
     "scatter() expects reduce to be 'set', 'add', 'multiply', 'min' or 'max', got 'sum'."),
    ("put_along_axis", [matrix, np.array([[0], [1], [0]], "int32")], [1.0], {}, errors.ShapeError,
     "put_along_axis() expects indices with as many axes as x, none longer but axis 1, got (3, 1) "
     "for x of (2, 3)."),
    ("put_along_axis", [matrix, matrix], [1.0], {}, errors.DtypeError,
     "put_along_axis() expects integer indices, got an array of float32. "
     "Write astype(indices, 'int64')."),
    ("put_along_axis", [matrix, index], [1.0], {"reduce": "mean"}, errors.ArgumentError,
     "put_along_axis() expects reduce to be 'set', 'add', 'multiply', 'min' or 'max', got 'mean'."),
    ("histogram", [vector], [0], {}, errors.ArgumentError,
     "histogram() expects at least 1 bin, got 0."),
    ("histogram", [vector], [2.5], {}, errors.ArgumentTypeError,
     "histogram() expects the number of bins or an array of their edges, got 2.5."),
    ("histogram", [vector], [[1.0, 0.0]], {}, errors.ArgumentError,
     "histogram() expects edges in rising order, got [1.0, 0.0]."),
    ("histogram", [vector], [3], {"range": (2, 1)}, errors.ArgumentError,
     "histogram() expects a range of two finite numbers, the lower first, got (2, 1)."),
    ("histogram", [vector * np.nan], [3], {}, errors.ArgumentError,
     "histogram() cannot find the range of an array with nan or infinities. Write "
     "range=(low, high)."),
    ("one_hot", [index], [3], {"axis": 5}, errors.AxisError,
     "axis 5 is out of range for an array of 2 dimensions."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arrays", "rest", "options", "error", "text"),
    MISTAKES,
    ids=[f"{row[0]} {row[2]} {row[3]}" for row in MISTAKES],
)
def test_mistake(array, name, arrays, rest, options, error, text):
    owner, _, last = name.rpartition(".")
    function = getattr(getattr(trellis, owner) if owner else trellis, last)
    with pytest.raises(error) as raised:
        function(*[array(x) for x in arrays], *rest, **options)
    assert type(raised.value) is error
    assert str(raised.value) == text


def test_scan_over_nothing(backend, array):
    with pytest.raises(errors.ShapeError, match="needs at least one array in xs"):
        trellis.scan(lambda carry, x: (carry, x), array(vector), None)


def test_scan_over_length_zero(array):
    carry, ys = trellis.scan(
        lambda c, x: (c + x, {"y": x * 2}), array(vector), array(np.ones((0, 3), "float32"))
    )
    np.testing.assert_array_equal(trellis.interchange.to_numpy(carry), vector)
    assert tuple(ys["y"].shape) == (0, 3)


def test_arange_without_a_step(backend):
    with pytest.raises(errors.ArgumentError, match="a step other than 0"):
        trellis.arange(0, 3, 0, backend=backend)


# What the standard asks of the namespace itself.


@pytest.mark.parametrize("axis", [3, -4])
def test_new_axis_out_of_range(xp, array, axis):
    with pytest.raises(IndexError):
        xp.expand_dims(array(matrix), axis=axis)


def test_squeeze_of_a_longer_axis(xp, array):
    with pytest.raises(ValueError, match="squeeze"):
        xp.squeeze(array(matrix), axis=1)


@pytest.mark.parametrize("name", ["all", "any", "logsumexp", "sum", "max", "mean", "flip"])
@pytest.mark.parametrize("axis", [2, -3, (0, 5)])
def test_axis_out_of_range(xp, array, name, axis):
    """Each framework has its own error; none may wrap around to another axis."""
    with pytest.raises((ValueError, IndexError)):
        getattr(xp, name)(array(matrix), axis=axis)
