"""What a source leaves open: of which elements of a call's result it does not say what they are.

A reader lists its own (`Reading.undefined`). A difference is excused only at these elements, and in
this one call; all others must be right.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

# The last places of operands that rounding may have changed, and how often they are moved to see
# what comes of it.
_PLACES, _MOVES = 16, 3
_LARGE = 1e3  # products of a few such numbers overflow in half of the types


class Call(NamedTuple):
    """A call of a converted model that differs from its source."""

    operands: list[np.ndarray]  # that go into the operation, in order
    found: np.ndarray | None  # None where it raises
    wanted: np.ndarray
    again: Callable[[Callable[[np.ndarray], np.ndarray]], np.ndarray]  # with changed operands


Mask: TypeAlias = np.ndarray | bool


class Open(NamedTuple):
    """What is open in words, in operations whose names begin how, and at which elements."""

    words: str
    names: tuple[str, ...]
    elements: Callable[[Call], Mask]


def everything(call: Call) -> Mask:
    return True


def equal_numbers(call: Call) -> Mask:
    """Places at which the numbers are equal, or both nan."""
    if call.found is None or call.wanted.dtype.kind not in "iu":
        return False
    for x in call.operands:
        for axis in range(x.ndim):
            same = _same_numbers(x, axis, call.found, call.wanted)
            if same is not None and same.all():
                return same
        flat = x.reshape(-1)
        if x.ndim != 1 and _fit(call.found, call.wanted, flat.size):
            same = _equal(flat[call.found], flat[call.wanted])
            if same.all():
                return same
    return False


def _same_numbers(
    x: np.ndarray, axis: int, found: np.ndarray, wanted: np.ndarray
) -> np.ndarray | None:
    """Where two arrays of places along an axis lead to the same numbers."""
    if found.ndim == x.ndim - 1:
        same = _same_numbers(x, axis, np.expand_dims(found, axis), np.expand_dims(wanted, axis))
        return None if same is None else same.squeeze(axis)
    others = [i for i in range(x.ndim) if i != axis]
    fits = found.ndim == x.ndim and all([found.shape[i] == x.shape[i] for i in others])
    if not fits or not _fit(found, wanted, x.shape[axis]):
        return None
    return _equal(*[np.take_along_axis(x, i, axis) for i in (found, wanted)])


def _fit(found: np.ndarray, wanted: np.ndarray, size: int) -> bool:
    return all([((i >= 0) & (i < size)).all() for i in (found, wanted)])


def _equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x == y) | ((x != x) & (y != y))  # type: ignore[no-any-return]


def vectors(call: Call) -> Mask:
    """Columns or rows that are those of the source times a number of size 1, and the results for
    special matrices."""
    if call.found is None or call.wanted.ndim < 2:
        return special_matrices(call)
    best, axis = min([(_aligned(call.found, call.wanted, axis), axis) for axis in (-2, -1)],
                     key=lambda pair: np.abs(pair[0] - call.wanted).max(initial=0))  # fmt: skip
    turned = call._replace(
        found=best, again=lambda change: _aligned(call.again(change), best, axis)
    )
    return np.isclose(best, call.wanted, rtol=1e-3, atol=1e-4) | special_matrices(turned)


def _aligned(x: np.ndarray, like: np.ndarray, axis: int) -> np.ndarray:
    """Vectors along an axis, with the signs (or, of complex ones, the phases) of others."""
    product = np.sum(np.conj(x) * like, axis=axis, keepdims=True)
    size = np.abs(product)
    return x * np.where(size > 0, product / np.where(size > 0, size, 1), 1)  # type: ignore[no-any-return]


def special_matrices(call: Call) -> Mask:
    """The results for matrices that are singular or not finite, and all that rounding of the
    operands would have made as different."""
    wanted = call.wanted
    mask = np.zeros(wanted.shape, bool)
    for x in call.operands:
        if x.ndim < 2 or x.shape[:-2] != wanted.shape[: x.ndim - 2] or x.dtype.kind not in "fc":
            continue
        special = np.array([_is_special(m) for m in x.reshape(-1, *x.shape[-2:])], bool)
        mask = mask | special.reshape((*x.shape[:-2], *[1] * (wanted.ndim - x.ndim + 2)))
    # Errors of these algorithms are relative to the largest number of a matrix, and vectors change
    # as a whole.
    return mask | _explained(
        call,
        lambda x: np.abs(x).max(axis=(-2, -1), keepdims=True, initial=0) if x.ndim > 1 else abs(x),
        lambda reach: (
            reach.max(axis=(-2, -1), keepdims=True, initial=0) if reach.ndim > 1 else reach
        ),
    )


def _is_special(x: np.ndarray) -> bool:
    if not np.isfinite(x).all():
        return True
    if x.size == 0:
        return False
    values = np.linalg.svd(x, compute_uv=False)
    return bool(values[-1] <= values[0] * 10 * np.finfo(x.dtype).eps)


def singular_triangles(call: Call) -> Mask:
    """The results for matrices with a zero on the diagonal, and for special ones."""
    mask: Mask = special_matrices(call)
    for x in call.operands:
        if x.ndim > 1 and x.shape[-1] == x.shape[-2] and x.dtype.kind in "fc":
            least = np.abs(np.diagonal(x, axis1=-2, axis2=-1)).min(axis=-1, initial=np.inf)
            shape = (*x.shape[:-2], *[1] * (call.wanted.ndim - x.ndim + 2))
            mask = mask | (least == 0).reshape(shape)
    return mask


def not_positive(call: Call) -> Mask:
    """The results for matrices without a Cholesky factor, and for special ones."""
    x = next(x for x in call.operands if x.ndim > 1)
    with np.errstate(all="ignore"):
        whole = np.tril(x) + np.conj(np.swapaxes(np.tril(x, -1), -1, -2))
        least = np.linalg.eigvalsh(np.where(np.isfinite(whole), whole, 0))[..., 0]
    bad = least <= np.finfo(x.dtype).eps * np.abs(x).max(axis=(-2, -1), initial=0)
    shape = (*x.shape[:-2], *[1] * (call.wanted.ndim - x.ndim + 2))
    return np.asarray(bad).reshape(shape) | special_matrices(call)


def rounding(call: Call) -> Mask:
    """Elements that differ no more than if the last places of the operands were other ones: next
    to zeros and poles."""
    return _explained(call, np.abs)


def _explained(
    call: Call, scale: Callable[[np.ndarray], Any], reach_of: Callable[[Any], Any] | None = None
) -> Mask:
    """Where a difference is not larger than what steps of operands, relative to a scale, make."""
    if call.found is None or call.wanted.dtype.kind not in "fc":
        return False
    rng = np.random.default_rng(0)
    reach = np.zeros(call.wanted.shape)
    found = call.found.astype("complex128")

    def moved(x: np.ndarray) -> np.ndarray:
        if x.dtype.kind not in "fc":
            return x
        step = _PLACES * np.finfo(x.dtype).eps * rng.uniform(-1, 1, x.shape)
        return (x + step * scale(x)).astype(x.dtype)

    for _ in range(_MOVES):
        try:
            other = call.again(moved).astype("complex128")
        except Exception:  # of any framework: a matrix that now has no inverse
            return True
        change = np.abs(other - found)
        reach = np.maximum(reach, np.where(np.isnan(change), np.inf, change))
    difference = np.abs(found - call.wanted.astype("complex128"))
    return ~(difference > (reach if reach_of is None else reach_of(reach)))


def not_finite(call: Call) -> Mask:
    """Results that are nan or infinite on one of the two sides, of operands of which some are."""
    if call.found is None or not _has(call, lambda x: ~np.isfinite(x)):
        return False
    return ~np.isfinite(call.found) | ~np.isfinite(call.wanted)


def overflow(call: Call) -> Mask:
    """The same where numbers are so large that the order of products decides."""
    if call.found is None or not _has(call, lambda x: ~(np.abs(x) < _LARGE)):
        return False
    return ~np.isfinite(call.found) | ~np.isfinite(call.wanted)


def _has(call: Call, test: Callable[[np.ndarray], Any]) -> bool:
    return any([bool(np.any(test(x))) for x in call.operands if x.dtype.kind in "fc"])


def beyond_integers(call: Call) -> Mask:
    """What nan, infinity and numbers beyond the type of the result become as integers."""
    wanted = call.wanted
    if wanted.dtype.kind not in "iu":
        return False
    limits = np.iinfo(wanted.dtype)
    for x in call.operands:
        if x.shape == wanted.shape and x.dtype.kind in "fc":
            x = x.real.astype("float64")
            return ~((x > limits.min - 1.0) & (x < limits.max + 1.0))
    return False


def rows_with_nan(call: Call) -> Mask:
    """The results of rows, along any axis, that hold nan."""
    for x in call.operands:
        if x.dtype.kind != "f":
            continue
        for axis in reversed(range(x.ndim)):
            bad = np.isnan(x).any(axis=axis, keepdims=True)
            if bad.ndim == call.wanted.ndim and _broadcasts(bad, call.wanted):
                return bad
            bad = bad.squeeze(axis)
            if bad.shape == call.wanted.shape:
                return bad
    return False


def any_order(call: Call) -> Mask:
    """Rows of the same elements, and those of rows with nan."""
    if call.found is None:
        return False
    rows = [np.sort(x, axis=-1) for x in (call.found, call.wanted)]
    return np.asarray(rows_with_nan(call)) | np.asarray(_equal(*rows).all(axis=-1, keepdims=True))


def _broadcasts(x: np.ndarray, y: np.ndarray) -> bool:
    return all([n in (1, m) for n, m in zip(x.shape, y.shape, strict=True)])


def unsorted_edges(call: Call) -> Mask:
    """Places among edges that are not sorted or hold nan, and places of nan."""
    edges, *values = [x for x in call.operands if x.dtype.kind in "fiu"]
    if not (edges[..., 1:] >= edges[..., :-1]).all() or (edges != edges).any():
        return True
    for x in values:
        if x.shape == call.wanted.shape:
            return np.asarray(x != x)
    return False


def bad_weights(call: Call) -> Mask:
    """Draws by weights that are no probabilities."""
    return _has(call, lambda x: ~(np.isfinite(x) & (x >= 0)))


def nowhere(call: Call) -> Mask:
    """Elements sampled at places that are not finite; and those that are not finite themselves,
    since weights of 0 may or may not be multiplied."""
    mask: Mask = not_finite(call)
    for grid in call.operands[1:]:
        is_grid = grid.ndim == call.wanted.ndim and grid.shape[-1] == grid.ndim - 2
        if is_grid and grid.shape[1:-1] == call.wanted.shape[2:]:
            bad = ~(np.abs(grid) < 1e4).all(axis=-1)
            mask = mask | np.expand_dims(bad, 1)
    return mask


def outside_unit(call: Call) -> Mask:
    """At and beyond -1 and 1."""
    for x in call.operands:
        if x.shape == call.wanted.shape:
            return ~(np.abs(x) < 1)
    return False
