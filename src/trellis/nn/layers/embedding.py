"""Vectors for indices."""

from typing import Any, Unpack

from ..._array.creation import arange, zeros_like
from ..._array.manipulation import expand_dims
from ..._array.searching import where
from ..._core.errors import ArgumentError
from ..._core.typing import A, Device, DTypeLike
from ...functional.embedding import embedding
from ..init import Initializer, Normal
from .layer import Layer, Options

_STANDARD = Normal(0.0, 1.0)


class Embedding(Layer):
    """Row i of `w` for each index i.

    With `padding_index`, that row begins with zeros and gets no gradient.

    >>> import numpy as np, trellis
    >>> trellis.nn.Embedding(10, 4)(np.array([[1, 2, 1]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_index: int | None = None,
        weight_initializer: Initializer = _STANDARD,
        **options: Unpack[Options],
    ):
        """A table of vectors.

        Arguments:
            num_embeddings: number of rows
            embedding_dim: size of a row
            padding_index: a row that stays zero
            weight_initializer: initial values of `w`
            options: those of `Module`
        """
        if padding_index is not None and not 0 <= padding_index < num_embeddings:
            raise ArgumentError(
                f"Embedding() expects padding_index from 0 to {num_embeddings - 1}, "
                f"got {padding_index}."
            )
        self._sizes, self._padding_index = (num_embeddings, embedding_dim), padding_index
        self._initializer = weight_initializer
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        rows, width = self._sizes
        w = self._initializer((rows, width), fan_in=rows, fan_out=width, dtype=dtype, device=device)
        if self._padding_index is not None:
            is_padding = expand_dims(arange(rows, device=device) == self._padding_index, axis=1)
            w = where(is_padding, zeros_like(w), w)
        return {"w": w}

    def _forward(self, indices: A) -> A:
        return embedding(indices, self.v.w, padding_index=self._padding_index)

    def extra_repr(self) -> str:
        return f"{self._sizes[0]}, {self._sizes[1]}"
