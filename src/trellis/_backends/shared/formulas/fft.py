"""Fourier transforms over several axes, and of Hermitian arrays, from those over one axis."""

from typing import Any

from ...._core.guards import check_rank
from ...._core.shapes import normal_axes, normal_axis
from ...array_api import Axes, Native, Sizes
from . import xp

_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def hfft(x: Native, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Native:
    return xp.fft.irfft(xp.conj(x), n=n, axis=axis, norm=_OPPOSITE[norm])


def ihfft(x: Native, /, *, n: int | None = None, axis: int = -1, norm: Any = "backward") -> Native:
    return xp.conj(xp.fft.rfft(x, n=n, axis=axis, norm=_OPPOSITE[norm]))


def _plan(x: Native, s: Sizes, axes: Axes) -> list[tuple[int, int | None]]:
    """Axis and length of every transform."""
    ndim = len(x.shape)
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    places = [normal_axis(a, ndim) for a in axes]  # type: ignore[union-attr]
    lengths = [None] * len(places) if s is None else [None if n == -1 else n for n in s]
    return list(zip(places, lengths, strict=True))


def fftn(x: Native, /, *, s: Sizes = None, axes: Axes = None, norm: Any = "backward") -> Native:
    for axis, n in _plan(x, s, axes):
        x = xp.fft.fft(x, n=n, axis=axis, norm=norm)
    return x


def ifftn(x: Native, /, *, s: Sizes = None, axes: Axes = None, norm: Any = "backward") -> Native:
    for axis, n in _plan(x, s, axes):
        x = xp.fft.ifft(x, n=n, axis=axis, norm=norm)
    return x


def rfftn(x: Native, /, *, s: Sizes = None, axes: Axes = None, norm: Any = "backward") -> Native:
    check_rank("rfftn", x, 1)
    plan = _plan(x, s, axes)
    axis, n = plan[-1]
    x = xp.fft.rfft(x, n=n, axis=axis, norm=norm)
    for axis, n in plan[:-1]:
        x = xp.fft.fft(x, n=n, axis=axis, norm=norm)
    return x


def irfftn(x: Native, /, *, s: Sizes = None, axes: Axes = None, norm: Any = "backward") -> Native:
    check_rank("irfftn", x, 1)
    plan = _plan(x, s, axes)
    for axis, n in plan[:-1]:
        x = xp.fft.ifft(x, n=n, axis=axis, norm=norm)
    axis, n = plan[-1]
    return xp.fft.irfft(x, n=n, axis=axis, norm=norm)


def fftshift(x: Native, /, *, axes: Axes = None) -> Native:
    places = normal_axes(axes, len(x.shape))
    return xp.roll(x, [x.shape[a] // 2 for a in places], axis=places)


def ifftshift(x: Native, /, *, axes: Axes = None) -> Native:
    places = normal_axes(axes, len(x.shape))
    return xp.roll(x, [-(x.shape[a] // 2) for a in places], axis=places)
