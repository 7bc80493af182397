"""Fourier transforms."""

import numpy as np
from hypothesis import strategies as st

from ..call import Call
from ..drawing import FLOATING, INEXACT, REAL, array, axes_of, axis_of, drawn, options, shapes

NORMS = ("backward", "ortho", "forward")
OF_REALS = ("rfft", "ihfft", "rfftn")


def taken(op):
    return (*FLOATING, "int32") if op.removeprefix("fft.") in OF_REALS else (*INEXACT, "int32")


def oracle(op):
    return getattr(np.fft, op.removeprefix("fft."))


@drawn("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft")
def along_one(draw, op):
    x = array(draw, taken(op), draw(shapes(1, empty=False)))
    chosen = {"axis": axis_of(draw, x.values.ndim), **options(draw, n=(1, 2, 3, 4), norm=NORMS)}
    if op in ("fft.irfft", "fft.hfft"):
        chosen["n"] = draw(st.integers(1, 5))
    return Call(op, (x,), chosen, expected=oracle(op), units=64)


@drawn("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn")
def along_several(draw, op):
    x = array(draw, taken(op), draw(shapes(1, empty=False)))
    ndim = x.values.ndim
    order = draw(st.permutations(range(ndim)))
    axes = tuple(order[: draw(st.integers(1, ndim))])
    chosen = options(draw, norm=NORMS)
    if draw(st.booleans()):
        chosen["axes"] = axes
        if draw(st.booleans()) or op == "fft.irfftn":
            chosen["s"] = tuple(draw(st.integers(1, 4)) for _ in axes)
    elif op == "fft.irfftn":
        chosen |= {"axes": axes, "s": tuple(draw(st.integers(1, 4)) for _ in axes)}
    return Call(op, (x,), chosen, expected=oracle(op), units=64)


@drawn("fft.fftshift", "fft.ifftshift")
def shifted(draw, op):
    x = array(draw, REAL)
    return Call(op, (x,), {"axes": axes_of(draw, x.values.ndim)}, expected=oracle(op))
