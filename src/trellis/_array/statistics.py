"""Quantiles, covariances, counts, and reductions without nan, written over other functions."""

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from .._core.arrays import is_array
from .._core.dispatch import xp_of, xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype
from .._core.errors import ArgumentError, DtypeError, ShapeError
from .._core.explain import explain
from .._core.following import is_followed
from .._core.guards import (
    check_array,
    check_integers,
    check_number,
    check_one_axis,
    check_over,
    check_rank,
    check_within,
    real_floats,
)
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import check_lengths, normal_axes, normal_axis, one_of, split_axes
from .._core.typing import A, Backend

_Axes: TypeAlias = int | tuple[int, ...] | None
_Method = Literal["linear", "lower", "higher", "nearest", "midpoint"]


# Quantiles ----------------------------------------------------------------------------------------


def quantile(
    x: A,
    q: float | Sequence[float] | A,
    /,
    *,
    axis: _Axes = None,
    keepdims: bool = False,
    method: _Method = "linear",
) -> A:
    """The value below which a share `q` (0 to 1) of the elements lies.

    `q` may be several shares; their axes come first in the result. `method` says what to take where
    the quantile lies between two elements: "linear", "lower", "higher", "nearest" or "midpoint",
    five of NumPy's thirteen. There are no `weights`. An axis with a nan gives nan. Differentiable
    in `x`, and in `q` where it is an array.

    >>> import numpy as np, trellis
    >>> trellis.quantile(np.array([1.0, 2.0, 4.0]), [0.25, 0.5])
    array([1.5, 2. ])
    """
    try:
        if has_nest(x, q):
            options = {"axis": axis, "keepdims": keepdims, "method": method}
            return call_leafwise(quantile, (x, q), options)
        return _quantile("quantile", x, q, 1, axis, keepdims, method)
    except Exception as error:
        return explain(error, quantile)


def percentile(
    x: A,
    q: float | Sequence[float] | A,
    /,
    *,
    axis: _Axes = None,
    keepdims: bool = False,
    method: _Method = "linear",
) -> A:
    """`quantile` with shares from 0 to 100.

    >>> import numpy as np, trellis
    >>> trellis.percentile(np.array([1.0, 2.0, 4.0]), [0, 75])
    array([1., 3.])
    """
    try:
        if has_nest(x, q):
            options = {"axis": axis, "keepdims": keepdims, "method": method}
            return call_leafwise(percentile, (x, q), options)
        return _quantile("percentile", x, q, 100, axis, keepdims, method)
    except Exception as error:
        return explain(error, percentile)


def median(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The middle of the sorted elements, the mean of both for an even number; nan if one is nan.

    >>> import numpy as np, trellis
    >>> trellis.median(np.array([[3.0, 1.0, 2.0], [7.0, 9.0, 0.0]]), axis=1)
    array([2., 7.])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(median, (x,), {"axis": axis, "keepdims": keepdims})
        return _quantile("median", x, 0.5, 1, axis, keepdims, "linear")
    except Exception as error:
        return explain(error, median)


def _quantile(
    name: str, x: Any, q: Any, whole: int, axis: _Axes, keepdims: bool, method: str
) -> Any:
    check_array(x)
    check_over(axis, keepdims)
    one_of(name, "method", method, get_args(_Method))
    # Numbers first: torch.compile can trace no `hasattr` of a number that changes between calls.
    is_given_array = not isinstance(q, (int, float, list, tuple)) and is_array(q)
    xp = xp_of_all(x, q) if is_given_array else xp_of(x)
    axes = normal_axes(axis, len(x.shape))
    values = _last(xp, real_floats(xp, name, x), axes)
    count = values.shape[-1]
    if not count:  # None while tracing, or 0
        raise ShapeError(f"{name}() needs a known number of elements, at least 1, got {count}.")
    values = xp.sort(values, axis=-1)
    if is_given_array:
        shape = tuple(q.shape)
    else:
        shares, shape = _shares(name, q, whole)
        if is_followed():  # the number of elements may be a symbol there
            q = xp.asarray(shares, dtype=xp.float64, device=xp.device(x))
    if is_given_array or is_followed():
        lower, upper, part = _places(xp, xp.reshape(q, (-1,)), name, whole, count, method)
        part = xp.astype(part, values.dtype, copy=False)
    else:
        found = [_place_of_number(share / whole * (count - 1), method) for share in shares]
        integers, where = xp.arange(1).dtype, xp.device(x)
        lower = xp.asarray([each[0] for each in found], dtype=integers, device=where)
        upper = xp.asarray([each[1] for each in found], dtype=integers, device=where)
        part = xp.asarray([each[2] for each in found], dtype=values.dtype, device=where)
    low, high = xp.take(values, lower, axis=-1), xp.take(values, upper, axis=-1)
    # As a weighted mean: infinity lies between 1 and infinity, and between two equal infinities.
    between = xp.where(high == low, low, low * (1 - part) + high * part)
    # nan comes last in sorted order.
    result = xp.where(xp.isnan(values[..., -1:]), xp.nan, between)
    result = xp.moveaxis(result, -1, 0)
    outer = tuple(result.shape)[1:]
    if keepdims:
        remaining = list(outer)
        for a in split_axes(axes, len(x.shape))[0]:
            remaining.insert(a, 1)
        outer = tuple(remaining)
    return xp.reshape(result, (*shape, *outer))


def _last(xp: Backend, x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with these axes as one, the last."""
    if len(axes) == 1:
        return xp.moveaxis(x, axes[0], -1)
    chosen, others = split_axes(axes, len(x.shape))
    moved = xp.permute_dims(x, (*others, *chosen)) if len(x.shape) > 1 else x
    return xp.reshape(moved, (*tuple(moved.shape)[: len(others)], -1))


def _shares(name: str, q: Any, whole: int) -> tuple[list[float], tuple[int, ...]]:
    """The numbers of a `q` that is no array, and its shape."""
    is_list = isinstance(q, (list, tuple))
    shares = list(q) if is_list else [q]
    if not shares:
        raise ArgumentError(f"{name}() expects at least one number for q, got {q!r}.")
    for share in shares:
        check_number(share)
        if not 0 <= share <= whole:
            raise _out_of_range(name, whole)
    return shares, (len(shares),) if is_list else ()


def _place_of_number(position: float, method: str) -> tuple[int, int, float]:
    """The elements on both sides of a quantile, and how far it is from the lower one."""
    lower, upper = math.floor(position), math.ceil(position)
    if method == "nearest":
        lower = upper = round(position)
    elif method == "lower":
        upper = lower
    elif method == "higher":
        lower = upper
    if lower == upper:
        return lower, upper, 0.0
    return lower, upper, 0.5 if method == "midpoint" else position - lower


def _places(
    xp: Backend, q: Any, name: str, whole: int, count: int, method: str
) -> tuple[Any, Any, Any]:
    """The same for an array, whose values may not be known."""
    q = real_floats(xp, name, q)
    is_within = xp.logical_and(q >= 0, q <= whole)
    if xp.is_concrete(q) and not bool(xp.all(is_within)):
        raise _out_of_range(name, whole)
    position = xp.where(is_within, q / whole, 0.0) * (count - 1)
    lower, upper = xp.floor(position), xp.ceil(position)
    if method == "nearest":
        lower = upper = xp.round(position)
    elif method == "lower":
        upper = lower
    elif method == "higher":
        lower = upper
    is_between = lower < upper
    if method == "midpoint":
        part = xp.where(is_between, 0.5, xp.zeros_like(position))
    else:
        part = xp.where(is_between, position - lower, xp.zeros_like(position))
    part = xp.where(is_within, part, xp.nan)  # what is not known until the program runs
    integers = xp.arange(1).dtype
    lower, upper = [xp.astype(xp.stop_gradient(i), integers) for i in (lower, upper)]
    return lower, upper, part


def _out_of_range(name: str, whole: int) -> ArgumentError:
    return ArgumentError(f"{name}() expects q from 0 to {whole}.")


# Without nan --------------------------------------------------------------------------------------


def nanmax(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The largest element that is not nan; nan where all are.

    >>> import numpy as np, trellis
    >>> trellis.nanmax(np.array([1.0, np.nan, 3.0])).item()
    3.0
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(nanmax, (x,), {"axis": axis, "keepdims": keepdims})
        return _extreme(x, "max", axis, keepdims)
    except Exception as error:
        return explain(error, nanmax)


def nanmin(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The smallest element that is not nan; nan where all are.

    >>> import numpy as np, trellis
    >>> trellis.nanmin(np.array([1.0, np.nan, 3.0])).item()
    1.0
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(nanmin, (x,), {"axis": axis, "keepdims": keepdims})
        return _extreme(x, "min", axis, keepdims)
    except Exception as error:
        return explain(error, nanmin)


def _extreme(x: Any, which: str, axis: _Axes, keepdims: bool) -> Any:
    check_over(axis, keepdims)
    xp = xp_of(x)
    reduce = xp.max if which == "max" else xp.min
    if xp.dtype_name(x.dtype) not in FLOATING:
        return reduce(x, axis=axis, keepdims=keepdims)
    is_nan = xp.isnan(x)
    found = reduce(
        xp.where(is_nan, -xp.inf if which == "max" else xp.inf, x), axis=axis, keepdims=keepdims
    )
    return xp.where(xp.all(is_nan, axis=axis, keepdims=keepdims), xp.nan, found)


def nansum(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The sum of the elements that are not nan; 0 where all are.

    >>> import numpy as np, trellis
    >>> trellis.nansum(np.array([[1.0, np.nan], [2.0, 3.0]]), axis=0)
    array([3., 3.])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(nansum, (x,), {"axis": axis, "keepdims": keepdims})
        check_over(axis, keepdims)
        xp = xp_of(x)
        return xp.sum(_zeros_for_nan(xp, x)[0], axis=axis, keepdims=keepdims)
    except Exception as error:
        return explain(error, nansum)


def nanmean(x: A, /, *, axis: _Axes = None, keepdims: bool = False) -> A:
    """The mean of the elements that are not nan; nan where all are.

    >>> import numpy as np, trellis
    >>> trellis.nanmean(np.array([1.0, np.nan, 3.0])).item()
    2.0
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(nanmean, (x,), {"axis": axis, "keepdims": keepdims})
        check_over(axis, keepdims)
        xp = xp_of(x)
        values, is_nan = _zeros_for_nan(xp, x)
        if is_nan is None:
            return xp.mean(values, axis=axis, keepdims=keepdims)
        total = xp.sum(values, axis=axis, keepdims=keepdims)
        is_number = xp.astype(xp.logical_not(is_nan), total.dtype)
        count = xp.sum(is_number, axis=axis, keepdims=keepdims)
        mean = total / xp.where(count == 0, xp.ones_like(count), count)
        return xp.where(count == 0, xp.nan, mean)
    except Exception as error:
        return explain(error, nanmean)


def _zeros_for_nan(xp: Backend, x: Any) -> tuple[Any, Any]:
    kind = xp.dtype_name(x.dtype)
    if kind not in FLOATING and kind not in COMPLEX:
        return x, None
    is_nan = xp.isnan(x)
    return xp.where(is_nan, xp.zeros_like(x), x), is_nan


# Covariance and counts ----------------------------------------------------------------------------


def cov(
    x: A,
    /,
    *,
    axis: int = -1,
    correction: float = 1,
    fweights: A | None = None,
    aweights: A | None = None,
) -> A:
    """The covariance matrix of variables that are observed along `axis`, for each stack of them.

    The result has the shape (..., n, n) for `x` of (..., n, observations); a vector is one variable
    and gives its variance. `fweights` says how often each observation was made, `aweights` how much
    it counts.

    >>> import numpy as np, trellis
    >>> trellis.cov(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    try:
        if isinstance(x, dict):
            options = {"axis": axis, "correction": correction}
            return call_leafwise(cov, (x,), {**options, "fweights": fweights, "aweights": aweights})
        check_one_axis(axis)
        check_number(correction)
        xp = xp_of_all(x, fweights, aweights)
        return _covariance(xp, x, axis, correction, fweights, aweights)
    except Exception as error:
        return explain(error, cov)


def _covariance(
    xp: Backend, x: Any, axis: int, correction: float, fweights: Any, aweights: Any
) -> Any:
    check_rank("cov", x, 1)
    kind = xp.dtype_name(x.dtype)
    if kind == "bool":
        raise DtypeError("cov() expects numbers, got an array of bool.")
    if kind not in FLOATING and kind not in COMPLEX:
        x = xp.astype(x, str(default_dtype()))
    values = xp.moveaxis(x, normal_axis(axis, len(x.shape)), -1)
    is_vector = len(x.shape) == 1
    if is_vector:
        values = values[None, :]
    count = values.shape[-1]
    if count is None:
        raise ShapeError("cov() needs a known number of observations while tracing.")
    both = [_weights(xp, values, w, n) for n, w in (("fweights", fweights), ("aweights", aweights))]
    weights: Any = None
    for given in both:
        if given is not None:
            weights = given if weights is None else weights * given
    if weights is None:
        mean, amount = xp.mean(values, axis=-1, keepdims=True), max(count - correction, 0)
        amount = xp.asarray(amount, dtype=xp.real(mean).dtype, device=xp.device(values))
    else:
        total = xp.sum(weights)
        mean = xp.sum(values * weights, axis=-1, keepdims=True) / total
        taken = correction if aweights is None else correction * xp.sum(weights * both[1]) / total
        amount = total - taken
        amount = xp.where(amount < 0, xp.zeros_like(amount), amount)
    centred = values - mean
    weighted = centred if weights is None else centred * weights
    other = xp.matrix_transpose(centred)
    product = xp.matmul(weighted, xp.conj(other) if kind in COMPLEX else other)
    found = product / xp.astype(amount, product.dtype)
    return found[0, 0] if is_vector else found


def _weights(xp: Backend, values: Any, weights: Any, name: str) -> Any:
    if weights is None:
        return None
    check_array(weights)
    if len(weights.shape) != 1:
        raise ShapeError(f"cov() expects a vector for {name}, got {tuple(weights.shape)}.")
    check_lengths("cov", f"the observations and {name}", values.shape[-1], weights.shape[0])
    return xp.astype(weights, xp.real(values).dtype)


def bincount(
    x: A, /, *, weights: A | None = None, minlength: int = 0, length: int | None = None
) -> A:
    """How often each of the numbers 0, 1, 2, ... occurs in a vector of integers.

    With `weights`, each occurrence counts as much as its weight. The result is as long as the
    largest number needs, or `minlength`. With `length` it is just that long, which compiled
    functions need, and larger numbers are left out.

    >>> import numpy as np, trellis
    >>> trellis.bincount(np.array([1, 3, 1]))
    array([0, 2, 0, 1])
    """
    try:
        if has_nest(x, weights):
            options = {"weights": weights, "minlength": minlength, "length": length}
            return call_leafwise(bincount, (x,), options)
        xp = xp_of_all(x, weights)
        check_integers(xp, "bincount", x)
        check_within(minlength)
        if len(x.shape) != 1:
            raise ShapeError(f"bincount() expects a vector, got shape {tuple(x.shape)}.")
        if weights is not None:
            check_array(weights)
            check_lengths("bincount", "x and weights", x.shape[0], weights.shape[0])
        amounts = xp.ones_like(x, dtype=xp.arange(1).dtype) if weights is None else weights
        return xp.segment_sum(amounts, x, num_segments=_bins(xp, x, minlength, length))
    except Exception as error:
        return explain(error, bincount)


def _bins(xp: Backend, x: Any, minlength: int, length: int | None) -> int:
    if length is not None:
        check_within(length)
    if min(minlength, 0 if length is None else length) < 0:
        raise ArgumentError("bincount() expects minlength and length of at least 0.")
    if xp.is_concrete(x) and x.shape[0] != 0 and int(xp.min(x)) < 0:
        raise ArgumentError("bincount() counts the numbers from 0 on, got a negative one.")
    if length is not None:
        return max(length, minlength)
    if not xp.is_concrete(x):
        raise ShapeError(
            "bincount() finds the length of its result in the values, which are not known while "
            "tracing. Write length=..."
        )
    return max(minlength, int(xp.max(x)) + 1 if x.shape[0] else 0)


def nunique(x: A, /) -> A:
    """How many different elements an array has; each nan is one of its own.

    >>> import numpy as np, trellis
    >>> trellis.nunique(np.array([3, 1, 3])).item()
    2
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(nunique, (x,), {})
        xp = xp_of(x)
        integers = xp.arange(1).dtype
        flat = xp.reshape(x, (-1,))
        if xp.dtype_name(x.dtype) in COMPLEX:
            return xp.asarray(xp.unique_values(flat).shape[0], dtype=integers, device=xp.device(x))
        if xp.dtype_name(x.dtype) == "bool":
            flat = xp.astype(flat, "uint8")
        if flat.shape[0] == 0:
            return xp.zeros((), dtype=integers, device=xp.device(x))
        values = xp.sort(flat)
        return xp.sum(xp.astype(values[1:] != values[:-1], integers)) + 1
    except Exception as error:
        return explain(error, nunique)
