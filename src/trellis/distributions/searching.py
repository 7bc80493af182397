"""Quantiles and draws by the cumulative distribution function alone."""

from collections.abc import Callable, Sequence
from typing import Any

from .._array.control import while_loop
from .._core.typing import Backend

# Doubling the bracket this often leaves the range of float32; halving it that often, any float.
_DOUBLINGS, _HALVINGS = 120, 200


def implicit(xp: Backend, x: Any, cdf: Callable[..., Any], log_prob: Callable[..., Any],
             values: Sequence[Any]) -> Any:  # fmt: skip
    """`x`, a draw, with the derivatives that it has by the parameters while its cdf stays the same.

    -(dF/da) / f for a parameter a, density f: Figurnov et al., Implicit Reparameterization
    Gradients (2018). `cdf(xp, x, *values)` must have derivatives by the parameters.
    """
    fixed = xp.stop_gradient(x)
    density = xp.stop_gradient(xp.exp(log_prob(xp, fixed, *values)))
    reached = cdf(xp, fixed, *values)
    # Where nothing is left of the density, a draw does not move.
    moves = (density > 0) & xp.isfinite(density)
    change = (reached - xp.stop_gradient(reached)) / xp.where(moves, density, 1.0)
    return fixed - xp.where(moves, change, 0.0)


def quantile(xp: Backend, cdf: Callable[..., Any], log_prob: Callable[..., Any], p: Any,
             values: Sequence[Any], low: Any, high: Any, is_discrete: bool) -> Any:  # fmt: skip
    """The smallest x with `cdf(xp, x, *values) >= p`, between `low` and `high` or anywhere.

    By bisection, with the derivatives of the exact solution; those of whole numbers are zero.
    """
    fixed = [None if v is None else xp.stop_gradient(v) for v in values]
    target = xp.stop_gradient(p)

    def is_reached(x: Any) -> Any:
        return cdf(xp, x, *fixed) >= target

    # A bound is a number, or a parameter.
    low, high = [xp.stop_gradient(end) if hasattr(end, "dtype") else end for end in (low, high)]
    first = xp.zeros_like(target) if low is None else low + 0.0 * target
    start = first - 1.0 if is_discrete or low is None else first
    last = start + 2.0 if high is None else high + 0.0 * target
    if low is None:
        start = _bracket(xp, start, -1.0, lambda x: ~is_reached(x))
    if high is None:
        last = _bracket(xp, last, 1.0, is_reached)
    found = _bisected(xp, start, last, is_reached, is_discrete)
    if is_discrete:
        # Below the first point lies nothing; and where p is 1, the end.
        found = xp.maximum(found, first)
        return found if high is not None else xp.where(target >= 1, float("inf"), found)
    ends = xp.where(target <= 0, -float("inf") if low is None else first, found)
    ends = xp.where(target >= 1, float("inf") if high is None else last, ends)
    is_end = (target <= 0) | (target >= 1)
    inner = xp.where(is_end, xp.where(xp.isfinite(found), found, 0.0), found)
    density = xp.stop_gradient(xp.exp(log_prob(xp, inner, *values)))
    moves = (density > 0) & xp.isfinite(density) & ~is_end
    change = p - cdf(xp, inner, *values)
    change = (change - xp.stop_gradient(change)) / xp.where(moves, density, 1.0)
    return ends + xp.where(moves, change, 0.0)


def _bracket(xp: Backend, x: Any, step: float, is_good: Callable[[Any], Any]) -> Any:
    """Points at growing distances until all are good."""
    state = {"x": x, "step": xp.full_like(x, step), "n": xp.asarray(0)}

    def is_open(state: dict[str, Any]) -> Any:
        return xp.any(~is_good(state["x"])) & (state["n"] < _DOUBLINGS)

    def widened(state: dict[str, Any]) -> dict[str, Any]:
        x, step = state["x"], state["step"]
        return {
            "x": xp.where(is_good(x), x, x + step), "step": step * 2.0, "n": state["n"] + 1,
        }  # fmt: skip

    return while_loop(is_open, widened, state)["x"]


def _bisected(xp: Backend, low: Any, high: Any, is_reached: Callable[[Any], Any],
              is_discrete: bool) -> Any:  # fmt: skip
    state = {"low": low, "high": high, "n": xp.asarray(0)}

    def middle(state: dict[str, Any]) -> Any:
        at = state["low"] + 0.5 * (state["high"] - state["low"])
        return xp.floor(at) if is_discrete else at

    def is_open(state: dict[str, Any]) -> Any:
        at = middle(state)
        is_between = (at > state["low"]) & (at < state["high"])
        return xp.any(is_between) & (state["n"] < _HALVINGS)

    def halved(state: dict[str, Any]) -> dict[str, Any]:
        at = middle(state)
        is_above = is_reached(at)
        return {
            "low": xp.where(is_above, state["low"], at),
            "high": xp.where(is_above, at, state["high"]),
            "n": state["n"] + 1,
        }

    return while_loop(is_open, halved, state)["high"]
