"""Which error a caller gets for which error of a framework: classes, words, second attempts."""

import operator

import numpy as np
import pytest

from trellis._core.arrays import holds_scalar, is_array, plain, plain_for, shape_of
from trellis._core.explain import explain
from trellis._core.guards import WrongKind
from trellis._core.typing import Array
from trellis.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    DtypeError,
    NotSupportedError,
    OutOfMemoryError,
    ShapeError,
    TracingError,
)

X, Y = np.ones(2, "float32"), np.ones(3, "float32")


def explained(error, fn, /, **arguments):
    """What `explain` raises for an error, given the arguments of the call."""
    try:
        explain(error, fn, arguments)
    except Exception as found:
        return found
    raise AssertionError("nothing was raised")


def one(x: Array, axis: int | tuple[int, ...] | None = None, dtype: object = None): ...


def two(x: Array, y: Array): ...


def without(n: int): ...


def solve(x: Array): ...


def with_function(x: Array, fn: object): ...


def with_list(xs: list[Array]): ...


class ConcretizationError(Exception):
    """A name as compilers have them."""


class JaxRuntimeError(Exception):
    """JAX's own class has this name, and is no error of tracing."""


class InJax(Exception):
    __module__ = "jax.errors"


TORN = ValueError("could not be broadcast together")


# error of the framework, function, arguments, class of what is raised, part of its text
ROWS = [
    (TypeError("no"), one, {"x": [1.0]}, ArgumentTypeError, "an array for x"),
    (TypeError("no"), one, {"x": X, "axis": 1.5}, ArgumentTypeError, "for axis, got 1.5"),
    (TypeError("no"), one, {"x": X, "dtype": "float33"}, DtypeError, "data type for dtype"),
    (ValueError("no"), one, {"x": X, "axis": 1}, AxisError, r"one\(\): axis 1 is out of range"),
    (ValueError("no"), one, {"x": X, "axis": (0, 0)}, ShapeError, r"one\(\): The axes"),
    (ValueError("no"), one, {"x": X, "dtype": "float32"}, ArgumentError, "arguments: no"),
    (MemoryError("much"), one, {"x": X}, OutOfMemoryError, r"much \(x is an array of float32"),
    (RuntimeError("RESOURCE_EXHAUSTED: 9"), without, {"n": 1}, OutOfMemoryError, ": RES[^(]*9$"),
    (RuntimeError("Unable to Allocate"), one, {"x": X}, OutOfMemoryError, "more memory"),
    (RuntimeError("matrix is Singular"), solve, {"x": X}, ArgumentError, "can be inverted"),
    (RuntimeError("matrix is Singular"), one, {"x": X}, ArgumentError, "cannot take these"),
    (TORN, two, {"x": X, "y": Y}, ShapeError, r"two\(\) got shapes that do not broadcast"),
    (TORN, two, {"x": X, "y": X}, ShapeError, r"two\(\) cannot take these arguments: could"),
    (ValueError("no"), two, {"x": X, "y": X}, ShapeError, r"y is an array of float32"),
    (ValueError("no"), one, {"x": X}, ArgumentError, "cannot take these arguments: no .x is"),
    (ValueError("no"), without, {"n": 1}, ArgumentError, "cannot take these arguments: no$"),
    (OverflowError("no"), two, {"x": X, "y": X}, ArgumentError, "no"),
    (ValueError("bad dtype"), two, {"x": X, "y": X}, ShapeError, "bad dtype"),
    (ValueError("bad dtype"), two, {"x": X, "y": X.astype(int)}, DtypeError, "bad dtype"),
    (ValueError("no"), two, {"x": X, "y": X.astype(int)}, ShapeError, "no"),
    (ValueError("a\nb"), one, {"x": X}, ArgumentError, r"arguments: a \(x"),
    (ValueError("z" * 400), without, {"n": 1}, ArgumentError, f": {'z' * 300}$"),
    (IndexError("no"), one, {"x": X}, ArgumentError, "no"),
    (ValueError("no"), with_list, {"xs": [X, Y]}, ShapeError, r"xs\[0\] is .*, xs\[1\] is an arr"),
    (JaxRuntimeError("no"), one, {"x": X}, ArgumentError, "no"),
]


@pytest.mark.parametrize("error, fn, arguments, cls, text", ROWS, ids=range(len(ROWS)))
def test_errors_in_our_words(error, fn, arguments, cls, text):
    found = explained(error, fn, **arguments)
    assert type(found) is cls and found.__cause__ is error
    with pytest.raises(cls, match=text):
        raise found


@pytest.mark.parametrize("name", ["cholesky", "inv", "matrix_power", "solve"])
def test_functions_that_need_matrices_with_an_inverse(name):
    def fn(x: Array): ...

    fn.__name__ = name
    found = explained(RuntimeError("the matrix is singular"), fn, x=X)
    assert type(found) is ArgumentError and str(found).startswith(f"{name}() needs ")


def test_objects_that_are_no_arrays_are_named():
    with pytest.raises(AttributeError) as caught:
        operator.attrgetter("shape")("text")
    found = explained(caught.value, one, x=X)
    assert type(found) is ArgumentTypeError and "an array in place of 'text' (str)" in str(found)
    with pytest.raises(AttributeError) as caught:
        operator.attrgetter("other")("text")
    assert explained(caught.value, one, x=X) is caught.value


@pytest.mark.parametrize(
    "error",
    [
        ConcretizationError("no"),
        InJax("no"),
        NotSupportedError("no"),
        TracingError("no"),
        ShapeError("no"),
        KeyError("no"),
        AssertionError("no"),
        NameError("no"),
        ImportError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_stay_as_they_are(error):
    assert explained(error, one, x=X) is error


def test_errors_of_a_users_function_stay():
    error = ValueError("the user's")
    assert explained(error, with_function, x=X, fn=len) is error


def halves(x: Array, n: int = 1, axis: tuple[int, ...] = (0,), *, scale: float = 1.0):
    """It takes Python numbers and tuples only, as a framework may."""
    try:
        for value in (n, scale):
            if isinstance(value, (str, np.generic)):
                raise TypeError("a Python number is wanted")
        if not isinstance(axis, tuple) or not hasattr(x, "dtype"):
            raise TypeError("a tuple is wanted, and an array")
        return x, n, axis, scale
    except Exception as error:
        return explain(error, halves)


def test_numbers_of_numpy_become_pythons():
    x, n, axis, scale = halves(X, np.int64(3), [np.int64(0)], scale=np.float32(0.5))
    assert x is X and (n, axis, scale) == (3, (0,), 0.5)
    assert (type(n), type(axis), type(axis[0]), type(scale)) == (int, tuple, int, float)


def test_a_number_in_place_of_the_only_array_becomes_one():
    x, *_ = halves(2.5)
    assert isinstance(x, np.ndarray) and x.shape == () and x == 2.5


def test_a_second_failure_is_the_one_that_is_told():
    with pytest.raises(ArgumentTypeError, match="for n, got 'a'"):
        halves(X, "a", scale=np.float32(1))


def pair(x: Array, y: Array):
    try:
        if isinstance(x, np.generic) or isinstance(y, np.generic):
            raise TypeError("arrays, or Python numbers")
        return x, y
    except Exception as error:
        return explain(error, pair)


def test_scalars_are_arrays_where_no_other_array_is():
    x, y = pair(X, np.float32(2))
    assert x is X and type(y) is float
    with pytest.raises(ShapeError, match="arrays, or Python numbers"):
        pair(np.float32(1), np.float32(2))


def test_a_function_that_has_changed_its_array_is_not_called_again():
    calls = []

    def changing(x: Array, n: int):
        calls.append(n)
        try:
            x = x + 1
            if isinstance(n, np.generic):
                raise TypeError("no")
            return x
        except Exception as error:
            return explain(error, changing)

    with pytest.raises(ShapeError, match="no"):
        changing(X, np.int64(1))
    assert len(calls) == 1

    def kept(x: Array, n: int):
        inner = [lambda: x]
        calls.append(n)
        try:
            x = inner[0]() + 1  # a variable that another function sees, too
            raise TypeError("no")
        except Exception as error:
            return explain(error, kept)

    with pytest.raises(ShapeError, match="no"):
        kept(X, np.int64(1))
    assert len(calls) == 2

    def guarded(x: Array, n: int):
        calls.append(n)
        try:
            if isinstance(n, np.generic):
                raise WrongKind("before anything was changed")
            x = x + 1
            return x
        except Exception as error:
            return explain(error, guarded)

    assert guarded(X, np.int64(1)).tolist() == [2.0, 2.0]
    assert [type(n) for n in calls[2:]] == [np.int64, int]


def test_scalars_as_python_numbers():
    assert plain(np.longdouble(1.5)) == 1.5 and type(plain(np.longdouble(1.5))) is float
    assert type(plain(np.clongdouble(1.5 + 2j))) is complex
    assert plain(np.clongdouble(1.5 + 2j)) == 1.5 + 2j
    assert plain([np.int64(2), (np.float32(0.5), 3)]) == [2, (0.5, 3)]
    assert type(plain([np.int64(2)])[0]) is int and plain(X) is X
    same = ("a", 1)
    assert plain(same) is same


def test_scalars_are_found_in_tuples_and_lists():
    assert holds_scalar(np.float32(1)) and holds_scalar([1, (np.int8(1),)])
    assert not holds_scalar([1, (2,)]) and not holds_scalar(X) and not holds_scalar({"a": X})


def test_what_is_an_array():
    assert is_array(X) and is_array(np.float32(1)) and not is_array(np.float32) and not is_array(1)
    assert shape_of(X) == (2,) and shape_of(1.5) == () and shape_of("a") == ()
    assert shape_of(np.float32(1)) == ()


def test_a_scalar_stays_on_numpy():
    import trellis

    one = np.float32(1)
    assert plain_for(trellis.namespace("numpy"), one) is one
    torchlike = type("Other", (), {"ARRAY_TYPES": (list,)})
    assert type(plain_for(torchlike, one)) is float
