"""Reshaping, joining and splitting arrays."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from .._core.arrays import is_array
from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.guards import (
    WrongKind,
    check_array,
    check_axes,
    check_axis,
    check_flag,
    check_integers,
    check_number,
    check_one_axis,
    check_whole,
    check_within,
)
from .._core.leafwise import call_leafwise
from .._core.shapes import broadcast_shapes as broadcast_sizes
from .._core.shapes import check_window, new_axes, normal_axis, pad_pairs
from .._core.typing import A, Scalar


def atleast_nd(x: A, /, *, ndim: int) -> A:
    """`x` with axes of length one in front, so that it has at least `ndim` of them.

    >>> import numpy as np, trellis
    >>> trellis.atleast_nd(np.array([1, 2]), ndim=2)
    array([[1, 2]])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(atleast_nd, (x,), {"ndim": ndim})
        check_within(ndim)
        missing = ndim - len(x.shape)
        if missing <= 0:
            return x
        return xp_of(x).reshape(x, (1,) * missing + tuple(x.shape))
    except Exception as error:
        return explain(error, atleast_nd)


def broadcast_arrays(*arrays: A) -> tuple[A, ...]:
    """The arrays, each stretched to the shape that they have together.

    >>> import numpy as np, trellis
    >>> trellis.broadcast_arrays(np.array([1, 2]), np.array([[3], [4]]))[0]
    array([[1, 2],
           [1, 2]])
    """
    try:
        for x in arrays:
            check_array(x)
        return tuple(xp_of_all(*arrays).broadcast_arrays(*arrays)) if arrays else ()
    except Exception as error:
        return explain(error, broadcast_arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together.

    >>> import trellis
    >>> trellis.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        for shape in shapes:
            check_whole(shape)
        given = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
        for size in [n for shape in given for n in shape]:
            if size < 0:
                raise ArgumentError(f"broadcast_shapes() expects lengths from 0 on, got {size}.")
        return broadcast_sizes(*given, function="broadcast_shapes")
    except Exception as error:
        return explain(error, broadcast_shapes)


def broadcast_to(x: A, /, shape: Sequence[int]) -> A:
    """The array stretched to `shape`.

    >>> import numpy as np, trellis
    >>> trellis.broadcast_to(np.array([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    try:
        check_whole(shape)
        return xp_of(x).broadcast_to(x, shape)
    except Exception as error:
        return explain(error, broadcast_to)


def concat(arrays: Sequence[A], /, *, axis: int | None = 0) -> A:
    """The arrays one after another along an axis they have; with None they are flattened first.

    >>> import numpy as np, trellis
    >>> trellis.concat([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return xp_of_all(*arrays).concat(arrays, axis=axis)
    except Exception as error:
        return explain(error, concat)


def expand_dims(x: A, /, axis: int | tuple[int, ...]) -> A:
    """A new axis of length one at position `axis` of the result, or several.

    >>> import numpy as np, trellis
    >>> trellis.expand_dims(np.array([1, 2]), axis=-1)
    array([[1],
           [2]])
    """
    try:
        if type(axis) is not int:
            check_axes(axis)
            if isinstance(axis, (tuple, list)):
                if isinstance(x, dict):
                    return call_leafwise(expand_dims, (x,), {"axis": axis})
                return _expanded(x, new_axes(axis, len(x.shape)))
        return xp_of(x).expand_dims(x, axis=axis)
    except Exception as error:
        return explain(error, expand_dims)


def _expanded(x: Any, axes: list[int]) -> Any:
    for axis in axes:
        x = xp_of(x).expand_dims(x, axis=axis)
    return x


def flip(x: A, /, *, axis: int | tuple[int, ...] | None = None) -> A:
    """The elements in reverse order along `axis`, along every axis if None.

    >>> import numpy as np, trellis
    >>> trellis.flip(np.array([[1, 2], [3, 4]]), axis=0)
    array([[3, 4],
           [1, 2]])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        return xp_of(x).flip(x, axis=axis)
    except Exception as error:
        return explain(error, flip)


def moveaxis(x: A, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> A:
    """Some axes at new positions, the others in their old order around them.

    >>> import numpy as np, trellis
    >>> trellis.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    try:
        if type(source) is not int:
            check_axis(source)
        if type(destination) is not int:
            check_axis(destination)
        return xp_of(x).moveaxis(x, source, destination)
    except Exception as error:
        return explain(error, moveaxis)


def pad(
    x: A,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    /,
    *,
    mode: Literal["constant", "reflect", "edge", "wrap"] = "constant",
    constant_values: Scalar = 0,
) -> A:
    """Elements added at the ends: `pad_width` is a number, a pair (before, after) or a pair per
    axis.

    >>> import numpy as np, trellis
    >>> trellis.pad(np.array([1, 2, 3]), (1, 2), mode="reflect")
    array([2, 1, 2, 3, 2, 1])
    """
    try:
        if isinstance(x, dict):
            options = {"mode": mode, "constant_values": constant_values}
            return call_leafwise(pad, (x, pad_width), options)
        is_complex = isinstance(constant_values, complex) and "complex" in str(x.dtype)
        if constant_values != 0 and not is_complex:
            check_number(constant_values)
        pairs = pad_pairs(pad_width, x.shape, mode)
        return xp_of(x).pad(x, pairs, mode=mode, constant_values=constant_values)
    except Exception as error:
        return explain(error, pad)


def permute_dims(x: A, /, axes: tuple[int, ...]) -> A:
    """The axes in another order.

    >>> import numpy as np, trellis
    >>> trellis.permute_dims(np.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return xp_of(x).permute_dims(x, axes)


def repeat(x: A, repeats: int | A, /, *, axis: int | None = None) -> A:
    """Each element several times in a row; with None as axis the array is flattened first.

    >>> import numpy as np, trellis
    >>> trellis.repeat(np.array([1, 2]), 2)
    array([1, 1, 2, 2])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        if isinstance(repeats, int) or not hasattr(repeats, "dtype"):
            check_within(repeats)
        return xp_of_all(x, repeats).repeat(x, repeats, axis=axis)
    except Exception as error:
        return explain(error, repeat)


def reshape(x: A, /, shape: Sequence[int], *, copy: bool | None = None) -> A:
    """The elements in another shape; one length may be -1 and follows from the others.

    >>> import numpy as np, trellis
    >>> trellis.reshape(np.array([1, 2, 3, 4]), (2, -1))
    array([[1, 2],
           [3, 4]])
    """
    try:
        check_whole(shape)
        if copy is not None:
            check_flag(copy)
        return xp_of(x).reshape(x, shape, copy=copy)
    except Exception as error:
        return explain(error, reshape)


def roll(
    x: A, /, shift: int | tuple[int, ...] | A, *, axis: int | tuple[int, ...] | None = None
) -> A:
    """The elements moved along, those that fall off one end entering at the other.

    `shift` may be an array of one integer, or of one for each of several axes, whose values need
    not be known while tracing.

    >>> import numpy as np, trellis
    >>> trellis.roll(np.array([1, 2, 3]), 1)
    array([3, 1, 2])
    """
    try:
        if axis is not None and type(axis) is not int:
            check_axis(axis)
        if not isinstance(shift, (int, np.generic)) and is_array(shift):
            return _rolled(x, shift, axis)
        for n in shift if isinstance(shift, (tuple, list)) else (shift,):
            check_within(n)
        if not isinstance(shift, int) and (isinstance(axis, int) or axis is None):
            raise ShapeError(f"roll() by several shifts needs as many axes, got axis={axis!r}.")
        return xp_of(x).roll(x, cast(int, shift), axis=axis)
    except Exception as error:
        return explain(error, roll)


def _rolled(x: Any, shift: Any, axis: Any) -> Any:
    """`roll` by an array."""
    if isinstance(x, dict):
        return call_leafwise(roll, (x, shift), {"axis": axis})
    xp = xp_of_pair(x, shift)
    check_integers(xp, "roll", shift)
    several = isinstance(axis, (tuple, list))
    if tuple(shift.shape) not in ((), (len(axis),) if several else ()):
        raise ShapeError(
            f"roll() by an array expects one integer, or one for each of several axes, got shape "
            f"{tuple(shift.shape)} and axis={axis!r}."
        )
    if several:
        for i, place in enumerate(axis):
            x = _rolled(x, shift if len(shift.shape) == 0 else shift[i], place)
        return x
    flat = xp.reshape(x, (-1,)) if axis is None else x
    place = 0 if axis is None else normal_axis(axis, len(x.shape))
    count = flat.shape[place]
    if not count:
        return x
    order = xp.remainder(xp.arange(count, dtype=shift.dtype, device=xp.device(x)) - shift, count)
    return xp.reshape(xp.take(flat, order, axis=place), tuple(x.shape))


def sliding_window(x: A, window: int, /, *, axis: int = -1, step: int = 1) -> A:
    """All windows of that length along `axis`, each in a new last axis.

    >>> import numpy as np, trellis
    >>> trellis.sliding_window(np.array([1, 2, 3, 4]), 2)
    array([[1, 2],
           [2, 3],
           [3, 4]])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(sliding_window, (x, window), {"axis": axis, "step": step})
        axis = normal_axis(axis, len(x.shape))
        check_window(window, step, x.shape[axis])
        return xp_of(x).sliding_window(x, window, axis=axis, step=step)
    except Exception as error:
        return explain(error, sliding_window)


def squeeze(x: A, /, axis: int | tuple[int, ...] | None = None) -> A:
    """Without the named axes, which must have length one; None means all of that length.

    >>> import numpy as np, trellis
    >>> trellis.squeeze(np.zeros((1, 3, 1)), axis=(0, 2)).shape
    (3,)
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if axis is None:
            if isinstance(x, dict):
                return call_leafwise(squeeze, (x,), {})
            axis = tuple([i for i, n in enumerate(x.shape) if n == 1])
        return xp_of(x).squeeze(x, axis=axis)
    except Exception as error:
        return explain(error, squeeze)


def stack(arrays: Sequence[A], /, *, axis: int = 0) -> A:
    """Arrays of one shape side by side along a new axis.

    >>> import numpy as np, trellis
    >>> trellis.stack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return xp_of_all(*arrays).stack(arrays, axis=axis)
    except Exception as error:
        return explain(error, stack)


def tile(x: A, repetitions: tuple[int, ...], /) -> A:
    """The whole array several times along each axis.

    >>> import numpy as np, trellis
    >>> trellis.tile(np.array([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    try:
        if not hasattr(repetitions, "__iter__"):  # NumPy and JAX alone take one number
            raise WrongKind(f"{repetitions!r} is not a list of numbers")
        check_whole(repetitions)
        return xp_of(x).tile(x, repetitions)
    except Exception as error:
        return explain(error, tile)


def unstack(x: A, /, *, axis: int = 0) -> tuple[A, ...]:
    """The slices along an axis, one array each; the inverse of `stack`.

    >>> import numpy as np, trellis
    >>> trellis.unstack(np.array([[1, 2], [3, 4]]))[1]
    array([3, 4])
    """
    try:
        if type(axis) is not int:
            check_one_axis(axis)
        slices: tuple[A, ...] = xp_of(x).unstack(x, axis=axis)
        return slices
    except Exception as error:
        return explain(error, unstack)
