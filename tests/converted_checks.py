"""How a converted model is compared with its source, on all inputs, outputs and variables."""

import numpy as np

import trellis
from trellis import tree

# float32, sums taken in another order: relative to the largest number of an output.
OUTPUTS = 1e-5
# A gradient sums over all positions of an array, so rounding adds up further.
GRADIENTS = 1e-4


def native(arrays, backend):
    """A pytree of NumPy arrays as arrays of a backend; numbers and strings stay."""
    return tree.map(
        lambda x: trellis.namespace(backend).from_numpy(np.array(x)) if hasattr(x, "dtype") else x,
        arrays,
    )


def worst(found, expected):
    """The largest difference of two pytrees, each array relative to its own largest number."""
    found, expected = tree.leaves(found), tree.leaves(expected)
    assert len(found) == len(expected)
    differences = [0.0]
    for x, y in zip(found, expected, strict=True):
        x = trellis.to_numpy(x) if trellis.backend_of(x) != "numpy" else np.asarray(x)
        y = np.asarray(y)
        assert x.shape == y.shape, (x.shape, y.shape)
        if y.dtype.kind in "iub":
            assert np.array_equal(x, y)
            continue
        kind = "complex128" if y.dtype.kind == "c" else "float64"
        x, y = x.astype(kind), y.astype(kind)
        assert np.array_equal(np.isfinite(x), np.isfinite(y))
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        scale = np.abs(y).max(initial=0.0)
        differences.append(float(np.abs(x - y).max(initial=0.0) / (scale or 1.0)))
    return max(differences)


def weights(shape):
    """Numbers that make a loss of an output: none alike, so that no gradient cancels."""
    return np.cos(np.arange(int(np.prod(shape)), dtype="float32") * 0.7 + 0.3).reshape(shape)


def gradients(model, args, backend, compiled=None):
    """The gradients of the variables of a converted model, by key path; compiled on JAX."""
    args = native(args, backend)

    def loss(v):
        total = 0.0
        for out in tree.leaves(model(*args, v=v)):
            if "float" in str(trellis.dtype(out)):
                w = trellis.namespace(backend).from_numpy(weights(tuple(out.shape)))
                total = total + trellis.sum(out * w)
        return total

    fn = trellis.value_and_grad(loss)
    if compiled is not None and backend == "jax":
        fn = compiled(fn)
    found = fn(model.v)[1]
    return {chain: trellis.to_numpy(found[chain]) for chain in model.graph.variables}


def worst_gradient(found, expected):
    """The largest difference of gradients by key path, each relative to its own largest number.

    Some gradients are zero but for rounding, such as that of a bias before a softmax: nothing below
    a thousandth of the largest of all gradients sets a scale.
    """
    assert sorted(found) == sorted(expected)
    floor = 1e-3 * max([float(np.abs(y).max(initial=0.0)) for y in expected.values()])
    differences = [0.0]
    for chain, y in expected.items():
        assert found[chain].shape == y.shape, chain
        scale = max(float(np.abs(y).max(initial=0.0)), floor)
        differences.append(float(np.abs(found[chain] - y).max(initial=0.0)) / scale)
    return max(differences)
