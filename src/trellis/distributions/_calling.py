"""What a distribution does with arrays and numbers before it computes: one backend, one dtype."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.arrays import plain
from .._core.dispatch import xp_of_all, xp_of_any
from .._core.dtypes import COMPLEX
from .._core.errors import ArgumentTypeError, DtypeError
from .._core.typing import Array, Backend
from .._random.arguments import float_name
from .._random.keys import key_data

# A parameter of a distribution, or a point of its support.
Value = float | Array


def in_one_dtype(xs: Sequence[Any], key: Array | None = None) -> tuple[Backend, list[Any], str]:
    """The backend, all as arrays of one float dtype, and its name; None stays None.

    Numbers fit any array: with numbers alone it is the default float of the backend of the key, or
    of the default one.
    """
    arrays = [x for x in xs if hasattr(x, "dtype")]
    if key is None:
        xp = xp_of_any(*arrays)
        device = xp.device(arrays[0]) if arrays else None
    else:
        xp = xp_of_all(key_data(key), *arrays)
        device = xp.random.key_device(key)
    kind = float_name(xp, None, *arrays)
    return xp, [_as_float(xp, x, kind, device) for x in xs], kind


def _as_float(xp: Backend, x: Any, kind: str, device: Any) -> Any:
    if x is None:
        return None
    if not hasattr(x, "dtype"):
        if isinstance(x, complex) or not isinstance(x, (bool, int, float)):
            raise ArgumentTypeError(
                f"A distribution is evaluated at arrays or numbers, got {x!r}. Write "
                "trellis.asarray(...) around lists."
            )
        return xp.asarray(float(x), dtype=kind, device=device)
    name = xp.dtype_name(x.dtype)
    if name in COMPLEX:
        raise DtypeError(f"Distributions are over real numbers, got an array of {name}.")
    return x if name == kind else xp.astype(x, kind)


def quietly(xp: Backend, formula: Callable[..., Any], *args: Any) -> Any:
    """`formula(xp, *args)`, without NumPy's warnings of infinities and of branches not chosen,
    where SciPy and the other frameworks are silent."""
    if np.ndarray not in xp.ARRAY_TYPES:
        return formula(xp, *args)
    with np.errstate(all="ignore"):
        return formula(xp, *args)


def as_value(owner: str, name: str, value: Any, keeps_integers: bool) -> Any:
    """A parameter as it is stored: an array, a float, or an int where it counts something."""
    value = plain(value)
    if hasattr(value, "dtype"):
        return value
    if isinstance(value, (bool, complex)) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{owner} expects a number or an array for {name}, got {value!r}. Write "
            "trellis.asarray(...) around lists."
        )
    return value if keeps_integers else float(value)
