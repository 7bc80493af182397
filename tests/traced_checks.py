"""A function of one float64 array on NumPy: the same value inside a gradient, and its derivative
against finite differences."""

import numpy as np

import trellis


def parts(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def total(result):
    """One number that depends on every element of the result, each with a weight of its own."""
    sums = []
    for i, part in enumerate(parts(result)):
        weights = np.cos(np.arange(float(part.size)) + i).reshape(part.shape)
        weighted = part * weights
        sums.append(np.sum(weighted.real) + np.sum(weighted.imag) * 0.5)
    return sum(sums)


def check_gradient(fn, x, step=1e-6, tolerance=1e-6):
    seen = []

    def loss(x):
        result = fn(x)
        seen.extend([trellis.stop_gradient(part) for part in parts(result)])
        return total(result)

    gradient = trellis.grad(loss)(x)
    plain = parts(fn(x.copy()))
    assert len(seen) == len(plain)
    for found, expected in zip(seen, plain):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    numeric = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        numeric[index] = (total(fn(up)) - total(fn(down))) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, rtol=tolerance, atol=tolerance)
