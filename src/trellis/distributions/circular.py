"""The von Mises distribution of angles."""

from math import log, pi
from typing import Any

from numpy.polynomial.legendre import leggauss

from .._array.control import while_loop
from .._core.typing import Backend
from .._random.distributions import uniform
from .._random.keys import split
from ..special import i0e, i1e
from . import constraints
from ._calling import Value
from .parametric import Parametric, named
from .searching import implicit, quantile

# The integral of the density: from the middle as far as it is above 1e-17 of its height.
_NODES, _WEIGHTS = [(0.5 * (x + shift)).tolist() for x, shift in zip(leggauss(48), (1.0, 0.0))]
_REACH = 9.0
# Draws that are not accepted after so many rounds: one in 10**15.
_ROUNDS = 80


class VonMises(Parametric):
    """Von Mises distribution of angles around `loc`, the tighter the larger `concentration` is.

    Draws are from -pi to pi. The density has a period of 2 pi; the cdf is 1/2 at `loc` and goes on
    beyond 1 after a turn. `variance` is that of angles: 1 less the mean cosine. Draws have implicit
    derivatives.

    >>> from trellis.distributions import VonMises
    >>> round(VonMises(0.0, 2.0).variance.item(), 4)
    0.3022
    """

    parameters = named(loc=constraints.real, concentration=constraints.positive)
    _has_rsample = True

    def __init__(self, loc: Value, concentration: Value):
        self._set(loc=loc, concentration=concentration)

    def _log_prob(self, xp: Backend, x: Any, loc: Any, k: Any) -> Any:
        # cos - 1 by the sine of the half: no digits are lost for a large concentration.
        half = xp.sin(0.5 * (x - loc))
        return -2.0 * k * half * half - log(2 * pi) - xp.log(i0e(k))

    def _cdf_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        return self._cdf(xp, x, *values)

    def _cdf(self, xp: Backend, x: Any, loc: Any, k: Any) -> Any:
        apart = x - loc
        turns = xp.stop_gradient(xp.floor((apart + pi) / (2 * pi)))
        return turns + _share(xp, apart - 2 * pi * turns, k)

    def _icdf(self, xp: Backend, p: Any, loc: Any, k: Any) -> Any:
        zero = xp.zeros_like(p + loc + k)

        def log_prob(xp: Backend, x: Any, k: Any) -> Any:
            return self._log_prob(xp, x, zero, k)

        return loc + quantile(xp, _share, log_prob, p + zero, [k], -pi, pi, False)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, k: Any) -> Any:
        wide = xp.broadcast_to(k, sizes)
        z = _drawn(xp, key, xp.stop_gradient(wide), kind)

        def log_prob(xp: Backend, x: Any, k: Any) -> Any:
            return self._log_prob(xp, x, xp.zeros_like(x), k)

        angle = loc + implicit(xp, z, _share, log_prob, [wide])
        turns = xp.stop_gradient(xp.floor((angle + pi) / (2 * pi)))
        return angle - 2 * pi * turns

    def _entropy(self, xp: Backend, loc: Any, k: Any) -> Any:
        return log(2 * pi) + xp.log(i0e(k)) + k * (1.0 - i1e(k) / i0e(k))

    def _mean(self, xp: Backend, loc: Any, k: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, k: Any) -> Any:
        return 1.0 - i1e(k) / i0e(k)

    def _mode(self, xp: Backend, loc: Any, k: Any) -> Any:
        return loc


def _share(xp: Backend, x: Any, k: Any) -> Any:
    """The probability below an angle from -pi to pi, around 0."""
    reach = xp.minimum(xp.stop_gradient(_REACH / xp.sqrt(k)), pi + 0.0 * k)
    size = xp.expand_dims(xp.minimum(xp.abs(x), reach + 0.0 * x), axis=-1)
    nodes = xp.asarray(_NODES, dtype=x.dtype, device=xp.device(x))
    weights = xp.asarray(_WEIGHTS, dtype=x.dtype, device=xp.device(x))
    half = xp.sin(0.5 * size * nodes)
    values = xp.exp(-2.0 * xp.expand_dims(k, axis=-1) * half * half)
    area = xp.sum(values * weights * size, axis=-1) / (2 * pi * i0e(k))
    return 0.5 + xp.where(x < 0, -area, area)


def _drawn(xp: Backend, key: Any, k: Any, kind: str) -> Any:
    """Best and Fisher (1979): rejection from a wrapped Cauchy distribution."""
    sizes = tuple(k.shape)
    root = 1.0 + xp.sqrt(1.0 + 4.0 * k * k)
    # (root - sqrt(2 root)) / (2 k) loses its digits for small k, where it is k.
    rho = xp.where(k < 1e-2, k, (root - xp.sqrt(2.0 * root)) / (2.0 * k))
    r = (1.0 + rho * rho) / (2.0 * rho)

    def is_open(state: dict[str, Any]) -> Any:
        return xp.any(state["is_open"]) & (state["n"] < _ROUNDS)

    def tried(state: dict[str, Any]) -> dict[str, Any]:
        keys = split(state["key"])
        u = uniform(keys[1, ...], (3, *sizes), kind)
        z = xp.cos(pi * u[0, ...])
        cosine = (1.0 + r * z) / (r + z)
        c = k * (r - cosine)
        v = 1.0 - u[1, ...]
        is_taken = (c * (2.0 - c) > v) | (xp.log(c / v) + 1.0 - c >= 0)
        is_new = state["is_open"] & is_taken
        # By the tangent of the half: the angle has all its digits for a large concentration.
        angle = 2.0 * xp.atan(xp.tan(0.5 * pi * u[0, ...]) * xp.sqrt((r - 1.0) / (r + 1.0)))
        signed = xp.where(u[2, ...] < 0.5, -angle, angle)
        return {
            "key": keys[0, ...],
            "drawn": xp.where(is_new, signed, state["drawn"]),
            "is_open": state["is_open"] & ~is_taken,
            "n": state["n"] + 1,
        }

    start = {
        "key": key, "drawn": xp.zeros_like(k), "is_open": k == k, "n": xp.asarray(0),
    }  # fmt: skip
    return while_loop(is_open, tried, start)["drawn"]
