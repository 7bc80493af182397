"""Discrete Fourier transforms. `norm` says which direction carries the factor 1/n, or "ortho" for
both.

>>> import numpy as np, trellis
>>> trellis.fft.rfft(np.array([1.0, 1.0, 1.0, 1.0]))
array([4.+0.j, 0.+0.j, 0.+0.j])
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from .._core.dispatch import named_xp, xp_of
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.guards import (
    check_array,
    check_axes,
    check_axis,
    check_number,
    check_whole,
)
from .._core.shapes import check_lengths, check_points, one_of
from .._core.typing import A, Array, Device, DTypeLike

if TYPE_CHECKING:
    from .._backends.array_api import FFT

Norm = Literal["backward", "ortho", "forward"]
Ints = Sequence[int] | None


def fft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The transform along one axis.

    >>> import numpy as np, trellis
    >>> trellis.fft.fft(np.array([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    try:
        return _along_axis("fft", x, n, axis, norm)
    except Exception as error:
        return explain(error, fft)


def ifft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The inverse of `fft`.

    >>> import numpy as np, trellis
    >>> trellis.fft.ifft(np.array([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    try:
        return _along_axis("ifft", x, n, axis, norm)
    except Exception as error:
        return explain(error, ifft)


def rfft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The transform of real numbers: the n // 2 + 1 terms that are not mirror images.

    >>> import numpy as np, trellis
    >>> trellis.fft.rfft(np.array([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    try:
        return _along_axis("rfft", x, n, axis, norm)
    except Exception as error:
        return explain(error, rfft)


def irfft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The inverse of `rfft`; `n` is the length of the result, 2 * (m - 1) if not given.

    >>> import numpy as np, trellis
    >>> trellis.fft.irfft(np.array([4.0, 0.0, 0.0]))
    array([1., 1., 1., 1.])
    """
    try:
        return _along_axis("irfft", x, n, axis, norm)
    except Exception as error:
        return explain(error, irfft)


def hfft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The transform of Hermitian-symmetric input, of which one half is given; the result is real.

    >>> import numpy as np, trellis
    >>> trellis.fft.hfft(np.array([1.0, 0.0, 0.0]))
    array([1., 1., 1., 1.])
    """
    try:
        return _along_axis("hfft", x, n, axis, norm)
    except Exception as error:
        return explain(error, hfft)


def ihfft(x: A, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> A:
    """The inverse of `hfft`.

    >>> import numpy as np, trellis
    >>> trellis.fft.ihfft(np.array([4.0, 0.0, 0.0, 0.0]))
    array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    try:
        return _along_axis("ihfft", x, n, axis, norm)
    except Exception as error:
        return explain(error, ihfft)


def fftn(x: A, /, *, s: Ints = None, axes: Ints = None, norm: Norm = "backward") -> A:
    """The transform along several axes, all if none are named.

    >>> import numpy as np, trellis
    >>> trellis.fft.fftn(np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    try:
        return _along_axes("fftn", x, s, axes, norm)
    except Exception as error:
        return explain(error, fftn)


def ifftn(x: A, /, *, s: Ints = None, axes: Ints = None, norm: Norm = "backward") -> A:
    """The inverse of `fftn`.

    >>> import numpy as np, trellis
    >>> trellis.fft.ifftn(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    try:
        return _along_axes("ifftn", x, s, axes, norm)
    except Exception as error:
        return explain(error, ifftn)


def rfftn(x: A, /, *, s: Ints = None, axes: Ints = None, norm: Norm = "backward") -> A:
    """The transform of real numbers along several axes; the last of them is halved.

    >>> import numpy as np, trellis
    >>> trellis.fft.rfftn(np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    try:
        return _along_axes("rfftn", x, s, axes, norm)
    except Exception as error:
        return explain(error, rfftn)


def irfftn(x: A, /, *, s: Ints = None, axes: Ints = None, norm: Norm = "backward") -> A:
    """The inverse of `rfftn`; `s` gives the lengths of the result.

    >>> import numpy as np, trellis
    >>> trellis.fft.irfftn(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    try:
        return _along_axes("irfftn", x, s, axes, norm)
    except Exception as error:
        return explain(error, irfftn)


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """The frequencies of the terms of `fft`, for samples `d` apart.

    >>> import trellis
    >>> trellis.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    try:
        _check_samples(n, d)
        return named_xp(backend).fft.fftfreq(n, d=d, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, fftfreq)


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """The frequencies of the terms of `rfft`, for samples `d` apart.

    >>> import trellis
    >>> trellis.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    try:
        _check_samples(n, d)
        return named_xp(backend).fft.rfftfreq(n, d=d, dtype=dtype, device=device)
    except Exception as error:
        return explain(error, rfftfreq)


def fftshift(x: A, /, *, axes: int | Sequence[int] | None = None) -> A:
    """The zero frequency moved to the middle.

    >>> import numpy as np, trellis
    >>> trellis.fft.fftshift(np.array([0, 1, -2, -1]))
    array([-2, -1,  0,  1])
    """
    try:
        return _checked(x, axes).fftshift(x, axes=axes)
    except Exception as error:
        return explain(error, fftshift)


def ifftshift(x: A, /, *, axes: int | Sequence[int] | None = None) -> A:
    """The inverse of `fftshift`.

    >>> import numpy as np, trellis
    >>> trellis.fft.ifftshift(np.array([0, 1, -2, -1]))
    array([-2, -1,  0,  1])
    """
    try:
        return _checked(x, axes).ifftshift(x, axes=axes)
    except Exception as error:
        return explain(error, ifftshift)


def _checked(x: A, axes: int | Ints) -> "FFT":
    """The transforms of an array, whose axes are checked."""
    if axes is not None:
        check_axes(axes)
    if not isinstance(x, dict):
        check_array(x)
    return xp_of(x).fft


def _check_samples(n: int, d: float) -> None:
    if type(n) is not int:
        check_whole(n)
    check_points(n)
    check_number(d)


def _along_axis(name: str, x: A, n: int | None, axis: int, norm: str) -> A:
    if type(axis) is not int:
        check_axis(axis)
    if n is not None and type(n) is not int:
        check_whole(n)
    _check(name, [] if n is None else [n], norm)
    result: A = getattr(xp_of(x).fft, name)(x, n=n, axis=axis, norm=norm)
    return result


def _along_axes(name: str, x: A, s: Ints, axes: Ints, norm: str) -> A:
    if axes is not None:
        check_axes(axes)
    # -1 means the whole axis.
    _check(name, [] if s is None else [n for n in s if n != -1], norm)
    if s is not None and len(s) == 0 and name in ("rfftn", "irfftn"):
        raise ArgumentError(f"{name}() transforms one axis at least, got s={s!r}.")
    axes = axes if axes is None else tuple(axes)  # torch alone would take one integer
    if s is not None and axes is not None:
        check_lengths(name, "s and axes", len(s), len(axes))
    result: A = getattr(xp_of(x).fft, name)(x, s=s, axes=axes, norm=norm)
    return result


def _check(name: str, lengths: list[int], norm: str) -> None:
    one_of(name, "norm", norm, get_args(Norm))
    for n in lengths:
        check_points(n)
