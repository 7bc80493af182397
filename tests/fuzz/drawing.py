"""Shapes, types, values and arrays to draw from; small ones first, so that findings shrink."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import trellis
from trellis._core.dtypes import COMPLEX, FLOATING, INTEGER, SIGNED

from .call import LAYOUTS, Call, Given

REAL = (*FLOATING, *INTEGER)
NUMERIC = (*REAL, *COMPLEX)
ANY = (*NUMERIC, "bool")
INEXACT = (*FLOATING, *COMPLEX)
# Twice as often: what most programs use.
COMMON_FLOATS = ("float32", "float64", *FLOATING)

Draw = Callable[[Any], Any]
STRATEGIES: dict[str, st.SearchStrategy[Call]] = {}


def drawn(*ops: str) -> Callable[..., Any]:
    """Register a function `(draw, op) -> Call` as what is drawn for these public functions."""

    def register(fn: Callable[[Draw, str], Call]) -> Callable[[Draw, str], Call]:
        for op in ops:
            assert op not in STRATEGIES, f"{op} is drawn twice"
            STRATEGIES[op] = st.composite(fn)(op)
        return fn

    return register


# Numbers that few bits hold: sums and products of them are exact, so that a step function falls on
# the same side on every framework.
PLAIN = (
    *(0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 1.5, 3.0, -1.5, -3.0, 0.25, -0.25, 2.5, -2.5),
    *(4.0, 0.75, -0.75, 1.25, -4.0, 6.0),
)
POSITIVE = (1.0, 0.5, 2.0, 1.5, 3.0, 0.25, 2.5, 4.0, 0.75, 1.25, 6.0)
UNIT = (0.0, 0.5, -0.5, 0.25, -0.25, 0.75, -0.75, 0.125, 0.875)
SHARE = (0.5, 0.25, 0.75, 0.125, 0.875, 0.0625)
TABLES = {"plain": PLAIN, "positive": POSITIVE, "unit": UNIT, "share": SHARE}
WHOLE = (0, 1, -1, 2, 3, -2, 5, -3, 7, 4, 6)


def table(dtype: str, kind: str) -> list[Any]:
    """The numbers of a type that arrays are made of; `kind` is plain, special, positive, ..."""
    if dtype == "bool":
        return [False, True]
    if dtype in INTEGER:
        numbers = [n for n in WHOLE if n >= 0 or dtype in SIGNED]
        if kind == "positive":
            return [n for n in numbers if n > 0]
        if kind == "special":
            limits = np.iinfo(dtype)
            numbers += [limits.max, limits.min, limits.max - 1]
        return numbers
    if kind != "special":
        return list(TABLES[kind])
    limits = trellis.finfo(dtype)
    # Not the smallest itself: XLA and TensorFlow flush what is smaller on the way to zero.
    small = 64 * limits.smallest_normal
    beyond = [-0.0, np.inf, -np.inf, np.nan, limits.max, small, 100.0, -100.0]
    return [*PLAIN, *beyond]


SIZES = (2, 3, 1, 0)
SHAPES = [
    *[(), (2,), (3,), (1,), (2, 3), (3, 2), (0,), (1, 3), (2, 1), (2, 0), (0, 3), (2, 2)],
    *[(2, 3, 2), (1, 2, 3), (3, 1, 2), (2, 0, 3), (2, 1, 1)],
]


def shapes(least: int = 0, most: int = 3, *, empty: bool = True) -> st.SearchStrategy[Any]:
    chosen = [s for s in SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
    return st.sampled_from(chosen)


def array(
    draw: Draw,
    dtypes: str | tuple[str, ...] = COMMON_FLOATS,
    shape: Any = None,
    kind: str = "plain",
    layout: str | None = None,
) -> Given:
    """An array with elements of a table, chosen by one byte each."""
    name = dtypes if isinstance(dtypes, str) else draw(st.sampled_from(dtypes))
    size = draw(shapes()) if shape is None else tuple(shape)
    count = int(np.prod(size))
    return Given(
        _values(draw, name, count, kind).reshape(size), layout or draw(st.sampled_from(LAYOUTS))
    )


def _values(draw: Draw, name: str, count: int, kind: str) -> np.ndarray:
    native = trellis.namespace("numpy").as_dtype(name)
    part = name.replace("complex64", "float32").replace("complex128", "float64")
    # Infinite and nan parts of complex numbers are each framework's own; see the standard.
    numbers = table(part, "plain" if name in COMPLEX and kind == "special" else kind)
    chosen = np.empty(count, native)
    for i, byte in enumerate(draw(st.binary(min_size=count, max_size=count))):
        chosen[i] = numbers[byte % len(numbers)]
    if name in COMPLEX:
        for i, byte in enumerate(draw(st.binary(min_size=count, max_size=count))):
            chosen[i] += 1j * numbers[byte % len(numbers)]
    return chosen


def indices(draw: Draw, below: int, shape: Any, *, negative: bool = False) -> Given:
    """Integers from 0 (or from -below) to below - 1, of any integer type that holds them."""
    name = draw(st.sampled_from(("int64", "int32", "uint8", "int8", "uint16")))
    low = -below if negative and name in SIGNED else 0
    count = int(np.prod(shape))
    chosen = [draw(st.integers(low, below - 1)) for _ in range(count)]
    return Given(np.array(chosen, name).reshape(shape))


def broadcast(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that stretches to `shape`: some axes have length 1, leading ones are left out."""
    stretched = tuple(1 if draw(st.booleans()) else n for n in shape)
    return stretched[draw(st.integers(0, len(shape))) :]


def several(draw: Draw, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast with each other; the first is the whole in one half of the cases."""
    whole = draw(shapes())
    found = [broadcast(draw, whole) if draw(st.booleans()) else whole for _ in range(count)]
    return found


def pair_of_types(draw: Draw, dtypes: tuple[str, ...]) -> tuple[str, str]:
    """Two data types, the same one in half of the cases."""
    first = draw(st.sampled_from(dtypes))
    return first, first if draw(st.booleans()) else draw(st.sampled_from(dtypes))


def axis_of(draw: Draw, ndim: int) -> int:
    return draw(st.integers(-ndim, ndim - 1))


def axes_of(draw: Draw, ndim: int) -> Any:
    """None, one axis, or several."""
    if ndim == 0 or draw(st.booleans()):
        return None if draw(st.booleans()) or ndim == 0 else axis_of(draw, ndim)
    chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim))
    return tuple(a - ndim if draw(st.booleans()) else a for a in chosen)


def options(draw: Draw, **choices: Any) -> dict[str, Any]:
    """Some of the keyword arguments, each with one of its values; the others are left out."""
    chosen = {}
    for name, values in choices.items():
        if draw(st.booleans()):
            chosen[name] = draw(st.sampled_from(values))
    return chosen
