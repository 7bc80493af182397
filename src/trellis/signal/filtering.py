"""Filters with feedback, sample after sample."""

from typing import Any

from .._array.control import scan
from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_array, check_one_axis, check_rank
from .._core.shapes import normal_axis
from .._core.typing import A, Backend
from ._samples import known_length, wide


def lfilter(b: A, a: A, x: A, /, *, axis: int = -1, zi: A | None = None) -> A | tuple[A, A]:
    """A signal through the filter with the coefficients `b` of its inputs and `a` of its outputs.

    a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + ... - a[1] y[n - 1] - ..., by the transposed direct form
    II. With `zi`, the delays at the beginning (along `axis`, as many as the longer of `b` and `a`
    has coefficients, less one), it returns the delays at the end too. It is a loop over samples,
    which torch.compile unrolls; without feedback (one number in `a`) it is a convolution.

    >>> import numpy as np, trellis
    >>> b, a = np.array([0.5, 0.5]), np.array([1.0, -0.5])
    >>> trellis.signal.lfilter(b, a, np.array([1.0, 1.0, 1.0, 1.0]))
    array([0.5   , 1.25  , 1.625 , 1.8125])
    """
    try:
        for values in (b, a, x, zi):
            if values is not None:
                check_array(values)
        check_one_axis(axis)
        check_rank("lfilter", x, 1)
        for name, values in (("b", b), ("a", a)):
            if len(values.shape) != 1 or not values.shape[0]:
                raise ShapeError(
                    f"lfilter() expects {name} to be a vector of one number or more, got shape "
                    f"{tuple(values.shape)}."
                )
        xp, (b, a, x, zi) = _of_one_dtype("lfilter", b, a, x, zi)
        place = normal_axis(axis, len(x.shape))
        found, end = _filtered(xp, b, a, xp.moveaxis(x, place, 0), _delays(xp, b, a, x, zi, place))
        found = xp.moveaxis(found, 0, place)
        return found if zi is None else (found, xp.moveaxis(end, 0, place))
    except Exception as error:
        return explain(error, lfilter)


def sosfilt(sos: A, x: A, /, *, axis: int = -1) -> A:
    """A signal through a cascade of filters of order 2, which is more exact than one of high order.

    Each row of `sos` has the three coefficients of inputs, then the three of outputs.

    >>> import numpy as np, trellis
    >>> sos = np.array([[0.5, 0.5, 0.0, 1.0, -0.5, 0.0]])
    >>> trellis.signal.sosfilt(sos, np.array([1.0, 1.0, 1.0, 1.0]))
    array([0.5   , 1.25  , 1.625 , 1.8125])
    """
    try:
        for values in (sos, x):
            check_array(values)
        check_one_axis(axis)
        check_rank("sosfilt", x, 1)
        if len(sos.shape) != 2 or sos.shape[1] != 6 or not sos.shape[0]:
            raise ShapeError(
                f"sosfilt() expects rows of six coefficients, got shape {tuple(sos.shape)}."
            )
        xp, (sos, x) = _of_one_dtype("sosfilt", sos, x)
        place = normal_axis(axis, len(x.shape))
        known_length("sosfilt", x, place)
        moved = xp.moveaxis(x, place, 0)
        sections = [sos[i, :] / sos[i, 3] for i in range(int(sos.shape[0]))]
        zero = xp.zeros_like(moved[0, ...] if int(moved.shape[0]) else xp.sum(moved, axis=0))

        def step(state: Any, sample: Any) -> tuple[Any, Any]:
            after = []
            for section, (first, second) in zip(sections, state):
                y = section[0] * sample + first
                later = section[1] * sample - section[4] * y + second
                after.append((later, section[2] * sample - section[5] * y))
                sample = y
            return after, sample

        start = [(zero, zero) for _ in sections]
        return xp.moveaxis(scan(step, start, moved)[1], 0, place)
    except Exception as error:
        return explain(error, sosfilt)


def _of_one_dtype(function: str, *xs: Any) -> tuple[Backend, list[Any]]:
    given = [x for x in xs if x is not None]
    xp = xp_of_all(*given)
    wider = [wide(function, xp, x) for x in given]
    kind = xp.result_type(*wider)
    cast = [None if x is None else xp.astype(wide(function, xp, x), kind, copy=False) for x in xs]
    return xp, cast


def _delays(xp: Backend, b: Any, a: Any, x: Any, zi: Any, place: int) -> Any:
    """What is kept from sample to sample, along the first axis."""
    order = max(int(b.shape[0]), int(a.shape[0])) - 1
    rest = tuple([int(n) for i, n in enumerate(x.shape) if i != place])
    if zi is None:
        return xp.zeros((order, *rest), dtype=x.dtype, device=xp.device(x))
    expected = (*rest[:place], order, *rest[place:])
    if tuple(zi.shape) != expected:
        raise ShapeError(f"lfilter() needs zi of shape {expected}, got {tuple(zi.shape)}.")
    return xp.moveaxis(zi, place, 0)


def _filtered(xp: Backend, b: Any, a: Any, x: Any, delays: Any) -> tuple[Any, Any]:
    """The outputs, and the delays at the end; along the first axis."""
    order, rank = int(delays.shape[0]), len(x.shape)
    feedback = int(a.shape[0]) > 1
    first = a[0]
    b = xp.pad(b / first, ((0, order + 1 - int(b.shape[0])),))
    a = xp.pad(a / first, ((0, order + 1 - int(a.shape[0])),))
    if not feedback:
        return _convolved(xp, b, x, delays)
    shape = (order, *[1] * (rank - 1))
    inputs, outputs = xp.reshape(b[1:], shape), xp.reshape(a[1:], shape)
    none = ((0, 1), *[(0, 0)] * (rank - 1))

    def step(state: Any, sample: Any) -> tuple[Any, Any]:
        y = b[0] * sample + state[0, ...]
        return xp.pad(state[1:, ...], none) + inputs * sample - outputs * y, y

    end, found = scan(step, delays, x)
    return found, end


def _convolved(xp: Backend, b: Any, x: Any, delays: Any) -> tuple[Any, Any]:
    """The same without feedback: a sum over the inputs before, all samples at once."""
    order, rest = int(delays.shape[0]), [(0, 0)] * (len(x.shape) - 1)
    length = known_length("lfilter", x, 0)
    padded = xp.pad(x, ((order, order), *rest))
    windows = xp.sliding_window(padded, order + 1, axis=0)
    whole = xp.matmul(windows, xp.flip(b, axis=0))
    whole = whole + xp.pad(delays, ((0, length), *rest))
    return whole[:length, ...], whole[length:, ...]
