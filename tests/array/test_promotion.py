"""One promotion table: every function of several arrays gives the type that `result_type` names, on
all four.

Operators of native arrays are the framework's own; these are about the functions.
"""

import itertools

import numpy as np
import pytest

import trellis
from conftest import one_program
from trellis import errors
from trellis._core import dtypes

NAMES = ("bool", *dtypes.NUMERIC)
PAIRS = list(itertools.combinations_with_replacement(NAMES, 2))
OPEN = [(a, b) for a, b in PAIRS if (a, b) not in dtypes.PROMOTION]
INEXACT = (*dtypes.FLOATING, *dtypes.COMPLEX)


def number_types(a, b):
    return "bool" not in (a, b)


def real(a, b):
    return not {a, b} & set(dtypes.COMPLEX)


def integral(a, b):
    return {a, b} <= set(dtypes.INTEGER)


def anything(a, b):
    return True


def as_float(name):
    return name if name in INEXACT else str(trellis.default_dtype())


def same(name):
    return name


def truth(name):
    return "bool"


# The call, the pairs that it is defined for, and its type as a function of the promoted type.
FUNCTIONS = {
    "add": (trellis.add, number_types, same),
    "subtract": (trellis.subtract, number_types, same),
    "multiply": (trellis.multiply, number_types, same),
    "divide": (trellis.divide, number_types, as_float),
    "pow": (trellis.pow, number_types, same),
    "floor_divide": (trellis.floor_divide, lambda a, b: number_types(a, b) and real(a, b), same),
    "fmod": (trellis.fmod, lambda a, b: number_types(a, b) and real(a, b), same),
    "truncate_divide": (
        trellis.truncate_divide,
        lambda a, b: number_types(a, b) and real(a, b),
        same,
    ),
    "remainder": (trellis.remainder, lambda a, b: number_types(a, b) and real(a, b), same),
    "maximum": (trellis.maximum, lambda a, b: number_types(a, b) and real(a, b), same),
    "minimum": (trellis.minimum, lambda a, b: number_types(a, b) and real(a, b), same),
    "atan2": (trellis.atan2, real, as_float),
    "copysign": (trellis.copysign, real, as_float),
    "hypot": (trellis.hypot, real, as_float),
    "logaddexp": (trellis.logaddexp, real, as_float),
    "bitwise_and": (trellis.bitwise_and, integral, same),
    "bitwise_xor": (trellis.bitwise_xor, integral, same),
    "bitwise_left_shift": (trellis.bitwise_left_shift, integral, same),
    "equal": (trellis.equal, anything, truth),
    "not_equal": (trellis.not_equal, anything, truth),
    "less": (trellis.less, real, truth),
    "greater_equal": (trellis.greater_equal, real, truth),
    "isclose": (trellis.isclose, number_types, truth),
    "where": (lambda x, y: trellis.where(trellis.equal(x, x), x, y), anything, same),
    "concat": (lambda x, y: trellis.concat([x, y]), anything, same),
    "stack": (lambda x, y: trellis.stack([x, y]), anything, same),
    "matmul": (trellis.matmul, number_types, same),
    "vecdot": (trellis.vecdot, number_types, same),
    "tensordot": (lambda x, y: trellis.tensordot(x, y, axes=1), number_types, same),
    "einsum": (lambda x, y: trellis.einsum("i,i->i", x, y), number_types, same),
    "outer": (trellis.linalg.outer, number_types, same),
    "cross": (trellis.linalg.cross, number_types, same),
    "diff": (lambda x, y: trellis.diff(x, prepend=y), number_types, same),
}


def three(array, name, backend):
    """1, 2, 3 in a data type; bfloat16 is not a type that np.array can read by name."""
    values = np.array([1, 2, 3])
    return array(values.astype(trellis.namespace("numpy").as_dtype(name)))


def type_of(backend, call, *args):
    """The data type of a result; JAX tells it without compiling a program for each pair of types.

    Values of mixed types are compared below, one call after the other.
    """
    if backend == "jax":
        import jax

        return str(jax.eval_shape(call, *args).dtype)
    return str(trellis.dtype(call(*args)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_follow_the_table(function, backend, array, x64):
    call, is_defined, to_result = FUNCTIONS[function]
    wrong = []
    with x64():
        arrays = {name: three(array, name, backend) for name in NAMES}
        for pair in dtypes.PROMOTION:
            if not is_defined(*pair):
                continue
            wanted = to_result(dtypes.promote(*pair))
            try:
                found = type_of(backend, call, arrays[pair[0]], arrays[pair[1]])
            except Exception as error:  # collected: one list tells more than the first failure
                found = f"{type(error).__name__}: {error}"[:200]
            if found != wanted:
                wrong.append((*pair, found, wanted))
    assert wrong == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_types_without_a_common_one_are_refused(function, backend, array, x64):
    call, is_defined, _ = FUNCTIONS[function]
    assert OPEN == [(s, "uint64") for s in dtypes.SIGNED]
    with x64():
        for a, b in OPEN:
            if not is_defined(a, b):
                continue
            x, y = three(array, a, backend), three(array, b, backend)
            for args in ((x, y), (y, x)):
                with pytest.raises(errors.DtypeError, match="No data type holds both"):
                    call(*args)


VALUES = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "maximum": np.maximum,
    "matmul": np.matmul,
    "where": lambda x, y: x,
}


@pytest.mark.parametrize("function", VALUES)
def test_values_of_mixed_types(function, backend, array, x64):
    """1 to 3 are exact in every type, and so are these results but the quotients."""
    call, is_defined, _ = FUNCTIONS[function]
    ones = np.array([1.0, 2.0, 3.0])
    with x64():
        arrays = {name: three(array, name, backend) for name in NAMES if name != "bool"}
        for a, b in dtypes.PROMOTION:
            if "bool" in (a, b) or not is_defined(a, b):
                continue
            result = trellis.to_numpy(trellis.astype(call(arrays[a], arrays[b]), "complex128"))
            np.testing.assert_allclose(result, VALUES[function](ones, ones), rtol=2.0**-7)


# Python numbers
# ------------------------------------------------------------------------------------

NUMBERS = [True, 2, 2.5, 1 + 2j]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_numbers_never_widen(number, backend, array, x64):
    wrong = []
    for default in ("float32", "float64"):
        with x64(), trellis.using_default_dtype(default):
            for name in NAMES:
                wanted = dtypes.with_scalar(name, number)
                x = three(array, name, backend)
                for function in ("multiply", "where", "add"):
                    if name == "bool" and number is True and function != "where":
                        continue  # arithmetic of bools alone is not defined
                    call = {
                        "multiply": lambda x: trellis.multiply(number, x),
                        "add": lambda x: trellis.add(x, number),
                        "where": lambda x: trellis.where(trellis.equal(x, x), x, number),
                    }[function]
                    found = type_of(backend, call, x)
                    if found != wanted:
                        wrong.append((default, function, name, found, wanted))
                assert trellis.result_type(x, number) == wanted
    assert wrong == []


def test_two_numbers(backend, array, x64):
    condition = array(np.array([True, False]))
    with x64():
        for pair, wanted in (
            ((1.5, 2), "float32"),
            ((1, 2), "int64"),
            ((True, False), "bool"),
            ((1j, 2), "complex64"),
        ):
            assert trellis.dtype(trellis.where(condition, *pair)) == wanted


# Integers where floats are needed
# ------------------------------------------------------------------

FLOAT_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cos cosh erf exp expm1 log log1p log2 log10 reciprocal sin "
    "sinh sqrt tan "
    "tanh mean std var logsumexp"
).split()


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_integers_in_float_functions(name, backend, array, x64):
    """They take the default float, whatever their width."""
    function = getattr(trellis, name)
    for default in ("float32", "float64"):
        with x64(), trellis.using_default_dtype(default), np.errstate(all="ignore"):
            kinds = ("float64", "bool", *dtypes.INTEGER)
            xs = [array(np.array([1, 1]).astype(kind)) for kind in kinds]
            exact, *found = one_program(backend, lambda xs: [function(x) for x in xs])(xs)
            for y in found:
                assert trellis.dtype(y) == default
                np.testing.assert_allclose(trellis.to_numpy(y), trellis.to_numpy(exact), rtol=1e-6)


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_floats_keep_their_type(name, backend, array, x64):
    with x64():
        for kind in dtypes.FLOATING:
            x = array(np.full(3, 1.0).astype(trellis.namespace("numpy").as_dtype(kind)))
            with np.errstate(all="ignore"):
                assert type_of(backend, getattr(trellis, name), x) == kind


def test_small_integers_do_not_overflow(backend, array):
    x = trellis.exp(array(np.array([12], "int8")))
    np.testing.assert_allclose(trellis.to_numpy(x), np.exp([12.0]), rtol=1e-6)
    x = trellis.reciprocal(array(np.array([4], "int32")))
    np.testing.assert_allclose(trellis.to_numpy(x), [0.25])


# Casts
# ---------------------------------------------------------------------------------------------


def test_a_cast_needs_a_type(backend, array):
    with pytest.raises(errors.DtypeError, match="needs a data type, got None"):
        trellis.astype(array(np.ones(2, "float32")), None)


@pytest.mark.parametrize("target", [*dtypes.FLOATING, "int32", "uint8"])
def test_the_imaginary_part_is_not_dropped(target, backend, array, x64):
    with x64():
        for source in dtypes.COMPLEX:
            x = array(np.array([1 + 2j], source))
            with pytest.raises(errors.DtypeError, match="imaginary part would be lost"):
                trellis.astype(x, target)
            assert bool(trellis.astype(x, "bool")[0])
            assert trellis.dtype(trellis.astype(x, "complex128")) == "complex128"


def test_what_can_be_cast(backend, x64):
    """`can_cast` is the table read the other way."""
    with x64(), trellis.using_backend(backend):
        for a, b in itertools.product(NAMES, repeat=2):
            assert trellis.can_cast(a, b) == (dtypes.PROMOTION.get((a, b)) == b), (a, b)


# Devices
# -------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there(backend, array, xp):
    """Nothing lands on another device than the one that was asked for."""
    x = array(np.ones(2, "float32"))
    calls = (
        lambda d: trellis.to_device(x, d),
        lambda d: trellis.zeros(2, device=d, backend=backend),
        lambda d: trellis.asarray([1.0], device=d, backend=backend),
        lambda d: trellis.full(2, 1.0, device=d, backend=backend),
        lambda d: trellis.arange(3, device=d, backend=backend),
        lambda d: trellis.linspace(0, 1, 3, device=d, backend=backend),
        lambda d: trellis.eye(2, device=d, backend=backend),
        lambda d: trellis.fft.fftfreq(4, device=d, backend=backend),
        lambda d: trellis.astype(x, "float16", device=d),
        lambda d: xp.ones_like(x, device=d),
        lambda d: xp.from_numpy(np.ones(2, "float32"), device=d),
    )
    for device in ("gpu:7", "cuda:7", "nonsense"):
        for call in calls:
            with pytest.raises(errors.DeviceError):
                call(device)
