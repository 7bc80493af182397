"""Activations as modules."""

from collections.abc import Callable
from typing import Any, Unpack

from ..._array.elementwise import tanh
from ..._core.errors import ArgumentError
from ..._core.typing import A, Device, DTypeLike
from ...functional import activation as functions
from ..init import Constant, Initializer
from .layer import FunctionLayer, Layer, Options


class _Activation(FunctionLayer):
    """A function of one array."""

    def _forward(self, x: A) -> A:
        y: A = type(self)._function(x, **self._options)
        return y


class _AlongAxis(_Activation):
    def __init__(self, axis: int = -1, **options: Unpack[Options]):
        """A function along an axis.

        Arguments:
            axis: the axis along which it works
            options: those of `Module`
        """
        self._begin(options, axis=axis)


class ReLU(_Activation):
    """`max(x, 0)`."""

    _function = staticmethod(functions.relu)


class ReLU6(_Activation):
    """`min(max(x, 0), 6)`."""

    _function = staticmethod(functions.relu6)


class Sigmoid(_Activation):
    """`1 / (1 + exp(-x))`."""

    _function = staticmethod(functions.sigmoid)


class LogSigmoid(_Activation):
    """`log(sigmoid(x))`."""

    _function = staticmethod(functions.log_sigmoid)


class HardSigmoid(_Activation):
    """A sigmoid of straight lines."""

    _function = staticmethod(functions.hard_sigmoid)


class HardSwish(_Activation):
    """`x * hard_sigmoid(x)`."""

    _function = staticmethod(functions.hard_swish)


class Softsign(_Activation):
    """`x / (1 + |x|)`."""

    _function = staticmethod(functions.softsign)


class SELU(_Activation):
    """The self-normalising exponential unit."""

    _function = staticmethod(functions.selu)


class SiLU(_Activation):
    """`x * sigmoid(x)`."""

    _function = staticmethod(functions.silu)


class Mish(_Activation):
    """`x * tanh(softplus(x))`."""

    _function = staticmethod(functions.mish)


class Tanh(_Activation):
    """The hyperbolic tangent."""

    _function = staticmethod(tanh)


class LeakyReLU(_Activation):
    """x where it is positive, `negative_slope * x` elsewhere."""

    _function = staticmethod(functions.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, **options: Unpack[Options]):
        """A leaky rectifier.

        Arguments:
            negative_slope: the slope where x is negative
            options: those of `Module`
        """
        self._begin(options, negative_slope=negative_slope)


class ELU(_Activation):
    """x where it is positive, `alpha * (exp(x) - 1)` elsewhere."""

    _function = staticmethod(functions.elu)

    def __init__(self, alpha: float = 1.0, **options: Unpack[Options]):
        """An exponential unit.

        Arguments:
            alpha: minus the limit for large negative x
            options: those of `Module`
        """
        self._begin(options, alpha=alpha)


class HardTanh(_Activation):
    """x, held between `low` and `high`."""

    _function = staticmethod(functions.hard_tanh)

    def __init__(self, low: float = -1.0, high: float = 1.0, **options: Unpack[Options]):
        """A cut-off.

        Arguments:
            low: the least value
            high: the largest value
            options: those of `Module`
        """
        self._begin(options, low=low, high=high)


class Softplus(_Activation):
    """`log(1 + exp(beta * x)) / beta`."""

    _function = staticmethod(functions.softplus)

    def __init__(self, beta: float = 1.0, **options: Unpack[Options]):
        """A smooth rectifier.

        Arguments:
            beta: how sharp the bend is
            options: those of `Module`
        """
        self._begin(options, beta=beta)


class GELU(_Activation):
    """x times the normal distribution function of x, or its approximation by tanh."""

    _function = staticmethod(functions.gelu)

    def __init__(self, approximate: bool = False, **options: Unpack[Options]):
        """A rectifier by the normal distribution.

        Arguments:
            approximate: whether by tanh instead of erf
            options: those of `Module`
        """
        self._begin(options, approximate=approximate)


class Softmax(_AlongAxis):
    """Exponentials that sum to 1 along an axis."""

    _function = staticmethod(functions.softmax)


class LogSoftmax(_AlongAxis):
    """The logarithm of softmax."""

    _function = staticmethod(functions.log_softmax)


class GLU(_AlongAxis):
    """The first half along an axis times the sigmoid of the second."""

    _function = staticmethod(functions.glu)


class GEGLU(_AlongAxis):
    """The gated unit with gelu in place of the sigmoid."""

    _function = staticmethod(functions.geglu)


class SwiGLU(_AlongAxis):
    """The gated unit with silu in place of the sigmoid."""

    _function = staticmethod(functions.swiglu)


class PReLU(Layer):
    """`w * x` where x is negative, with a learned `w`: one number, or one per channel.

    >>> import numpy as np, trellis
    >>> trellis.nn.PReLU()(np.array([-2.0, 2.0]))
    array([-0.5,  2. ])
    """

    def __init__(
        self,
        num_channels: int = 1,
        axis: int = -1,
        initial: float = 0.25,
        **options: Unpack[Options],
    ):
        """A rectifier with a slope that is learned.

        Arguments:
            num_channels: how many slopes there are: 1, or one per channel
            axis: the axis of the channels
            initial: initial values of the slopes
            options: those of `Module`
        """
        self._num_channels, self._axis = num_channels, axis
        self._initializer: Initializer = Constant(initial)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        n = self._num_channels
        return {"w": self._initializer((n,), fan_in=n, fan_out=n, dtype=dtype, device=device)}

    def _forward(self, x: A) -> A:
        return functions.prelu(x, self.v.w, axis=self._axis)


_BY_NAME: dict[str, Callable[[Any], Any]] = {
    "tanh": tanh,
    "relu": functions.relu,
    "gelu": functions.gelu,
    "silu": functions.silu,
    "sigmoid": functions.sigmoid,
    "elu": functions.elu,
    "selu": functions.selu,
    "mish": functions.mish,
    "leaky_relu": functions.leaky_relu,
    "softplus": functions.softplus,
}


def activation_function(activation: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of that name, or the function or module itself."""
    if not isinstance(activation, str):
        return activation
    if activation not in _BY_NAME:
        raise ArgumentError(
            f"Unknown activation {activation!r}; give a function, or one of {', '.join(_BY_NAME)}."
        )
    return _BY_NAME[activation]
