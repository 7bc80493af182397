"""Comparing arrays in tests, on every framework, and saying what differs."""

from typing import Any

import numpy as np

from .._array.casting import dtype as dtype_of
from .._core.arrays import is_array
from .._core.dispatch import backend_of, xp_of
from .._core.dtypes import COMPLEX, FLOATING, name_of
from .._core.tree import is_nest
from . import report

# (rtol, atol relative to the largest expected element). Half precisions: about twice their epsilon.
TOLERANCES = {
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 8e-3),
    "float32": (1e-5, 1e-6),
    "float64": (1e-10, 1e-11),
    "complex64": (1e-5, 1e-6),
    "complex128": (1e-10, 1e-11),
}

_KINDS = {"b": "bool", "i": "integer", "f": "float", "c": "complex"}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    dtype: Any = True,
    backend: str | None = None,
) -> None:
    """Raise an AssertionError unless two arrays, or pytrees of arrays, agree in value, shape and
    type.

    `expected` may be an array of any framework, or Python numbers and lists. Tolerances follow the
    type of `actual` (`TOLERANCES`); integers and bools must be equal; nan is close to nan.
    `dtype=True` compares data types, with Python numbers only their kind; a name requires that
    type; False compares none. `backend` names the framework that `actual` must belong to.

    >>> import numpy as np
    >>> from trellis.testing import assert_close
    >>> assert_close(np.float32(0.1) + np.zeros(2, "float32"), [0.1, 0.1])
    >>> assert_close(np.array([1.0, 2.0]), [1.0, 2.5])
    Traceback (most recent call last):
    AssertionError: values differ, worst at index (1,): got 2.0, expected 2.5, difference 0.5
    1 of 2 elements beyond rtol=1e-10, atol=2.5e-11
    """
    options = {"rtol": rtol, "atol": atol, "dtype": dtype, "backend": backend}
    _compare(actual, expected, "", options)
    report(actual, expected)


def _compare(actual: Any, expected: Any, chain: str, options: dict[str, Any]) -> None:
    where = f"at {chain}: " if chain else ""
    if is_nest(actual):
        _compare_nests(actual, expected, chain, options)
    elif is_nest(expected) and (isinstance(expected, dict) or not is_array(actual)):
        raise AssertionError(f"{where}expected {_kind(expected)}, got {_kind(actual)}")
    else:
        _compare_types(actual, expected, where, options)
        _compare_values(actual, expected, where, options)


def _compare_nests(actual: Any, expected: Any, chain: str, options: dict[str, Any]) -> None:
    where = f"at {chain}: " if chain else ""
    if not is_nest(expected) or isinstance(actual, dict) != isinstance(expected, dict):
        raise AssertionError(f"{where}expected {_kind(expected)}, got {_kind(actual)}")
    keys = list(actual.keys()) if isinstance(actual, dict) else list(range(len(actual)))
    others = list(expected.keys()) if isinstance(expected, dict) else list(range(len(expected)))
    if set(keys) != set(others):
        raise AssertionError(f"{where}expected {_kind(expected)}, got {_kind(actual)}")
    for key in keys:
        _compare(actual[key], expected[key], f"{chain}/{key}" if chain else str(key), options)


def _compare_types(actual: Any, expected: Any, where: str, options: dict[str, Any]) -> None:
    wanted = options["backend"]
    if wanted is None and is_array(expected) and backend_of(expected) != "numpy":
        wanted = backend_of(expected)
    if wanted is not None:
        found = backend_of(actual) if is_array(actual) else type(actual).__name__
        if found != wanted:
            raise AssertionError(f"{where}expected an array of {wanted}, got {found}")
    if options["dtype"] is False or not is_array(actual):
        return
    name = str(dtype_of(actual))
    if options["dtype"] is not True:
        fits, asked = name == name_of(options["dtype"]), name_of(options["dtype"])
    elif is_array(expected):
        fits, asked = name == str(dtype_of(expected)), str(dtype_of(expected))
    else:
        kind = np.asarray(_with_numpy_leaves(expected)).dtype.kind
        fits, asked = _kind_of_type(name) == kind, f"of kind {_KINDS.get(kind, kind)}"
    if not fits:
        raise AssertionError(f"{where}expected dtype {asked}, got {name}")


def _compare_values(actual: Any, expected: Any, where: str, options: dict[str, Any]) -> None:
    got, want = _with_numpy_leaves(actual), np.asarray(_with_numpy_leaves(expected))
    if got.shape != want.shape:
        raise AssertionError(f"{where}expected shape {want.shape}, got {got.shape}")
    name = str(dtype_of(actual)) if is_array(actual) else got.dtype.name
    is_exact = name not in TOLERANCES
    if is_exact and want.dtype.kind in "biu" and got.dtype.kind in "biu":
        rtol = atol = 0.0
        far = got != want
        # Python integers do not overflow in the message below.
        difference = np.abs(got.astype(object) - want.astype(object)) if got.size else np.zeros(0)
    else:
        kind = complex if "c" in (got.dtype.kind, want.dtype.kind) else float
        got, want = got.astype(kind), want.astype(kind)
        rtol, atol = _tolerances(name, want, options)
        far, difference = _far(got, want, rtol, atol)
    if far.any():
        # nan marks what is not comparable at all: the worst of all.
        order = np.where(far, np.nan_to_num(difference.astype(float), nan=np.inf), -1.0)
        worst = np.unravel_index(int(np.argmax(order)), far.shape)
        place = tuple([int(i) for i in worst])
        raise AssertionError(
            f"{where}values differ, worst at index {place}: got {got[worst]}, expected "
            f"{want[worst]}, difference {difference[worst]}\n"
            f"{int(far.sum())} of {far.size} elements beyond rtol={rtol:g}, atol={atol:g}"
        )


def _tolerances(name: str, want: Any, options: dict[str, Any]) -> tuple[float, float]:
    rtol, relative_atol = TOLERANCES.get(name, (0.0, 0.0))
    finite = np.abs(want[np.isfinite(want)])
    atol = relative_atol * float(finite.max()) if finite.size else 0.0
    chosen_rtol = rtol if options["rtol"] is None else options["rtol"]
    return chosen_rtol, atol if options["atol"] is None else options["atol"]


def _far(got: Any, want: Any, rtol: float, atol: float) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore"):
        difference = np.abs(got - want)
        is_close = difference <= atol + rtol * np.abs(want)
    # Infinities: only the same one is close, and inf <= inf must not pass for a finite `got`.
    is_close = np.where(np.isfinite(want), is_close, got == want)
    is_close = is_close | (np.isnan(got) & np.isnan(want))
    return ~is_close, difference


def _with_numpy_leaves(x: Any) -> Any:
    """Arrays of any framework, also inside lists, as NumPy arrays; numbers as they are."""
    if isinstance(x, (list, tuple)):
        return [_with_numpy_leaves(item) for item in x]
    if not is_array(x):
        return np.asarray(x)
    x = np.asarray(xp_of(x).to_numpy(x))
    # bfloat16 arrays of ml_dtypes have no arithmetic with others.
    return x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name == "bfloat16" else x


def _kind_of_type(name: str) -> str:
    if name in FLOATING:
        return "f"
    return "c" if name in COMPLEX else "b" if name == "bool" else "i"


def _kind(x: Any) -> str:
    if isinstance(x, dict):
        return f"{type(x).__name__} with keys {sorted(x)}"
    if is_nest(x):
        return f"{type(x).__name__} of length {len(x)}"
    return f"{type(x).__name__} of shape {tuple(x.shape)}" if is_array(x) else repr(x)
