"""A signal at another sampling rate."""

import math
from typing import Any

import numpy as np

from .._core.arrays import is_array
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.following import computed_while_compiling
from .._core.typing import A, Array, Backend
from ..functional import conv_general_dilated
from ._samples import is_complex, known_length, real_kind, samples, whole
from .windows import Window, checked_window, weights


def resample(x: A, num: int, /, *, axis: int = 0) -> A:
    """`num` samples of the periodic signal through those of `x`, by Fourier transforms.

    Frequencies above half of the new rate are cut off. A signal that does not end as it begins
    rings at its ends; `resample_poly` does not.

    >>> import numpy as np, trellis
    >>> trellis.signal.resample(np.array([1.0, 0.0, -1.0, 0.0]), 8).round(3)
    array([ 1.   ,  0.707,  0.   , -0.707, -1.   , -0.707,  0.   ,  0.707])
    """
    try:
        xp, x, place = samples("resample", x, axis)
        num = whole("resample", "num", num)
        length = known_length("resample", x, place)
        if length == 0:
            raise ShapeError("resample() needs at least one sample.")
        moved = xp.moveaxis(x, place, -1)
        kept = min(num, length)
        if is_complex(xp, x):
            found = xp.fft.ifft(_two_sided(xp, xp.fft.fft(moved), kept, num), axis=-1)
        else:
            half = kept // 2 + 1
            spectrum = xp.fft.rfft(moved)[..., :half]
            if kept % 2 == 0 and num != length:
                # One term stands for the frequency and its mirror image, or becomes both.
                factor = 2.0 if num < length else 0.5
                last = [1.0] * (half - 1) + [factor]
                row = xp.asarray(last, dtype=real_kind(xp, x), device=xp.device(x))
                spectrum = spectrum * xp.astype(row, xp.dtype_name(spectrum.dtype))
            found = xp.fft.irfft(spectrum, n=num, axis=-1)
        return xp.moveaxis(found * (num / length), -1, place)
    except Exception as error:
        return explain(error, resample)


def _two_sided(xp: Backend, spectrum: Any, kept: int, num: int) -> Any:
    """The spectrum of `num` samples: the `kept` lowest frequencies, zeros for the others."""
    length = int(spectrum.shape[-1])
    if num == length:
        return spectrum
    above, below = (kept + 1) // 2, (kept - 1) // 2
    low = spectrum[..., :above]
    high = spectrum[..., length - below :] if below else spectrum[..., :0]
    around = ((0, 0),) * (len(spectrum.shape) - 1)
    if kept % 2:
        return xp.concat([xp.pad(low, (*around, (0, num - kept))), high], axis=-1)
    middle = spectrum[..., kept // 2 : kept // 2 + 1]
    if num < length:  # both of its frequencies become one
        other = spectrum[..., length - kept // 2 : length - kept // 2 + 1]
        return xp.concat([low, middle + other, high], axis=-1)
    between = xp.pad(0.5 * middle, (*around, (0, num - kept - 1)))
    return xp.concat([low, between, 0.5 * middle, high], axis=-1)


def resample_poly(
    x: A, up: int, down: int, /, *, axis: int = 0, window: Window | Array = ("kaiser", 5.0)
) -> A:
    """The signal at `up / down` times its rate, through a filter that keeps what both rates can.

    `window` shapes the filter, or is the filter: an array of an odd number of coefficients. The
    signal counts as 0 outside.

    >>> import numpy as np, trellis
    >>> trellis.signal.resample_poly(np.ones(8), 1, 2).round(2)
    array([0.74, 1.09, 0.93, 1.09])
    """
    try:
        xp, x, place = samples("resample_poly", x, axis)
        up, down = [whole("resample_poly", n, k) for n, k in (("up", up), ("down", down))]
        up, down = up // math.gcd(up, down), down // math.gcd(up, down)
        length = known_length("resample_poly", x, place)
        if up == down:
            return x
        if is_complex(xp, x):
            parts = [
                resample_poly(part, up, down, axis=place, window=window)
                for part in (xp.real(x), xp.imag(x))
            ]
            kind = xp.dtype_name(x.dtype)
            return xp.astype(parts[0], kind) + 1j * xp.astype(parts[1], kind)
        taps = xp.astype(_taps(xp, window, up, down, x), x.dtype, copy=False) * float(up)
        size = int(taps.shape[0])
        half = (size - 1) // 2
        count = -(-length * up // down)
        after = max((count - 1) * down - (length - 1) * up + half, 0)
        moved = xp.moveaxis(x, place, -1)
        stack = tuple([int(n) for n in moved.shape[:-1]])
        found = conv_general_dilated(
            xp.reshape(moved, (-1, length, 1)),
            xp.reshape(xp.flip(taps, axis=0), (size, 1, 1)),
            down,
            ((half, after),),
            dims=1,
            x_dilations=up,
        )
        found = xp.reshape(found[:, :count, 0], (*stack, count))
        return xp.moveaxis(found, -1, place)
    except Exception as error:
        return explain(error, resample_poly)


def _taps(xp: Backend, window: Any, up: int, down: int, x: Any) -> Any:
    """A low pass below half of the lower rate, ten of its samples long on both sides."""
    if is_array(window):
        if len(window.shape) != 1 or int(window.shape[0]) % 2 == 0:
            raise ShapeError(
                "resample_poly() expects an odd number of coefficients as window, got shape "
                f"{tuple(window.shape)}."
            )
        return window
    values = low_pass(*checked_window("resample_poly", window), max(up, down))
    return xp.asarray(values, dtype=x.dtype, device=xp.device(x))


@computed_while_compiling
def low_pass(name: str, parameter: float | None, rate: int) -> np.ndarray:
    half = 10 * rate
    values = np.sinc(np.arange(-half, half + 1) / rate)
    values = values * weights(name, parameter, 2 * half + 1, False)
    return np.asarray(values / values.sum())
