"""Derivatives of NumPy's reductions and products."""

import math
from typing import Any

import numpy as np

from ...._core.errors import NotSupportedError
from ...._core.shapes import normal_axes, normal_axis
from .._tape import (
    TracedArray,
    array_from,
    composed,
    defvjp,
    differentiable,
    primitive,
    refuse_out,
    unbroadcast,
)


def flat_unless(axis: int | None, x: Any) -> tuple[Any, int]:
    """The array and the axis that is meant; without one, all elements in a row."""
    return (np.reshape(x, (-1,)), 0) if axis is None else (x, axis)


def _spread(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The gradient of a reduction, with the reduced axes restored."""
    if axis is None and type(g) is not TracedArray and g.dtype.kind == "f":
        # What np.broadcast_to does with the one number, without its checks.
        spread: Any = np.ndarray(shape, g.dtype, g, 0, (0,) * len(shape))
        spread.flags.writeable = False
        return spread
    if not keepdims:
        axes = normal_axes(axis, len(shape))
        g = np.reshape(g, tuple([1 if i in axes else n for i, n in enumerate(shape)]))
    return np.broadcast_to(g, shape)


@primitive
def _sum(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def _sum_vjp(ans: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    shape = x.shape  # not x itself, which could then not be freed
    return lambda g: _spread(g, shape, axis, keepdims)


defvjp(_sum, _sum_vjp)


def _masked(x: Any, where: Any, value: Any) -> Any:
    """The array with masked elements replaced by a neutral value."""
    return x if where is True else np.where(where, x, np.asarray(value, dtype=x.dtype))


# The arguments below are in NumPy's order: a call by position means the same on traced arrays.


@composed(np.sum)
def _sum_rule(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    refuse_out("sum", out)
    total = _sum(_masked(x if dtype is None else x.astype(dtype), where, 0), axis, keepdims)
    return total if initial is None else total + initial


def _count(x: Any, axis: Any) -> int:
    return math.prod([x.shape[a] for a in normal_axes(axis, x.ndim)])


@composed(np.mean)
def _mean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    total = np.sum(x, axis, dtype, out, keepdims, where=where)
    if where is True:
        return total / _count(x, axis)
    counted = np.broadcast_to(np.asarray(where, dtype=bool), x.shape)
    return total / np.sum(counted, axis=axis, keepdims=keepdims).astype(total.dtype)


@composed(np.var)
def _var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = 0,
) -> Any:
    refuse_out("var", out)
    x = x if dtype is None else x.astype(dtype)
    away = x - np.mean(x, axis=axis, keepdims=True)
    square = np.real(away * np.conjugate(away)) if np.iscomplexobj(x) else away * away
    return np.sum(square, axis=axis, keepdims=keepdims) / max(
        _count(x, axis) - correction - ddof, 0
    )


@composed(np.std)
def _std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float = 0,
) -> Any:
    """The gradient where all elements are equal is 0, not nan."""
    square = np.var(x, axis, dtype, out, ddof, keepdims, correction=correction)
    is_zero = square == 0
    root = np.sqrt(np.where(is_zero, np.ones((), square.dtype), square))
    return np.where(is_zero, np.zeros((), square.dtype), root)


def _extreme_vjp(ans: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """All elements that attain the extreme share its gradient equally."""
    shape, dtype = x.shape, x.dtype
    attains = x == _spread(ans, shape, axis, keepdims)
    count = np.sum(attains, axis=normal_axes(axis, x.ndim), keepdims=True).astype(dtype)
    zero = np.zeros((), dtype)
    return lambda g: np.where(attains, _spread(g, shape, axis, keepdims) / count, zero)


def _with_start(x: Any, axis: Any, keepdims: bool, initial: Any) -> Any:
    """The extreme of no elements is the initial value."""
    axes = normal_axes(axis, x.ndim)
    kept = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return np.full(tuple(kept), initial, dtype=x.dtype)


def _enter_extreme(extreme: Any, of_two: Any, *functions: Any) -> None:
    reduced = primitive(lambda x, axis, keepdims: extreme(x, axis=axis, keepdims=keepdims))
    defvjp(reduced, _extreme_vjp)

    @composed(*functions)
    def rule(
        x: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        refuse_out(extreme.__name__, out)
        if initial is None:
            _refuse_mask(where)
            return reduced(x, axis, keepdims)
        start = _with_start(x, axis, keepdims, initial)
        if x.size == 0:
            return start
        return of_two(reduced(_masked(x, where, initial), axis, keepdims), start)


_enter_extreme(np.max, np.maximum, np.max, np.amax)
_enter_extreme(np.min, np.minimum, np.min, np.amin)


def _refuse_mask(where: Any) -> None:
    """As in NumPy: an extreme with a mask needs an initial value."""
    if where is not True:
        raise ValueError("A reduction with where= needs initial=, the value to start from.")


@composed(np.ptp)
def _ptp(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    refuse_out("ptp", out)
    return np.max(x, axis=axis, keepdims=keepdims) - np.min(x, axis=axis, keepdims=keepdims)


@composed(np.prod)
def _prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Products by halving: correct at zeros and at every order, unlike the whole product divided by
    x."""
    refuse_out("prod", out)
    x = _masked(x if dtype is None else x.astype(dtype), where, 1)
    axes = normal_axes(axis, x.ndim)
    kept = tuple([n for i, n in enumerate(x.shape) if i not in axes])
    rest = np.moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x
    rest = np.reshape(rest, (*kept, -1) if x.size else (*kept, 0 if axes else 1))
    if rest.shape[-1] == 0:
        rest = np.ones((*kept, 1), dtype=x.dtype)
    while rest.shape[-1] > 1:
        half = rest.shape[-1] // 2
        pairs = rest[..., :half] * rest[..., half : 2 * half]
        odd = rest[..., 2 * half :]
        rest = np.concatenate((pairs, odd), axis=-1) if odd.shape[-1] else pairs
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
    product = np.reshape(rest, tuple(shape) if keepdims else kept)
    return product if initial is None else product * initial


@primitive
def _cumsum(x: Any, axis: int) -> Any:
    return np.cumsum(x, axis=axis, dtype=x.dtype)


defvjp(
    _cumsum, lambda ans, x, axis: lambda g: np.flip(_cumsum(np.flip(g, axis=axis), axis), axis=axis)
)


def _with_initial(x: Any, axis: int, value: int, include: bool) -> Any:
    if not include:
        return x
    shape = tuple([1 if i == axis else n for i, n in enumerate(x.shape)])
    return np.concatenate((np.full(shape, value, dtype=x.dtype), x), axis=axis)


def _enter_cumulative(name: str, along: Any, first: int, *functions: Any) -> None:
    @composed(*functions)
    def rule(
        x: Any,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        *,
        include_initial: bool = False,
    ) -> Any:
        refuse_out(name, out)
        x, axis = flat_unless(axis, x)
        axis = normal_axis(axis, x.ndim)
        whole = along(x if dtype is None else x.astype(dtype), axis)
        return _with_initial(whole, axis, first, include_initial)


def _cumprod(x: Any, axis: int) -> Any:
    """Products by doubling (log n steps): correct at zeros and at every order."""
    y, step = np.moveaxis(x, axis, 0), 1
    while step < y.shape[0]:
        y = np.concatenate((y[:step], y[step:] * y[:-step]), axis=0)
        step *= 2
    return np.moveaxis(y, 0, axis)


_enter_cumulative("cumulative_sum", _cumsum, 0, np.cumulative_sum, np.cumsum)
_enter_cumulative("cumulative_prod", _cumprod, 1, np.cumulative_prod, np.cumprod)


@composed(np.diff)
def _diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = np.concatenate(tuple([_as_slice(part, x, axis) for part in parts]), axis=axis)
    axis = normal_axis(axis, x.ndim)
    before = (slice(None),) * axis
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x


def _as_slice(part: Any, x: Any, axis: int) -> Any:
    """A number prepended or appended to x, as a slice."""
    if np.ndim(part) > 0 or np.ndim(x) == 0:
        return part
    shape = list(np.shape(x))
    shape[axis] = 1
    return np.broadcast_to(part, tuple(shape))


# Products -----------------------------------------------------------------------------------------


def _matmul_left(g: Any, x: Any, y: Any) -> Any:
    if np.ndim(y) == 1:
        left = g[..., None] * y if np.ndim(x) > 1 else g * y
    else:
        wide = g[..., None, :] if np.ndim(x) == 1 else g
        left = np.matmul(wide, np.swapaxes(y, -1, -2))
        left = left[..., 0, :] if np.ndim(x) == 1 else left
    return unbroadcast(left, x)


def _matmul_right(g: Any, x: Any, y: Any) -> Any:
    if np.ndim(x) == 1:
        right = x[:, None] * g[..., None, :] if np.ndim(y) > 1 else g * x
    else:
        wide = g[..., None] if np.ndim(y) == 1 else g
        right = np.matmul(np.swapaxes(x, -1, -2), wide)
        right = right[..., 0] if np.ndim(y) == 1 else right
    return unbroadcast(right, y)


differentiable(
    np.matmul,
    lambda ans, x, y: lambda g: _matmul_left(g, x, y),
    lambda ans, x, y: lambda g: _matmul_right(g, x, y),
)


@composed(np.tensordot)
def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    x, y = array_from(x, None), array_from(y, None)
    if isinstance(axes, int):
        left, right = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    else:
        left, right = normal_axes(axes[0], x.ndim), normal_axes(axes[1], y.ndim)
    rows = [a for a in range(x.ndim) if a not in left]
    columns = [a for a in range(y.ndim) if a not in right]
    size = math.prod([x.shape[a] for a in left])
    flat_x = np.reshape(
        np.transpose(x, (*rows, *left)), (math.prod([x.shape[a] for a in rows]), size)
    )
    flat_y = np.reshape(
        np.transpose(y, (*right, *columns)), (size, math.prod([y.shape[a] for a in columns]))
    )
    shape = [x.shape[a] for a in rows] + [y.shape[a] for a in columns]
    return np.reshape(np.matmul(flat_x, flat_y), tuple(shape))


def _enter_dot(function: Any, from_end: int) -> None:
    """The last axis of x with the one of y that stands so many before its last."""

    @composed(function)
    def rule(x: Any, y: Any) -> Any:
        x, y = array_from(x, None), array_from(y, None)
        if x.ndim == 0 or y.ndim == 0:
            return x * y
        return np.tensordot(x, y, axes=((x.ndim - 1,), (max(y.ndim - 1 - from_end, 0),)))


_enter_dot(np.dot, 1)
_enter_dot(np.inner, 0)


@composed(np.outer, np.linalg.outer)
def _outer(x: Any, y: Any) -> Any:
    return np.reshape(x, (-1, 1)) * np.reshape(y, (1, -1))


@composed(np.vecdot, np.linalg.vecdot)
def _vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    return np.sum(np.conjugate(x) * y if np.iscomplexobj(x) else x * y, axis=axis)


def _einsum_vjps(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    subscripts, xs = args[0], args[1:]
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")

    def one(n: int, g: Any) -> Any:
        mine = terms[n]
        others = [terms[i] for i in range(len(terms)) if i != n]
        known = set("".join([output, *others]))
        # A letter that occurs nowhere else was summed: its gradient is constant along the axis.
        reachable = "".join([letter for letter in mine if letter in known])
        arrays = [xs[i] for i in range(len(xs)) if i != n]
        part = _einsum(",".join([output, *others]) + "->" + reachable, g, *arrays)
        shape = np.shape(xs[n])
        sizes = [size if letter in known else 1 for letter, size in zip(mine, shape, strict=True)]
        return unbroadcast(np.broadcast_to(np.reshape(part, tuple(sizes)), shape), xs[n])

    return lambda g: [one(n - 1, g) for n in argnums]


_einsum = primitive(
    lambda subscripts, *xs: np.einsum(subscripts, *xs, optimize=len(xs) > 2), _einsum_vjps
)


@composed(np.einsum)
def _einsum_rule(subscripts: str, *xs: Any, optimize: Any = False) -> Any:
    if not isinstance(subscripts, str):
        raise NotSupportedError(
            "np.einsum with lists of axes has no derivative rule on the numpy backend. Write the "
            "axes as a string, such as 'ij,jk->ik'."
        )
    explicit, arrays = _explicit(subscripts.replace(" ", ""), list(xs))
    return _einsum(explicit, *arrays)


def _explicit(subscripts: str, xs: list[Any]) -> tuple[str, list[Any]]:
    """Subscripts with an output, without ellipses and without a letter twice in one term."""
    inputs, arrow, output = subscripts.partition("->")
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    terms, widest = inputs.split(","), ""
    for i, term in enumerate(terms):
        if "..." in term:
            extra = xs[i].ndim - len(term.replace("...", ""))
            letters = "".join(spare[len(spare) - extra :])
            terms[i] = term.replace("...", letters)
            widest = letters if len(letters) > len(widest) else widest
    if arrow:
        output = output.replace("...", widest)
    else:
        used = sorted("".join(terms))
        output = widest + "".join([c for c in used if used.count(c) == 1 and c not in widest])
    for i, term in enumerate(terms):
        for letter in sorted(set(term)):
            while terms[i].count(letter) > 1:
                first = terms[i].index(letter)
                second = terms[i].index(letter, first + 1)
                xs[i] = np.diagonal(xs[i], axis1=first, axis2=second)
                terms[i] = (
                    terms[i][:first]
                    + terms[i][first + 1 : second]
                    + terms[i][second + 1 :]
                    + letter
                )
    return ",".join(terms) + "->" + output, xs
