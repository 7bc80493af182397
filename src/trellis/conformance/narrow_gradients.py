"""Gradients on frameworks without float64, where differences would be too coarse. They are compared
with NumPy's in float64, which differences confirm there."""

import numpy as np

import trellis
from trellis import testing, tree

from .rows import cast, map_arrays, run

# float32 has seven digits. A derivative adds up rounded values of the function's own parts: the
# last one or two may be lost, of the largest element of a gradient.
SHARE = 1e-5


def check_narrow_gradients(row, backend, array):
    """Compare the gradients of a row in float32 with NumPy's at the same points."""
    rounded = map_arrays(lambda x: cast(x, "float32", backend), row.args)
    found = gradients(row, backend, map_arrays(array, rounded))
    wide = map_arrays(lambda x: cast(x, "float64", "numpy") if _is_float(x) else x, _wide(rounded))
    expected = gradients(row, "numpy", wide)
    assert len(found) == len(expected) > 0
    for x, wanted in zip(found, expected, strict=True):
        atol = SHARE * max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
        narrow = np.asarray(wanted, "float32")
        testing.assert_close(x, narrow, backend=backend, rtol=SHARE, atol=atol)


def gradients(row, backend, args):
    """The gradients of a weighted sum of the results by every float argument."""
    leaves, spec = tree.flatten(list(args))
    places = [i for i, x in enumerate(leaves) if _is_float(x)]

    def loss(*floats):
        filled = list(leaves)
        for i, x in zip(places, floats, strict=True):
            filled[i] = x
        ys = [y for y in tree.leaves([run(row, tree.unflatten(spec, filled))]) if _is_float(y)]
        parts = [trellis.sum(y * _weights(y, backend)) for y in ys]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    with trellis.using_backend(backend):
        found = trellis.grad(loss, argnums=tuple(range(len(places))))(*[leaves[i] for i in places])
    return list(found)


def _weights(y, backend):
    numbers = np.random.default_rng(3).uniform(0.5, 1.5, tuple(y.shape))
    return trellis.asarray(numbers, dtype=trellis.dtype(y), backend=backend)


def _is_float(x):
    return hasattr(x, "dtype") and "float" in str(trellis.dtype(x))


def _wide(args):
    kinds = {"float32": "float64", "complex64": "complex128"}
    return map_arrays(lambda x: x.astype(kinds.get(x.dtype.name, x.dtype)), args)
