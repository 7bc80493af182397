"""A curve is fitted to measurements, and its parameters get error bars.

Least squares finds a damped oscillation in noise. Its Jacobian there says how far each parameter
could be off; the band is what that means for the curve.

python examples/curve_fitting.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import optimize

TRUTH = {"height": 2.0, "rate": 0.3, "speed": 2.5, "shift": 0.4}
NOISE = 0.15


def curve(p, t):
    return p["height"] * trellis.exp(-p["rate"] * t) * trellis.sin(p["speed"] * t + p["shift"])


def residuals(p, t, y):
    """In units of the measurement's error."""
    return (curve(p, t) - y) / NOISE


def slopes(p, t):
    """The derivative of the curve by each parameter: (times, parameters)."""
    found = trellis.jac(lambda p: curve(p, t))(p)
    return trellis.stack([found[name] for name in TRUTH], axis=1)


def main(backend="numpy", picture=None, steps=50):
    random = np.random.default_rng(0)
    t = np.linspace(0, 8, 60)
    truth = {name: np.array(part) for name, part in TRUTH.items()}
    y = curve(truth, t) + random.normal(0, NOISE, t.size)
    native = [trellis.to_backend(part.astype("float32"), backend) for part in (t, y)]
    one = trellis.ones_like(native[0][0])
    start = {"height": one, "rate": 0.1 * one, "speed": 2.2 * one, "shift": 0.0 * one}
    found = optimize.least_squares(residuals, start, tuple(native), max_steps=steps)

    matrix = slopes(found.x, native[0]) / NOISE
    covariance = trellis.linalg.inv(trellis.matmul(trellis.matrix_transpose(matrix), matrix))
    errors = trellis.to_numpy(trellis.sqrt(trellis.linalg.diagonal(covariance)))
    for (name, part), error in zip(found.x.items(), errors, strict=True):
        print(f"{backend}: {name} {float(part):.3f} ± {error:.3f}, in truth {TRUTH[name]}")
    chi = 2 * float(found.value) / (t.size - len(TRUTH))
    print(f"{backend}: {chi:.4f} squares for each degree of freedom, {int(found.steps)} steps")

    if picture is not None:
        places = np.linspace(0, 10, 121)
        given = trellis.to_backend(places.astype("float32"), backend)
        matrix = slopes(found.x, given)
        variance = trellis.sum(matrix * trellis.matmul(matrix, covariance), axis=1)
        middle, deviation = (
            trellis.to_numpy(curve(found.x, given)),
            trellis.to_numpy(variance) ** 0.5,
        )
        low, high = middle - 1.96 * deviation, middle + 1.96 * deviation
        trellis.train.draw_curves(
            picture,
            {"fit": dict(zip(places, middle, strict=True))},
            points={"measured": dict(zip(t, y, strict=True))},
            bands={"fit": dict(zip(places, zip(low, high, strict=True), strict=True))},
            title="A damped oscillation",
            x_label="t",
            y_label="y",
        )
    return chi


if __name__ == "__main__":
    main(*sys.argv[1:3])
