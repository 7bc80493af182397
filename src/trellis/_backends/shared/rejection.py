"""Rejection samplers of `jax.random`, written once for the backends that lack them.

`ops` is a backend's small set of operations on its own arrays: hash, normal_of, uniform_of,
split_key, uniform, where, any, log, log1p, sqrt, floor, abs, lgamma, while_loop. Every element
keeps its value from the round in which it was accepted, as a vectorised loop of JAX does.
"""

from math import pi
from typing import Any


def gamma(ops: Any, keys: Any, alpha: Any, log_space: bool) -> Any:
    """Gamma draws by Marsaglia and Tsang, or their logarithms; one key for each element of the
    flat `alpha`.
    """
    is_boosted = alpha < 1
    raised = ops.where(is_boosted, alpha + 1, alpha)
    d = raised - 1.0 / 3.0
    c = (1.0 / 3.0) / ops.sqrt(d)
    start, last = ops.split_keys(keys, 2)
    zero, one = alpha * 0, alpha * 0 + 1

    def is_rejected(x: Any, v: Any, u: Any) -> Any:
        return (u >= 1 - 0.0331 * (x * x)) & (ops.log(u) >= x * 0.5 + d * ((1 - v) + ops.log(v)))

    def body(key: Any, x: Any, v: Any, u: Any) -> tuple[Any, ...]:
        again = is_rejected(x, v, u)
        new_key, normal_key, uniform_key = ops.split_keys(key, 3)

        def next_normal(k: Any, z: Any, w: Any) -> tuple[Any, ...]:
            is_open = w <= 0
            following, here = ops.split_keys(k, 2)
            drawn = ops.normal_of(here, alpha)
            return (
                ops.where_key(is_open, following, k),
                ops.where(is_open, drawn, z),
                ops.where(is_open, 1 + drawn * c, w),
            )

        _, z, w = ops.while_loop(
            lambda k, z, w: ops.any(w <= 0), next_normal, (normal_key, zero, -one)
        )
        drawn = ops.uniform_of(uniform_key, alpha)
        return (
            ops.where_key(again, new_key, key),
            ops.where(again, z * z, x),
            ops.where(again, w * w * w, v),
            ops.where(again, drawn, u),
        )

    _, _, v, _ = ops.while_loop(
        lambda key, x, v, u: ops.any(is_rejected(x, v, u)), body, (start, zero, one, one + 1)
    )
    u = ops.uniform_of(last, alpha)
    if log_space:
        log_u = ops.log1p(-u)
        boost = ops.where(is_boosted & (log_u != 0), log_u / alpha, zero)
        return ops.log(d) + ops.log(v) + boost
    boost = ops.where(is_boosted, (1 - u) ** (1 / alpha), one)
    return d * v * boost


def poisson(ops: Any, key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """Poisson draws less floor(lam), as float32: Knuth's product below a rate of 10, then
    rejection.

    The difference is small enough to be a whole number in float32 whatever the rate. For an invalid
    rate (negative, infinite, nan) the draw is -1.
    """
    is_rate = (lam >= 0) & (lam < float("inf"))
    is_small = lam < 10
    zero = ops.where(is_rate, lam, 0) * 0
    rate = ops.where(is_rate, lam, zero)
    small = _poisson_by_products(ops, key, ops.where(is_small, rate, zero), shape)
    large = _poisson_by_rejection(ops, key, ops.where(is_small, zero + 1e5, rate), shape)
    small = ops.where(rate == 0, zero, small) - ops.floor(rate)
    return ops.where(is_rate, ops.where(is_small, small, large), zero - 1)


def _poisson_by_products(ops: Any, key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    def body(k: Any, state: Any, log_product: Any) -> tuple[Any, ...]:
        following, here = ops.split_key(state, 2)
        k = ops.where(log_product > -lam, k + 1, k)
        return k, following, log_product + ops.log(ops.uniform(here, shape))

    zero = lam * 0
    k, _, _ = ops.while_loop(lambda k, state, p: ops.any(p > -lam), body, (zero, key, zero))
    return k - 1


def _poisson_by_rejection(ops: Any, key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """Hoermann's transformed rejection (PTRS), with the density free of cancellation."""
    b = 0.931 + 2.53 * ops.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    base = ops.floor(lam)
    fraction = lam - base

    def body(drawn: Any, is_open: Any, state: Any) -> tuple[Any, ...]:
        following, key_u, key_v = ops.split_key(state, 3)
        u = ops.uniform(key_u, shape) - 0.5
        v = ops.uniform(key_v, shape)
        distance = 0.5 - ops.abs(u)
        offset = ops.floor((2 * a / distance + b) * u + fraction + 0.43)
        s = ops.log(v * inverse_alpha / (a / (distance * distance) + b))
        t = _log_density(ops, lam, base + offset, offset - fraction)
        is_inside = (distance >= 0.07) & (v <= v_r)
        is_outside = (base + offset < 0) | ((distance < 0.013) & (v > distance))
        is_accepted = is_inside | (~is_outside & (s <= t))
        return ops.where(is_accepted, offset, drawn), is_open & ~is_accepted, following

    drawn, _, _ = ops.while_loop(
        lambda drawn, is_open, state: ops.any(is_open), body, (lam * 0, lam == lam, key)
    )
    return drawn


def _log_density(ops: Any, lam: Any, k: Any, distance: Any) -> Any:
    """log of the Poisson density at `k`, which lies `distance` from the rate.

    -lam + k log(lam) - lgamma(k + 1) subtracts numbers of the size of lam from each other: in
    float32 no digit is left at a rate of 10**6. With Stirling's series the large terms cancel in
    the formula itself (Loader, 2000).
    """
    many = ops.where(k < 16, lam * 0 + 16, k)
    x = ops.where(k < 16, lam * 0, distance / lam)
    # (1 + x) log(1 + x) - x, by its series where that, too, would cancel.
    series = x * 0
    for n in range(12, 1, -1):
        series = 1.0 / (n * (n - 1)) - x * series
    inner = ops.where(ops.abs(x) < 0.1, x, x * 0 + 0.5)
    outer = ops.where(ops.abs(x) < 0.1, x * 0 + 0.5, x)
    deviance = ops.where(
        ops.abs(x) < 0.1, inner * inner * series, (1 + outer) * ops.log1p(outer) - outer
    )
    stirling = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / (many * many)) / (many * many)) / many
    far = -lam * deviance - 0.5 * ops.log(2 * pi * many) - stirling
    few = ops.where((k >= 0) & (k < 16), k, lam * 0)
    near = -lam + few * ops.log(lam) - ops.lgamma(few + 1)
    return ops.where(k < 16, near, far)
