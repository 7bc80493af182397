"""How a special function is called: dtypes, broadcasting, pytrees and derivatives, once for all."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.arrays import NUMBERS
from .._core.dispatch import default_xp, xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype, promote
from .._core.errors import ArgumentError, DtypeError
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import Backend

# The value, from the backend and arrays of one shape and dtype (float32 or float64).
Formula = Callable[..., Any]
# The partial derivatives by each argument; the first argument is a function for the value.
Slopes = Callable[..., Sequence[Any]]
_PRECISE = ("float32", "float64")


def evaluated(
    name: str, formula: Formula, slopes: Slopes, *xs: Any, has_kernels: bool = False
) -> Any:
    """`formula(xp, *xs)`, whose derivatives are `slopes(y, *xs)`; leaf by leaf in pytrees.

    Arguments are brought to one shape and one float dtype, float32 at least to compute in; the
    result has their common dtype, integers count as the default float. What `slopes` computes is
    differentiable itself, so that there are second derivatives. With `has_kernels` the backend's
    own function takes the place of the formula, if it has one for this dtype.
    """

    def again(*leaves: Any) -> Any:
        return evaluated(name, formula, slopes, *leaves, has_kernels=has_kernels)

    if has_nest(*xs):
        return call_leafwise(again, xs, {})
    xp, arrays, kind = common_floats(name, *xs)
    within = kind if kind in _PRECISE else "float32"
    kernel = xp.SPECIAL_KERNELS.get((name, within)) if has_kernels else None
    # Branches that are not chosen overflow or are nan: NumPy would warn of them, as of poles, where
    # SciPy and the other frameworks are silent.
    warns = np.ndarray in xp.ARRAY_TYPES

    # One argument: Dynamo cannot trace a custom derivative of several.
    def parts(leaf: Any) -> list[Any]:
        return [leaf] if len(arrays) == 1 else [leaf[i, ...] for i in range(len(arrays))]

    def value(leaf: Any) -> Any:
        # What is traced for a graph is no array of the framework, and gets the formula.
        if kernel is not None and isinstance(leaf, xp.ARRAY_TYPES):
            return kernel(*parts(leaf))
        return formula(xp, *parts(leaf))

    def forward(leaves: list[Any]) -> list[Any]:
        if not warns:
            return [value(leaves[0])]
        with np.errstate(all="ignore"):
            return [value(leaves[0])]

    def gradients(leaf: Any, upstream: Any) -> Any:
        given = parts(leaf)
        # The value is computed again: TensorFlow does not differentiate one that it kept.
        found = slopes(lambda: again(*given), *given)
        products = [upstream * slope for slope in found]
        return products[0] if len(products) == 1 else xp.stack(products, axis=0)

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        if not warns:
            return [gradients(leaves[0], upstream[0])]
        with np.errstate(all="ignore"):
            return [gradients(leaves[0], upstream[0])]

    def pushed(leaf: Any, tangent: Any) -> Any:
        given = parts(leaf)
        found = slopes(lambda: again(*given), *given)
        products = [slope * part for slope, part in zip(found, parts(tangent))]
        return products[0] if len(products) == 1 else sum(products[1:], products[0])

    def push(leaves: list[Any], ys: list[Any], tangents: list[Any]) -> list[Any]:
        if not warns:
            return [pushed(leaves[0], tangents[0])]
        with np.errstate(all="ignore"):
            return [pushed(leaves[0], tangents[0])]

    joined = arrays[0] if len(arrays) == 1 else xp.stack(arrays, axis=0)
    y = xp.custom_jvp(forward, backward, push)([joined])[0]
    return y if kind in _PRECISE else xp.astype(y, kind)


def common_floats(name: str, *xs: Any) -> tuple[Backend, list[Any], str]:
    """The backend, the arrays in one shape and in float32 or float64, and the result's dtype."""
    if all([isinstance(x, NUMBERS) for x in xs]):
        xs = (default_xp().asarray(xs[0]), *xs[1:])
    xp = xp_of_all(*xs)
    kind = None
    for x in xs:
        if isinstance(x, NUMBERS):
            continue
        own = xp.dtype_name(x.dtype)
        if own in COMPLEX or own == "bool":
            raise DtypeError(f"{name}() computes with real numbers, got an array of {own}.")
        if own in FLOATING:
            kind = own if kind is None else promote(kind, own)
    kind = str(default_dtype()) if kind is None else kind
    within = kind if kind in _PRECISE else "float32"
    arrays = [_as_array(name, xp, x, within, xs) for x in xs]
    if len(arrays) > 1:
        arrays = list(xp.broadcast_arrays(*arrays))
    return xp, arrays, kind


def _as_array(name: str, xp: Backend, x: Any, kind: str, xs: tuple[Any, ...]) -> Any:
    if isinstance(x, NUMBERS):
        if isinstance(x, (bool, complex)):
            raise DtypeError(f"{name}() computes with real numbers, got {x!r}.")
        arrays = [other for other in xs if not isinstance(other, NUMBERS)]
        like = arrays[0]
        return xp.full(tuple(like.shape), float(x), dtype=kind, device=xp.device(like))
    return x if xp.dtype_name(x.dtype) == kind else xp.astype(x, kind)


def whole_order(name: str, n: object, low: int, high: int) -> int:
    """The order of a function that has whole ones, which are no arrays."""
    if isinstance(n, bool) or not isinstance(n, int) or not low <= n <= high:
        came = f"{n!r}" if isinstance(n, (int, float)) else f"a {type(n).__name__}"
        raise ArgumentError(
            f"{name}() expects the order as an int from {low} to {high}, got {came}. "
            f"Call it once for each order; scipy.special.{name} takes others, on NumPy."
        )
    return n


def is_double(xp: Backend, x: Any) -> bool:
    """Whether `x` is computed with in float64."""
    return bool(xp.dtype_name(x.dtype) == "float64")
