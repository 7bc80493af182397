"""Spectra over time: the Fourier transforms of overlapping pieces of a signal, and back."""

from typing import Any, Literal, get_args

import numpy as np

from .._core.arrays import is_array
from .._core.dispatch import xp_of_all
from .._core.errors import ArgumentError, ShapeError
from .._core.explain import explain
from .._core.following import computed_while_compiling
from .._core.guards import check_array, check_flag, check_one_axis, check_rank
from .._core.shapes import normal_axis, one_of
from .._core.typing import A, Array, Backend
from ._samples import is_complex, known_length, positive, real_kind, samples, whole, wide
from .windows import Window, checked_window, weights, window_of

Boundary = Literal["zeros", "even", "odd", "constant"] | None
Scaling = Literal["spectrum", "psd"] | None
_BOUNDARIES = ("zeros", "even", "odd", "constant", None)
_SCALINGS = (*get_args(Literal["spectrum", "psd"]), None)
# Sums of squared windows below it count as a gap.
_GAP = 1e-10


def stft(
    x: A,
    /,
    *,
    fs: float = 1.0,
    window: Window | Array = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    return_onesided: bool = True,
    boundary: Boundary = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: Scaling = "spectrum",
) -> tuple[A, A, A]:
    """Frequencies, times, and the short-time Fourier transform of a signal.

    The frequencies take the place of `axis`, times come last. Pieces of `nperseg` samples (256, or
    the length of the window) overlap by `noverlap` (half of them) and are transformed with `nfft`
    points. `boundary` says what is before and after the signal; with `padded`, zeros fill up the
    last piece. Without `scaling` the transforms are not divided by the sum of the window.

    >>> import numpy as np, trellis
    >>> frequencies, times, z = trellis.signal.stft(np.ones(8), nperseg=4, boundary=None)
    >>> frequencies, times
    (array([0.  , 0.25, 0.5 ]), array([2., 4., 6.]))
    >>> trellis.abs(z).round(6)
    array([[1. , 1. , 1. ],
           [0.5, 0.5, 0.5],
           [0. , 0. , 0. ]])
    """
    try:
        for flag in (return_onesided, padded):
            check_flag(flag)
        one_of("stft", "boundary", boundary, _BOUNDARIES)
        one_of("stft", "scaling", scaling, _SCALINGS)
        xp, x, place = samples("stft", x, axis)
        rate = positive("stft", "fs", fs)
        size, hop, points = _sizes("stft", window, nperseg, noverlap, nfft, 256)
        length = known_length("stft", x, place)
        if length < size:
            raise ShapeError(f"stft() needs nperseg={size} samples or more, got {length}.")
        kind = real_kind(xp, x)
        shape = window_of("stft", xp, window, size, x, kind)
        moved = _extended(xp, xp.moveaxis(x, place, -1), size // 2, boundary)
        if padded:
            missing = -(int(moved.shape[-1]) - size) % hop
            moved = xp.pad(moved, ((0, 0),) * (len(moved.shape) - 1) + ((0, missing),))
        faded = xp.astype(shape, xp.dtype_name(x.dtype), copy=False)
        pieces = xp.sliding_window(moved, size, axis=-1, step=hop) * faded
        is_half = return_onesided and not is_complex(xp, x)
        transform = xp.fft.rfft if is_half else xp.fft.fft
        found = transform(pieces, n=points, axis=-1)
        factor = _scale(xp, shape, rate, scaling)
        if factor is not None:
            found = found * xp.astype(factor, xp.dtype_name(found.dtype))
        count = int(pieces.shape[-2])
        first = 0.0 if boundary is not None else size / 2
        times = [(first + i * hop) / rate for i in range(count)]
        frequencies = _frequencies(xp, points, rate, is_half, kind, x)
        beside = {"dtype": kind, "device": xp.device(x)}
        # Pieces became the axis before the last one.
        found = xp.moveaxis(xp.moveaxis(found, -2, -1), -2, place)
        return frequencies, xp.asarray(times, **beside), found
    except Exception as error:
        return explain(error, stft)


def istft(
    z: A,
    /,
    *,
    fs: float = 1.0,
    window: Window | Array = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: Scaling = "spectrum",
) -> tuple[A, A]:
    """Times, and the signal with that short-time Fourier transform; the inverse of `stft`.

    The options are those with which `stft` was called; `boundary` says whether it extended the
    signal. Samples take the place of times, without the axis of frequencies. Of transforms that
    belong to no signal it is that of the nearest ones. Windows that leave gaps raise; samples at
    the ends that only zeros of windows cover are 0.

    >>> import numpy as np, trellis
    >>> _, _, z = trellis.signal.stft(np.arange(6.0), nperseg=4)
    >>> trellis.signal.istft(z, nperseg=4)[1].round(6)
    array([0., 1., 2., 3., 4., 5.])
    """
    try:
        check_array(z)
        check_rank("istft", z, 2)
        for flag in (input_onesided, boundary):
            check_flag(flag)
        one_of("istft", "scaling", scaling, _SCALINGS)
        for axis in (time_axis, freq_axis):
            check_one_axis(axis)
        xp = xp_of_all(z)
        z = wide("istft", xp, z)
        rank = len(z.shape)
        time, frequency = normal_axis(time_axis, rank), normal_axis(freq_axis, rank)
        if time == frequency:
            raise ArgumentError("istft() needs two different axes for time_axis and freq_axis.")
        rate = positive("istft", "fs", fs)
        rows = known_length("istft", z, frequency)
        known = 2 * (rows - 1) if input_onesided else rows
        odd = known + 1 if input_onesided and nperseg == known + 1 else known
        points = odd if nfft is None else nfft
        size, hop, points = _sizes("istft", window, nperseg, noverlap, points, known)
        kind = real_kind(xp, z)
        shape = window_of("istft", xp, window, size, z, kind)
        if not is_array(window):
            if has_gaps(*checked_window("istft", window), size, hop):
                raise ArgumentError(
                    f"istft() cannot recover the samples between windows {window!r} of nperseg="
                    f"{size} that are {hop} apart: use a larger noverlap, in stft too."
                )
        # (..., times, frequencies)
        moved = xp.moveaxis(z, (time, frequency), (-2, -1))
        if input_onesided:
            pieces = xp.fft.irfft(moved, n=points, axis=-1)[..., :size]
            shaped = pieces * shape
        else:
            pieces = xp.fft.ifft(moved, n=points, axis=-1)[..., :size]
            shaped = pieces * xp.astype(shape, xp.dtype_name(pieces.dtype))
        count = known_length("istft", z, time)
        summed = _overlapped(xp, shaped, hop)
        cover = _overlapped(xp, xp.broadcast_to(shape * shape, (count, size)), hop)
        factor = _scale(xp, shape, rate, scaling)
        if boundary:
            inside = slice(size // 2, int(summed.shape[-1]) - size // 2)
            summed, cover = summed[..., inside], cover[inside]
        weight = 1.0 / xp.where(cover > _GAP, cover, xp.ones_like(cover))
        if factor is not None:
            weight = weight / factor
        signal = summed * xp.astype(weight, xp.dtype_name(summed.dtype))
        length = int(signal.shape[-1])
        times = [i / rate for i in range(length)]
        # The axis of frequencies is gone; what came behind it moved one to the left.
        place = time - 1 if frequency < time else time
        beside = {"dtype": kind, "device": xp.device(z)}
        return xp.asarray(times, **beside), xp.moveaxis(signal, -1, place)
    except Exception as error:
        return explain(error, istft)


def _sizes(function: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
           known: int) -> tuple[int, int, int]:  # fmt: skip
    """The length of a piece, from one to the next, and of a transform."""
    if nperseg is None:
        of_array = is_array(window) and len(window.shape) == 1
        size = int(window.shape[0]) if of_array else known
    else:
        size = whole(function, "nperseg", nperseg)
    overlap = size // 2 if noverlap is None else whole(function, "noverlap", noverlap, 0)
    if overlap >= size:
        raise ArgumentError(f"{function}() expects noverlap below nperseg={size}, got {overlap}.")
    points = size if nfft is None else whole(function, "nfft", nfft)
    if points < size:
        raise ArgumentError(f"{function}() expects nfft of at least nperseg={size}, got {points}.")
    return size, size - overlap, points


def _extended(xp: Backend, x: Any, n: int, boundary: Boundary) -> Any:
    if boundary is None or n == 0:
        return x
    around = ((0, 0),) * (len(x.shape) - 1) + ((n, n),)
    if boundary == "zeros":
        return xp.pad(x, around)
    if boundary == "constant":
        return xp.pad(x, around, mode="edge")
    mirrored = xp.pad(x, around, mode="reflect")
    if boundary == "even":
        return mirrored
    before = 2 * x[..., :1] - mirrored[..., :n]
    after = 2 * x[..., -1:] - mirrored[..., int(mirrored.shape[-1]) - n :]
    return xp.concat([before, x, after], axis=-1)


def _scale(xp: Backend, window: Any, rate: float, scaling: Scaling) -> Any:
    if scaling is None:
        return None
    if scaling == "spectrum":
        return 1.0 / xp.sum(window)
    return 1.0 / xp.sqrt(rate * xp.sum(window * window))


def _frequencies(xp: Backend, points: int, rate: float, is_half: bool, kind: str, x: Any) -> Any:
    last = points // 2 + 1 if is_half else (points + 1) // 2
    places = [i if i < last else i - points for i in range(last if is_half else points)]
    return xp.asarray([i * rate / points for i in places], dtype=kind, device=xp.device(x))


def _overlapped(xp: Backend, pieces: Any, hop: int) -> Any:
    """The sum of pieces (..., n, size), each `hop` behind the one before."""
    count, size = int(pieces.shape[-2]), int(pieces.shape[-1])
    parts = -(-size // hop)
    rank = len(pieces.shape)
    around = ((0, 0),) * (rank - 1) + ((0, parts * hop - size),)
    stack = tuple([int(n) for n in pieces.shape[:-2]])
    cut = xp.reshape(xp.pad(pieces, around), (*stack, count, parts, hop))
    total = None
    for j in range(parts):
        rows = ((0, 0),) * (rank - 2) + ((j, parts - 1 - j), (0, 0))
        part = xp.pad(cut[..., j, :], rows)
        total = part if total is None else total + part
    length = (count - 1) * hop + size
    return xp.reshape(total, (*stack, (count + parts - 1) * hop))[..., :length]


@computed_while_compiling
def has_gaps(name: str, parameter: float | None, size: int, hop: int) -> bool:
    """Whether there are samples that no window keeps."""
    squares = np.zeros(-(-size // hop) * hop)
    squares[:size] = weights(name, parameter, size, True) ** 2
    return bool(np.min(squares.reshape(-1, hop).sum(0)) <= _GAP)
