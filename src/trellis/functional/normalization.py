"""Normalisation. Sums run in float32 at least; the mean is subtracted before squaring."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._core.dispatch import xp_of, xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_axis, check_number, check_numbers
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import normal_axis
from .._core.typing import A, Array, Backend
from ._arguments import axes_of, known, whole_number
from ._layout import along
from ._precision import parameter, precise
from ._statistics import joined_moments, shares


def layer_norm(
    x: A,
    /,
    *,
    axis: int | tuple[int, ...] = -1,
    weight: A | None = None,
    bias: A | None = None,
    epsilon: float = 1e-5,
) -> A:
    """(x - mean) / sqrt(var + epsilon) along `axis`, times weight, plus bias.

    `weight` and `bias` have the sizes of the axes that are normalised.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.layer_norm(np.array([[1.0, 3.0]]), epsilon=0.0)
    array([[-1.,  1.]])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if type(epsilon) is not float:
            check_number(epsilon)
        if has_nest(x, weight, bias):
            kwargs = {"axis": axis, "weight": weight, "bias": bias, "epsilon": epsilon}
            return call_leafwise(layer_norm, (x,), kwargs)
        xp = xp_of_all(x, weight, bias)
        axes = axes_of(axis, len(x.shape))
        if not axes:
            raise ShapeError("layer_norm() needs one axis or more to normalise along, got none.")
        _check_affine("layer_norm", tuple([x.shape[a] for a in axes]), weight, bias)
        y, kind = precise("layer_norm", xp, x)
        weight, bias = parameter(xp, weight, y), parameter(xp, bias, y)
        y = xp.layer_norm(y, weight, bias, axes=axes, epsilon=epsilon)
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, layer_norm)


def rms_norm(
    x: A,
    /,
    *,
    axis: int | tuple[int, ...] = -1,
    weight: A | None = None,
    epsilon: float = 1e-6,
) -> A:
    """x / sqrt(mean(x**2) + epsilon) along `axis`, times weight.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.rms_norm(np.array([[3.0, 4.0]]), weight=np.array([5.0, 5.0]), epsilon=0.5)
    array([[4.16025147, 5.54700196]])
    """
    try:
        if type(axis) is not int:
            check_axis(axis)
        if type(epsilon) is not float:
            check_number(epsilon)
        if _is_plain(x, weight, axis):
            xp = xp_of(x)
            return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight
        if has_nest(x, weight):
            return call_leafwise(
                rms_norm, (x,), {"axis": axis, "weight": weight, "epsilon": epsilon}
            )
        xp = xp_of_all(x, weight)
        ndim = len(x.shape)
        axes = axes_of(axis, ndim)
        _check_affine("rms_norm", tuple([x.shape[a] for a in axes]), weight, None)
        y, kind = precise("rms_norm", xp, x)
        weight = parameter(xp, weight, y)
        y = y / xp.sqrt(xp.mean(y * y, axis=axes, keepdims=True) + epsilon)
        y = y if weight is None else y * along(xp, weight, axes, ndim)
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, rms_norm)


def _is_plain(x: Array, weight: Array | None, axis: int | Sequence[int]) -> bool:
    """Whether this is the usual case: the last axis, and a weight of one type with x, in a type
    that needs no other for its sums."""
    if (axis != -1 and axis != (-1,)) or type(weight) is not type(x) or isinstance(x, dict):
        return False
    fits = len(x.shape) > 0 and tuple(weight.shape) == tuple(x.shape[-1:])
    return fits and x.dtype == weight.dtype and str(x.dtype).endswith(_PLAIN)


# The ends of the types' names: "float32", "torch.float32", "<dtype: 'float32'>".
_PLAIN = ("float32", "float64", "float32'>", "float64'>")


def batch_norm(
    x: A,
    mean: A,
    variance: A,
    /,
    *,
    weight: A | None = None,
    bias: A | None = None,
    training: bool = False,
    momentum: float = 0.1,
    epsilon: float = 1e-5,
    channel_axis: int = -1,
) -> tuple[A, A, A]:
    """Normalise each channel: (y, new mean, new variance).

    While `training`, with the mean and variance of this batch, and the new running values are
    (1 - momentum) * old + momentum * batch, where the running variance takes the unbiased one (n -
    1), as in torch. Otherwise with the given `mean` and `variance`, which are returned unchanged.
    No
    gradient flows into the new values. `mean`, `variance`, `weight` and `bias` have shape
    (channels,).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x = np.array([[1.0], [3.0]])
    >>> F.batch_norm(x, np.zeros(1), np.ones(1), training=True, momentum=0.5, epsilon=0.0)
    (array([[-1.],
           [ 1.]]), array([1.]), array([1.5]))
    """
    try:
        if type(epsilon) is not float:
            check_number(epsilon)
        if has_nest(x, mean, variance, weight, bias):
            kwargs = {"weight": weight, "bias": bias, "training": training, "momentum": momentum,
                      "epsilon": epsilon, "channel_axis": channel_axis}  # fmt: skip
            return call_leafwise(batch_norm, (x, mean, variance), kwargs)
        xp = xp_of_all(x, mean, variance, weight, bias)
        ndim = len(x.shape)
        channel = normal_axis(channel_axis, ndim)
        _check_affine("batch_norm", (x.shape[channel],), weight, bias, mean=mean, variance=variance)
        y, kind = precise("batch_norm", xp, x)
        axes = tuple([i for i in range(ndim) if i != channel])
        if training:
            how = shares()
            count = _count("batch_norm", xp, y, channel, 2 if how is None else 1)
            done = None if how is not None else _by_kernel(xp, y, weight, bias, channel, epsilon)
            if done is not None:
                y, batch_mean, batch_variance = done
                mean = _blended(xp, mean, batch_mean, momentum)
                variance = _blended(xp, variance, batch_variance, momentum)
                return xp.astype(y, kind, copy=False), mean, variance
            if how is None:
                rough = xp.stop_gradient(xp.mean(y, axis=axes, keepdims=True))
                y = y - rough
                rest = xp.mean(y, axis=axes, keepdims=True)
                y = y - rest
                spread = xp.mean(y * y, axis=axes, keepdims=True)
                middle = xp.stop_gradient(rough + rest)
            else:
                y, middle, spread, count = joined_moments(xp, y, axes, count, how)
            batch_mean = xp.reshape(middle, (-1,))
            batch_variance = xp.reshape(xp.stop_gradient(spread), (-1,)) * (count / (count - 1))
            mean = _blended(xp, mean, batch_mean, momentum)
            variance = _blended(xp, variance, batch_variance, momentum)
        else:
            y = y - along(xp, parameter(xp, mean, y), (channel,), ndim)
            spread = along(xp, parameter(xp, variance, y), (channel,), ndim)
        scale = 1 / xp.sqrt(spread + epsilon)
        if weight is not None:
            scale = scale * along(xp, parameter(xp, weight, y), (channel,), ndim)
        y = y * scale
        if bias is not None:
            y = y + along(xp, parameter(xp, bias, y), (channel,), ndim)
        return xp.astype(y, kind, copy=False), mean, variance
    except Exception as error:
        return explain(error, batch_norm)


def _by_kernel(
    xp: Backend, x: Array, weight: Array | None, bias: Array | None, channel: int, epsilon: float
) -> Any:
    """What the backend's own kernel gives, or None."""
    weight = None if weight is None else parameter(xp, weight, x)
    bias = None if bias is None else parameter(xp, bias, x)
    return xp.batch_norm(x, weight, bias, channel=channel, epsilon=epsilon)


def _blended(xp: Backend, old: Array, new: Array, momentum: float) -> Any:
    """The running value, in its own dtype."""
    dtype = old.dtype
    blended = (1 - momentum) * parameter(xp, xp.stop_gradient(old), new) + momentum * new
    return xp.astype(blended, dtype, copy=False)


def _count(name: str, xp: Backend, x: Array, channel: int, least: int = 2) -> Any:
    """How many elements a channel has: a number, or an array where tracing does not know it."""
    sizes = [size for axis, size in enumerate(x.shape) if axis != channel]
    if any([size is None for size in sizes]):
        return xp.sum(xp.ones_like(x)) / x.shape[channel]
    count = math.prod(sizes)
    if count < least:
        raise ShapeError(
            f"{name}() while training needs more than one value per channel, got x of shape "
            f"{tuple(x.shape)}. Use a larger batch, or training=False."
        )
    return count


def group_norm(
    x: A,
    groups: int,
    /,
    *,
    weight: A | None = None,
    bias: A | None = None,
    epsilon: float = 1e-5,
    channel_axis: int = -1,
) -> A:
    """Normalise each of `groups` of channels of each sample, over its channels and positions.

    Axis 0 is the batch; `weight` and `bias` have shape (channels,).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2, epsilon=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    try:
        if type(epsilon) is not float:
            check_number(epsilon)
        if has_nest(x, weight, bias):
            fn = partial(group_norm, epsilon=epsilon, channel_axis=channel_axis)
            return call_leafwise(fn, (x, groups), {"weight": weight, "bias": bias})
        xp = xp_of_all(x, weight, bias)
        shape, ndim = tuple(x.shape), len(x.shape)
        channel = normal_axis(channel_axis, ndim)
        channels = shape[channel]
        count = whole_number("group_norm", "groups", groups)
        if ndim < 2 or channel == 0:
            raise ShapeError(
                "group_norm() expects x with a batch axis first, then channels, got x of shape "
                f"{shape}."
            )
        if count < 1 or channels % count:
            raise ShapeError(
                f"group_norm() cannot split {channels} channels into {groups} groups of "
                "equal size; "
                f"use a divisor of {channels}."
            )
        _check_affine("group_norm", (channels,), weight, bias)
        y, kind = precise("group_norm", xp, x)
        sizes = known(*shape)
        y = xp.reshape(y, (*sizes[:channel], count, channels // count, *sizes[channel + 1 :]))
        axes = tuple([i for i in range(1, ndim + 1) if i != channel])
        y = xp.reshape(xp.layer_norm(y, None, None, axes=axes, epsilon=epsilon), sizes)
        return xp.astype(_affine(xp, y, weight, bias, channel), kind, copy=False)
    except Exception as error:
        return explain(error, group_norm)


def instance_norm(
    x: A,
    /,
    *,
    weight: A | None = None,
    bias: A | None = None,
    epsilon: float = 1e-5,
    channel_axis: int = -1,
) -> A:
    """Normalise each channel of each sample over its positions.

    Axis 0 is the batch; `weight` and `bias` have shape (channels,).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.instance_norm(np.array([[[1.0], [3.0]]]), epsilon=0.0)
    array([[[-1.],
            [ 1.]]])
    """
    try:
        if type(epsilon) is not float:
            check_number(epsilon)
        if has_nest(x, weight, bias):
            fn = partial(instance_norm, epsilon=epsilon, channel_axis=channel_axis)
            return call_leafwise(fn, (x,), {"weight": weight, "bias": bias})
        xp = xp_of_all(x, weight, bias)
        ndim = len(x.shape)
        channel = normal_axis(channel_axis, ndim)
        if ndim < 3 or channel == 0:
            raise ShapeError(
                "instance_norm() expects x with a batch axis first, then positions and channels, "
                f"got shape {tuple(x.shape)}."
            )
        _check_affine("instance_norm", (x.shape[channel],), weight, bias)
        y, kind = precise("instance_norm", xp, x)
        axes = tuple([i for i in range(1, ndim) if i != channel])
        y = xp.layer_norm(y, None, None, axes=axes, epsilon=epsilon)
        return xp.astype(_affine(xp, y, weight, bias, channel), kind, copy=False)  # type: ignore[arg-type]
    except Exception as error:
        return explain(error, instance_norm)


def local_response_norm(
    x: A,
    /,
    *,
    size: int = 5,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    channel_axis: int = -1,
) -> A:
    """x / (k + alpha / size * sum of x**2 over `size` neighbouring channels) ** beta.

    The window of channel c goes from c - size // 2 to c + (size - 1) // 2; outside there are zeros.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.local_response_norm(np.array([[3.0, 4.0]]), size=3, alpha=3.0, beta=1.0)
    array([[0.11538462, 0.15384615]])
    """
    try:
        if not (type(alpha) is type(beta) is type(k) is float):
            check_numbers(alpha, beta, k)
        if has_nest(x):
            fn = partial(local_response_norm, size=size, channel_axis=channel_axis)
            return call_leafwise(fn, (x,), {"alpha": alpha, "beta": beta, "k": k})
        xp = xp_of(x)
        ndim = len(x.shape)
        channel = normal_axis(channel_axis, ndim)
        width = whole_number("local_response_norm", "size", size)
        if width < 1:
            raise ShapeError(f"local_response_norm() expects size of at least 1, got {size!r}.")
        y, kind = precise("local_response_norm", xp, x)
        pairs = [(0, 0)] * ndim
        pairs[channel] = (width // 2, (width - 1) // 2)
        squares = xp.pad(y * y, pairs)
        before, channels = (slice(None),) * channel, x.shape[channel]
        total = squares[(*before, slice(0, channels))]
        for i in range(1, width):
            total = total + squares[(*before, slice(i, i + channels))]
        return xp.astype(y / (k + (alpha / width) * total) ** beta, kind, copy=False)
    except Exception as error:
        return explain(error, local_response_norm)


def spectral_norm(
    weight: A, u: A, /, *, iterations: int = 1, axis: int = 0, epsilon: float = 1e-12
) -> tuple[A, A]:
    """Divide `weight` by its largest singular value, found by iteration: (new weight, new u).

    `weight` counts as a matrix of `axis` by all the rest. `u` is the estimate of the left singular
    vector, of shape (weight.shape[axis],): begin with random numbers and pass the new one to the
    next call; with enough iterations any start will do. No gradient flows through the iteration, as
    in torch.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> w, u = F.spectral_norm(np.diag([3.0, 1.0]), np.array([1.0, 1.0]), iterations=30)
    >>> np.round(w, 6)
    array([[1.      , 0.      ],
           [0.      , 0.333333]])
    """
    try:
        if type(epsilon) is not float:
            check_number(epsilon)
        if has_nest(weight, u):
            return call_leafwise(
                spectral_norm,
                (weight, u),
                {"iterations": iterations, "axis": axis, "epsilon": epsilon},
            )
        xp = xp_of_all(weight, u)
        place = normal_axis(axis, len(weight.shape))
        rows = weight.shape[place]
        if tuple(u.shape) != (rows,):
            raise ShapeError(
                f"spectral_norm() expects u of shape ({rows},) for axis {axis} of weight, got "
                f"{tuple(u.shape)}."
            )
        if whole_number("spectral_norm", "iterations", iterations) < 1:
            raise ShapeError(f"spectral_norm() expects at least 1 iteration, got {iterations!r}.")
        w, kind = precise("spectral_norm", xp, weight)
        matrix = xp.reshape(xp.moveaxis(w, place, 0), (rows, -1))
        fixed = xp.stop_gradient(matrix)
        left = xp.expand_dims(parameter(xp, xp.stop_gradient(u), w), axis=1)
        for _ in range(iterations):
            right = _unit(xp, xp.matmul(xp.matrix_transpose(fixed), left), epsilon)
            left = _unit(xp, xp.matmul(fixed, right), epsilon)
        sigma = xp.sum(left * xp.matmul(matrix, right))
        return xp.astype(w / sigma, kind, copy=False), xp.astype(left[:, 0], u.dtype, copy=False)
    except Exception as error:
        return explain(error, spectral_norm)


def _unit(xp: Backend, x: Array, epsilon: float) -> Any:
    length = xp.sqrt(xp.sum(x * x))
    return x / xp.where(length > epsilon, length, epsilon)


def _affine(xp: Backend, y: Array, weight: Array | None, bias: Array | None, channel: int) -> Any:
    ndim = len(y.shape)
    if weight is not None:
        y = y * along(xp, parameter(xp, weight, y), (channel,), ndim)
    return y if bias is None else y + along(xp, parameter(xp, bias, y), (channel,), ndim)


def _check_affine(name: str, shape: tuple[Any, ...], weight: Array | None, bias: Array | None,
                  **others: Array | None) -> None:  # fmt: skip
    for what, array in {"weight": weight, "bias": bias, **others}.items():
        if array is not None and tuple(array.shape) != shape:
            raise ShapeError(f"{name}() expects {what} of shape {shape}, got {tuple(array.shape)}.")
