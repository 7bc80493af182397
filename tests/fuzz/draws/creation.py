"""Arrays out of nothing; the default backend makes them."""

from hypothesis import strategies as st

from ..call import Call
from ..drawing import ANY, FLOATING, INTEGER, array, drawn, options, shapes

NUMBERS = (0, 1, 2, -1, 3, 0.5, 2.5, -1.5)


def made(op, *args, **kwargs):
    """A call that no compiler and no derivative is asked for: nothing goes in."""
    return Call(op, args, kwargs, compiled=False, gradient=False)


@drawn("arange")
def arange(draw, op):
    start, stop = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from((None, *NUMBERS)))
    step = draw(st.sampled_from((1, 2, 0.5, -1)))
    chosen = options(draw, dtype=(*FLOATING, *INTEGER))
    if chosen:
        start, stop, step = (None if x is None else int(abs(x)) for x in (start, stop, step))
        step = step or 1
    return made(op, start, stop, step, **chosen)


@drawn("linspace")
def linspace(draw, op):
    ends = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(NUMBERS))
    number = draw(st.integers(0, 5))
    return made(
        op, *ends, number, **options(draw, endpoint=(True, False), dtype=(*FLOATING, "complex64"))
    )


@drawn("eye")
def eye(draw, op):
    sizes = (draw(st.integers(0, 3)), draw(st.sampled_from((None, 0, 1, 3))))
    return made(op, *sizes, **options(draw, k=(0, 1, -1, 5), dtype=ANY))


@drawn("zeros", "ones", "full")
def filled(draw, op):
    value = (draw(st.sampled_from((0, 1, True, 2.5, 1j))),) if op == "full" else ()
    chosen = {} if value and isinstance(value[0], complex | float) else options(draw, dtype=ANY)
    return made(op, draw(shapes()), *value, **chosen)


@drawn("asarray")
def asarray(draw, op):
    x = array(draw, ANY, kind="special")
    if draw(st.booleans()):
        return Call(op, (x,), options(draw, copy=(True, None)))
    name = draw(st.sampled_from(("bool", "int64", "float64", "complex128")))
    return made(op, array(draw, name).values.astype(object).tolist())


@drawn("fft.fftfreq", "fft.rfftfreq")
def frequencies(draw, op):
    chosen = options(draw, d=(0.5, 2.0), dtype=("float32", "float64"))
    return made(op, draw(st.integers(1, 6)), **chosen)
