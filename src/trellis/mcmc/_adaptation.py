"""What a chain learns before its draws count: the size of its steps, and its metric.

The schedule is Stan's: steps alone at both ends, and between them windows, each twice as long as
the one before; the metric comes from the draws of a window, and steps are learned anew for it.
"""

from typing import Any, NamedTuple

import numpy as np

from .._array.control import cond, while_loop
from .._core.dispatch import xp_of
from .._random.keys import split
from ._dynamics import Density, Metric, Point, energy, leapfrog, pushed

_FIRST, _LAST, _WINDOW = 75, 50, 25
# Dual averaging, with the constants of Hoffman and Gelman (2014).
_GAMMA, _EARLY, _KAPPA = 0.05, 10.0, 0.75
_MOST_DOUBLINGS = 60


class Steps(NamedTuple):
    """Dual averaging of the logarithm of the step size."""

    log_step: Any
    log_mean: Any
    gap: Any
    centre: Any
    count: Any


class Moments(NamedTuple):
    """Mean and sum of squared deviations, as they come in (Welford)."""

    mean: Any
    squares: Any
    count: Any


class Learned(NamedTuple):
    """All that tuning carries from draw to draw."""

    steps: Steps
    moments: Moments
    metric: Metric


def windows(tune: int) -> tuple[np.ndarray, np.ndarray]:
    """For each draw of the tuning: whether its position counts for the metric, and whether a window
    ends with it.

    >>> [np.flatnonzero(ends).tolist() for _, ends in [windows(1000)]]
    [[99, 149, 249, 449, 949]]
    """
    counts, ends = np.zeros(tune, bool), np.zeros(tune, bool)
    if tune < 20:  # nothing but the steps can be learned
        return counts, ends
    first, last, window = _FIRST, _LAST, _WINDOW
    if first + last + window > tune:
        first, last = int(0.15 * tune), int(0.1 * tune)
        window = tune - first - last
    counts[first : tune - last] = True
    start = first
    while start + window <= tune - last:
        if start + 3 * window > tune - last:  # the next one would not fit: this is the last
            window = tune - last - start
        start += window
        ends[start - 1] = True
        window *= 2
    return counts, ends


def unit_metric(position: Any, is_dense: bool) -> Metric:
    """The metric of parameters that are independent, with variance 1."""
    xp = xp_of(position)
    ones = xp.ones_like(position)
    diagonal = ones[:, None] * xp.eye(position.shape[0], dtype=position.dtype) if is_dense else ones
    return Metric(diagonal, diagonal)


def steps_from(step: Any) -> Steps:
    """Dual averaging that begins at a step size."""
    xp = xp_of(step)
    log_step, zero = xp.log(step), xp.zeros_like(step)
    return Steps(log_step, zero, zero, log_step + float(np.log(10.0)), zero)


def no_moments(position: Any, is_dense: bool) -> Moments:
    """Moments before the first draw."""
    xp = xp_of(position)
    squares = xp.zeros_like(unit_metric(position, is_dense).covariance)
    return Moments(xp.zeros_like(position), squares, xp.sum(xp.zeros_like(position)))


def stepped(steps: Steps, acceptance: Any, target: float) -> Steps:
    """One step of dual averaging: smaller steps where too few trajectories are accepted."""
    count = steps.count + 1.0
    weight = 1.0 / (count + _EARLY)
    gap = (1.0 - weight) * steps.gap + weight * (target - acceptance)
    log_step = steps.centre - gap * count**0.5 / _GAMMA
    share = count ** (-_KAPPA)
    log_mean = share * log_step + (1.0 - share) * steps.log_mean
    return Steps(log_step, log_mean, gap, steps.centre, count)


def seen(moments: Moments, position: Any) -> Moments:
    """Moments with one draw more."""
    count = moments.count + 1.0
    before = position - moments.mean
    mean = moments.mean + before / count
    after = position - mean
    if len(moments.squares.shape) == 1:
        return Moments(mean, moments.squares + before * after, count)
    return Moments(mean, moments.squares + before[:, None] * after[None, :], count)


def metric_of(moments: Moments) -> Metric:
    """The covariance of the draws, drawn a little towards a small multiple of the identity."""
    xp = xp_of(moments.mean)
    count = moments.count
    shrunk = moments.squares / (count - 1.0) * (count / (count + 5.0))
    small = 1e-3 * (5.0 / (count + 5.0))
    if len(shrunk.shape) == 1:
        covariance = shrunk + small
        return Metric(covariance, 1.0 / xp.sqrt(covariance))
    covariance = shrunk + small * xp.eye(shrunk.shape[0], dtype=shrunk.dtype)
    # With L the Cholesky factor, inv(L).T @ inv(L) is the inverse of the covariance.
    return Metric(covariance, xp.matrix_transpose(xp.linalg.inv(xp.linalg.cholesky(covariance))))


def reasonable(
    density: Density, key: Any, metric: Metric, step: Any, point: Point, target: float
) -> Any:
    """A step size to begin with: doubled or halved until the acceptance of one step crosses the
    target."""
    xp = xp_of(point.position)
    keys = split(key, 2)
    start = pushed(keys[0], metric, point)
    before = energy(metric, start)

    def is_short(step: Any) -> Any:
        error = energy(metric, leapfrog(density, metric, start, step)) - before
        return error < -float(np.log(target))

    wants_more = is_short(step)
    factor = xp.where(wants_more, xp.full_like(step, 2.0), xp.full_like(step, 0.5))

    def goes_on(state: tuple[Any, Any, Any]) -> Any:
        return state[1] & (state[2] < _MOST_DOUBLINGS)

    def again(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        new = state[0] * factor
        is_same_side = is_short(new) == wants_more
        return new, is_same_side, state[2] + 1

    found, _, _ = while_loop(goes_on, again, (step, wants_more == wants_more, xp.zeros_like(step)))
    return found


def learn(
    density: Density,
    key: Any,
    learned: Learned,
    point: Point,
    acceptance: Any,
    target: float,
    counts: Any,
    ends: Any,
) -> Learned:
    """What is known after one more draw; `counts` and `ends` are this draw's of `windows`."""
    xp = xp_of(point.position)
    steps = stepped(learned.steps, acceptance, target)
    new, old = seen(learned.moments, point.position), learned.moments
    moments = Moments(*[xp.where(counts, x, y) for x, y in zip(new, old, strict=True)])

    def end(steps: Steps, moments: Moments, metric: Metric) -> Learned:
        metric = metric_of(moments)
        step = reasonable(density, key, metric, xp.exp(steps.log_mean), point, target)
        none = Moments(*[xp.zeros_like(x) for x in moments])
        return Learned(steps_from(step), none, metric)

    return cond(ends, end, Learned, steps, moments, learned.metric)
