"""Functions of each element: of one array, of two that broadcast, of three."""

import numpy as np
import scipy.special
from hypothesis import strategies as st

from trellis._ops import record
from trellis._ops.elementwise import OPS

from ..call import Call
from ..drawing import (
    ANY,
    COMPLEX,
    FLOATING,
    INEXACT,
    INTEGER,
    NUMERIC,
    REAL,
    array,
    drawn,
    options,
    pair_of_types,
    several,
)


def of_kind(kind, *without):
    """The operations of a kind in the op table."""
    return [op.key for op in OPS if op.kind is kind and op.key not in without]


ANYTHING = "abs positive square sign real imag isfinite isinf isnan logical_not".split()
SMOOTH = of_kind(record.FLOATS, "rsqrt", "cbrt", "erf", "erfc", "erfinv")
STEPS = "ceil floor round trunc".split()


OF_FLOATS = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfinv": scipy.special.erfinv,
}


@drawn(*ANYTHING, *SMOOTH, *STEPS, *OF_FLOATS, "negative", "conj", "signbit", "bitwise_invert")
def of_one(draw, op):
    types = NUMERIC if op in (*ANYTHING, "negative", "conj") else (*INEXACT, *REAL)
    if op in STEPS or op in OF_FLOATS:
        types = REAL
    if op == "signbit":
        types = FLOATING
    if op == "bitwise_invert":
        types = (*INTEGER, "bool")
    if op in ("logical_not", "isfinite", "isinf", "isnan", "real"):
        types = ANY
    kind = draw(st.sampled_from(("plain", "special", "unit", "positive")))
    name = {"bitwise_invert": "invert"}.get(op, op)
    oracle = OF_FLOATS.get(op) or getattr(np, name)
    x = array(draw, types, kind=kind)
    return Call(op, (x,), expected=oracle, gradient=kind != "special", elementwise=True)


DIVISIONS = "floor_divide remainder truncate_divide fmod".split()
ARITHMETIC = [*"add subtract multiply divide pow maximum minimum".split(), *DIVISIONS]
FLOATS = of_kind(record.FLOAT_PAIR, "divide")
COMPARED = of_kind(record.EQUALITY, "isclose")
ORDERED = of_kind(record.COMPARISON)
LOGICAL = "logical_and logical_or logical_xor".split()
BITS = "bitwise_and bitwise_or bitwise_xor".split()
SHIFTS = "bitwise_left_shift bitwise_right_shift".split()
NUMBERS = (0, 1, 2, -1, 0.5, -2.0, 3, True, 1.5j)


@drawn(*ARITHMETIC, *FLOATS, *COMPARED, *ORDERED, *LOGICAL, *BITS, *SHIFTS)
def of_two(draw, op):
    types = NUMERIC if op in ARITHMETIC else ANY
    if op in ("maximum", "minimum", *DIVISIONS, *ORDERED):
        types = REAL
    if op in FLOATS:
        types = FLOATING if op == "nextafter" else REAL
    if op in BITS:
        types = (*INTEGER, "bool")
    if op in SHIFTS:
        types = INTEGER
    first, second = pair_of_types(draw, types)
    kind = draw(st.sampled_from(("plain", "special", "positive")))
    shapes = several(draw, 2)
    x, y = array(draw, first, shapes[0], kind), array(draw, second, shapes[1], kind)
    if op in SHIFTS:
        y = array(draw, second, shapes[1], "plain")
        y = type(y)(np.abs(y.values), y.layout)
    side = draw(st.sampled_from(("arrays", "arrays", "number right", "number left")))
    number = draw(st.sampled_from([n for n in NUMBERS if not isinstance(n, complex)]))
    if op in (*BITS, *SHIFTS):
        number = draw(st.sampled_from((0, 1, 2)))
    args = {"arrays": (x, y), "number right": (x, number), "number left": (number, y)}[side]
    whole = side == "arrays" and {first, second}.isdisjoint((*FLOATING, *COMPLEX))
    names = {"pow": "power", "atan2": "arctan2"}
    oracle = getattr(np, names.get(op, op), None)
    if op == "nextafter" or op in BITS or op in SHIFTS or op in LOGICAL or whole:
        oracle = None
    if op in DIVISIONS and kind == "special":
        oracle = None  # the standard's answers at infinities are not NumPy's
    mixed = first != second or side != "arrays"
    if mixed:
        oracle = None  # the other is rounded to the common type first
    return Call(op, args, expected=oracle, gradient=kind != "special", elementwise=True)


@drawn("clip")
def clip(draw, op):
    name = draw(st.sampled_from(REAL))
    shapes = several(draw, 3)
    x = array(draw, name, shapes[0], draw(st.sampled_from(("plain", "special"))))
    bounds = {}
    for i, side in enumerate(("min", "max")):
        how = draw(st.sampled_from(("none", "number", "array")))
        if how == "number":
            bounds[side] = draw(st.sampled_from((0, 1, 2) if name in INTEGER else (0, 1, -0.5, 2)))
        elif how == "array" and set(np.broadcast_shapes(shapes[0], shapes[i + 1])) <= set(
            shapes[0]
        ):
            bounds[side] = array(draw, name, shapes[i + 1])
    return Call(op, (x,), bounds, elementwise=True)


@drawn("isclose", "allclose")
def close(draw, op):
    shapes = several(draw, 2)
    first, second = pair_of_types(draw, ANY)
    args = (array(draw, first, shapes[0], "special"), array(draw, second, shapes[1], "special"))
    return Call(
        op, args, options(draw, rtol=(0.0, 0.5, 1e-3), atol=(0.0, 1.0), equal_nan=(True, False))
    )


@drawn("nan_to_num")
def nan_to_num(draw, op):
    x = array(draw, (*INEXACT, *INTEGER), kind="special")
    chosen = options(draw, nan=(1.0, 0.0), posinf=(2.0, None), neginf=(-2.0, None))
    return Call(op, (x,), chosen, elementwise=True)


@drawn("where")
def where(draw, op):
    shapes = several(draw, 3)
    condition = array(draw, "bool", shapes[0])
    first, second = pair_of_types(draw, ANY)
    x, y = array(draw, first, shapes[1], "special"), array(draw, second, shapes[2], "special")
    number = draw(st.sampled_from((0, 1.5, 2, True)))
    args = draw(st.sampled_from(((x, y), (x, y), (x, number), (number, y))))
    return Call(op, (condition, *args), elementwise=True)
