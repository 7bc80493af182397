"""Products of matrices and contractions, as sums of products."""

import math
from collections.abc import Sequence

from ...._core.errors import ShapeError
from ...._core.shapes import check_lengths, normal_axes, normal_axis
from ...array_api import Native
from ..promotion import together, type_name
from . import xp


def _summed(products: Native, axis: int) -> Native:
    """Sums in the type of the elements, also for small integers; for bools, whether any is true."""
    name = type_name(xp, products)
    if name == "bool":
        return xp.any(products, axis=axis)
    if name in ("float16", "bfloat16"):
        return xp.astype(xp.sum(xp.astype(products, "float32"), axis=axis), name)
    return xp.sum(products, axis=axis, dtype=name)


def _times(x1: Native, x2: Native) -> Native:
    is_bool = type_name(xp, x1) == "bool"
    return xp.logical_and(x1, x2) if is_bool else xp.multiply(x1, x2)


def matmul(x1: Native, x2: Native, /) -> Native:
    x1, x2 = together(xp, x1, x2)
    first, second = len(x1.shape), len(x2.shape)
    if first == 0 or second == 0:
        raise ShapeError(
            "matmul() expects arrays with at least one axis. Use multiply() for 0-d arrays."
        )
    x1 = xp.expand_dims(x1, 0) if first == 1 else x1
    x2 = xp.expand_dims(x2, 1) if second == 1 else x2
    check_lengths("matmul", "inner axes", x1.shape[-1], x2.shape[-2])
    y = _summed(_times(xp.expand_dims(x1, -1), xp.expand_dims(x2, -3)), -2)
    y = xp.squeeze(y, -1) if second == 1 else y
    return xp.squeeze(y, -1 if second == 1 else -2) if first == 1 else y


def matrix_transpose(x: Native, /) -> Native:
    ndim = len(x.shape)
    if ndim < 2:
        raise ShapeError(f"matrix_transpose() expects at least two axes, got {ndim}.")
    return xp.permute_dims(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def tensordot(
    x1: Native, x2: Native, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Native:
    x1, x2 = together(xp, x1, x2)
    first, second = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        ones, twos = tuple(range(first - axes, first)), tuple(range(axes))
    else:
        ones, twos = normal_axes(tuple(axes[0]), first), normal_axes(tuple(axes[1]), second)
    check_lengths("tensordot", "axes", len(ones), len(twos))
    for a, b in zip(ones, twos, strict=True):
        check_lengths("tensordot", "contracted axes", x1.shape[a], x2.shape[b])
    left = [i for i in range(first) if i not in ones]
    right = [i for i in range(second) if i not in twos]
    shape = [x1.shape[i] for i in left] + [x2.shape[i] for i in right]
    count = math.prod([x1.shape[i] for i in ones])
    rows = math.prod([x1.shape[i] for i in left])
    columns = math.prod([x2.shape[i] for i in right])
    x1 = xp.reshape(xp.permute_dims(x1, (*left, *ones)), (rows, count))
    x2 = xp.reshape(xp.permute_dims(x2, (*twos, *right)), (count, columns))
    return xp.reshape(xp.matmul(x1, x2), tuple(shape))


def vecdot(x1: Native, x2: Native, /, *, axis: int = -1) -> Native:
    x1, x2 = together(xp, x1, x2)
    x1 = xp.moveaxis(x1, normal_axis(axis, len(x1.shape)), -1)
    x2 = xp.moveaxis(x2, normal_axis(axis, len(x2.shape)), -1)
    check_lengths("vecdot", "vectors", x1.shape[-1], x2.shape[-1])
    if type_name(xp, x1).startswith("complex"):
        x1 = xp.conj(x1)
    return _summed(_times(x1, x2), -1)


def einsum(subscripts: str, /, *xs: Native) -> Native:
    xs = tuple(together(xp, *xs))
    inputs, output = _letters(subscripts.replace(" ", ""), [len(x.shape) for x in xs])
    total, letters = _single(xs[0], inputs[0])
    for i, x in enumerate(xs[1:], start=1):
        x, others = _single(x, inputs[i])
        later = set(output).union(*inputs[i + 1 :])
        total, letters = _joined(total, letters, x, others, later)
    for axis in reversed([i for i, c in enumerate(letters) if c not in output]):
        total = _summed(total, axis)
    letters = "".join([c for c in letters if c in output])
    return xp.permute_dims(total, tuple([letters.index(c) for c in output]))


def _letters(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of each input and of the output; an ellipsis is replaced by new letters."""
    given, arrow, output = subscripts.partition("->")
    inputs, most = given.split(","), 0
    for text, rank in zip(inputs, ranks, strict=True):
        if "..." in text:
            most = max(most, rank - len(text.replace("...", "")))
    extra = "".join([chr(0x4E00 + i) for i in range(most)])
    found = []
    for text, rank in zip(inputs, ranks, strict=True):
        own = rank - len(text.replace("...", ""))
        found.append(text.replace("...", extra[most - own :]))
    if not arrow:
        letters = "".join(found)
        output = "..." + "".join(
            sorted([c for c in set(letters) if letters.count(c) == 1 and c not in extra])
        )
    return found, output.replace("...", extra)


def _single(x: Native, letters: str) -> tuple[Native, str]:
    """The diagonal where a letter occurs twice."""
    for c in sorted(set(letters)):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            x = xp.linalg.diagonal(xp.moveaxis(x, (i, j), (-2, -1)))
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    return x, letters


def _joined(x: Native, ones: str, y: Native, twos: str, later: set[str]) -> tuple[Native, str]:
    """The product of two, summed over the letters that are not used later."""
    shared = [c for c in ones if c in twos]
    if not [c for c in shared if c in later]:
        axes = ([ones.index(c) for c in shared], [twos.index(c) for c in shared])
        rest = [c for c in ones + twos if c not in shared]
        return xp.tensordot(x, y, axes=axes), "".join(rest)
    letters = ones + "".join([c for c in twos if c not in ones])
    x = xp.reshape(x, (*x.shape, *[1] * (len(letters) - len(ones))))
    y = xp.permute_dims(y, tuple([twos.index(c) for c in letters if c in twos]))
    sizes = dict(zip([c for c in letters if c in twos], y.shape, strict=True))
    product = _times(x, xp.reshape(y, tuple([sizes.get(c, 1) for c in letters])))
    for axis in reversed([i for i, c in enumerate(letters) if c not in later]):
        product = _summed(product, axis)
    return product, "".join([c for c in letters if c in later])
