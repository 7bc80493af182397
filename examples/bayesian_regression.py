"""Bayesian regression: all lines that fit the data, by the no-U-turn sampler.

Two of the points are wrong. The errors have a Cauchy distribution, to which points far away are no
surprise; the band holds 95 % of the lines that the sampler draws.

python examples/bayesian_regression.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import mcmc
from trellis.distributions import Cauchy, Exponential, Normal, constraints


def measurements():
    random = np.random.default_rng(0)
    x = np.linspace(-2, 2, 30)
    y = 0.5 + 1.5 * x + random.normal(0, 0.3, x.size)
    y[[5, 24]] += 5.0, -6.0
    return x.astype("float32"), y.astype("float32")


def main(backend="numpy", picture=None, steps=400):
    x, y = [trellis.to_backend(part, backend) for part in measurements()]

    def log_density(p):
        prior = Normal(0.0, 5.0).log_prob(p["shift"]) + Normal(0.0, 5.0).log_prob(p["slope"])
        prior = prior + Exponential(1.0).log_prob(p["scale"])
        line = p["shift"] + p["slope"] * x
        return prior + trellis.sum(Cauchy(line, p["scale"]).log_prob(y))

    one = trellis.ones_like(x[0])
    chains = mcmc.sample(
        log_density,
        {"shift": 0.0 * one, "slope": one, "scale": one},
        constraints={"scale": constraints.positive},
        key=trellis.random.key(0, backend=backend),
        draws=steps,
        tune=steps,
        chains=2 if steps > 10 else 1,
    )
    if steps > 10:
        print(mcmc.summary(chains))
    slope = float(trellis.mean(chains.draws["slope"]))
    print(f"{backend}: the mean slope is {slope:.4f}; the line of the data has 1.5")

    if picture is not None:
        places = np.linspace(-2.5, 2.5, 61)
        shifts, slopes = [
            trellis.to_numpy(chains.draws[name]).reshape(-1, 1) for name in ("shift", "slope")
        ]
        low, middle, high = np.quantile(shifts + slopes * places, [0.025, 0.5, 0.975], axis=0)
        trellis.train.draw_curves(
            picture,
            {"line": dict(zip(places, middle, strict=True))},
            points={"data": dict(zip(*measurements(), strict=True))},
            bands={"line": dict(zip(places, zip(low, high, strict=True), strict=True))},
            title="Lines that fit, in spite of two wrong points",
            x_label="x",
            y_label="y",
        )
    return slope


if __name__ == "__main__":
    main(*sys.argv[1:3])
