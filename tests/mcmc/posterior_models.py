"""Three posteriors, each as a density over Trellis and as a model for NumPyro.

`tools/posteriors.py` runs the latter and stores means with their errors in `posteriors.json`;
`benchmarks/sampling.py` runs both. NumPyro is imported by the functions that need it alone.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trellis
from trellis.distributions import (
    Bernoulli,
    HalfCauchy,
    LogNormal,
    MultivariateNormal,
    Normal,
    constraints,
)

STORED = Path(__file__).with_name("posteriors.json")


class Posterior(NamedTuple):
    """A model.

    Attributes:
        density: From native data to the log density of a dict of parameters.
        model: The same of NumPyro, from its modules and the data.
        data: NumPy arrays.
        init: The parameters to begin at, by name, and `constraints` of some of them.
        constraints: Of the parameters that have bounds.
    """

    density: Callable[..., Any]
    model: Callable[..., Any]
    data: tuple[np.ndarray, ...]
    init: dict[str, np.ndarray]
    constraints: dict[str, Any]


# Rubin's eight schools (1981), without the funnel.
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(effects, errors):
    def log_density(p):
        prior = Normal(0.0, 5.0).log_prob(p["mu"]) + HalfCauchy(5.0).log_prob(p["tau"])
        away = trellis.sum(Normal(0.0, 1.0).log_prob(p["away"]))
        seen = Normal(p["mu"] + p["tau"] * p["away"], errors).log_prob(effects)
        return prior + away + trellis.sum(seen)

    return log_density


def schools_model(numpyro, dist, jnp, effects, errors):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    away = numpyro.sample("away", dist.Normal(0.0, 1.0).expand([8]))
    numpyro.sample("seen", dist.Normal(mu + tau * away, errors), obs=effects)


def _choices():
    random = np.random.default_rng(11)
    x = random.normal(size=(100, 3))
    odds = 1.0 / (1.0 + np.exp(-(0.5 + x @ np.array([1.0, -2.0, 0.3]))))
    return x, (random.random(100) < odds).astype("float64")


def logistic(x, y):
    def log_density(p):
        prior = Normal(0.0, 2.5).log_prob(p["shift"]) + trellis.sum(
            Normal(0.0, 2.5).log_prob(p["slope"])
        )
        logits = p["shift"] + trellis.matmul(x, p["slope"])
        return prior + trellis.sum(Bernoulli(logits=logits).log_prob(y))

    return log_density


def logistic_model(numpyro, dist, jnp, x, y):
    shift = numpyro.sample("shift", dist.Normal(0.0, 2.5))
    slope = numpyro.sample("slope", dist.Normal(0.0, 2.5).expand([3]))
    numpyro.sample("seen", dist.Bernoulli(logits=shift + x @ slope), obs=y)


def _waves():
    random = np.random.default_rng(12)
    x = np.sort(random.uniform(0.0, 6.0, 20))
    return x, np.sin(x) + random.normal(0.0, 0.2, 20)


def process(x, y):
    square = (x[:, None] - x[None, :]) ** 2

    def log_density(p):
        prior = sum([LogNormal(0.0, 1.0).log_prob(p[name]) for name in ("size", "length", "noise")])
        kernel = p["size"] ** 2 * trellis.exp(-0.5 * square / p["length"] ** 2)
        noise = trellis.where(square == 0.0, p["noise"] ** 2, 0.0)
        return prior + MultivariateNormal(trellis.zeros_like(y), kernel + noise).log_prob(y)

    return log_density


def process_model(numpyro, dist, jnp, x, y):
    size, length, noise = [
        numpyro.sample(name, dist.LogNormal(0.0, 1.0)) for name in ("size", "length", "noise")
    ]
    square = (x[:, None] - x[None, :]) ** 2
    kernel = size**2 * jnp.exp(-0.5 * square / length**2) + noise**2 * jnp.eye(len(x))
    numpyro.sample("seen", dist.MultivariateNormal(jnp.zeros(len(x)), kernel), obs=y)


_ONE = np.ones(())
POSTERIORS = {
    "eight_schools": Posterior(
        schools,
        schools_model,
        (EFFECTS, ERRORS),
        {"mu": 0.0 * _ONE, "tau": _ONE, "away": np.zeros(8)},
        {"tau": constraints.positive},
    ),
    "logistic_regression": Posterior(
        logistic, logistic_model, _choices(), {"shift": 0.0 * _ONE, "slope": np.zeros(3)}, {}
    ),
    "gaussian_process": Posterior(
        process,
        process_model,
        _waves(),
        {"size": _ONE, "length": _ONE, "noise": 0.5 * _ONE},
        dict.fromkeys(("size", "length", "noise"), constraints.positive),
    ),
}


def sampled(name: str, backend: str, seed: int = 0, key: Any = None, **options: Any) -> Any:
    """The chains of Trellis for one of them."""
    row = POSTERIORS[name]
    density = row.density(*[trellis.to_backend(x, backend) for x in row.data])
    init = {part: trellis.to_backend(np.asarray(x), backend) for part, x in row.init.items()}
    if key is None:
        key = trellis.random.key(seed, backend=backend)
    return trellis.mcmc.sample(density, init, key=key, constraints=row.constraints, **options)


def by_numpyro(name: str, draws: int, tune: int, chains: int) -> Callable[[int], dict[str, Any]]:
    """From a seed to the draws of NumPyro, with the chain as first axis."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    row = POSTERIORS[name]
    data = [jnp.asarray(x) for x in row.data]

    # The whole run as one program, as NumPyro's documentation does for pmap: it compiles once.
    @jax.jit
    def draw(key: Any) -> Any:
        run = numpyro.infer.MCMC(
            numpyro.infer.NUTS(lambda *data: row.model(numpyro, dist, jnp, *data)),
            num_warmup=tune,
            num_samples=draws,
            num_chains=chains,
            chain_method="sequential",
            progress_bar=False,
        )
        run.run(key, *data)
        return run.get_samples(group_by_chain=True)

    return lambda seed: {part: np.asarray(x) for part, x in draw(jax.random.PRNGKey(seed)).items()}


def means(draws: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """The mean of each parameter, and its Monte Carlo error."""
    found = {}
    for name, x in draws.items():
        x = trellis.to_numpy(x)
        error = x.std((0, 1)) / np.sqrt(trellis.mcmc.ess(x, kind="mean"))
        found[name] = {
            "mean": np.ravel(x.mean((0, 1))).round(6).tolist(),
            "error": np.ravel(error).round(6).tolist(),
        }
    return found


def stored() -> dict[str, Any]:
    """What NumPyro found: for each model and parameter `mean` and `error`."""
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found
