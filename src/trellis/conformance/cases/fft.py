import numpy as np

import trellis

from .case import COMPLEX, NO_FLOATS, Case, complex_numbers, numbers

x = numbers(3, 8)
z = complex_numbers(3, 8)
half = np.fft.rfft(numbers(3, 8))
odd = np.fft.rfft(numbers(3, 7))
# float32 transforms lose about one digit in the sums.
options = {"gradient": COMPLEX, "rtol32": 1e-4}


def _real(op):
    """A gradient through complex numbers and back: the squared magnitude of the transform."""
    return lambda x: trellis.square(trellis.abs(getattr(trellis.fft, op)(x)))


CASES = [
    Case("fft.fft", (z,), np.fft.fft, **options),
    Case(
        "fft.fft",
        (z,),
        lambda z: np.fft.fft(z, n=6, axis=0, norm="ortho"),
        about="options",
        kwargs={"n": 6, "axis": 0, "norm": "ortho"},
        **options,
    ),
    Case("fft.fft", (x,), np.fft.fft, about="real", **options),
    Case(
        "fft.fft",
        (x,),
        lambda x: np.abs(np.fft.fft(x)) ** 2,
        about="power",
        call=_real("fft"),
        rtol32=1e-4,
    ),
    Case("fft.ifft", (z,), np.fft.ifft, **options),
    Case(
        "fft.ifft",
        (z,),
        lambda z: np.fft.ifft(z, n=4, norm="forward"),
        about="options",
        kwargs={"n": 4, "norm": "forward"},
        **options,
    ),
    Case("fft.fftn", (z,), np.fft.fftn, **options),
    Case(
        "fft.fftn",
        (z,),
        lambda z: np.fft.fftn(z, s=(4,), axes=(1,)),
        about="options",
        kwargs={"s": (4,), "axes": (1,)},
        **options,
    ),
    Case("fft.ifftn", (z,), np.fft.ifftn, **options),
    Case("fft.rfft", (x,), np.fft.rfft, **options),
    Case(
        "fft.rfft",
        (x,),
        lambda x: np.fft.rfft(x, n=5, axis=0, norm="ortho"),
        about="options",
        kwargs={"n": 5, "axis": 0, "norm": "ortho"},
        **options,
    ),
    Case(
        "fft.rfft",
        (x,),
        lambda x: np.abs(np.fft.rfft(x)) ** 2,
        about="power",
        call=_real("rfft"),
        rtol32=1e-4,
    ),
    Case("fft.irfft", (half,), np.fft.irfft, **options),
    Case(
        "fft.irfft", (odd,), lambda z: np.fft.irfft(z, n=7), about="odd", kwargs={"n": 7}, **options
    ),
    Case("fft.rfftn", (x,), np.fft.rfftn, **options),
    Case(
        "fft.irfftn",
        (half,),
        lambda z: np.fft.irfftn(z, s=(3, 8), axes=(0, 1)),
        kwargs={"s": (3, 8), "axes": (0, 1)},
        **options,
    ),
    Case("fft.hfft", (half,), np.fft.hfft, **options),
    Case("fft.ihfft", (x,), np.fft.ihfft, **options),
    Case(
        "fft.fftfreq",
        (5,),
        np.fft.fftfreq(5, 0.5),
        kwargs={"d": 0.5},
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("fft.rfftfreq", (6,), np.fft.rfftfreq(6), gradient=NO_FLOATS, dtypes=("float32",)),
    Case("fft.fftshift", (x,), np.fft.fftshift),
    Case(
        "fft.fftshift", (x,), lambda x: np.fft.fftshift(x, axes=1), about="axis", kwargs={"axes": 1}
    ),
    Case("fft.ifftshift", (numbers(5),), np.fft.ifftshift),
]
