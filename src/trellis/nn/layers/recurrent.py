"""Recurrent layers over sequences: stacked, in one direction or both.

The variables of a layer are `layer0`, `layer1`, ..., those of the backward direction
`layer0_reverse`, ..., each with `w` (in, gates * out), `r` (out, gates * out) and biases.
"""

from typing import Any, ClassVar, Unpack

from ..._array.creation import zeros_like
from ..._array.elementwise import add
from ..._array.manipulation import concat, flip, stack
from ..._array.reduction import sum as sum_of
from ..._core.container import Container
from ..._core.dispatch import xp_of
from ..._core.errors import ArgumentError
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional._padding import reversed_within
from ...functional.recurrent import gru_update, lstm_update, rnn_update
from ..init import Initializer
from .layer import GLOROT, ZEROS, Layer, Options


class _Recurrent(Layer):
    """What the recurrent layers share: stacking, directions, initial states."""

    gates: ClassVar[int]
    state_names: ClassVar[tuple[str, ...]] = ("h",)
    bias_names: ClassVar[tuple[str, ...]] = ("b",)

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        with_bias: bool = True,
        return_sequence: bool = True,
        return_state: bool = True,
        time_major: bool = False,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """A recurrent layer.

        Arguments:
            input_channels: size of the last axis of the input
            output_channels: size of the state, and of the last axis of the result
            num_layers: number of stacked layers
            bidirectional: whether each layer also runs backwards; results are concatenated
            with_bias: whether there are biases
            return_sequence: whether the result has all steps, or only the last
            return_state: whether the last states are returned too
            time_major: whether time is the first axis, not the one before the last
            weight_initializer: initial values of `w` and `r`
            bias_initializer: initial values of biases
            options: those of `Module`
        """
        if not 1 <= num_layers <= 10_000:
            raise ArgumentError(
                f"{type(self).__name__}() expects 1 to 10000 layers, got num_layers={num_layers}."
            )
        self._sizes, self._num_layers = (input_channels, output_channels), num_layers
        self._is_bidirectional, self._with_bias = bidirectional, with_bias
        self._return_sequence, self._return_state = return_sequence, return_state
        self._time_axis = 0 if time_major else -2
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(**options)

    def _names(self, layer: int) -> list[str]:
        forward = f"layer{layer}"
        return [forward, f"{forward}_reverse"] if self._is_bidirectional else [forward]

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        width, out = self._sizes
        make_w, make_b = self._initializers
        options: dict[str, Any] = {"dtype": dtype, "device": device}
        v = {}
        for layer in range(self._num_layers):
            for name in self._names(layer):
                v[name] = {
                    "w": make_w((width, self.gates * out), fan_in=width, fan_out=out, **options),
                    "r": make_w((out, self.gates * out), fan_in=out, fan_out=out, **options),
                }
                for bias in self.bias_names if self._with_bias else ():
                    v[name][bias] = make_b(
                        (self.gates * out,), fan_in=width, fan_out=out, **options
                    )
            width = out * len(self._names(layer))
        return v

    def _run(
        self, x: Array, states: list[Any], part: Container, padding: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        """One layer in one direction: all outputs and the last states."""
        raise NotImplementedError

    def _forward(
        self,
        x: A,
        initial_state: Any = None,
        *,
        lengths: Array | None = None,
        mask: Array | None = None,
    ) -> Any:
        """The outputs of the last layer (batch..., T, out), and the last states.

        A state has shape (layers * directions, batch..., out), layer by layer, forward before
        backward; a layer with several kinds of states takes and gives a tuple of these.

        Of padded sequences `lengths` (batch...) says how many steps are real, or `mask`, a bool of
        shape (batch..., T), which. At the others outputs are zero and states stay as they are, so
        the last state is that of the last real step; the backward direction begins there.
        """
        v = self.v
        many = len(self.state_names) > 1
        given = None if initial_state is None else (initial_state if many else (initial_state,))
        last: list[list[Any]] = [[] for _ in self.state_names]
        number = 0
        for layer in range(self._num_layers):
            outputs = []
            for name in self._names(layer):
                part = v[name]
                states = (
                    self._zeros(x, part) if given is None else [state[number] for state in given]
                )
                if name.endswith("_reverse"):
                    y, after = self._run_backwards(x, states, part, lengths, mask)
                else:
                    y, after = self._run(x, states, part, {"lengths": lengths, "mask": mask})
                outputs.append(y)
                for kind, state in zip(last, after, strict=True):
                    kind.append(state)
                number += 1
            x = outputs[0] if len(outputs) == 1 else concat(outputs, axis=-1)
        result: Any = x if self._return_sequence else self._last(last[0])
        if not self._return_state:
            return result
        stacked = [stack(kind, axis=0) for kind in last]
        return result, tuple(stacked) if many else stacked[0]

    def _run_backwards(self, x: Array, states: list[Any], part: Container, lengths: Array | None,
                       mask: Array | None) -> tuple[Any, list[Any]]:  # fmt: skip
        if lengths is not None:
            y, after = self._run(
                self._reversed(x, lengths), states, part, {"lengths": lengths, "mask": None}
            )
            return self._reversed(y, lengths), after
        axis = self._time_axis
        if mask is not None:
            mask = flip(mask, axis=0 if axis == 0 else -1)
        y, after = self._run(flip(x, axis=axis), states, part, {"lengths": None, "mask": mask})
        return flip(y, axis=axis), after

    def _reversed(self, x: Array, lengths: Array) -> Any:
        """The real steps in reverse order, each row within its length."""
        xp = xp_of(x)
        is_first = self._time_axis == 0 or len(x.shape) == 2
        ways = list(range(len(x.shape)))
        there, back = [ways[-2], *ways[:-2], ways[-1]], [*ways[1:-1], 0, ways[-1]]
        x = x if is_first else xp.permute_dims(x, tuple(there))
        x = reversed_within(xp, x, lengths)
        return x if is_first else xp.permute_dims(x, tuple(back))

    def _last(self, hidden: list[Any]) -> Any:
        """What the last layer ends with, both directions side by side."""
        n = len(self._names(0))
        return hidden[-1] if n == 1 else concat(hidden[-n:], axis=-1)

    def _zeros(self, x: Array, part: Container) -> list[Any]:
        xp, r = xp_of(x), part.r
        if x.dtype == r.dtype and type(x) is type(r) and xp.is_concrete(x):
            shape = tuple(x.shape)
            batch = shape[1:-1] if self._time_axis == 0 else shape[:-2]
            state = xp.zeros((*batch, r.shape[0]), dtype=x.dtype, device=xp.device(x))
        else:
            # By broadcasting: the batch may have sizes that are not known while tracing.
            column = sum_of(zeros_like(x[..., :1]), axis=self._time_axis)
            state = add(column, zeros_like(r[:, 0]))
        return [state] * len(self.state_names)

    def _bias(self, part: Container, name: str) -> Any:
        return part[name] if self._with_bias else None

    def extra_repr(self) -> str:
        more = f", num_layers={self._num_layers}" if self._num_layers > 1 else ""
        return f"{self._sizes[0]}, {self._sizes[1]}{more}" + (
            ", bidirectional=True" if self._is_bidirectional else ""
        )


class LSTM(_Recurrent):
    """Long short-term memory; see `trellis.lstm_update`. States are a pair (h, c).

    >>> import numpy as np, trellis
    >>> y, (h, c) = trellis.nn.LSTM(3, 4, num_layers=2)(np.ones((5, 7, 3), "float32"))
    >>> y.shape, h.shape, c.shape
    ((5, 7, 4), (2, 5, 4), (2, 5, 4))
    """

    gates = 4
    state_names = ("h", "c")

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        v = super()._create_variables(device=device, dtype=dtype)
        for part in v.values():
            for name in ("w", "r"):
                # To a backend they are filters without spatial axes, in the same order in memory.
                part[name] = xp_of(part[name]).laid_out_filters(part[name], 0, True)
        return v

    def _run(
        self, x: Array, states: list[Any], part: Container, padding: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        y, (h, c) = lstm_update(
            x,
            states[0],
            states[1],
            part.w,
            part.r,
            bias=self._bias(part, "b"),
            time_major=self._time_axis == 0,
            **padding,
        )
        return y, [h, c]


class GRU(_Recurrent):
    """Gated recurrent unit, with the gates in the order reset, update, new:

        r, z = sigmoid(x W + b + h R + rb);   n = tanh(x W + b + r * (h R + rb));   h = (1 - z) * n
        + z * h

    >>> import numpy as np, trellis
    >>> y, h = trellis.nn.GRU(3, 4, bidirectional=True)(np.ones((5, 7, 3), "float32"))
    >>> y.shape, h.shape
    ((5, 7, 8), (2, 5, 4))
    """

    gates = 3
    bias_names = ("b", "rb")

    def _run(
        self, x: Array, states: list[Any], part: Container, padding: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        y, h = gru_update(
            x,
            states[0],
            part.w,
            part.r,
            bias=self._bias(part, "b"),
            recurrent_bias=self._bias(part, "rb"),
            time_major=self._time_axis == 0,
            **padding,
        )
        return y, [h]


class RNN(_Recurrent):
    """The plain recurrent layer: `h = tanh(x W + b + h R)`, or with relu.

    >>> import numpy as np, trellis
    >>> y, h = trellis.nn.RNN(3, 4, nonlinearity="relu")(np.ones((5, 7, 3), "float32"))
    >>> y.shape, h.shape
    ((5, 7, 4), (1, 5, 4))
    """

    gates = 1

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        with_bias: bool = True,
        return_sequence: bool = True,
        return_state: bool = True,
        time_major: bool = False,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        nonlinearity: str = "tanh",
        **options: Unpack[Options],
    ):
        """A plain recurrent layer.

        Arguments:
            input_channels: size of the last axis of the input
            output_channels: size of the state, and of the last axis of the result
            num_layers: number of stacked layers
            bidirectional: whether each layer also runs backwards; results are concatenated
            with_bias: whether there are biases
            return_sequence: whether the result has all steps, or only the last
            return_state: whether the last states are returned too
            time_major: whether time is the first axis, not the one before the last
            weight_initializer: initial values of `w` and `r`
            bias_initializer: initial values of biases
            nonlinearity: "tanh" or "relu"
            options: those of `Module`
        """
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(
                f"RNN() knows the nonlinearities 'tanh' and 'relu', got {nonlinearity!r}."
            )
        self._nonlinearity = nonlinearity
        super().__init__(
            input_channels,
            output_channels,
            num_layers,
            bidirectional,
            with_bias,
            return_sequence,
            return_state,
            time_major,
            weight_initializer,
            bias_initializer,
            **options,
        )

    def _run(
        self, x: Array, states: list[Any], part: Container, padding: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        y, h = rnn_update(
            x,
            states[0],
            part.w,
            part.r,
            bias=self._bias(part, "b"),
            activation=self._nonlinearity,
            time_major=self._time_axis == 0,
            **padding,
        )
        return y, [h]
