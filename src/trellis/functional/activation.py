"""Activations. At a kink the derivative is that of the flat side, as in the frameworks' own."""

from collections.abc import Callable
from typing import Any

from .._core.dispatch import xp_of, xp_of_pair
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.guards import check_axis, check_number, check_numbers, check_rank
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import normal_axis
from .._core.typing import A, Array, Backend
from ._layout import along
from ._precision import all_precise, applied

# Self-normalising constants: https://arxiv.org/abs/1706.02515
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


# Piecewise linear ---------------------------------------------------------------------------------


def relu(x: A, /) -> A:
    """max(x, 0); integers stay integers.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    try:
        return xp_of(x).relu(x)
    except Exception as error:
        return explain(error, relu)


def relu6(x: A, /) -> A:
    """min(max(x, 0), 6).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.relu6(np.array([-1.0, 2.0, 9.0]))
    array([0., 2., 6.])
    """
    return applied("relu6", _between, x, 0.0, 6.0)


def leaky_relu(x: A, /, *, negative_slope: float = 0.01) -> A:
    """x where x > 0, else negative_slope * x.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.leaky_relu(np.array([-1.0, 2.0]), negative_slope=0.25)
    array([-0.25,  2.  ])
    """
    try:
        if type(negative_slope) is not float:
            check_number(negative_slope)
        return applied("leaky_relu", _leaky_relu, x, negative_slope)
    except Exception as error:
        return explain(error, leaky_relu)


def _leaky_relu(xp: Backend, x: Array, slope: float) -> Any:
    return xp.leaky_relu(x, negative_slope=slope)


def prelu(x: A, weight: A, /, *, axis: int = -1) -> A:
    """x where x > 0, else weight * x, with one weight for all or one for each channel along `axis`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.prelu(np.array([[-1.0, -1.0]]), np.array([0.5, 2.0]))
    array([[-0.5, -2. ]])
    """
    try:
        if has_nest(x, weight):
            return call_leafwise(prelu, (x, weight), {"axis": axis})
        xp = xp_of_pair(x, weight)
        ndim, shape = len(x.shape), tuple(weight.shape)
        if shape not in ((), (1,)):
            place = normal_axis(axis, ndim)
            if len(shape) != 1 or shape[0] != x.shape[place]:
                raise ShapeError(
                    f"prelu() expects weight of shape () or ({x.shape[place]},), one for each "
                    f"channel along axis {axis} of x {tuple(x.shape)}, got {shape}."
                )
            weight = along(xp, weight, (place,), ndim)
        (y, slope), kind = all_precise("prelu", xp, x, weight)
        return xp.astype(xp.where(y > 0, y, slope * y), kind, copy=False)
    except Exception as error:
        return explain(error, prelu)


def hard_sigmoid(x: A, /) -> A:
    """relu6(x + 3) / 6.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.hard_sigmoid(np.array([-4.0, 0.0, 1.5]))
    array([0.  , 0.5 , 0.75])
    """
    return applied("hard_sigmoid", _hard_sigmoid, x)


def _hard_sigmoid(xp: Backend, x: Array) -> Any:
    return _between(xp, x / 6 + 0.5, 0.0, 1.0)


def hard_swish(x: A, /) -> A:
    """x * hard_sigmoid(x).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.hard_swish(np.array([-4.0, 1.5, 5.0]))
    array([-0.   ,  1.125,  5.   ])
    """
    return applied("hard_swish", _hard_swish, x)


def _hard_swish(xp: Backend, x: Array) -> Any:
    return x * _hard_sigmoid(xp, x)


def hard_tanh(x: A, /, *, low: float = -1.0, high: float = 1.0) -> A:
    """min(max(x, low), high).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.hard_tanh(np.array([-4.0, 0.5, 5.0]))
    array([-1. ,  0.5,  1. ])
    """
    try:
        if not (type(low) is type(high) is float):
            check_numbers(low, high)
        if low > high:
            raise ArgumentError(f"hard_tanh() needs low below high, got {low} and {high}.")
        return applied("hard_tanh", _between, x, low, high)
    except Exception as error:
        return explain(error, hard_tanh)


def _between(xp: Backend, x: Array, low: float, high: float) -> Any:
    # Not `clip`, whose derivative at the ends differs from framework to framework.
    return xp.hard_tanh(x, low=low, high=high)


# Smooth -------------------------------------------------------------------------------------------


def sigmoid(x: A, /) -> A:
    """1 / (1 + exp(-x)), without intermediate overflow.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.sigmoid(np.array([-1e4, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """
    return applied("sigmoid", sigmoid_of, x)


def sigmoid_of(xp: Backend, x: Array) -> Any:
    """The formula of `sigmoid` for floats of full precision."""
    return xp.sigmoid(x)


def log_sigmoid(x: A, /) -> A:
    """log(sigmoid(x)) = -softplus(-x), finite for every finite x.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.log_sigmoid(np.array([-1e4, 0.0]))
    array([-1.00000000e+04, -6.93147181e-01])
    """
    return applied("log_sigmoid", log_sigmoid_of, x)


def log_sigmoid_of(xp: Backend, x: Array) -> Any:
    """The formula of `log_sigmoid` for floats of full precision."""
    return -softplus_of(xp, -x)


def softplus(x: A, /, *, beta: float = 1.0) -> A:
    """log(1 + exp(beta * x)) / beta, without intermediate overflow.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.softplus(np.array([0.0, 1e4]))
    array([6.93147181e-01, 1.00000000e+04])
    """
    try:
        if type(beta) is not float:
            check_number(beta)
        if beta == 1:
            return applied("softplus", softplus_of, x)
        return applied("softplus", _scaled_softplus, x, beta)
    except Exception as error:
        return explain(error, softplus)


def softplus_of(xp: Backend, x: Array) -> Any:
    """The formula of `softplus` for floats of full precision."""
    return xp.softplus(x)


def _scaled_softplus(xp: Backend, x: Array, beta: float) -> Any:
    return softplus_of(xp, beta * x) / beta


def softsign(x: A, /) -> A:
    """x / (1 + |x|).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.softsign(np.array([-1.0, 3.0]))
    array([-0.5 ,  0.75])
    """
    return applied("softsign", _softsign, x)


def _softsign(xp: Backend, x: Array) -> Any:
    return x / (1 + xp.abs(x))


def elu(x: A, /, *, alpha: float = 1.0) -> A:
    """x where x > 0, else alpha * (exp(x) - 1).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.elu(np.array([-1.0, 2.0]))
    array([-0.63212056,  2.        ])
    """
    try:
        if type(alpha) is not float:
            check_number(alpha)
        return applied("elu", _elu, x, alpha, 1.0)
    except Exception as error:
        return explain(error, elu)


def selu(x: A, /) -> A:
    """1.0507 * elu(x, alpha=1.6733): keeps mean 0 and variance 1 through deep dense networks.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.selu(np.array([-1.0, 2.0]))
    array([-1.11133074,  2.10140197])
    """
    return applied("selu", _elu, x, _SELU_ALPHA, _SELU_SCALE)


def _elu(xp: Backend, x: Array, alpha: float, scale: float) -> Any:
    return xp.elu(x, alpha=alpha, scale=scale)


def gelu(x: A, /, *, approximate: bool = False) -> A:
    """x * P(Z <= x) for a normal Z, exactly by erf; or `approximate` by tanh.

    Exact: x/2 * (1 + erf(x / sqrt(2))). Approximate: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715
    x**3))).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.gelu(np.array([-1.0, 2.0]))
    array([-0.15865525,  1.95449974])
    """
    return applied("gelu", _gelu_by_tanh if approximate else _gelu, x)


def _gelu(xp: Backend, x: Array) -> Any:
    return xp.gelu(x)


def _gelu_by_tanh(xp: Backend, x: Array) -> Any:
    return xp.gelu(x, approximate=True)


def silu(x: A, /) -> A:
    """x * sigmoid(x), also called swish.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.silu(np.array([-1.0, 2.0]))
    array([-0.26894142,  1.76159416])
    """
    return applied("silu", _silu, x)


def _silu(xp: Backend, x: Array) -> Any:
    return xp.silu(x)


def mish(x: A, /) -> A:
    """x * tanh(softplus(x)).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.mish(np.array([-1.0, 2.0]))
    array([-0.30340146,  1.94395896])
    """
    return applied("mish", _mish, x)


def _mish(xp: Backend, x: Array) -> Any:
    return x * xp.tanh(softplus_of(xp, x))


# Along an axis ------------------------------------------------------------------------------------


def softmax(x: A, /, *, axis: int | tuple[int, ...] = -1) -> A:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; -inf gives exactly 0.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.softmax(np.array([1e4, 1e4, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return applied("softmax", _softmax, x, axis)
    except Exception as error:
        return explain(error, softmax)


def _softmax(xp: Backend, x: Array, axis: int) -> Any:
    check_rank("softmax", x, 1)
    return xp.softmax(x, axis=axis)


def log_softmax(x: A, /, *, axis: int | tuple[int, ...] = -1) -> A:
    """log(softmax(x)) = x - logsumexp(x) along `axis`, finite for every finite x.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.log_softmax(np.array([1e4, 0.0]))
    array([     0., -10000.])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return applied("log_softmax", log_softmax_of, x, axis)
    except Exception as error:
        return explain(error, log_softmax)


def log_softmax_of(xp: Backend, x: Array, axis: int) -> Any:
    """The formula of `log_softmax` for floats of full precision."""
    check_rank("log_softmax", x, 1)
    return xp.log_softmax(x, axis=axis)


def glu(x: A, /, *, axis: int = -1) -> A:
    """a * sigmoid(b) for the two halves a, b of `x` along `axis`: the gate is the second half.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.glu(np.array([3.0, 0.0]))
    array([1.5])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return applied("glu", _gated, x, "glu", sigmoid_of, axis)
    except Exception as error:
        return explain(error, glu)


def geglu(x: A, /, *, axis: int = -1, approximate: bool = False) -> A:
    """a * gelu(b) for the two halves a, b of `x` along `axis`: the gate is the second half.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.geglu(np.array([3.0, 2.0]))
    array([5.86349921])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return applied("geglu", _gated, x, "geglu", _gelu_by_tanh if approximate else _gelu, axis)
    except Exception as error:
        return explain(error, geglu)


def swiglu(x: A, /, *, axis: int = -1) -> A:
    """a * silu(b) for the two halves a, b of `x` along `axis`: the gate is the second half.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.swiglu(np.array([3.0, 2.0]))
    array([5.28478247])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        return applied("swiglu", _gated, x, "swiglu", _silu, axis)
    except Exception as error:
        return explain(error, swiglu)


def _gated(xp: Backend, x: Array, name: str, gate: Callable[..., Any], axis: int) -> Any:
    place = normal_axis(axis, len(x.shape))
    size = x.shape[place]
    if size is None or size % 2:
        raise ShapeError(
            f"{name}() splits axis {axis} of x into two halves, but its size is {size} in "
            f"{tuple(x.shape)}."
        )
    before = (slice(None),) * place
    return x[(*before, slice(0, size // 2))] * gate(xp, x[(*before, slice(size // 2, size))])
