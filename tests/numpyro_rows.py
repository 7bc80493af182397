"""log_prob of all families by NumPyro: how they are made there, and where it is stored."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from distribution_rows import OTHERS, ROWS, Other, other_of
from trellis import distributions

STORED = Path(__file__).parent / "distributions" / "numpyro.json"
# NumPyro has no such family; torch.distributions or SciPy is what these are compared with.
WITHOUT = {
    *("InverseGaussian", "GeneralizedPareto", "Triangular", "FisherSnedecor"),
    *("RelaxedOneHotCategorical", "OneHotCategorical"),
}
KINKS = ("Laplace", "AsymmetricLaplace")


def rows() -> dict[str, Other]:
    """By name, with the points at which all elements have a density."""
    found = {}
    for row in (*map(other_of, ROWS), *OTHERS):
        logs = np.asarray(ours(row).log_prob(row.points))
        is_good = np.isfinite(logs.reshape(len(row.points), -1)).all(axis=1)
        if row.name in KINKS:  # where the density has no derivative
            is_good &= np.all(row.points != row.parameters["loc"], axis=-1)
        if row.name != "Delta":
            row.points = row.points[is_good]
        found[row.name] = row
    return found


def ours(row: Other, parameters: Any = None, xp: Any = None, kind: str = "float64") -> Any:
    """The family of Trellis, with native arrays of `xp`."""

    def native(x: Any, kind: str) -> Any:
        return x if xp is None else xp.from_numpy(np.asarray(x).astype(kind))

    given = {name: native(x, kind) for name, x in (parameters or row.parameters).items()}
    given |= {name: native(x, "int32") for name, x in row.fixed.items()}
    return row.build(Trellis, SimpleNamespace(**given))


class _Trellis:
    def __getattr__(self, name: str) -> Any:
        return getattr(distributions, name)

    def exp_of(self, base: Any) -> Any:
        return distributions.Transformed(base, distributions.bijections.Exp())


Trellis = _Trellis()


class NumPyro:
    """The families of NumPyro by the names and with the arguments of ours."""

    def __init__(self) -> None:
        import numpyro.distributions as nd

        self.nd = nd

    def __getattr__(self, name: str) -> Any:
        return getattr(self.nd, name)

    def BetaProportion(self, proportion: Any, concentration: Any) -> Any:
        return self.nd.BetaProportion(proportion, concentration)

    def BetaBinomial(self, total_count: Any, concentration1: Any, concentration0: Any) -> Any:
        return self.nd.BetaBinomial(concentration1, concentration0, total_count)

    def NegativeBinomial(self, total_count: Any, probs: Any) -> Any:
        return self.nd.NegativeBinomialProbs(total_count, probs)

    def Multinomial(self, total_count: Any, probs: Any) -> Any:
        return self.nd.Multinomial(total_count, probs)

    def Delta(self, value: Any) -> Any:
        return self.nd.Delta(value)

    def Independent(self, base: Any, rank: int) -> Any:
        return base.to_event(rank)

    def Mixture(self, mixing: Any, components: Any) -> Any:
        return self.nd.MixtureGeneral(mixing, components)

    def Truncated(self, base: Any, low: float, high: float) -> Any:
        return self.nd.TruncatedDistribution(base, low, high)

    def ZeroInflated(self, base: Any, gate: Any) -> Any:
        return self.nd.ZeroInflatedDistribution(base, gate=gate)

    def ZeroInflatedNegativeBinomial(self, gate: Any, total: Any, probs: Any) -> Any:
        return self.ZeroInflated(self.NegativeBinomial(total, probs), gate)

    def exp_of(self, base: Any) -> Any:
        return self.nd.TransformedDistribution(base, self.nd.transforms.ExpTransform())

    def Censored(self, base: Any, low: float, high: float) -> Any:
        return _Censored(self.nd, base, low, high)


class _Censored:
    """From NumPyro's two, which are told of each point whether it is censored."""

    def __init__(self, nd: Any, base: Any, low: float, high: float):
        self.nd, self.base, self.low, self.high = nd, base, low, high

    def log_prob(self, x: Any) -> Any:
        import jax.numpy as jnp

        # What is censored is at the end itself, wherever x moves.
        at_low, at_high = jnp.full_like(x, self.low), jnp.full_like(x, self.high)
        left = self.nd.LeftCensoredDistribution(self.base, x <= self.low)
        right = self.nd.RightCensoredDistribution(self.base, x >= self.high)
        inside = right.log_prob(jnp.where(x >= self.high, at_high, x))
        return jnp.where(x <= self.low, left.log_prob(at_low), inside)
