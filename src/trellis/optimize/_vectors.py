"""Unknowns as one vector: solvers are written for vectors, their users have pytrees."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import tree
from .._core.arrays import is_array, shape_of
from .._core.dispatch import xp_of_all
from .._core.dtypes import default_dtype
from .._core.errors import ArgumentTypeError, DtypeError, ShapeError
from .._core.typing import Array, Backend
from .._gradients.transforms import stop_gradient

_PRECISE = ("float32", "float64")


class Packed(NamedTuple):
    """A pytree of float arrays as a vector.

    Attributes:
        xp: The backend of the arrays.
        vector: All leaves behind each other.
        unpack: From such a vector to the pytree.
    """

    xp: Backend
    vector: Any
    unpack: Callable[[Any], Any]


def packed(function: str, name: str, x: object, args: object = ()) -> Packed:
    """The unknowns of a solver. `args` only help to find the backend of Python numbers."""
    leaves, spec = tree.flatten(x)
    if not leaves:
        raise ArgumentTypeError(f"{function}() expects at least one array in {name}, got {x!r}.")
    arrays = [leaf for leaf in leaves if is_array(leaf)]
    xp = xp_of_all(*arrays, *[leaf for leaf in tree.leaves(args) if is_array(leaf)])
    known = [xp.dtype_name(leaf.dtype) for leaf in arrays if xp.dtype_name(leaf.dtype) in _PRECISE]
    kind = known[0] if known else str(default_dtype())
    vectors, shapes = [], []
    for leaf in leaves:
        if not is_array(leaf):
            if isinstance(leaf, bool) or not isinstance(leaf, (int, float)):
                raise ArgumentTypeError(
                    f"{function}() expects arrays of floats in {name}, got {leaf!r}."
                )
            like = arrays[0] if arrays else xp.asarray(0.0)
            leaf = xp.full((), float(leaf), dtype=kind, device=xp.device(like))
        found = xp.dtype_name(leaf.dtype)
        if found not in _PRECISE or found != kind:
            raise DtypeError(
                f"{function}() computes with float32 or float64, the same in all of {name}, and "
                f"got {found}{'' if found == kind else ' and ' + kind}. Write "
                f"trellis.astype(x, {kind!r}) first."
            )
        shapes.append(shape_of(leaf))
        vectors.append(xp.reshape(leaf, (-1,)))
    if x is leaves[0] and len(shapes[0]) == 1:
        return Packed(xp, vectors[0], lambda vector: vector)
    if len(leaves) == 1 and len(shapes[0]) == 1:
        return Packed(xp, vectors[0], lambda vector: tree.unflatten(spec, [vector]))
    vector = vectors[0] if len(vectors) == 1 else xp.concat(vectors, axis=0)
    sizes = [math.prod(shape) for shape in shapes]

    def unpack(vector: Any) -> Any:
        parts, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            parts.append(xp.reshape(vector[start : start + size], shape))
            start += size
        return tree.unflatten(spec, parts)

    return Packed(xp, vector, unpack)


def flat_like(function: str, what: str, unknowns: Packed, y: Any, size: int | None = None) -> Any:
    """What a user's function returned, as a vector; of a known length where one is needed."""
    xp, like = unknowns.xp, unknowns.vector
    if type(y) is type(like) and y.dtype == like.dtype and tuple(y.shape) == (size,):
        return y  # the usual case
    parts = []
    for leaf in tree.leaves(y):
        if not is_array(leaf):
            leaf = xp.full((), leaf, dtype=like.dtype, device=xp.device(like))
        parts.append(xp.reshape(leaf, (-1,)))
    if not parts:
        raise ArgumentTypeError(f"{function}() expects {what} to return arrays, got {y!r}.")
    flat = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
    if flat.dtype != like.dtype:
        raise DtypeError(
            f"{function}() expects {what} to return {xp.dtype_name(like.dtype)}, as its "
            f"unknowns are, got {xp.dtype_name(flat.dtype)}."
        )
    if size is not None and flat.shape[0] != size:
        raise ShapeError(
            f"{function}() expects {what} to return as many numbers as there are unknowns, "
            f"{size}, got {flat.shape[0]}."
        )
    return flat


def constant(x: Any) -> Any:
    """All arrays of a pytree, cut off from gradients."""
    return tree.map(lambda leaf: stop_gradient(leaf) if is_array(leaf) else leaf, x)


def apart(args: tuple[Any, ...]) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The arrays in `args`, and what puts others into their places."""
    leaves, spec = tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if is_array(leaf)]

    def joined(arrays: list[Any]) -> Any:
        full = list(leaves)
        for i, x in zip(places, arrays, strict=True):
            full[i] = x
        return tree.unflatten(spec, full)

    return [leaves[i] for i in places], joined


def scalar(xp: Backend, like: Array, value: float, dtype: str | None = None) -> Any:
    """A number as an array beside `like`."""
    return xp.full((), value, dtype=dtype or like.dtype, device=xp.device(like))


def is_plain(xp: Backend, x: Any) -> bool:
    """Whether Python may decide by `x`: neither a compiler nor a transform stands behind it."""
    return xp.is_concrete(x) and xp.lasts(x)


def chosen(xp: Backend, condition: Any, yes: Any, no: Any) -> Any:
    """`where` for one truth value and two arrays of one shape and dtype, or a number that is only
    an operand. Where the value is known, Python chooses: a tenth of the time of `where` or less.
    """
    if is_plain(xp, condition):
        return yes if bool(condition) else no
    return xp.where(condition, yes, no)


def decided(xp: Backend, like: Array, otherwise: int, *cases: tuple[Any, int]) -> Any:
    """The number of the last case whose truth value holds, as an int32."""
    if all([is_plain(xp, condition) for condition, _ in cases]):
        numbers = [number for condition, number in cases if bool(condition)]
        return scalar(xp, like, numbers[-1] if numbers else otherwise, "int32")
    found = scalar(xp, like, otherwise, "int32")
    for condition, number in cases:
        found = xp.where(condition, number, found)
    return xp.astype(found, "int32")


def largest(xp: Backend, vector: Any) -> Any:
    """The largest absolute value; nan if there is one."""
    return xp.max(xp.abs(vector))
