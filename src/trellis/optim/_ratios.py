"""Scaling by norms of the parameters: trust ratios (LARS, LAMB) and Adafactor's block norms."""

from typing import Any

from ._pairs import Leaves, Now, Rule, Transformation, from_rules, needed_params
from ._scalars import like, norms


def scale_by_trust_ratio(coefficient: float = 1.0, epsilon: float = 0.0) -> Transformation:
    """`r * g` with `r = coefficient * ||w|| / (||g|| + epsilon)`, leaf by leaf.

    A leaf of zeros, or one whose update is zero, has ratio 1: zero biases move.

    >>> import numpy as np
    >>> from trellis import optim
    >>> trust = optim.scale_by_trust_ratio()
    >>> w, g = np.array([3.0, 4.0]), np.array([0.6, 0.8])
    >>> trust.update(g, trust.init(w), w)[0]
    array([3., 4.])
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        params = needed_params(now, "scale_by_trust_ratio()")
        rows = zip(g, norms(xp, params), norms(xp, g), strict=True)
        return [g_i * like(xp, _ratio(xp, w_norm, g_norm), g_i) for g_i, w_norm, g_norm in rows], []

    def _ratio(xp: Any, w_norm: Any, g_norm: Any) -> Any:
        is_zero = xp.logical_or(w_norm == 0, g_norm == 0)
        one = xp.ones_like(w_norm)
        return xp.where(
            is_zero, one, coefficient * w_norm / (xp.where(is_zero, one, g_norm) + epsilon)
        )

    return from_rules(Rule(apply))


def scale_by_param_rms(minimum: float = 1e-3) -> Transformation:
    """`g * max(rms(w), minimum)`, leaf by leaf: steps relative to the size of the parameters."""

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        sizes = _rms(now.xp, needed_params(now, "scale_by_param_rms()"))
        factors = [now.xp.maximum(size, minimum) for size in sizes]
        return [g_i * like(now.xp, f, g_i) for g_i, f in zip(g, factors, strict=True)], []

    return from_rules(Rule(apply))


def clip_by_rms(limit: float) -> Transformation:
    """`g / max(1, rms(g) / limit)`, leaf by leaf."""

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        factors = [now.xp.maximum(size / limit, 1.0) for size in _rms(now.xp, g)]
        return [g_i / like(now.xp, f, g_i) for g_i, f in zip(g, factors, strict=True)], []

    return from_rules(Rule(apply))


def _rms(xp: Any, xs: Leaves) -> Leaves:
    counts = [_count(x) for x in xs]
    return [norm / count**0.5 for norm, count in zip(norms(xp, xs), counts, strict=True)]


def _count(x: Any) -> int:
    count = 1
    for n in x.shape:
        count *= int(n)
    return max(count, 1)
