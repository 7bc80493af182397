"""Binomial draws, by rejection: the work does not grow with the number of trials."""

from typing import Any

from .._array.control import while_loop
from .._core.typing import Array, Backend
from .._random.distributions import uniform
from .._random.keys import split

# Below so many expected successes they are counted one by one.
_FEW = 10.0


def binomial(xp: Backend, key: Array, n: Any, p: Any, sizes: tuple[int, ...], kind: str) -> Any:
    """Whole numbers as floats of dtype `kind`, with `n` and `p` of that dtype.

    The decisions compare logarithms: a few draws in a million may differ between backends.
    """
    n = xp.broadcast_to(xp.stop_gradient(n), sizes)
    p = xp.broadcast_to(xp.stop_gradient(p), sizes)
    is_flipped = p > 0.5
    q = xp.where(is_flipped, 1.0 - p, p)
    is_few = n * q < _FEW
    keys = split(key)
    few = _by_waiting(xp, keys[0, ...], n, xp.where(is_few, q, 0.0), sizes, kind)
    many = _by_rejection(
        xp, keys[1, ...], xp.where(is_few, 100.0, n), xp.where(is_few, 0.5, q), ~is_few, kind
    )
    drawn = xp.where(is_few, few, many)
    return xp.where(is_flipped, n - drawn, drawn)


def _by_waiting(xp: Backend, key: Any, n: Any, p: Any, sizes: Any, kind: str) -> Any:
    """How many geometric waiting times fit into n trials."""
    is_never = p <= 0
    scale = xp.log1p(-xp.where(is_never, 0.5, p))
    zero = xp.zeros_like(p)

    def is_open(state: dict[str, Any]) -> Any:
        return xp.any(state["passed"] <= n)

    def waited(state: dict[str, Any]) -> dict[str, Any]:
        keys = split(state["key"])
        # Uniforms of (0, 1]: a logarithm of 0 would wait for ever.
        logs = xp.log1p(-uniform(keys[1, ...], sizes, kind))
        passed = state["passed"] + xp.floor(logs / scale) + 1.0
        is_in = passed <= n
        return {
            "key": keys[0, ...],
            "passed": passed,
            "count": xp.where(is_in, state["count"] + 1.0, state["count"]),
        }

    start = {"key": key, "passed": xp.where(is_never, n + 1.0, zero), "count": zero}
    return while_loop(is_open, waited, start)["count"]


def _by_rejection(xp: Backend, key: Any, n: Any, p: Any, is_wanted: Any, kind: str) -> Any:
    """Hoermann's transformed rejection (BTRS, 1993), for p up to 1/2 and n p of at least 10."""
    sizes = tuple(n.shape)
    spread = xp.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    ratio = p / (1.0 - p)
    mode = xp.floor((n + 1.0) * p)
    top = _log_rest(xp, mode) + _log_rest(xp, n - mode)

    def is_open(state: dict[str, Any]) -> Any:
        return xp.any(state["is_open"])

    def tried(state: dict[str, Any]) -> dict[str, Any]:
        keys = split(state["key"], 3)
        u = uniform(keys[1, ...], sizes, kind) - 0.5
        v = 1.0 - uniform(keys[2, ...], sizes, kind)
        distance = 0.5 - xp.abs(u)
        # At the very end no number is drawn.
        safe = xp.maximum(distance, 1e-7 + xp.zeros_like(distance))
        k = xp.floor((2.0 * a / safe + b) * u + center)
        is_number = (k >= 0) & (k <= n)
        at = xp.where(is_number, k, mode)
        bound = (
            (mode + 0.5) * xp.log((mode + 1.0) / (ratio * (n - mode + 1.0)))
            + (n + 1.0) * xp.log((n - mode + 1.0) / (n - at + 1.0))
            + (at + 0.5) * xp.log(ratio * (n - at + 1.0) / (at + 1.0))
            + top - _log_rest(xp, at) - _log_rest(xp, n - at)
        )  # fmt: skip
        logs = xp.log(v * alpha / (a / (safe * safe) + b))
        is_taken = is_number & (((distance >= 0.07) & (v <= v_r)) | (logs <= bound))
        is_new = state["is_open"] & is_taken
        return {
            "key": keys[0, ...],
            "drawn": xp.where(is_new, k, state["drawn"]),
            "is_open": state["is_open"] & ~is_taken,
        }

    start = {"key": key, "drawn": xp.zeros_like(n), "is_open": is_wanted}
    return while_loop(is_open, tried, start)["drawn"]


# log(k!) less Stirling's formula (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for k up to 9.
_RESTS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _log_rest(xp: Backend, k: Any) -> Any:
    far = xp.maximum(k, 9.0 + xp.zeros_like(k)) + 1.0
    square = far * far
    found = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / far
    for i, rest in enumerate(_RESTS):
        found = xp.where(k == i, rest, found)
    return found
