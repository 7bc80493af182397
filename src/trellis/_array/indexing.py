"""Reading and writing by index. Arrays are never modified: every update returns a new array."""

from typing import Any, Generic, Literal, get_args

from .._core.arrays import holds_scalar, plain, shape_of
from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.errors import DtypeError, ShapeError
from .._core.explain import explain
from .._core.guards import (
    WrongKind,
    check_axis,
    check_integers,
    check_scalar,
    check_segments,
    check_within,
)
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import normal_axis, one_of
from .._core.typing import A, Array, Backend, Scalar
from .items import get_item, is_basic

_Reduction = Literal["set", "add", "multiply", "min", "max"]


class At(Generic[A]):
    """Selected elements of an array, created by `at`; its methods return a new array with these
    elements changed."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: A, index: object):
        self._x, self._index = x, index

    def __getitem__(self, index: object) -> "At[A]":
        return At(self._x, index)

    def _explained(self, error: Exception, name: str, value: A | Scalar) -> A:
        if holds_scalar(value) or holds_scalar(self._index):
            return getattr(At(self._x, plain(self._index)), name)(plain(value))
        return explain(error, at, {"x": self._x, "idx": self._index, "value": value})

    def get(self) -> A:
        """These elements: `x[idx]`, also where the framework has no such index (arrays and masks on
        TensorFlow, negative steps on torch)."""
        try:
            if _steps_back(self._index) or not _is_native(self._x, self._index):
                return _read(self._x, self._index)
            try:
                return self._x[self._index]  # type: ignore[index, no-any-return]
            except TypeError:
                return _read(self._x, self._index)
        except Exception as error:
            return explain(error, at, {"x": self._x, "idx": self._index})

    def set(self, value: A | Scalar, /) -> A:
        """`x` with `value` at these elements; which of several values wins at one index is
        undefined."""
        try:
            return xp_of_pair(self._x, value).index_set(self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "set", value)

    def add(self, value: A | Scalar, /) -> A:
        """`x` with `value` added to these elements; repeated indices accumulate."""
        try:
            return xp_of_pair(self._x, value).index_add(self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "add", value)

    def subtract(self, value: A | Scalar, /) -> A:
        """`x` with `value` subtracted from these elements; repeated indices accumulate."""
        try:
            xp = xp_of_pair(self._x, value)
            return xp.subtract(self._x, xp.index_add(xp.zeros_like(self._x), self._index, value))
        except Exception as error:
            return self._explained(error, "subtract", value)

    def multiply(self, value: A | Scalar, /) -> A:
        """`x` with these elements multiplied by `value`; repeated indices accumulate."""
        try:
            return xp_of_pair(self._x, value).index_multiply(self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "multiply", value)

    def divide(self, value: A | Scalar, /) -> A:
        """`x` with these elements divided by `value`, once each where indices repeat; which of
        several values is taken then is undefined. `x` must be of a floating-point type."""
        try:
            return _combined("divide", self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "divide", value)

    def power(self, value: A | Scalar, /) -> A:
        """`x` with these elements to the power of `value`, once each where indices repeat; which of
        several values is taken then is undefined."""
        try:
            return _combined("pow", self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "power", value)

    def min(self, value: A | Scalar, /) -> A:
        """`x` with the minimum of itself and `value` at these elements."""
        try:
            return xp_of_pair(self._x, value).index_min(self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "min", value)

    def max(self, value: A | Scalar, /) -> A:
        """`x` with the maximum of itself and `value` at these elements."""
        try:
            return xp_of_pair(self._x, value).index_max(self._x, self._index, value)
        except Exception as error:
            return self._explained(error, "max", value)


def _combined(name: str, x: A, index: object, value: A | Scalar) -> A:
    """The function of that name at these elements. Not through `get`: the elements of a mask have
    no shape in compiled code."""
    xp: Any = xp_of_pair(x, value)
    if name == "divide" and not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        raise DtypeError(
            f"at(x, idx).divide() expects x of a floating-point type, got "
            f"{xp.dtype_name(x.dtype)}. Write astype(x, 'float32'), or set() with floor_divide()."
        )
    ones = xp.ones_like(x)
    is_here = xp.index_set(xp.zeros_like(x, dtype=xp.bool), index, True)
    # 1 and 1 elsewhere: no warnings of elements that stay, and no nan in their gradients.
    values = xp.index_set(ones, index, value)
    found: A = xp.where(is_here, getattr(xp, name)(xp.where(is_here, x, ones), values), x)
    return found


def _read(x: A, index: object) -> A:
    found: A = get_item(xp_of(x), x, index)
    return found


def _is_native(x: object, index: object) -> bool:
    """Whether `x[index]` says the same on all frameworks."""
    return xp_of(x).ABILITIES.has_index_arrays or is_basic(index)


def _steps_back(index: object) -> bool:
    """Whether a slice has a negative step, which torch raises for."""
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            return True
    return False


def at(x: A, idx: object = ..., /) -> At[A]:
    """Selected elements of an array, to update with `set`, `add`, `subtract`, `multiply`, `divide`,
    `power`, `min` or `max`, or to read with `get`; `x` itself does not change.

    `idx` is what you would write between the brackets of `x[...]`. Differentiable in `x` and in the
    value. Where an index is repeated, `add`, `subtract`, `multiply`, `min` and `max` take all its
    values; `set`, `divide` and `power` take one of them.

    >>> import numpy as np, trellis
    >>> trellis.at(np.zeros(3), 1).set(5.0)
    array([0., 5., 0.])
    >>> trellis.at(np.zeros(3))[np.array([0, 0, 2])].add(1.0)
    array([2., 0., 1.])
    """
    return At(x, idx)


def put_along_axis(
    x: A, indices: A, values: A | Scalar, /, *, axis: int = -1, reduce: _Reduction = "set"
) -> A:
    """`x` with one element changed per index: along `axis` the element `indices[i, j]` of row i
    gets `values[i, j]`. The inverse of `take_along_axis`.

    `indices` has as many axes as `x` and may be shorter along the other ones, where it then names
    the first rows (torch.scatter, ONNX ScatterElements); negative indices count from the end.
    `values` has the shape of `indices`, or broadcasts to it. With "set" the last of several values
    for an element wins, otherwise they accumulate.

    >>> import numpy as np, trellis
    >>> trellis.put_along_axis(np.zeros((2, 3)), np.array([[2], [0]]), np.array([[5.0], [7.0]]))
    array([[0., 0., 5.],
           [7., 0., 0.]])
    """
    try:
        if values is None:
            raise WrongKind("put_along_axis() of None")
        if has_nest(x, indices, values):
            options = {"axis": axis, "reduce": reduce}
            return call_leafwise(put_along_axis, (x, indices, values), options)
        xp = xp_of_all(x, indices, values)
        one_of("put_along_axis", "reduce", reduce, get_args(_Reduction))
        axis = normal_axis(axis, len(x.shape))
        _check_places("put_along_axis", xp, x, indices, axis)
        _check_values("put_along_axis", "values", values, tuple(indices.shape))
        # Small integers could not count the other axes, and torch takes uint8 for masks.
        indices = xp.astype(indices, xp.arange(1).dtype, copy=False)
        places = [indices if i == axis else _counted(xp, indices, i) for i in range(len(x.shape))]
        return getattr(At(x, tuple(places)), reduce)(values)
    except Exception as error:
        return explain(error, put_along_axis)


def _check_places(name: str, xp: Backend, x: Array, indices: Array, axis: int) -> None:
    kind = xp.dtype_name(indices.dtype)
    if not kind.startswith(("int", "uint")):
        raise DtypeError(
            f"{name}() expects integer indices, got an array of {kind}. "
            "Write astype(indices, 'int64')."
        )
    sizes, shape = tuple(indices.shape), tuple(x.shape)
    fits = len(sizes) == len(shape)
    for i, (count, size) in enumerate(zip(sizes, shape, strict=False)):
        if i != axis and count is not None and size is not None and count > size:
            fits = False
    if not fits:
        raise ShapeError(
            f"{name}() expects indices with as many axes as x, none longer but axis {axis}, "
            f"got {sizes} for x of {shape}."
        )


def _counted(xp: Backend, x: Array, axis: int) -> Any:
    """0, 1, 2, ... along one axis of `x`, in a shape that broadcasts with it."""
    size = x.shape[axis]
    if size is None:  # not known while tracing: counted when the program runs
        return xp.cumulative_sum(xp.ones_like(x), axis=axis) - 1
    shape = [1] * len(x.shape)
    shape[axis] = size
    return xp.reshape(xp.arange(size, device=xp.device(x)), tuple(shape))


def scatter(
    x: A, indices: A, updates: A | Scalar, /, *, axis: int = 0, reduce: _Reduction = "set"
) -> A:
    """`x` with slices along `axis` changed: slice `indices[i]` gets `updates[i]`. The inverse of
    `take`.

    The shape of `updates` is that of `take(x, indices, axis=axis)`, or broadcasts to it. With
    "add", "multiply", "min" and "max" repeated indices accumulate.

    >>> import numpy as np, trellis
    >>> trellis.scatter(np.zeros(3), np.array([2, 2]), np.array([1.0, 5.0]), reduce="add")
    array([0., 0., 6.])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if isinstance(x, dict):
            return call_leafwise(scatter, (x, indices, updates), {"axis": axis, "reduce": reduce})
        one_of("scatter", "reduce", reduce, get_args(_Reduction))
        check_integers(xp_of_pair(x, indices), "scatter", indices)
        check_scalar(updates)
        _check_updates(x, indices, updates, normal_axis(axis, len(x.shape)))
        place = at(x, (slice(None),) * normal_axis(axis, len(x.shape)) + (indices,))
        changed: A = getattr(place, reduce)(updates)
        return changed
    except Exception as error:
        return explain(error, scatter)


def _check_updates(x: Array, indices: Array, updates: Array | Scalar, axis: int) -> None:
    """Raise unless the updates broadcast to the slices that they go to."""
    shape = tuple(x.shape)
    slices = (*shape[:axis], *tuple(indices.shape), *shape[axis + 1 :])
    if shape[axis] == 0 and 0 not in slices:
        raise ShapeError(f"scatter() into axis {axis} of x {shape} has no place to write to.")
    _check_values("scatter", "updates", updates, slices)


def _check_values(name: str, what: str, values: Array | Scalar, places: tuple[Any, ...]) -> None:
    """Raise unless the values broadcast to the places that they go to."""
    given = shape_of(values)
    fits = len(given) <= len(places)
    for n, size in zip(reversed(given), reversed(places), strict=False):
        fits = fits and (n == size or n == 1 or n is None or size is None)
    if not fits:
        raise ShapeError(f"{name}() needs {what} that broadcast to {places}, got {given}.")


def segment_sum(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """Sums of those slices along axis 0 that share an id; segments without slices are zero, and
    slices whose id is none of 0 ... num_segments - 1 are left out.

    >>> import numpy as np, trellis
    >>> trellis.segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2]), num_segments=3)
    array([3., 0., 4.])
    """
    try:
        check_within(num_segments)
        xp = xp_of_pair(x, segment_ids)
        if not isinstance(x, dict):
            check_segments("segment_sum", xp, x, segment_ids)
        return xp.segment_sum(x, segment_ids, num_segments=num_segments)
    except Exception as error:
        return explain(error, segment_sum)


def take(x: A, indices: A, /, *, axis: int | None = None) -> A:
    """Slices of `x` along `axis`, by an array of indices; a vector needs no axis.

    >>> import numpy as np, trellis
    >>> trellis.take(np.array([[1, 2], [3, 4]]), np.array([1, 1, 0]), axis=0)
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        xp = xp_of_pair(x, indices)
        if not isinstance(indices, dict):
            check_integers(xp_of(indices), "take", indices)
        return xp.take(x, indices, axis=axis)
    except Exception as error:
        return explain(error, take)


def take_along_axis(x: A, indices: A, /, *, axis: int = -1) -> A:
    """One element per index, row by row: what `argsort` and `argmax` give can be read with it.

    >>> import numpy as np, trellis
    >>> trellis.take_along_axis(np.array([[5, 6], [7, 8]]), np.array([[1], [0]]), axis=1)
    array([[6],
           [7]])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        xp = xp_of_pair(x, indices)
        if not isinstance(indices, dict):
            check_integers(xp_of(indices), "take_along_axis", indices)
        return xp.take_along_axis(x, indices, axis=axis)
    except Exception as error:
        return explain(error, take_along_axis)
