"""A pytree of parameters as one vector, and back."""

from collections.abc import Callable
from math import prod
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of_any
from .._core.errors import ArgumentTypeError, DtypeError
from .._core.kinds import shown


def as_vector(parameters: object) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves in one vector, and the function that makes a pytree of such a vector again.

    The function also takes an array with the vectors along its last axis; the leaves then have
    its other axes first.
    """
    leaves, structure = tree.flatten(parameters)
    if not leaves:
        raise ArgumentTypeError("sample() expects at least one array in init.")
    xp = xp_of_any(*leaves)
    arrays = [xp.asarray(leaf) for leaf in leaves]
    kinds = sorted({xp.dtype_name(x.dtype) for x in arrays})
    if kinds not in (["float32"], ["float64"]):
        raise DtypeError(
            "sample() expects arrays of float64, or all of float32, in init, got "
            f"{', '.join(kinds)}."
        )
    shapes = [tuple(x.shape) for x in arrays]
    sizes = [prod(shape) for shape in shapes]

    def back(vector: Any) -> Any:
        if vector.shape[-1] != sum(sizes):
            raise ArgumentTypeError(f"Expected {sum(sizes)} numbers, got {shown(vector)}.")
        lead, start, parts = tuple(vector.shape)[:-1], 0, []
        for shape, size in zip(shapes, sizes, strict=True):
            parts.append(xp.reshape(vector[..., start : start + size], lead + shape))
            start += size
        return tree.unflatten(structure, parts)

    return xp.concat([xp.reshape(x, (-1,)) for x in arrays], axis=0), back
