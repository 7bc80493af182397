"""Sampled functions: interpolation, integrals, derivatives, convolution, phases; written over other
functions."""

import math
from typing import Any, Literal, get_args

from .._core.arrays import plain, shape_of
from .._core.dispatch import xp_of, xp_of_all, xp_of_pair
from .._core.dtypes import COMPLEX
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.explain import explain
from .._core.guards import (
    check_array,
    check_flag,
    check_number,
    check_one_axis,
    check_over,
    check_rank,
    check_scalar,
    real_floats,
)
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import check_lengths, normal_axes, normal_axis, one_of
from .._core.typing import A, Array, Backend, Scalar

_Mode = Literal["full", "same", "valid"]


# Element by element -------------------------------------------------------------------------------


def angle(x: A, /, *, deg: bool = False) -> A:
    """The angle of complex numbers in the plane, from -pi to pi; real numbers lie on its real axis.

    >>> import numpy as np, trellis
    >>> trellis.angle(np.array([1j, -1.0]), deg=True)
    array([ 90., 180.])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(angle, (x,), {"deg": deg})
        check_flag(deg)
        xp = xp_of(x)
        kind = xp.dtype_name(x.dtype)
        if kind in COMPLEX:
            found = xp.atan2(xp.imag(x), xp.real(x))
        else:
            y = real_floats(xp, "angle", x)
            found = xp.atan2(xp.zeros_like(y), y)
        return xp.multiply(found, 180 / math.pi) if deg else found
    except Exception as error:
        return explain(error, angle)


def deg2rad(x: A, /) -> A:
    """Degrees as radians.

    >>> import numpy as np, trellis
    >>> trellis.deg2rad(np.array([0.0, 180.0]))
    array([0.        , 3.14159265])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(deg2rad, (x,), {})
        xp = xp_of(x)
        return xp.multiply(real_floats(xp, "deg2rad", x), math.pi / 180)
    except Exception as error:
        return explain(error, deg2rad)


def rad2deg(x: A, /) -> A:
    """Radians as degrees.

    >>> import numpy as np, trellis
    >>> trellis.rad2deg(np.array([0.0, np.pi]))
    array([  0., 180.])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(rad2deg, (x,), {})
        xp = xp_of(x)
        return xp.multiply(real_floats(xp, "rad2deg", x), 180 / math.pi)
    except Exception as error:
        return explain(error, rad2deg)


def sinc(x: A, /) -> A:
    """sin(pi x) / (pi x), and 1 at 0.

    >>> import numpy as np, trellis
    >>> trellis.sinc(np.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(sinc, (x,), {})
        xp = xp_of(x)
        y = real_floats(xp, "sinc", x)
        kind = xp.dtype_name(y.dtype)
        if kind not in ("float32", "float64"):  # rounded once, at the end
            return xp.astype(_sinc(xp, xp.astype(y, "float32"), 1e-2), kind)
        return _sinc(xp, y, 1e-2 if kind == "float32" else 1e-4)
    except Exception as error:
        return explain(error, sinc)


def _sinc(xp: Backend, x: Any, near: float) -> Any:
    y = x * math.pi
    # Next to 0 the series, whose derivatives are right there; the quotient's are not.
    is_near = xp.abs(y) < near
    safe = xp.where(is_near, xp.ones_like(y), y)
    square = y * y
    return xp.where(is_near, 1 - square / 6 * (1 - square / 20), xp.sin(safe) / safe)


# Along an axis ------------------------------------------------------------------------------------


def unwrap(
    x: A, /, *, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi
) -> A:
    """Phases without jumps: multiples of `period` are added so that neighbours differ by at most
    half of it. Smaller jumps than `discont` stay.

    >>> import numpy as np, trellis
    >>> trellis.unwrap(np.array([0.0, 1.0, 3.0, 0.5]), period=4.0)
    array([0. , 1. , 3. , 4.5])
    """
    try:
        if isinstance(x, dict):
            options = {"discont": discont, "axis": axis, "period": period}
            return call_leafwise(unwrap, (x,), options)
        check_one_axis(axis)
        check_number(period)
        if discont is not None:
            check_number(discont)
        check_rank("unwrap", x, 1)
        xp = xp_of(x)
        y = xp.moveaxis(real_floats(xp, "unwrap", x), normal_axis(axis, len(x.shape)), -1)
        step = y[..., 1:] - y[..., :-1]
        half = period / 2
        wrapped = xp.subtract(xp.remainder(xp.add(step, half), period), half)
        wrapped = xp.where(xp.logical_and(wrapped == -half, step > 0), half, wrapped)
        change = wrapped - step
        least = half if discont is None else max(discont, half)
        # Whole periods are added: only the phases themselves have a derivative.
        change = xp.stop_gradient(xp.where(xp.abs(step) < least, xp.zeros_like(step), change))
        found = xp.concat([y[..., :1], y[..., 1:] + xp.cumulative_sum(change, axis=-1)], axis=-1)
        return xp.moveaxis(found, -1, axis)
    except Exception as error:
        return explain(error, unwrap)


def trapezoid(y: A, x: A | None = None, /, *, dx: float = 1.0, axis: int = -1) -> A:
    """The integral of samples `y` along `axis` by the trapezoidal rule.

    The samples lie at `x`, which is a vector or has the shape of `y`, or `dx` apart.

    >>> import numpy as np, trellis
    >>> trellis.trapezoid(np.array([0.0, 1.0, 4.0]), np.array([0.0, 1.0, 2.0])).item()
    3.0
    """
    try:
        if has_nest(y, x):
            return call_leafwise(trapezoid, (y, x), {"dx": dx, "axis": axis})
        check_one_axis(axis)
        check_scalar(dx)
        check_rank("trapezoid", y, 1)
        xp = xp_of_all(y, x)
        place = normal_axis(axis, len(y.shape))
        values = xp.moveaxis(_inexact(xp, "trapezoid", y), place, -1)
        means = xp.divide(values[..., 1:] + values[..., :-1], 2)
        if x is None:
            return xp.sum(xp.multiply(means, plain(dx)), axis=-1)
        check_array(x)
        check_rank("trapezoid", x, 1)
        points = real_floats(xp, "trapezoid", x)
        points = points if len(x.shape) == 1 else xp.moveaxis(points, place, -1)
        check_lengths("trapezoid", "y and x", values.shape[-1], points.shape[-1])
        return xp.sum(means * (points[..., 1:] - points[..., :-1]), axis=-1)
    except Exception as error:
        return explain(error, trapezoid)


def _inexact(xp: Backend, name: str, x: Array) -> Any:
    return x if xp.dtype_name(x.dtype) in COMPLEX else real_floats(xp, name, x)


def gradient(
    x: A,
    /,
    *spacing: float | A,
    axis: int | tuple[int, ...] | None = None,
    edge_order: int = 1,
) -> A | list[A]:
    """Derivatives of samples along each axis by central differences, one-sided at the ends.

    `spacing` is the distance of samples, or their places as a vector: one for all axes or one for
    each. The result is a list of arrays, or one array for one axis. (`trellis.grad` is the
    derivative of a function.)

    >>> import numpy as np, trellis
    >>> trellis.gradient(np.array([0.0, 1.0, 4.0, 9.0]))
    array([1., 2., 4., 5.])
    """
    try:
        if has_nest(x, *spacing):
            options = {"axis": axis, "edge_order": edge_order}
            return call_leafwise(gradient, (x, *spacing), options)
        if axis is not None and type(axis) is not int:
            check_over(axis)
        if edge_order not in (1, 2) or isinstance(edge_order, bool):
            raise ArgumentError(f"gradient() expects edge_order to be 1 or 2, got {edge_order!r}.")
        xp = xp_of_all(x, *spacing)
        y = _inexact(xp, "gradient", x)
        axes = normal_axes(axis, len(x.shape))
        if len(spacing) not in (0, 1, len(axes)):
            raise ArgumentTypeError(
                f"gradient() expects one spacing, or one for each of {len(axes)} axes, got "
                f"{len(spacing)}."
            )
        steps = spacing if len(spacing) == len(axes) else (spacing or (1.0,)) * len(axes)
        found = [_derivative(xp, y, a, h, edge_order) for a, h in zip(axes, steps, strict=True)]
        return found[0] if len(found) == 1 else found
    except Exception as error:
        return explain(error, gradient)


def _derivative(xp: Backend, x: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    check_scalar(spacing)
    y = xp.moveaxis(x, axis, -1)
    count = y.shape[-1]
    if count is None or count < edge_order + 1:
        raise ShapeError(
            f"gradient() with edge_order={edge_order} needs {edge_order + 1} samples along each "
            f"axis, got {count}."
        )
    if shape_of(spacing) == ():
        before = after = plain(spacing)
    else:
        points = real_floats(xp, "gradient", spacing)
        if len(points.shape) != 1:
            raise ShapeError(f"gradient() expects places as a vector, got {tuple(points.shape)}.")
        check_lengths("gradient", "samples and places", count, points.shape[0])
        steps = points[1:] - points[:-1]
        before, after = steps[:-1], steps[1:]
    slopes = xp.divide(y[..., 1:] - y[..., :-1], steps if after is not before else after)
    # The parabola through three samples: its slope in the middle, and at either end.
    left, right = slopes[..., :-1], slopes[..., 1:]
    both = before + after
    middle = xp.divide(xp.multiply(left, after) + xp.multiply(right, before), both)
    if edge_order == 1:
        first, last = slopes[..., :1], slopes[..., -1:]
    else:
        bend = xp.divide(right - left, both)
        one, other = (before, after) if after is before else (before[:1], after[-1:])
        first = left[..., :1] - xp.multiply(bend[..., :1], one)
        last = right[..., -1:] + xp.multiply(bend[..., -1:], other)
    return xp.moveaxis(xp.concat([first, middle, last], axis=-1), -1, axis)


# Interpolation ------------------------------------------------------------------------------------


def interp(
    x: A | Scalar,
    points: A,
    values: A,
    /,
    *,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> A:
    """Values of the polygon through (points, values) at `x`; the points are in rising order.

    Outside of the points it is the first or the last value, or `left` and `right`. With `period`
    the polygon repeats, and the points are sorted first. Differentiable in `x` and in the values.

    >>> import numpy as np, trellis
    >>> trellis.interp(np.array([0.5, 9.0]), np.array([0.0, 1.0]), np.array([10.0, 20.0]))
    array([15., 20.])
    """
    try:
        if has_nest(x, points, values):
            options = {"left": left, "right": right, "period": period}
            return call_leafwise(interp, (x, points, values), options)
        for number in (left, right, period):
            if number is not None:
                check_number(number)
        check_array(points)
        check_array(values)
        xp = xp_of_all(x, points, values)
        for name, array in (("points", points), ("values", values)):
            if len(array.shape) != 1:
                raise ShapeError(f"interp() expects a vector of {name}, got {tuple(array.shape)}.")
        check_lengths("interp", "points and values", points.shape[0], values.shape[0])
        if not points.shape[0]:
            raise ShapeError("interp() needs a known number of points, at least 1.")
        return _on_polygon(xp, x, points, values, (left, right, period))
    except Exception as error:
        return explain(error, interp)


def _on_polygon(
    xp: Backend,
    x: Any,
    points: Any,
    values: Any,
    options: tuple[float | None, float | None, float | None],
) -> Any:
    left, right, period = options
    y = _inexact(xp, "interp", values)
    places = real_floats(xp, "interp", points)
    at = xp.asarray(x, dtype=places.dtype, device=xp.device(points)) if _is_number(x) else x
    at = real_floats(xp, "interp", at)
    if period is not None:
        if not period > 0:
            raise ArgumentError(f"interp() expects a positive period, got {period}.")
        at, places = xp.remainder(at, period), xp.remainder(places, period)
        order = xp.argsort(places)
        places, y = xp.take(places, order, axis=0), xp.take(y, order, axis=0)
        ends = xp.subtract(places[-1:], period), xp.add(places[:1], period)
        places = xp.concat([ends[0], places, ends[1]])
        y = xp.concat([y[-1:], y, y[:1]])
        left = right = None
    count = places.shape[0]
    if count == 1:
        found = xp.add(xp.zeros_like(at), y[0])
    else:
        upper = xp.searchsorted(xp.stop_gradient(places), xp.stop_gradient(at), side="right")
        upper = xp.clip(upper, 1, count - 1)
        low, high = xp.take(places, upper - 1), xp.take(places, upper)
        first, second = xp.take(y, upper - 1), xp.take(y, upper)
        width = high - low
        is_step = width == 0  # two values at one point: the later one counts
        share = (at - low) / xp.where(is_step, xp.ones_like(width), width)
        between = xp.add(first, xp.multiply(xp.subtract(second, first), share))
        found = xp.where(is_step, second, between)
        found = xp.where(at == high, second, found)
    found = xp.where(at < places[0], y[0] if left is None else left, found)
    found = xp.where(at > places[-1], y[-1] if right is None else right, found)
    return xp.where(xp.isnan(at), xp.nan, found)


def _is_number(x: object) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def digitize(x: A, bins: A, /, *, right: bool = False) -> A:
    """Into which bin each element falls: the number of edges at or below it.

    `bins` are edges in rising order, or in falling order, for which the number of edges above it
    counts. With `right=True` an element on an edge belongs to the bin below.

    >>> import numpy as np, trellis
    >>> trellis.digitize(np.array([0.2, 6.4, 3.0]), np.array([0.0, 1.0, 2.5, 4.0]))
    array([1, 4, 3])
    """
    try:
        if has_nest(x, bins):
            return call_leafwise(digitize, (x, bins), {"right": right})
        check_flag(right)
        check_array(bins)
        xp = xp_of_pair(x, bins)
        if len(bins.shape) != 1 or bins.shape[0] is None:
            raise ShapeError(f"digitize() expects a vector of edges, got {tuple(bins.shape)}.")
        if xp.dtype_name(bins.dtype) == "bool":
            raise DtypeError("digitize() expects numbers as edges, got an array of bool.")
        steps = bins[1:] >= bins[:-1], bins[1:] <= bins[:-1]
        is_rising, is_falling = [xp.all(step) for step in steps]
        if xp.is_concrete(bins) and not (bool(is_rising) or bool(is_falling)):
            raise ArgumentError("digitize() expects edges in rising or in falling order.")
        side: Literal["left", "right"] = "left" if right else "right"
        rising = xp.searchsorted(bins, x, side=side)
        falling = bins.shape[0] - xp.searchsorted(xp.flip(bins, axis=0), x, side=side)
        return xp.where(is_rising, rising, xp.astype(falling, rising.dtype))
    except Exception as error:
        return explain(error, digitize)


# Convolution --------------------------------------------------------------------------------------


def convolve(x1: A, x2: A, /, *, mode: _Mode = "full") -> A:
    """The discrete convolution of two vectors: everything ("full"), as long as the longer one
    ("same"), or only where both overlap whole ("valid").

    >>> import numpy as np, trellis
    >>> trellis.convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(convolve, (x1, x2), {"mode": mode})
        return _convolved("convolve", x1, x2, mode)
    except Exception as error:
        return explain(error, convolve)


def correlate(x1: A, x2: A, /, *, mode: _Mode = "valid") -> A:
    """The cross-correlation of two vectors: sums of x1[i + k] * conj(x2[i]) for each k.

    >>> import numpy as np, trellis
    >>> trellis.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]), mode="same")
    array([2. , 3.5, 3. ])
    """
    try:
        if has_nest(x1, x2):
            return call_leafwise(correlate, (x1, x2), {"mode": mode})
        check_array(x2)
        xp = xp_of_pair(x1, x2)
        other = xp.conj(x2) if xp.dtype_name(x2.dtype) in COMPLEX else x2
        return _convolved("correlate", x1, xp.flip(other, axis=0), mode)
    except Exception as error:
        return explain(error, correlate)


def _convolved(name: str, x1: Any, x2: Any, mode: str) -> Any:
    one_of(name, "mode", mode, get_args(_Mode))
    check_array(x1)
    check_array(x2)
    xp = xp_of_pair(x1, x2)
    for x in (x1, x2):
        if len(x.shape) != 1 or not x.shape[0]:
            raise ShapeError(
                f"{name}() expects two vectors of a known length, at least 1, got "
                f"{tuple(x1.shape)} and {tuple(x2.shape)}."
            )
    dtype = xp.result_type(x1, x2)
    if xp.dtype_name(dtype) == "bool":
        raise DtypeError(f"{name}() multiplies and adds numbers, got arrays of bool.")
    long, short = xp.astype(x1, dtype, copy=False), xp.astype(x2, dtype, copy=False)
    is_swapped = long.shape[0] < short.shape[0]
    if is_swapped:
        long, short = short, long
    m = short.shape[0]
    before, after = {"full": (m - 1, m - 1), "valid": (0, 0), "same": (m // 2, (m - 1) // 2)}[mode]
    # As NumPy has it, which turns its result round where the second vector is the longer one.
    around = (after, before) if is_swapped and name == "correlate" else (before, after)
    padded = xp.pad(long, (around,), mode="constant", constant_values=0)
    windows = xp.sliding_window(padded, m, axis=-1)
    return xp.matmul(windows, xp.flip(short, axis=0))
