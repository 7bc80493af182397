import math

import numpy as np
from scipy import special

from .case import (
    COMPLEX,
    CORNER,
    NO_FLOATS,
    NOT_FLOAT,
    STEPS,
    Case,
    complex_numbers,
    numbers,
)

x = numbers(2, 3)
y = numbers(3, seed=1)
positive = numbers(2, 3, low=0.5, high=3.0)
unit = numbers(2, 3, low=-0.9, high=0.9)
z = complex_numbers(2, 3)
w = complex_numbers(3, seed=5)
whole = np.array([[-7, 7, 3], [2, -2, 5]])
divisor = np.array([2, -3, 4])
bits = np.array([0b1100, 0b1010, 255])
other_bits = np.array([0b1010, 0b0110, 1])
shifts = np.array([0, 1, 3])
yes = np.array([True, True, False, False])
no = np.array([True, False, True, False])
specials = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.2, -1.7])


CASES = [
    # Smooth functions of one array
    Case("acos", (unit,), np.arccos),
    Case("acosh", (positive + 1,), np.arccosh),
    Case("asin", (unit,), np.arcsin),
    Case("asinh", (x,), np.arcsinh),
    Case("atan", (x,), np.arctan),
    Case("atanh", (unit,), np.arctanh),
    Case("cbrt", (x,), np.cbrt),
    Case("cos", (x,), np.cos),
    Case("cosh", (x,), np.cosh),
    Case("erf", (x,), lambda x: np.vectorize(math.erf)(x)),
    Case("erfc", (x,), lambda x: np.vectorize(math.erfc)(x)),
    Case("erfinv", (unit,), special.erfinv),
    Case("exp", (x,), np.exp),
    Case("exp2", (x,), np.exp2),
    Case("expm1", (x,), np.expm1),
    Case("log", (positive,), np.log),
    Case("log10", (positive,), np.log10),
    Case("log1p", (positive,), np.log1p),
    Case("log2", (positive,), np.log2),
    Case("reciprocal", (positive,), lambda x: 1 / x),
    Case("rsqrt", (positive,), lambda x: 1 / np.sqrt(x)),
    Case("sin", (x,), np.sin),
    Case("sinh", (x,), np.sinh),
    Case("sqrt", (positive,), np.sqrt),
    Case("square", (x,), lambda x: x * x),
    Case("tan", (unit,), np.tan),
    Case("tanh", (x,), np.tanh),
    # Accuracy near zero, where the plain formula loses all digits
    Case(
        "expm1", (np.array([1e-12, -1e-12]),), [1e-12, -1e-12], about="near zero", gradient=CORNER
    ),
    Case(
        "log1p", (np.array([1e-12, -1e-12]),), [1e-12, -1e-12], about="near zero", gradient=CORNER
    ),
    Case("cbrt", (np.array([1e-30, 1e30]),), [1e-10, 1e10], about="far", gradient=CORNER),
    Case(
        "erfc",
        (np.array([5.0, 8.5]),),
        [1.5374597944280349e-12, 2.7623240713337714e-33],
        about="tail",
        gradient=CORNER,
        rtol32=1e-5,  # exp(-x * x) makes x * x units of the last digit of x
    ),
    # Corners
    Case("acos", (np.array([1.0, -1.0, 2.0]),), [0, np.pi, np.nan], about="edges", gradient=CORNER),
    Case(
        "atanh",
        (np.array([1.0, -1.0, 2.0]),),
        [np.inf, -np.inf, np.nan],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "exp",
        (np.array([-np.inf, np.inf, np.nan]),),
        [0, np.inf, np.nan],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "log",
        (np.array([0.0, -1.0, np.inf]),),
        [-np.inf, np.nan, np.inf],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "sqrt",
        (np.array([0.0, -1.0, np.inf]),),
        [0, np.nan, np.inf],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "rsqrt",
        (np.array([0.0, -1.0, np.inf]),),
        [np.inf, np.nan, 0.0],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "tanh",
        (np.array([-np.inf, np.inf, 100.0]),),
        [-1.0, 1.0, 1.0],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "cbrt",
        (np.array([0.0, -0.0, np.inf, -np.inf]),),
        [0.0, -0.0, np.inf, -np.inf],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "erfc", (np.array([-np.inf, 0.0, np.inf]),), [2.0, 1.0, 0.0], about="edges", gradient=CORNER
    ),
    Case(
        "erfinv",
        (np.array([-1.0, 0.0, 1.0, 2.0]),),
        [-np.inf, 0.0, np.inf, np.nan],
        about="edges",
        gradient=CORNER,
    ),
    Case(
        "erf", (np.array([-np.inf, 0.0, np.inf]),), [-1.0, 0.0, 1.0], about="edges", gradient=CORNER
    ),
    # Integers in functions that need floats give the default float
    Case(
        "sin",
        (np.array([0, 1, 2]),),
        np.sin(np.array([0, 1, 2.0])),
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case(
        "exp",
        (np.array([0, 1, 2]),),
        np.exp([0, 1, 2.0]),
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case(
        "sqrt",
        (np.array([0, 1, 4]),),
        [0.0, 1.0, 2.0],
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    # Complex numbers
    Case("abs", (z,), np.abs, about="complex", gradient=COMPLEX),
    Case("conj", (z,), np.conj, gradient=COMPLEX),
    Case("conj", (x,), x, about="real"),
    Case("exp", (z,), np.exp, about="complex", gradient=COMPLEX),
    Case("imag", (z,), np.imag, gradient=COMPLEX),
    Case("log", (z,), np.log, about="complex", gradient=COMPLEX),
    Case("multiply", (z, w), np.multiply, about="complex", gradient=COMPLEX),
    Case("divide", (z, w), np.divide, about="complex", gradient=COMPLEX),
    Case("real", (z,), np.real, gradient=COMPLEX),
    Case("real", (x,), x, about="real"),
    Case("sign", (z,), lambda z: z / np.abs(z), about="complex", gradient=COMPLEX),
    Case("sqrt", (z,), np.sqrt, about="complex", gradient=COMPLEX),
    Case("tanh", (z,), np.tanh, about="complex", gradient=COMPLEX),
    # Signs, rounding, classification
    Case("abs", (x,), np.abs),
    Case("abs", (whole,), np.abs(whole), about="integers", gradient=NO_FLOATS),
    Case("ceil", (halves,), np.ceil(halves), gradient=STEPS),
    Case("ceil", (whole,), whole, about="integers", gradient=NO_FLOATS),
    Case("floor", (halves,), np.floor(halves), gradient=STEPS),
    Case("floor", (whole,), whole, about="integers", gradient=NO_FLOATS),
    Case("isfinite", (specials,), [True] * 4 + [False] * 3, gradient=NOT_FLOAT),
    Case("isinf", (specials,), [False] * 4 + [True] * 2 + [False], gradient=NOT_FLOAT),
    Case("isnan", (specials,), [False] * 6 + [True], gradient=NOT_FLOAT),
    Case("isnan", (whole,), np.zeros((2, 3), bool), about="integers", gradient=NO_FLOATS),
    Case("negative", (x,), lambda x: -x),
    Case("positive", (x,), lambda x: x),
    Case("round", (halves,), [-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 1.0, -2.0], gradient=STEPS),
    Case("round", (whole,), whole, about="integers", gradient=NO_FLOATS),
    Case("sign", (np.array([-3.0, 0.0, 2.0]),), [-1.0, 0.0, 1.0], gradient=STEPS),
    Case("sign", (np.array([-3, 0, 2]),), [-1, 0, 1], about="integers", gradient=NO_FLOATS),
    Case("signbit", (specials[:6],), [False, True, False, True, False, True], gradient=NOT_FLOAT),
    Case("trunc", (halves,), np.trunc(halves), gradient=STEPS),
    Case("trunc", (whole,), whole, about="integers", gradient=NO_FLOATS),
    Case("nan_to_num", (np.array([np.nan, 1.5, np.nan]),), [0.0, 1.5, 0.0], gradient=CORNER),
    Case(
        "nan_to_num",
        (specials,),
        [0.0, 0.0, 1.0, -1.0, 9.0, -8.0, 7.0],
        about="all replaced",
        kwargs={"nan": 7.0, "posinf": 9.0, "neginf": -8.0},
        gradient=CORNER,
    ),
    # Two arrays, broadcast
    Case("add", (x, y), np.add),
    Case("atan2", (x, y), np.arctan2),
    Case(
        "atan2",
        (np.array([0.0, -0.0, 1.0]), np.array([-1.0, -1.0, 0.0])),
        [np.pi, -np.pi, np.pi / 2],
        about="quadrants",
        gradient=CORNER,
    ),
    Case(
        "copysign",
        (x, np.array([1.0, -1.0, -0.0])),
        lambda x, s: np.abs(x) * np.array([1.0, -1.0, -1.0]),
        gradient="the sign argument is a step function",
    ),
    Case("divide", (x, np.abs(y) + 1), np.divide),
    Case(
        "divide",
        (np.array([1.0, -1.0, 0.0]), np.zeros(3)),
        [np.inf, -np.inf, np.nan],
        about="by zero",
        gradient=CORNER,
    ),
    Case(
        "divide",
        (whole, divisor),
        lambda a, b: a / b,
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("floor_divide", (x, y), np.floor_divide, gradient=STEPS),
    Case("floor_divide", (whole, divisor), whole // divisor, about="integers", gradient=NO_FLOATS),
    # The numbers keep away from the places where the remainder jumps.
    Case(
        "fmod",
        (np.array([[7.5, -7.5, 0.25], [-0.25, 5.75, -5.75]]), np.array([2.0, -2.25, 0.75])),
        [[1.5, -0.75, 0.25], [-0.25, 1.25, -0.5]],
    ),
    Case(
        "fmod",
        (np.array([-4.0, 5.0, -1.5, np.inf]), np.array([2.0, -np.inf, np.inf, 1.0])),
        [-0.0, 5.0, -1.5, np.nan],
        about="edges",
        gradient=CORNER,
    ),
    Case("fmod", (whole, divisor), [[-1, 1, 3], [0, -2, 1]], about="integers", gradient=NO_FLOATS),
    Case("hypot", (x, y), np.hypot),
    Case("hypot", (np.array([3e30]), np.array([4e30])), [5e30], about="large", gradient=CORNER),
    Case("logaddexp", (x, y), np.logaddexp),
    Case(
        "logaddexp",
        (np.array([1000.0, -np.inf, -np.inf]), np.array([1000.0, 1.0, -np.inf])),
        [1000 + math.log(2), 1.0, -np.inf],
        about="edges",
        gradient=CORNER,
    ),
    Case("maximum", (x, y), np.maximum),
    Case(
        "maximum",
        (np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0, 3.0])),
        [np.nan, np.nan, 3.0],
        about="nan",
        gradient=CORNER,
    ),
    Case("minimum", (x, y), np.minimum),
    Case(
        "minimum",
        (np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0, 3.0])),
        [np.nan, np.nan, 2.0],
        about="nan",
        gradient=CORNER,
    ),
    Case("multiply", (x, y), np.multiply),
    Case(
        "nextafter",
        (np.array([1.0, 1.0, 0.0]), np.array([2.0, 0.0, 0.0])),
        [1 + 2.0**-23, 1 - 2.0**-24, 0.0],
        gradient="it steps from number to number",
        dtypes=("float32",),
        rtol32=0.0,
    ),
    Case("pow", (positive, y), np.power),
    Case("pow", (np.array([2, 3]), np.array([3, 2])), [8, 9], about="integers", gradient=NO_FLOATS),
    Case("remainder", (x, np.abs(y) + 0.5), np.remainder, gradient=STEPS),
    Case("remainder", (whole, divisor), whole % divisor, about="integers", gradient=NO_FLOATS),
    Case("subtract", (x, y), np.subtract),
    Case("truncate_divide", (x, y), lambda x, y: np.trunc(x / y), gradient=STEPS),
    Case(
        "truncate_divide",
        (whole, divisor),
        [[-3, -2, 0], [1, 0, 1]],
        about="integers",
        gradient=NO_FLOATS,
    ),
    Case("truncate_divide", (7, divisor), [3, -2, 1], about="int and integers", gradient=NO_FLOATS),
    # Python numbers beside arrays take the array's type
    Case("add", (x, 1), lambda x, s: x + 1, about="array and int"),
    Case("add", (2.5, x), lambda s, x: 2.5 + x, about="float and array"),
    Case(
        "add",
        (np.array([1, 2], "int32"), 3),
        np.array([4, 5], "int32"),
        about="int32 and int",
        gradient=NO_FLOATS,
    ),
    Case("maximum", (x, 0), lambda x, s: np.maximum(x, 0), about="array and int"),
    Case(
        "multiply",
        (np.array([1, 2]), 0.5),
        [0.5, 1.0],
        about="integers and float",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("pow", (x, 2), lambda x, s: x**2, about="array and int"),
    Case("pow", (2, x), lambda s, x: 2**x, about="int and array"),
    Case("subtract", (1, x), lambda s, x: 1 - x, about="int and array"),
    # Promotion
    Case(
        "add",
        (np.array([1, 2], "int8"), np.array([1, 200], "uint8")),
        np.array([2, 202], "int16"),
        about="int8 and uint8",
        gradient=NO_FLOATS,
    ),
    Case(
        "add",
        (np.array([1, 2], "int32"), x[0, :2]),
        lambda n, x: n + x,
        about="int32 and float",
        gradient=CORNER,
    ),
    # Comparisons
    Case(
        "equal",
        (np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, np.nan])),
        [True, False, False],
        gradient=NOT_FLOAT,
    ),
    Case("equal", (np.array([1, 2]), 2), [False, True], about="array and int", gradient=NOT_FLOAT),
    Case(
        "greater",
        (np.array([1, 2, 3]), np.array([2, 2, 2])),
        [False, False, True],
        gradient=NOT_FLOAT,
    ),
    Case(
        "greater_equal",
        (np.array([1, 2, 3]), np.array([2, 2, 2])),
        [False, True, True],
        gradient=NOT_FLOAT,
    ),
    Case(
        "less", (np.array([1, 2, 3]), np.array([2, 2, 2])), [True, False, False], gradient=NOT_FLOAT
    ),
    Case(
        "less_equal",
        (np.array([1, 2, 3]), np.array([2, 2, 2])),
        [True, True, False],
        gradient=NOT_FLOAT,
    ),
    Case(
        "not_equal",
        (np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, np.nan])),
        [False, True, True],
        gradient=NOT_FLOAT,
    ),
    Case(
        "isclose",
        (np.array([1.0, 1.0, np.inf, np.nan]), np.array([1.0 + 1e-6, 1.1, np.inf, np.nan])),
        [True, False, True, False],
        gradient=NOT_FLOAT,
    ),
    Case(
        "isclose",
        (np.array([1.0, np.nan]), np.array([1.05, np.nan])),
        [True, True],
        about="options",
        kwargs={"rtol": 0.0, "atol": 0.1, "equal_nan": True},
        gradient=NOT_FLOAT,
    ),
    # Logic and bits
    Case("bitwise_and", (bits, other_bits), bits & other_bits, gradient=NO_FLOATS),
    Case("bitwise_and", (yes, no), yes & no, about="bools", gradient=NO_FLOATS),
    Case("bitwise_invert", (bits,), ~bits, gradient=NO_FLOATS),
    Case("bitwise_invert", (yes,), ~yes, about="bools", gradient=NO_FLOATS),
    Case("bitwise_left_shift", (bits, shifts), bits << shifts, gradient=NO_FLOATS),
    Case("bitwise_or", (bits, other_bits), bits | other_bits, gradient=NO_FLOATS),
    Case("bitwise_right_shift", (np.array([8, -5, 255]), shifts), [8, -3, 31], gradient=NO_FLOATS),
    Case("bitwise_xor", (bits, other_bits), bits ^ other_bits, gradient=NO_FLOATS),
    Case("logical_and", (yes, no), [True, False, False, False], gradient=NO_FLOATS),
    Case("logical_not", (yes,), [False, False, True, True], gradient=NO_FLOATS),
    Case("logical_or", (yes, no), [True, True, True, False], gradient=NO_FLOATS),
    Case("logical_xor", (yes, no), [False, True, True, False], gradient=NO_FLOATS),
    # clip
    Case("clip", (x,), lambda x: np.clip(x, -1, 1), kwargs={"min": -1, "max": 1}),
    Case("clip", (x, None, 0.5), lambda x, low, high: np.minimum(x, 0.5), about="one side"),
    Case(
        "clip", (x, np.array([-1.0, 0.0, 0.5]), np.array([0.0, 1.0, 1.0])), np.clip, about="arrays"
    ),
    Case("clip", (whole, -3, 3), np.clip(whole, -3, 3), about="integers", gradient=NO_FLOATS),
]
