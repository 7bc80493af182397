"""Element-wise functions of any framework, with the promotion that the op table asks for."""

from collections.abc import Callable, Mapping
from typing import Any

from ..._core.dtypes import COMPLEX, FLOATING
from ..._core.errors import ArgumentError
from ..._core.guards import unordered
from ..._ops import TABLE
from ..._ops.record import COMPARISON, FLOAT_PAIR, FLOATS, LOGICAL, ORDERED, QUESTION
from ..array_api import Native
from .promotion import floating, together

Function = Callable[..., Any]
# Integers are whole already.
_ROUNDING = frozenset({"ceil", "floor", "round", "trunc"})


def promoted(backend: Any, functions: Mapping[str, Function]) -> dict[str, Function]:
    """The framework's element-wise functions as those of a backend, by their names in Trellis.

    `functions` need to work for arrays of one data type only. The backend must have `astype`, or
    get it from the host. Integers become floats where a function needs them, two arrays get their
    common type, Python numbers the type of the array next to them; complex numbers raise where
    there is no order.

    >>> import numpy as np, trellis
    >>> from trellis.backend import promoted
    >>> made = promoted(trellis.namespace("numpy"), {"add": np.add, "tanh": np.tanh})
    >>> made["add"](np.int32([1, 2]), np.float32([0.5, 0.5])).dtype, made["tanh"](np.int32([0]))
    (dtype('float32'), array([0.], dtype=float32))
    """
    return {name: _promoted(backend, name, fn) for name, fn in functions.items()}


def _promoted(backend: Any, name: str, fn: Function) -> Function:
    if name not in TABLE:
        raise ArgumentError(f"promoted() does not know the function {name!r}.")
    kind = TABLE[name].kind
    call = _of_two(backend, name, kind, fn) if kind.meets != "own" and kind is not FLOATS else None
    if call is None or name == "logical_not":
        call = _of_one(backend, name, kind, fn)
    call.__name__ = call.__qualname__ = name
    return call


def _of_one(xp: Any, name: str, kind: Any, fn: Function) -> Function:
    def needing_floats(x: Native, /) -> Native:
        return fn(floating(xp, x))

    def of_bools(x: Native, /) -> Native:
        return fn(_as_bools(xp, x))

    def whole(x: Native, /) -> Native:
        return fn(x) if xp.dtype_name(x.dtype) in FLOATING + COMPLEX else x

    def plain(x: Native, /) -> Native:
        return fn(x)

    if kind in (FLOATS, QUESTION):
        return needing_floats
    if kind is LOGICAL:
        return of_bools
    return whole if name in _ROUNDING else plain


def _of_two(xp: Any, name: str, kind: Any, fn: Function) -> Function:
    def call(x1: Any, x2: Any, /) -> Native:
        if kind is LOGICAL:
            x1, x2 = together(xp, x1, x2)
            return fn(_as_bools(xp, x1), _as_bools(xp, x2))
        x1, x2 = together(xp, x1, x2)
        if kind is FLOAT_PAIR:
            x1, x2 = floating(xp, x1), floating(xp, x2)
        if kind in (ORDERED, COMPARISON) and xp.dtype_name(x1.dtype) in COMPLEX:
            raise unordered(name)
        return fn(x1, x2)

    return call


def _as_bools(xp: Any, x: Native) -> Native:
    return x if xp.dtype_name(x.dtype) == "bool" else xp.not_equal(x, 0)
