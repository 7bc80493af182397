"""Embedding tables, read by index. `trellis.one_hot` is the same thing as a matrix."""

from .._core.dispatch import xp_of_pair
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A
from ._arguments import check_indices, whole_number


def embedding(indices: A, weight: A, /, *, padding_index: int | None = None) -> A:
    """weight[indices]: one row of `weight` (rows, ...) for each index.

    The row `padding_index` gets no gradient. Indices outside 0..rows-1 raise; compiled code cannot
    check them, and there the result depends on the framework.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.embedding(np.array([2, 0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[5., 6.],
           [1., 2.]])
    """
    try:
        if has_nest(indices, weight):
            return call_leafwise(embedding, (indices, weight), {"padding_index": padding_index})
        xp = xp_of_pair(indices, weight)
        if len(weight.shape) < 1:
            raise ShapeError(
                f"embedding() expects weight of shape (rows, ...), got {tuple(weight.shape)}."
            )
        count = weight.shape[0]
        check_indices("embedding", "indices", indices, count)
        if padding_index is None:
            return xp.take(weight, indices, axis=0)
        number = whole_number("embedding", "padding_index", padding_index)
        if not -count <= number < count:
            raise ArgumentError(
                f"embedding() expects padding_index from {-count} to {count - 1}, got "
                f"{padding_index}."
            )
        rows = xp.arange(count, device=xp.device(weight))
        is_padding = xp.reshape(rows == number % count, (count,) + (1,) * (len(weight.shape) - 1))
        weight = xp.where(is_padding, xp.stop_gradient(weight), weight)
        return xp.take(weight, indices, axis=0)
    except Exception as error:
        return explain(error, embedding)
