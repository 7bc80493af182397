"""A mixture of experts: a few of many feed-forward networks for each token."""

from typing import Any, Unpack

from ..._array.casting import astype
from ..._array.creation import one_hot
from ..._array.indexing import take
from ..._array.manipulation import reshape
from ..._array.reduction import mean
from ..._array.reduction import sum as sum_of
from ..._array.searching import topk
from ..._array.sorting import argsort
from ..._array.statistics import bincount
from ..._core.errors import ArgumentError
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional.activation import softmax
from ...functional.dense import grouped_matmul
from ..init import Initializer
from .activation import activation_function
from .layer import GLOROT, Layer, Options
from .transformer import Activation


class MixtureOfExperts(Layer):
    """Two dense layers with an activation, of which there are `num_experts`; each token goes to the
    `num_chosen` that the router prefers, and gets their results weighted.

    The tokens are sorted by expert and multiplied group by group, so the work does not grow with
    the number of experts, and no token is dropped.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.MixtureOfExperts(8, 16, num_experts=4)
    >>> layer(np.ones((2, 5, 8), "float32")).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        feedforward_channels: int,
        num_experts: int = 8,
        num_chosen: int = 2,
        activation: Activation = "gelu",
        weight_initializer: Initializer = GLOROT,
        **options: Unpack[Options],
    ):
        """A mixture of experts.

        Arguments:
            embed_dim: width of the input and of the result
            feedforward_channels: width inside each expert
            num_experts: number of experts
            num_chosen: how many of them a token goes to
            activation: a function, or the name of one, between the two dense layers
            weight_initializer: initial values of the weights
            options: those of `Module`
        """
        if not 1 <= num_chosen <= num_experts:
            raise ArgumentError(
                f"MixtureOfExperts chooses 1 to num_experts={num_experts} experts for a token, got "
                f"num_chosen={num_chosen}."
            )
        self._sizes = (embed_dim, feedforward_channels, num_experts)
        self._num_chosen = num_chosen
        self._activation = activation_function(activation)
        self._initializer = weight_initializer
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        wide, inner, count = self._sizes
        options: dict[str, Any] = {"dtype": dtype, "device": device}

        def made(shape: tuple[int, ...], fans: tuple[int, int]) -> Any:
            return self._initializer(shape, fan_in=fans[0], fan_out=fans[1], **options)

        return {
            "router": made((wide, count), (wide, count)),
            "w1": made((count, wide, inner), (wide, inner)),
            "w2": made((count, inner, wide), (inner, wide)),
        }

    def route(self, x: A) -> tuple[A, A]:
        """The weights of the chosen experts, which add up to 1, and their numbers: two arrays of
        the shape of `x` but for its last axis, which has `num_chosen` elements."""
        scores, experts = topk(softmax(x @ self.v["router"], axis=-1), self._num_chosen)
        return scores / sum_of(scores, axis=-1, keepdims=True), experts

    def balance_loss(self, x: A) -> A:
        """1 if all experts get as many tokens, more if not: a term of the loss that keeps the
        router from choosing the same ones always (Switch Transformers, equation 4)."""
        count = self._sizes[2]
        rows = reshape(x, (-1, self._sizes[0]))
        probabilities = softmax(rows @ self.v["router"], axis=-1)
        _, experts = topk(probabilities, self._num_chosen)
        chosen = one_hot(reshape(experts, (-1,)), count, dtype=rows.dtype)
        return count * sum_of(mean(chosen, axis=0) * mean(probabilities, axis=0))

    def _forward(self, x: A) -> Any:
        wide, _, count = self._sizes
        v, chosen = self.v, self._num_chosen
        rows = reshape(x, (-1, wide))
        scores, experts = self.route(rows)
        places = reshape(experts, (-1,))
        order: Any = argsort(places)
        sizes = bincount(places, length=count)
        # The row of token i for its j-th expert is i * chosen + j.
        inner = grouped_matmul(take(rows, order // chosen, axis=0), v["w1"], sizes)
        results = grouped_matmul(self._activation(inner), v["w2"], sizes)
        back = take(results, argsort(order), axis=0)
        weighted = reshape(back, (-1, chosen, wide)) * astype(scores, x.dtype)[..., None]
        return reshape(sum_of(weighted, axis=1), _shape(x))

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in (*self._sizes, self._num_chosen)])


def _shape(x: Array) -> tuple[int, ...]:
    shape = tuple(x.shape)
    return (-1 if shape[0] is None else shape[0], *shape[1:])
