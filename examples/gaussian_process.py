"""A Gaussian process learns how smooth its data is, and how sure it can be between them.

Its three parameters (size, length and noise) maximise the likelihood of the data; the band holds
95 % of what it expects of the function.

python examples/gaussian_process.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import optimize
from trellis.distributions import MultivariateNormal


def kernel(p, x, z):
    """The covariance of the function at x and at z: large where these are near."""
    away = (x[:, None] - z[None, :]) / trellis.exp(p["length"])
    return trellis.exp(2.0 * p["size"] - 0.5 * away**2)


def covariance(p, x):
    """That of the data: of the function, and of the noise, which differs from place to place."""
    noise = trellis.where(x[:, None] == x[None, :], trellis.exp(2.0 * p["noise"]), 0.0)
    return kernel(p, x, x) + noise


def loss(p, x, y):
    """Minus the log-likelihood of the data, for one of them."""
    return -MultivariateNormal(trellis.zeros_like(y), covariance(p, x)).log_prob(y) / len(x)


def predict(p, x, y, places):
    """Mean and standard deviation of the function at places, given the data."""
    factor = trellis.linalg.cholesky(covariance(p, x))
    shared = kernel(p, x, places)
    weights = trellis.linalg.cho_solve(factor, y[:, None])[:, 0]
    explained = trellis.linalg.solve_triangular(factor, shared, lower=True)
    variance = trellis.exp(2.0 * p["size"]) - trellis.sum(explained**2, axis=0)
    return trellis.matmul(weights, shared), trellis.sqrt(trellis.maximum(variance, 0.0))


def main(backend="numpy", picture=None, steps=60):
    random = np.random.default_rng(0)
    x = np.sort(np.concatenate([random.uniform(0, 4, 14), random.uniform(6, 10, 14)]))
    y = np.sin(x) + 0.3 * np.sin(3 * x) + random.normal(0, 0.1, 28)
    native = [trellis.to_backend(part.astype("float32"), backend) for part in (x, y)]
    zero = trellis.zeros_like(native[0][0])
    start = {"size": zero, "length": zero, "noise": zero - 1.0}
    found = optimize.minimize(loss, start, tuple(native), tol=1e-3, max_steps=steps)
    learned = {name: float(trellis.exp(part)) for name, part in found.x.items()}
    shown = ", ".join([f"{name} {part:.3f}" for name, part in learned.items()])
    print(f"{backend}: {shown}; loss {float(found.value):.4f} after {int(found.steps)} steps")

    if picture is not None:
        places = np.linspace(-1, 11, 121)
        given = trellis.to_backend(places.astype("float32"), backend)
        mean, deviation = [trellis.to_numpy(part) for part in predict(found.x, *native, given)]
        low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
        trellis.train.draw_curves(
            picture,
            {"mean": dict(zip(places, mean, strict=True))},
            points={"data": dict(zip(x, y, strict=True))},
            bands={"mean": dict(zip(places, zip(low, high, strict=True), strict=True))},
            title="A Gaussian process",
            x_label="x",
            y_label="y",
        )
    return float(found.value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
