"""Mixed precision: compute in 16 bits, keep the variables in 32.

bfloat16 has the range of float32 and needs nothing more. float16 does not: the loss is multiplied
by a scale, the gradients divided by it; steps whose gradients overflow are skipped and halve the
scale, and many good steps in a row double it.
"""

from typing import Any

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import asarray
from .._array.reduction import all as all_true
from .._array.searching import where
from .._core import tree
from .._core.container import Container
from .._core.dispatch import load, other_names
from .._core.dtypes import FLOATING
from .._core.errors import ArgumentError, NotSupportedError
from .._core.typing import Array, Backend, Nest

FIRST_SCALE = 2.0**15
GROWTH_INTERVAL = 200
SMALLEST = 1.0
_LARGEST = 2.0**24


def checked_precision(name: str | None, backend: str) -> str | None:
    """The 16-bit type to compute in, or None."""
    if name is None:
        return None
    name = str(name)
    if name not in ("bfloat16", "float16"):
        raise ArgumentError(f'mixed_precision is "bfloat16", "float16" or None, got {name!r}.')
    if not load(backend).ABILITIES.has_fast_half:
        raise NotSupportedError(
            f"{backend} has no fast 16-bit arithmetic, so there is nothing to gain from mixed "
            "precision there. Leave mixed_precision out, or train on another backend: "
            f"{other_names(backend)}."
        )
    return name


def cast_floats(nest: Nest, name: str) -> Any:
    """Every float array of a pytree in another type; gradients flow back through the cast."""
    return tree.map(lambda x: astype(x, name) if is_float(x) else x, nest)


def is_float(x: Array) -> bool:
    """Whether it is an array of floats."""
    return hasattr(x, "dtype") and str(dtype_of(x)) in FLOATING


def first_scale(backend: str) -> Container:
    """The state of the loss scale: its value, how many good steps it has served, and how many were
    skipped since the run began."""
    return Container(
        good_steps=asarray(0, dtype="int32", backend=backend),
        skipped=asarray(0, dtype="int32", backend=backend),
        value=asarray(FIRST_SCALE, dtype="float32", backend=backend),
    )


def are_finite(grads: Nest, xp: Backend) -> Any:
    """Whether all gradients are finite, as a bool array of shape ()."""
    result = None
    for g in tree.leaves(grads):
        here = all_true(xp.isfinite(g))
        result = here if result is None else xp.logical_and(result, here)
    return result


def choose(condition: Array, first: Nest, second: Nest) -> Any:
    return tree.map(lambda x, y: where(condition, x, y), first, second)


def next_scale(scale: Container, is_finite: Array, xp: Backend) -> Container:
    """Halved after an overflow, doubled after a long row of good steps."""
    good = where(is_finite, scale.good_steps + 1, xp.zeros_like(scale.good_steps))
    is_grown = xp.greater_equal(good, GROWTH_INTERVAL)
    grown = where(is_grown, xp.minimum(scale.value * 2, _LARGEST), scale.value)
    value = where(is_finite, grown, xp.maximum(scale.value / 2, SMALLEST))
    return Container(
        good_steps=where(is_grown, xp.zeros_like(good), good),
        skipped=where(is_finite, scale.skipped, scale.skipped + 1),
        value=value,
    )
