"""`sample`: chains of draws from a density."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array.compilation import compile as compile_function
from .._array.control import scan
from .._core import tree
from .._core.dispatch import xp_of, xp_of_any
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.explain import is_singular
from .._core.kinds import check_callable, shown
from .._core.typing import Array, Nest
from .._gradients.transforms import value_and_grad
from .._random.distributions import uniform
from .._random.keys import fold_in, split
from ..distributions.constraints import Constraint
from . import _adaptation as adaptation
from ._constrained import bound, freed, maps_of, stretched
from ._dynamics import Density, Point, begin
from ._vector import as_vector
from .samplers import NUTS, Sampler, Statistics

_PIECES = 20  # of each loop, where a bar shows how far it is


@dataclass(frozen=True, repr=False)
class Chains:
    """The draws of `sample`. All arrays have the chain as first axis, and the draw as second one.

    Printed, it is the table of `summary`.

    >>> import numpy as np, trellis
    >>> from trellis import mcmc
    >>> chains = mcmc.sample(
    ...     lambda x: -0.5 * trellis.sum(x * x), np.zeros(2), key=trellis.random.key(0),
    ...     draws=20, tune=20, chains=2,
    ... )
    >>> chains.draws.shape, chains.step_size.shape
    ((2, 20, 2), (2,))
    """

    draws: Any
    """A pytree like `init`."""
    log_density: Any
    acceptance: Any
    """The mean acceptance along each trajectory."""
    steps: Any
    """The leapfrog steps, each one gradient, of each trajectory."""
    depth: Any
    """How often each trajectory was doubled (0 for HMC)."""
    is_diverging: Any
    energy: Any
    step_size: Any
    """What each chain tuned, with the chain as only axis."""
    covariance: Any
    """What each chain learned of the parameters: their variances, or the covariance matrix."""

    @property
    def divergences(self) -> int:
        """How many trajectories left the typical set: more than a few make the draws doubtful."""
        return int(xp_of(self.is_diverging).sum(self.is_diverging))

    def __repr__(self) -> str:
        from .diagnostics import summary

        return str(summary(self))

    def _repr_html_(self) -> str:
        from .diagnostics import summary

        return summary(self)._repr_html_()


def sample(
    log_density: Callable[[Any], Any],
    init: Nest,
    *,
    key: Array,
    constraints: Mapping[str, Constraint] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    sampler: Sampler | None = None,
    spread: float = 1.0,
    progress: bool = False,
) -> Chains:
    """Draw from the distribution with a given log density, which may lack a constant.

    Each chain begins near `init`, tunes its steps and its metric in `tune` draws, which are
    dropped, and then makes `draws` draws. On JAX, and inside `trellis.compile` on TensorFlow, a
    chain is one compiled loop.

    Args:
        log_density: A function of a pytree like `init` that returns one number.
        init: Arrays of float64 (better) or float32; their backend runs the chains.
        constraints: Where leaves of `init` lie, by their key chains. The sampler then works on
            numbers without bounds, and the density gets what that changes of volume.
        key: A random key. Chain i of a key is the same for any number of chains above i.
        draws: Draws that each chain keeps.
        tune: Draws before these.
        chains: How many chains, one after the other.
        sampler: `NUTS()` by default, or `HMC()`.
        spread: Each chain begins at `init` plus uniform numbers from -spread to spread, in the
            numbers without bounds.
        progress: Show a bar, with a step for each twentieth of a chain.

    >>> import numpy as np, trellis
    >>> from trellis import mcmc
    >>> def log_density(p):
    ...     return 2.0 * trellis.log(p["rate"]) - p["rate"]  # Gamma(3, 1)
    >>> chains = mcmc.sample(
    ...     log_density, {"rate": np.array(1.0)}, key=trellis.random.key(0), draws=200, tune=200,
    ...     constraints={"rate": trellis.distributions.constraints.positive},
    ... )
    >>> chains.draws["rate"].shape, bool((chains.draws["rate"] > 0).all())
    ((4, 200), True)
    """
    check_callable("sample", log_density)
    for name, count, least in (("draws", draws, 1), ("tune", tune, 0), ("chains", chains, 1)):
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise ArgumentError(f"{name} is an integer of at least {least}, got {count!r}.")
    chosen: Sampler = NUTS() if sampler is None else sampler
    if not hasattr(chosen, "transition"):
        raise ArgumentTypeError(f"sampler is NUTS() or HMC(), got {shown(sampler)}.")
    as_vector(init)  # raises if there is anything but floats
    maps = maps_of(init, constraints)
    vector, back = as_vector(freed(maps, init))

    def free_density(position: Any) -> Any:
        numbers = back(position)
        return _number(log_density(bound(maps, numbers))) + stretched(maps, numbers)

    density = value_and_grad(free_density)
    xp = xp_of(vector)
    is_compiled = xp.ABILITIES.compiles_loops
    if not is_compiled:
        density(vector)  # what fails at `init` is a mistake, and raises
        density = _rejecting(density)
    pieces = _PIECES if progress and not is_compiled else 1
    found = []
    # Where steps are too long densities overflow, and the sampler goes back: no news for users.
    quiet = np.errstate(all="ignore")
    with quiet, tqdm(total=pieces * chains, disable=not progress) as bar:

        def run(key: Any, vector: Any) -> list[Any]:
            tell = _nothing if is_compiled else bar.update
            chain = _chain(density, key, vector, draws, tune, chosen, spread, pieces, tell)
            return tree.leaves(chain)

        if is_compiled:
            run = compile_function(run)
        for i in range(chains):
            found.append(run(fold_in(key, i), vector))
            bar.update(pieces * (i + 1) - bar.n)
    positions, *others = [xp.stack(list(column), axis=0) for column in zip(*found, strict=True)]
    return Chains(bound(maps, back(positions)), *others)


def _rejecting(density: Density) -> Density:
    """The density, which is 0 where a matrix has no decomposition.

    Long steps lead to covariances that rounding makes singular. Compiled programs go on with nan,
    and reject such a point; eager ones would end with the error of the decomposition.
    """

    def rejecting(position: Any) -> tuple[Any, Any]:
        try:
            return density(position)
        except Exception as error:
            if not is_singular(error):
                raise
            xp = xp_of(position)
            return xp.sum(xp.zeros_like(position)) - math.inf, xp.zeros_like(position)

    return rejecting


def _nothing() -> None:
    """A compiled chain cannot tell how far it is."""


def _number(value: Any) -> Any:
    if len(getattr(value, "shape", (1,))) > 0:
        raise ShapeError(f"sample() expects log_density to return one number, got {shown(value)}.")
    return value


def _chain(
    density: Density,
    key: Any,
    vector: Any,
    draws: int,
    tune: int,
    sampler: Sampler,
    spread: float,
    pieces: int,
    tell: Callable[[], object],
) -> tuple[Any, ...]:
    """The draws of one chain, their statistics, and what it learned before."""
    xp = xp_of(vector)
    keys = split(key, 4)
    kind = xp.dtype_name(vector.dtype)
    jitter = uniform(keys[0], tuple(vector.shape), kind, minval=-spread, maxval=spread)
    point = begin(density, vector + jitter)
    metric = adaptation.unit_metric(vector, sampler.is_dense)
    step = adaptation.reasonable(
        density, keys[1], metric, xp.ones_like(point.log_density), point, sampler.target
    )
    moments = adaptation.no_moments(vector, sampler.is_dense)
    learned = adaptation.Learned(adaptation.steps_from(step), moments, metric)

    def tuned(state: tuple[Point, adaptation.Learned], x: Any) -> tuple[Any, Any]:
        (point, learned), (key, counts, ends) = state, x
        keys = split(key, 2)
        step = xp.exp(learned.steps.log_step)
        point, seen = sampler.transition(density, keys[0], learned.metric, step, point)
        learned = adaptation.learn(
            density, keys[1], learned, point, seen.acceptance, sampler.target, counts, ends
        )
        return (point, learned), step

    def drawn(point: Point, key: Any) -> tuple[Point, tuple[Any, Any, Statistics]]:
        point, seen = sampler.transition(density, key, metric, step, point)
        return point, (point.position, point.log_density, seen)

    if tune > 0:
        flags = [xp.asarray(x, device=xp.device(vector)) for x in adaptation.windows(tune)]
        xs = (split(keys[2], tune), *flags)
        (point, learned), _ = _scan_in(pieces // 2, tuned, (point, learned), xs, tell)
        metric, step = learned.metric, xp.exp(learned.steps.log_mean)
    _, found = _scan_in(pieces - pieces // 2, drawn, point, split(keys[3], draws), tell)
    return (*found, step, metric.covariance)


def _scan_in(
    pieces: int, fn: Callable[..., Any], state: Any, xs: Any, tell: Callable[[], object]
) -> tuple[Any, Any]:
    """`scan` in pieces, with a word after each."""
    length = tree.leaves(xs)[0].shape[0]
    size = -(-length // max(pieces, 1))
    found = []
    for start in range(0, length, size):
        part = tree.map(lambda x, start=start: x[start : start + size], xs)
        state, ys = scan(fn, state, part)
        found.append(ys)
        tell()
    if len(found) == 1:
        return state, found[0]
    xp = xp_of_any(*tree.leaves(found))
    return state, tree.map(lambda *ys: xp.concat(list(ys), axis=0), *found)
