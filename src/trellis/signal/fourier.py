"""What Fourier transforms are used for: convolutions of long signals, and analytic signals."""

from collections.abc import Sequence
from typing import Literal, get_args

from .._core.dispatch import xp_of_pair
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_array, check_axes
from .._core.shapes import normal_axes, one_of
from .._core.typing import A
from ._samples import COMPLEX_OF, is_complex, known_length, samples, whole, wide

_Mode = Literal["full", "same", "valid"]


def next_fast_len(target: int, /) -> int:
    """The least length from `target` on with no prime factor above 5: fast to transform.

    >>> import trellis
    >>> trellis.signal.next_fast_len(1021)
    1024
    """
    try:
        target = whole("next_fast_len", "target", target)
        best = 2 ** (target - 1).bit_length()
        fives = 1
        while fives < best:
            threes = fives
            while threes < best:
                twos = -(-target // threes)
                best = min(best, threes * 2 ** (twos - 1).bit_length())
                threes *= 3
            fives *= 5
        return best
    except Exception as error:
        return int(explain(error, next_fast_len))


def fftconvolve(
    x1: A, x2: A, /, *, mode: _Mode = "full", axes: int | Sequence[int] | None = None
) -> A:
    """The convolution along `axes`, all of them if none are named, by Fourier transforms.

    The result is everything ("full"), as large as `x1` ("same"), or only where both overlap whole
    ("valid"). Other axes are broadcast. The error is one of rounding the largest result, for small
    results too; `trellis.convolve` is exact there.

    >>> import numpy as np, trellis
    >>> trellis.signal.fftconvolve(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.5])).round(6)
    array([2. , 5. , 8.5, 4. , 1.5])
    """
    try:
        one_of("fftconvolve", "mode", mode, get_args(_Mode))
        for x in (x1, x2):
            check_array(x)
        if axes is not None:
            check_axes(axes)
        xp = xp_of_pair(x1, x2)
        rank = len(x1.shape)
        if rank != len(x2.shape) or rank == 0:
            raise ShapeError(
                "fftconvolve() needs two arrays with the same number of axes, at least one, got "
                f"shapes {tuple(x1.shape)} and {tuple(x2.shape)}."
            )
        places = normal_axes(axes, rank)
        one, other = [wide("fftconvolve", xp, x) for x in (x1, x2)]
        kind = xp.result_type(one, other)
        one, other = [xp.astype(x, kind, copy=False) for x in (one, other)]
        first = [known_length("fftconvolve", one, i) for i in places]
        second = [known_length("fftconvolve", other, i) for i in places]
        if 0 in (*first, *second):
            raise ShapeError("fftconvolve() needs at least one number along each axis.")
        full = [n + m - 1 for n, m in zip(first, second)]
        sizes = [next_fast_len(n) for n in full]
        forward = xp.fft.fftn if is_complex(xp, one) else xp.fft.rfftn
        back = xp.fft.ifftn if is_complex(xp, one) else xp.fft.irfftn
        product = forward(one, s=sizes, axes=places) * forward(other, s=sizes, axes=places)
        found = back(product, s=sizes, axes=places)
        if mode == "valid":
            larger = [n >= m for n, m in zip(first, second)]
            if any(larger) and not all(larger):
                raise ShapeError(
                    "fftconvolve() with mode='valid' needs one array that is at least as large as "
                    f"the other along each axis, got {tuple(x1.shape)} and {tuple(x2.shape)}."
                )
        index: list[slice] = [slice(None)] * rank
        for i, n, m, whole_size in zip(places, first, second, full):
            size = {"full": whole_size, "same": n, "valid": abs(n - m) + 1}[mode]
            start = (whole_size - size) // 2
            index[i] = slice(start, start + size)
        return found[tuple(index)]
    except Exception as error:
        return explain(error, fftconvolve)


def hilbert(x: A, /, *, n: int | None = None, axis: int = -1) -> A:
    """The analytic signal: `x`, with its Hilbert transform as imaginary part.

    Its absolute value is the envelope of the signal, its angle the phase. `n` is the length to
    which the signal is cut or filled with zeros.

    >>> import numpy as np, trellis
    >>> trellis.signal.hilbert(np.array([1.0, 0.0, -1.0, 0.0])).round(6)
    array([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """
    try:
        xp, x, place = samples("hilbert", x, axis)
        if is_complex(xp, x):
            raise ShapeError("hilbert() makes complex signals of real ones, got a complex one.")
        size = known_length("hilbert", x, place) if n is None else whole("hilbert", "n", n)
        half = (size + 1) // 2
        factors = [1.0] + [2.0] * (half - 1) + [1.0] * (size % 2 == 0) + [0.0] * (half - 1)
        kind = COMPLEX_OF[xp.dtype_name(x.dtype)]
        row = xp.astype(xp.asarray(factors, dtype=x.dtype, device=xp.device(x)), kind)
        shape = [1] * len(x.shape)
        shape[place] = size
        spectrum = xp.fft.fft(x, n=size, axis=place) * xp.reshape(row, tuple(shape))
        return xp.fft.ifft(spectrum, axis=place)
    except Exception as error:
        return explain(error, hilbert)
