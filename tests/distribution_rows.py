"""One row for each family of numbers: its parameters, SciPy's and torch's distribution, points.
And one for each of the other families: of vectors, of matrices, and made of others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.stats as ss


@dataclass
class Row:
    name: str
    parameters: dict[str, Any]  # arrays of one batch shape
    scipy: Any = None  # from the parameters to a frozen distribution of SciPy
    torch: Any = None  # from torch.distributions and the parameters to one of torch
    points: Any = None  # where densities are compared; of shape (n, 1), to meet the batch
    without: tuple[str, ...] = ()  # what there is no formula of, or what SciPy computes otherwise
    digits: dict[str, float] = field(default_factory=dict)  # tolerances wider than the usual one
    whole: bool = False  # of whole numbers


def column(*xs):
    return np.array(xs, "float64")[:, None]


def pair(a, b):
    return np.array([a, b], "float64")


LINE = column(-3.0, -0.4, 0.0, 0.3, 1.1, 7.0)
ABOVE = column(-1.0, 0.01, 0.3, 1.1, 2.5, 9.0)
INSIDE = column(-0.5, 0.01, 0.3, 0.5, 0.95, 1.5)
COUNTS = column(-1.0, 0.0, 1.0, 2.0, 3.0, 6.0, 20.0)
LOCS, SCALES = pair(0.3, -1.0), pair(1.2, 0.4)
BOTH = {"loc": LOCS, "scale": SCALES}
SHARES = pair(0.3, 0.8)
RATES = {"concentration": pair(2.5, 0.7), "rate": pair(1.5, 0.6)}
TWO = {"concentration1": pair(2.5, 0.7), "concentration0": pair(1.5, 3.0)}


def truncnorm(loc, scale, low, high):
    return ss.truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale)


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
    # One around zero, one in a tail, where differences of the cdf have no digits.
    Row(
        "TruncatedNormal", {**BOTH, "low": pair(-1.0, 1.5), "high": pair(2.0, 3.0)}, truncnorm,
        None, LINE, ("entropy",),
    ),
    Row("Cauchy", BOTH, ss.cauchy, lambda td, p: td.Cauchy(p.loc, p.scale), LINE),
    Row(
        "HalfCauchy", {"scale": SCALES}, lambda scale: ss.halfcauchy(0, scale),
        lambda td, p: td.HalfCauchy(p.scale), ABOVE, ("mean", "variance"),
    ),
    Row("Laplace", BOTH, ss.laplace, lambda td, p: td.Laplace(p.loc, p.scale), LINE),
    Row("Logistic", BOTH, ss.logistic, None, LINE),
    Row("Gumbel", BOTH, ss.gumbel_r, lambda td, p: td.Gumbel(p.loc, p.scale), LINE),
    Row(
        "StudentT", {"df": pair(2.5, 30.0), **BOTH}, ss.t,
        lambda td, p: td.StudentT(p.df, p.loc, p.scale), LINE,
    ),
    Row(
        "AsymmetricLaplace", {**BOTH, "asymmetry": pair(0.6, 1.7)},
        lambda loc, scale, asymmetry: ss.laplace_asymmetric(asymmetry, loc, scale), None, LINE,
    ),
    # SciPy integrates its entropy.
    Row("Levy", BOTH, ss.levy, None, LINE, digits={"entropy": 1e-9}),
    Row(
        "Uniform", {"low": pair(-1.0, 0.0), "high": pair(2.0, 0.7)},
        lambda low, high: ss.uniform(low, high - low),
        lambda td, p: td.Uniform(p.low, p.high, validate_args=False), INSIDE,
    ),
    Row(
        "LogUniform", {"low": pair(0.1, 0.2), "high": pair(2.0, 0.7)},
        lambda low, high: ss.loguniform(low, high), None, INSIDE,
    ),
    Row(
        "Triangular", {"low": pair(-1.0, 0.0), "high": pair(2.0, 0.7), "peak": pair(1.0, 0.0)},
        lambda low, high, peak: ss.triang((peak - low) / (high - low), low, high - low), None,
        INSIDE,
    ),
    Row(
        "Exponential", {"rate": SCALES}, lambda rate: ss.expon(0, 1 / rate),
        lambda td, p: td.Exponential(p.rate), ABOVE,
    ),
    Row(
        "Gamma", RATES, lambda concentration, rate: ss.gamma(concentration, scale=1 / rate),
        lambda td, p: td.Gamma(p.concentration, p.rate), ABOVE,
    ),
    Row(
        "InverseGamma", RATES, lambda concentration, rate: ss.invgamma(concentration, scale=rate),
        lambda td, p: td.InverseGamma(p.concentration, p.rate), ABOVE,
    ),
    Row("Chi2", {"df": pair(3.0, 0.8)}, ss.chi2, lambda td, p: td.Chi2(p.df), ABOVE),
    Row(
        "Weibull", {"scale": SCALES, "concentration": pair(2.5, 0.7)},
        lambda scale, concentration: ss.weibull_min(concentration, scale=scale),
        lambda td, p: td.Weibull(p.scale, p.concentration), ABOVE,
    ),
    Row(
        "Pareto", {"scale": pair(0.2, 1.0), "alpha": pair(2.5, 0.7)},
        lambda scale, alpha: ss.pareto(alpha, scale=scale),
        lambda td, p: td.Pareto(p.scale, p.alpha), ABOVE,
    ),
    Row(
        "GeneralizedPareto", {**BOTH, "concentration": pair(0.3, -0.4)},
        lambda loc, scale, concentration: ss.genpareto(concentration, loc, scale), None, LINE,
    ),
    Row(
        "InverseGaussian", {"loc": pair(1.5, 0.4), "concentration": pair(0.5, 3.0)},
        lambda loc, concentration: ss.invgauss(loc / concentration, scale=concentration), None,
        ABOVE,
    ),
    Row(
        "Beta", TWO, lambda concentration1, concentration0: ss.beta(concentration1, concentration0),
        lambda td, p: td.Beta(p.concentration1, p.concentration0), INSIDE,
    ),
    Row(
        "BetaProportion", {"proportion": SHARES, "concentration": pair(4.0, 1.5)},
        lambda proportion, concentration: ss.beta(
            proportion * concentration, (1 - proportion) * concentration
        ), None, INSIDE,
    ),
    Row(
        "Kumaraswamy", TWO, None,
        lambda td, p: td.Kumaraswamy(p.concentration1, p.concentration0), INSIDE,
    ),
    Row(
        "FisherSnedecor", {"df1": pair(3.0, 6.0), "df2": pair(7.0, 3.5)},
        lambda df1, df2: ss.f(df1, df2), lambda td, p: td.FisherSnedecor(p.df1, p.df2), ABOVE,
    ),
    # SciPy's moments are those along the line, ours those of angles; its cdf has 8 digits.
    Row(
        "VonMises", {"loc": pair(0.3, -1.0), "concentration": pair(0.7, 60.0)},
        lambda loc, concentration: ss.vonmises(concentration, loc),
        lambda td, p: td.VonMises(p.loc, p.concentration), column(-3.1, -1.0, 0.3, 2.0),
        ("mean", "variance", "icdf"), {"cdf": 2e-7},
    ),
    Row(
        "RelaxedBernoulli", {"temperature": pair(0.5, 2.0), "probs": SHARES}, None,
        lambda td, p: td.RelaxedBernoulli(p.temperature, p.probs), column(0.01, 0.3, 0.5, 0.95),
        ("entropy", "mean", "variance"),
    ),
    # Counts
    Row(
        "Bernoulli", {"probs": SHARES}, lambda probs: ss.bernoulli(probs),
        lambda td, p: td.Bernoulli(p.probs), COUNTS, whole=True,
    ),
    Row(
        "Binomial", {"total_count": np.array([6, 9]), "probs": SHARES},
        lambda total_count, probs: ss.binom(total_count, probs),
        lambda td, p: td.Binomial(6, p.probs), COUNTS, whole=True,
    ),
    Row(
        "BetaBinomial", {"total_count": np.array([6, 9]), **TWO},
        lambda total_count, concentration1, concentration0: ss.betabinom(
            total_count, concentration1, concentration0
        ), None, COUNTS, whole=True,
    ),
    Row(
        "Geometric", {"probs": SHARES}, lambda probs: ss.geom(probs, loc=-1),
        lambda td, p: td.Geometric(p.probs), COUNTS, whole=True,
    ),
    Row(
        "NegativeBinomial", {"total_count": pair(2.5, 4.0), "probs": SHARES},
        lambda total_count, probs: ss.nbinom(total_count, 1 - probs),
        lambda td, p: td.NegativeBinomial(p.total_count, p.probs), COUNTS, whole=True,
    ),
    Row(
        "GammaPoisson", RATES,
        lambda concentration, rate: ss.nbinom(concentration, rate / (1 + rate)), None, COUNTS,
        whole=True,
    ),
    Row(
        "Poisson", {"rate": pair(0.7, 4.5)}, lambda rate: ss.poisson(rate),
        lambda td, p: td.Poisson(p.rate), COUNTS, whole=True,
    ),
    Row(
        "DiscreteUniform", {"low": np.array([0, 2]), "high": np.array([3, 8])},
        lambda low, high: ss.randint(low, high + 1), None, COUNTS, whole=True,
    ),
    Row(
        "ZeroInflatedPoisson", {"gate": SHARES, "rate": pair(0.7, 4.5)}, None, None, COUNTS,
        whole=True,
    ),
]  # fmt: skip


@dataclass
class Other:
    """A family that is made by `build(d, p)` of a module `d` with families and the parameters."""

    name: str
    parameters: dict[str, Any]  # floats, by which log_prob is differentiated
    build: Callable[[Any, Any], Any]
    points: Any
    whole: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)  # whole parameters


def other_of(row: Row) -> Other:
    """A row of numbers in the same form, at the points where both columns have a density."""
    fixed = {name: x for name, x in row.parameters.items() if x.dtype.kind != "f"}
    free = {name: x for name, x in row.parameters.items() if x.dtype.kind == "f"}
    return Other(
        row.name, free, lambda d, p: getattr(d, row.name)(**vars(p)), row.points, row.whole, fixed
    )


COVARIANCE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 1.5]])
VECTOR = {"loc": np.array([0.5, -1.0, 2.0]), "scale_tril": np.linalg.cholesky(COVARIANCE)}
WEIGHTS = {"probs": np.array([0.2, 0.5, 0.3])}
POINTS = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 2.5]])
ON_SIMPLEX = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
VECTORS_OF_COUNTS = np.array([[2, 3, 1], [0, 6, 0]])
CORRELATION = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]])
ROW_TRIL = np.array([[1.0, 0.0], [0.5, 2.0]])
NUMBER = {"loc": np.array(0.3), "scale": np.array(1.2)}

OTHERS = [
    Other("MultivariateNormal", VECTOR,
          lambda d, p: d.MultivariateNormal(p.loc, scale_tril=p.scale_tril), POINTS),
    Other(
        "LowRankMultivariateNormal",
        {"loc": VECTOR["loc"], "factor": np.array([[1.0], [0.5], [-0.3]]),
         "diagonal": np.array([0.5, 1.0, 2.0])},
        lambda d, p: d.LowRankMultivariateNormal(p.loc, p.factor, p.diagonal), POINTS,
    ),
    Other("MultivariateStudentT", {"df": np.array(4.5), **VECTOR},
          lambda d, p: d.MultivariateStudentT(p.df, p.loc, p.scale_tril), POINTS),
    Other("Dirichlet", {"concentration": np.array([1.5, 0.7, 3.0])},
          lambda d, p: d.Dirichlet(p.concentration), ON_SIMPLEX),
    Other("Categorical", WEIGHTS, lambda d, p: d.Categorical(p.probs), np.arange(3), True),
    Other("OneHotCategorical", WEIGHTS, lambda d, p: d.OneHotCategorical(p.probs),
          np.eye(3, dtype=int), True),
    Other("RelaxedOneHotCategorical", {"temperature": np.array(0.7), **WEIGHTS},
          lambda d, p: d.RelaxedOneHotCategorical(p.temperature, p.probs), ON_SIMPLEX),
    Other("Multinomial", WEIGHTS, lambda d, p: d.Multinomial(6, p.probs), VECTORS_OF_COUNTS, True),
    Other("DirichletMultinomial", {"concentration": np.array([1.5, 0.7, 3.0])},
          lambda d, p: d.DirichletMultinomial(p.concentration, 6), VECTORS_OF_COUNTS, True),
    Other("LKJ", {"eta": np.array(1.7)}, lambda d, p: d.LKJ(3, p.eta), CORRELATION[None]),
    Other("LKJCholesky", {"eta": np.array(1.7)}, lambda d, p: d.LKJCholesky(3, p.eta),
          np.linalg.cholesky(CORRELATION)[None]),
    Other("Wishart", {"df": np.array(5.0), "scale_tril": VECTOR["scale_tril"]},
          lambda d, p: d.Wishart(p.df, scale_tril=p.scale_tril), (COVARIANCE + np.eye(3))[None]),
    Other(
        "MatrixNormal",
        {"loc": np.arange(6.0).reshape(2, 3), "rows": ROW_TRIL, "columns": VECTOR["scale_tril"]},
        lambda d, p: d.MatrixNormal(p.loc, p.rows, p.columns), np.ones((1, 2, 3)),
    ),
    Other("Delta", {"value": np.array([1.0, 2.0])}, lambda d, p: d.Delta(p.value),
          np.array([[1.0, 1.0]])),
    Other("Independent", {"loc": VECTOR["loc"], "scale": np.array([1.0, 2.0, 0.5])},
          lambda d, p: d.Independent(d.Normal(p.loc, p.scale), 1), POINTS),
    Other("Expanded", {}, lambda d, p: d.Normal(0.5, 1.5).expand((3,)), POINTS),
    Other("Transformed", NUMBER, lambda d, p: d.exp_of(d.Normal(p.loc, p.scale)),
          np.array([0.2, 1.0, 3.0])),
    Other(
        "MixtureSameFamily", {**WEIGHTS, "loc": VECTOR["loc"]},
        lambda d, p: d.MixtureSameFamily(d.Categorical(p.probs), d.Normal(p.loc, 0.7)),
        np.array([-1.0, 0.3, 2.0]),
    ),
    Other(
        "Mixture", {**WEIGHTS, **NUMBER},
        lambda d, p: d.Mixture(
            d.Categorical(p.probs),
            [d.Normal(p.loc, p.scale), d.StudentT(3.0, p.loc, p.scale), d.Cauchy(p.loc, p.scale)],
        ), np.array([-1.0, 0.3, 2.0]),
    ),
    Other("Truncated", NUMBER, lambda d, p: d.Truncated(d.StudentT(3.0, p.loc, p.scale), -0.5, 2.0),
          np.array([-0.3, 0.3, 1.9])),
    Other("Censored", NUMBER, lambda d, p: d.Censored(d.Normal(p.loc, p.scale), -1.0, 3.0),
          np.array([-1.0, 0.3, 3.0])),
    Other("ZeroInflated", {"gate": np.array(0.3), "rate": np.array(2.5)},
          lambda d, p: d.ZeroInflated(d.Poisson(p.rate), p.gate), np.array([0, 1, 4]), True),
    Other(
        "ZeroInflatedNegativeBinomial",
        {"gate": np.array(0.3), "total": np.array(2.5), "probs": np.array(0.4)},
        lambda d, p: d.ZeroInflatedNegativeBinomial(p.gate, p.total, p.probs), np.array([0, 1, 4]),
        True,
    ),
]  # fmt: skip
