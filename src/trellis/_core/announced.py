"""Whether a function returned what was announced of it: a compiled program has memory for nothing
else, and without a compiler the same is asked."""

from collections.abc import Sequence

from .errors import DtypeError, ShapeError

Shapes = Sequence[tuple[int | None, ...]]


def check_count(found: int, expected: int) -> None:
    if found != expected:
        raise ShapeError(
            f"The function of lazy_apply() returned {found} results; shape= announced {expected}."
        )


def check_result(
    shape: tuple[int, ...], name: str, expected: tuple[int | None, ...], expected_name: str
) -> None:
    fits = len(shape) == len(expected) and all(
        [size is None or size == found for size, found in zip(expected, shape, strict=True)]
    )
    if not fits:
        raise ShapeError(
            f"The function of lazy_apply() returned an array of shape {shape}, where {expected} "
            "was announced. Pass the shape of its result as shape=."
        )
    if name != expected_name:
        raise DtypeError(
            f"The function of lazy_apply() returned {name}, where {expected_name} was announced. "
            "Pass the data type of its result as dtype=, or convert the result in the function."
        )


def known(shapes: Shapes, compiler: str) -> list[tuple[int, ...]]:
    """The shapes, for a compiler that must know them."""
    if any([None in shape for shape in shapes]):
        raise ShapeError(
            f"{compiler} needs the whole shape of what lazy_apply() returns; shape= has None."
        )
    return [tuple([size for size in shape if size is not None]) for shape in shapes]
