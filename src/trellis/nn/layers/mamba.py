"""Mamba: a layer over sequences whose state depends on what it reads."""

from typing import Any, Unpack

from ..._array.creation import arange, ones
from ..._array.elementwise import exp, log
from ..._array.manipulation import broadcast_to
from ..._core.typing import A, Device, DTypeLike
from ...functional.activation import silu, softplus
from ...functional.state_space import selective_scan
from .conv import Conv1D
from .layer import Layer, Options
from .linear import Linear


class Mamba(Layer):
    """The block of Mamba (Gu and Dao, 2023): a gated, causal layer over (batch, length, channels).

    The time that it takes grows with the length, not with its square. Where y is computed from x,
    position t sees the positions up to t.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.Mamba(8, state_channels=4)
    >>> layer(np.ones((2, 5, 8), "float32")).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        state_channels: int = 16,
        expansion: int = 2,
        window: int = 4,
        delta_rank: int | None = None,
        **options: Unpack[Options],
    ):
        """A Mamba block.

        Arguments:
            embed_dim: width of the input and of the result
            state_channels: size of the state of each inner channel
            expansion: how many times wider the inner part is
            window: how many positions the convolution before the recurrence sees
            delta_rank: rank of the step sizes; a sixteenth of `embed_dim` unless given
            options: those of `Module`
        """
        inner = expansion * embed_dim
        rank = max(1, embed_dim // 16) if delta_rank is None else delta_rank
        self._sizes = (inner, state_channels, rank)
        self._in = Linear(embed_dim, 2 * inner, with_bias=False)
        self._conv = Conv1D(inner, inner, window, 1, [(window - 1, 0)], groups=inner)
        self._select = Linear(inner, rank + 2 * state_channels, with_bias=False)
        self._delta = Linear(rank, inner)
        self._out = Linear(inner, embed_dim, with_bias=False)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        inner, states, _ = self._sizes
        decays = arange(1, states + 1, dtype=dtype, device=device)
        return {
            "log_decay": broadcast_to(log(decays), (inner, states)) + 0,
            "skip": ones((inner,), dtype=dtype, device=device),
        }

    def _forward(self, x: A) -> Any:
        inner, states, rank = self._sizes
        both = self._in(x)
        y, gate = both[..., :inner], both[..., inner:]
        y = silu(self._conv(y))
        chosen = self._select(y)
        delta = softplus(self._delta(chosen[..., :rank]))
        b, c = chosen[..., rank : rank + states], chosen[..., rank + states :]
        v = self.v
        y = selective_scan(y, delta, -exp(v["log_decay"]), b, c, skip=v["skip"])
        return self._out(y * silu(gate))

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in self._sizes])
