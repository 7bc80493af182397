"""Inputs that a conversion is tried on beside the example: of the same shapes and types, with other
numbers, and with those at which functions that are alike elsewhere differ."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

ORDINARY = "other numbers of its kind"
_SEED = 20  # any will do; the same trials each time
_ONE_IN = 8  # hard numbers stand at few places, so that others can be compared beside them


class Trial(NamedTuple):
    """Inputs, one array each, and in words what is special about them."""

    name: str
    inputs: list[Any]
    is_ordinary: bool  # numbers as those of the example
    is_hard: bool  # with numbers at which sums of another order may overflow or meet nan


def trials(example: Sequence[np.ndarray], is_small: bool) -> Iterator[Trial]:
    """The trials for an example; those at the limits of the types are for small programs alone."""
    rng = np.random.default_rng(_SEED)

    def made(name: str, change: Callable[[np.ndarray], np.ndarray], is_hard: bool) -> Trial:
        inputs = [_as_ordered(x, change(x)) for x in example]
        return Trial(name, inputs, name == ORDINARY, is_hard)

    if not example:
        return
    yield made(ORDINARY, lambda x: _like(rng, x), False)
    if not any([_is_inexact(x) for x in example]):
        return
    yield made("negative numbers, ties, 0 and -0", lambda x: _tied(rng, x), False)
    if is_small:
        yield made("sorted numbers", lambda x: _sorted(rng, x), False)
    for name, values in {"nan": [np.nan], "inf and -inf": [np.inf, -np.inf]}.items():
        yield made(name, lambda x, v=values: _sprinkled(rng, x, v), True)  # type: ignore[misc]
    if is_small:
        yield made("numbers from 1e-30 to 3e4", lambda x: _sprinkled(rng, x, _limits(x)), True)


def _is_inexact(x: np.ndarray) -> bool:
    return x.dtype.kind in "fc" or x.dtype.name == "bfloat16"


def _like(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Numbers of the kind that the example has: its signs and zeros, indices in its range."""
    if x.size == 0:
        return x
    flat = x.reshape(-1)
    if _is_inexact(x):
        picked = flat[rng.integers(0, flat.size, flat.size)]
        if not flat.any():  # all zero
            return rng.normal(size=x.shape).astype(x.dtype)
        return (picked * rng.uniform(0.5, 1.5, flat.size)).astype(x.dtype).reshape(x.shape)
    low, high = flat.min(), flat.max()
    if low == high:
        return _masked(x) if x.dtype.kind == "b" or low in (0, 1) else x
    if x.dtype.kind == "b" or np.unique(flat).size == flat.size:
        return rng.permutation(flat).reshape(x.shape)
    return rng.integers(low, high, x.shape, dtype=np.int64, endpoint=True).astype(x.dtype)


def _masked(x: np.ndarray) -> np.ndarray:
    """A mask of ones with zeros at the end, as of a padded batch, or the other way round."""
    made = x.copy()
    if x.ndim and x.shape[-1] > 1:
        made[..., -max(1, x.shape[-1] // 4) :] = 0 if x.reshape(-1)[0] else 1
    return made


def _as_ordered(x: np.ndarray, made: np.ndarray) -> np.ndarray:
    """What is sorted in the example stays so: edges of bins, offsets, positions."""
    if x.ndim == 0 or x.shape[-1] < 2 or x.dtype.kind == "c":
        return made
    steps = x[..., 1:].astype("float64") - x[..., :-1].astype("float64")
    if not (steps >= 0).all() or not (steps > 0).any():
        return made
    if _is_inexact(x):
        return np.sort(made, axis=-1)
    made = np.sort(made, axis=-1)  # the first and the last as they are: `offsets` begin with 0
    made[..., 0], made[..., -1] = x[..., 0], x[..., -1]
    return made


def _spread(x: np.ndarray) -> float:
    finite = np.abs(x.astype("complex128"))
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if finite.size and finite.any() else 1.0


def _tied(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    if not _is_inexact(x) or x.size == 0:
        return x
    step = 2.0 ** np.round(np.log2(_spread(x)))
    whole = rng.integers(-2, 3, x.shape) * step
    whole = np.where(rng.integers(0, 2, x.shape) > 0, whole, -whole)  # of 0 both signs
    return whole.astype(x.dtype)


def _sorted(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    if not _is_inexact(x) or x.ndim == 0 or x.dtype.kind == "c":
        return x
    return np.sort(_like(rng, x), axis=-1)


def _sprinkled(rng: np.random.Generator, x: np.ndarray, values: list[float]) -> np.ndarray:
    if not _is_inexact(x) or x.size == 0:
        return x
    made = _like(rng, x).reshape(-1)
    places = rng.permutation(made.size)[: -(-made.size // _ONE_IN)]
    made[places] = rng.choice(values, places.size)
    return made.reshape(x.shape)


def _limits(x: np.ndarray) -> list[float]:
    """Numbers whose exponentials are not finite, or no more than zero. Larger ones would overflow
    in sums of one order and not in those of another."""
    tiny = 6e-5 if x.dtype.name == "float16" else 1e-30
    return [3e4, -3e4, tiny, 100.0, -110.0]
