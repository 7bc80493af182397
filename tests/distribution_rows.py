"""One row for each family of numbers: its parameters, SciPy's and torch's distribution, points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats as ss


@dataclass
class Row:
    name: str
    parameters: dict[str, Any]  # arrays of one batch shape, or ints
    scipy: Any = None  # from the parameters to a frozen distribution of SciPy
    torch: Any = None  # from torch.distributions and the parameters to one of torch
    points: Any = None  # where densities are compared; of shape (n, 1), to meet the batch
    digits: dict[str, float] | None = None  # tolerances that are wider than the usual one
    without: tuple[str, ...] = ()  # what the family has no formula of
    whole: bool = False  # of whole numbers


def column(*xs):
    return np.array(xs, "float64")[:, None]


def pair(a, b):
    return np.array([a, b], "float64")


LINE = column(-3.0, -0.4, 0.0, 0.3, 1.1, 7.0)
ABOVE = column(-1.0, 0.01, 0.3, 1.1, 2.5, 9.0)
INSIDE = column(-0.5, 0.01, 0.3, 0.5, 0.95, 1.5)
LOCS, SCALES = pair(0.3, -1.0), pair(1.2, 0.4)
BOTH = {"loc": LOCS, "scale": SCALES}

ROWS = [
    Row("Normal", BOTH, ss.norm, lambda td, p: td.Normal(p.loc, p.scale), LINE),
    Row(
        "LogNormal", BOTH, lambda loc, scale: ss.lognorm(scale, scale=np.exp(loc)),
        lambda td, p: td.LogNormal(p.loc, p.scale), ABOVE,
    ),
    Row(
        "HalfNormal", {"scale": SCALES}, lambda scale: ss.halfnorm(0, scale),
        lambda td, p: td.HalfNormal(p.scale), ABOVE,
    ),
    Row("Cauchy", BOTH, ss.cauchy, lambda td, p: td.Cauchy(p.loc, p.scale), LINE),
    Row(
        "HalfCauchy", {"scale": SCALES}, lambda scale: ss.halfcauchy(0, scale),
        lambda td, p: td.HalfCauchy(p.scale), ABOVE,
    ),
    Row("Laplace", BOTH, ss.laplace, lambda td, p: td.Laplace(p.loc, p.scale), LINE),
    Row("Logistic", BOTH, ss.logistic, None, LINE),
    Row("Gumbel", BOTH, ss.gumbel_r, lambda td, p: td.Gumbel(p.loc, p.scale), LINE),
    Row(
        "Uniform", {"low": pair(-1.0, 0.0), "high": pair(2.0, 0.7)},
        lambda low, high: ss.uniform(low, high - low),
        lambda td, p: td.Uniform(p.low, p.high, validate_args=False), INSIDE,
    ),
]  # fmt: skip
