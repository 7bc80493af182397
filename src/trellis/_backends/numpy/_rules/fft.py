"""Derivatives of NumPy's Fourier transforms. They are linear: each one's adjoint is another of
them.

The gradient by a complex number u + iv is stored as dL/du - i dL/dv.
"""

from typing import Any

import numpy as np

from ...._core.shapes import normal_axes
from .._tape import composed, defvjp, primitive, unbroadcast


def _fit(x: Any, n: int, axis: int) -> Any:
    """Cut or zero-pad one axis to length n."""
    have = x.shape[axis]
    if have > n:
        return x[(slice(None),) * axis + (slice(0, n),)]
    pairs = [(0, n - have if i == axis else 0) for i in range(x.ndim)]
    return np.pad(x, pairs) if have < n else x


def _enter_line(transform: Any) -> Any:
    """The transform along one axis, which is its own adjoint."""
    whole = primitive(lambda x, axis, norm: transform(x, axis=axis, norm=norm))
    defvjp(whole, lambda ans, x, axis, norm: lambda g: unbroadcast(whole(g, axis, norm), x))

    @composed(transform)
    def rule(x: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        axis = axis % x.ndim
        return whole(_fit(x, x.shape[axis] if n is None else n, axis), axis, norm or "backward")

    return rule


_fft, _ifft = _enter_line(np.fft.fft), _enter_line(np.fft.ifft)


@composed(np.fft.rfft)
def _rfft(x: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    axis = axis % x.ndim
    n = x.shape[axis] if n is None else n
    return _fft(x, n, axis, norm)[(slice(None),) * axis + (slice(0, n // 2 + 1),)]


@composed(np.fft.irfft)
def _irfft(x: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    """The real signal whose half spectrum is x: the other half is its mirror image."""
    axis = axis % x.ndim
    n = 2 * (x.shape[axis] - 1) if n is None else n
    half = _fit(x, n // 2 + 1, axis)
    before = (slice(None),) * axis
    edge = half[(*before, slice(0, 1))]
    parts = [_real(edge), half[(*before, slice(1, (n + 1) // 2))]]
    if n % 2 == 0:
        parts.append(_real(half[(*before, slice(n // 2, n // 2 + 1))]))
    mirrored = np.conjugate(np.flip(parts[1], axis=axis))
    return np.real(_ifft(np.concatenate((*parts, mirrored), axis=axis), n, axis, norm))


def _real(x: Any) -> Any:
    return np.real(x).astype(x.dtype)


_swapped = {"backward": "forward", "forward": "backward", "ortho": "ortho", None: "forward"}


@composed(np.fft.hfft)
def _hfft(x: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return _irfft(np.conjugate(x), n, axis, _swapped[norm])


@composed(np.fft.ihfft)
def _ihfft(x: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.conjugate(_rfft(x, n, axis, _swapped[norm]))


def _sizes(x: Any, s: Any, axes: Any) -> list[tuple[int, int | None]]:
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    sizes = [None] * len(axes) if s is None else list(s)
    return [(axis, size) for axis, size in zip(axes, sizes, strict=True)]


def _over_two_axes(transform: Any) -> Any:
    def rule(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
        return transform(x, s, axes, norm)

    return rule


def _enter_lines(function: Any, along: Any) -> Any:
    @composed(function)
    def rule(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        for axis, n in _sizes(x, s, axes):
            x = along(x, n=n, axis=axis, norm=norm)
        return x

    return rule


_fftn = _enter_lines(np.fft.fftn, np.fft.fft)
_ifftn = _enter_lines(np.fft.ifftn, np.fft.ifft)


@composed(np.fft.rfftn)
def _rfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    *others, (last, n) = _sizes(x, s, axes)
    x = _rfft(x, n, last, norm)
    for axis, size in others:
        x = np.fft.fft(x, n=size, axis=axis, norm=norm)
    return x


@composed(np.fft.irfftn)
def _irfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    *others, (last, n) = _sizes(x, s, axes)
    for axis, size in others:
        x = np.fft.ifft(x, n=size, axis=axis, norm=norm)
    return _irfft(x, n, last, norm)


for _two, _many in (
    (np.fft.fft2, _fftn),
    (np.fft.ifft2, _ifftn),
    (np.fft.rfft2, _rfftn),
    (np.fft.irfft2, _irfftn),
):
    composed(_two)(_over_two_axes(_many))


def _enter_shift(function: Any, sign: int) -> None:
    @composed(function)
    def rule(x: Any, axes: Any = None) -> Any:
        places = normal_axes(axes, x.ndim)
        return np.roll(x, tuple([sign * (x.shape[a] // 2) for a in places]), axis=places)


_enter_shift(np.fft.fftshift, 1)
_enter_shift(np.fft.ifftshift, -1)
