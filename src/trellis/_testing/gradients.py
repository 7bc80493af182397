"""Gradients against central finite differences, on any backend."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import tree
from .._core.arrays import is_array
from .._core.dispatch import xp_of_any
from .._core.kinds import check_arguments
from .._core.shapes import one_of
from .._gradients.transforms import jvp, vjp
from . import report


def check_gradients(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    order: int = 2,
    modes: Sequence[str] = ("rev", "fwd"),
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Compare the derivatives of `fn` by all its float arguments with central differences in
    float64.

    `args` are arrays or pytrees of one backend; integer and bool arrays, and everything that is not
    an array, are passed on as constants. Mode "rev" checks `vjp` element by element, "fwd" checks
    `jvp` along a direction; `order=2` also checks the derivative of the gradient. Steps are 1e-6 *
    max(1, |x|): the error of central differences is then about 1e-10 * |f|, far below the
    tolerances. On JAX this needs 64-bit types, and a function that can be compiled is: it is called
    many times.

    >>> import numpy as np
    >>> from trellis.testing import check_gradients
    >>> check_gradients(lambda x, y: np.sin(x) * y, (np.array([0.5, 1.0]), np.array([2.0, 3.0])))
    """
    check_arguments(check_gradients, locals())
    one_of("check_gradients", "order", order, (1, 2))
    leaves, spec = tree.flatten(list(args))
    xp = xp_of_any(*[x for x in leaves if is_array(x)])
    is_float = [is_array(x) and x.dtype in xp.FLOAT_DTYPES for x in leaves]
    start = [xp.astype(x, "float64") for x, ok in zip(leaves, is_float, strict=True) if ok]

    def on_floats(*floats: Any) -> list[Any]:
        remaining = list(floats)
        filled = [remaining.pop(0) if ok else x for x, ok in zip(leaves, is_float, strict=True)]
        ys = tree.leaves(fn(*tree.unflatten(spec, filled)))
        return [y for y in ys if is_array(y) and y.dtype in xp.FLOAT_DTYPES]

    _check(on_floats, start, xp, order, tuple(modes), rtol, atol, "first")
    report(*start)


def _check(
    fn: Callable[..., list[Any]],
    xs: list[Any],
    xp: Any,
    order: int,
    modes: tuple[str, ...],
    rtol: float,
    atol: float,
    which: str,
) -> None:
    points = [np.array(xp.to_numpy(x), dtype=np.float64) for x in xs]
    quick = xp.for_many_calls(fn, xs)
    outputs = [xp.to_numpy(y) for y in quick(*xs)]
    weights = [_direction(y.shape, 3) for y in outputs]

    def loss(values: list[Any]) -> float:
        ys = quick(*[_native(value, x, xp) for value, x in zip(values, xs, strict=True)])
        return float(sum([np.sum(w * xp.to_numpy(y)) for w, y in zip(weights, ys, strict=True)]))

    tangents = [_direction(point.shape, 5) for point in points]

    def derivatives(*xs: Any) -> tuple[list[Any], list[Any]]:
        pulled: list[Any] = []
        pushed: list[Any] = []
        if "rev" in modes:
            ys, pull = vjp(fn, *xs)
            pulled = list(pull([_native(w, y, xp) for w, y in zip(weights, ys, strict=True)]))
        if "fwd" in modes:
            natives = tuple([_native(t, x, xp) for t, x in zip(tangents, xs, strict=True)])
            pushed = list(jvp(fn, tuple(xs), natives)[1])
        return pulled, pushed

    # Both in one function: one compilation where calls are compiled.
    gradients, pushed = xp.for_many_calls(derivatives, xs)(*xs)
    if "rev" in modes:
        for i, (gradient, point) in enumerate(zip(gradients, points, strict=True)):
            expected = _differences(loss, points, i)
            _compare(
                xp.to_numpy(gradient), expected, rtol, atol, f"{which}-order reverse", i, point
            )
    if "fwd" in modes:
        actual = sum([np.sum(w * xp.to_numpy(t)) for w, t in zip(weights, pushed, strict=True)])
        step = 1e-6
        ahead = loss([p + step * t for p, t in zip(points, tangents, strict=True)])
        behind = loss([p - step * t for p, t in zip(points, tangents, strict=True)])
        expected = (ahead - behind) / (2 * step)
        _compare(
            np.asarray(actual), np.asarray(expected), rtol, atol, f"{which}-order forward", 0, None
        )
    if order > 1:

        def gradient_of(*floats: Any) -> list[Any]:
            ys, pull = vjp(fn, *floats)
            return list(pull([_native(w, y, xp) for w, y in zip(weights, ys, strict=True)]))

        _check(gradient_of, xs, xp, order - 1, modes, rtol, atol, "second")


def _native(value: Any, like: Any, xp: Any) -> Any:
    return xp.asarray(np.asarray(value), dtype=like.dtype, device=xp.device(like))


def _direction(shape: tuple[int, ...], salt: int) -> Any:
    """Fixed, irregular, of size about 1: no accident of symmetry can hide an error."""
    count = int(np.prod(shape))
    return (((7 * np.arange(count) + salt) % 11 - 5) / 4 + 0.13).reshape(shape)


def _differences(loss: Callable[[list[Any]], float], points: list[Any], i: int) -> Any:
    result = np.zeros(points[i].shape)
    for index in np.ndindex(points[i].shape):
        step = 1e-6 * max(1.0, abs(points[i][index]))
        sides = []
        for sign in (1, -1):
            moved = [point.copy() if k == i else point for k, point in enumerate(points)]
            moved[i][index] += sign * step
            sides.append(loss(moved))
        result[index] = (sides[0] - sides[1]) / (2 * step)
    return result


def _compare(
    actual: Any, expected: Any, rtol: float, atol: float, what: str, argument: int, point: Any
) -> None:
    if actual.shape != expected.shape:
        raise AssertionError(
            f"{what} derivative by argument {argument}: shape {actual.shape}, not {expected.shape}."
        )
    # Where the loss is large, its rounding error limits the differences: scale the floor with it.
    floor = atol * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    wrong = ~(np.abs(actual - expected) <= floor + rtol * np.abs(expected))
    if np.any(wrong):
        at = tuple([int(k) for k in np.argwhere(wrong)[0]])
        raise AssertionError(
            f"{what} derivative by argument {argument} is wrong at {at} ({int(wrong.sum())} of "
            f"{wrong.size}): got {actual[at]!r}, central differences give {expected[at]!r}"
            + (f" at x = {point!r}." if point is not None else ".")
        )
