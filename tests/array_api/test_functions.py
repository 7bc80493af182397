"""A function of Trellis that is called with wrapped arrays returns them, with the same values."""

import operator

import numpy as np
import pytest

import trellis
from trellis._core import dispatch
from trellis.array_api import WrappedArray, unwrap, wrap
from trellis.conformance.rows import ROWS, arrays_in, cast, check, corners, expectation, map_arrays

FIRST_ROWS = {row.op: name for name, row in reversed(ROWS.items())}
# What these return is no array.
WITHOUT_ARRAYS = ("can_cast", "device", "dtype", "finfo", "iinfo", "isdtype", "result_type")


def _rows():
    named = [(name, ROWS[name]) for name in FIRST_ROWS.values()]
    # Arrays of any library go into `from_dlpack`, and come out as native ones.
    asked = [(n, row) for n, row in named if row.op != "from_dlpack"]
    return [n for n, row in asked if arrays_in(row.args) and row.call is None]


def _leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in _leaves(item)]
    return [result]


def _native(result):
    if isinstance(result, (tuple, list)):
        parts = [_native(item) for item in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return unwrap(result)


@pytest.mark.parametrize("name", _rows())
def test_wrapped_arguments_give_wrapped_results(name, backend, array):
    row = ROWS[name]
    args = map_arrays(lambda x: wrap(array(cast(x, "float32", backend))), row.args)
    fn = operator.attrgetter(row.op)(trellis)
    with corners(row), trellis.using_backend(backend):
        result = fn(*args, **row.kwargs)
        kinds = {type(x) for x in _leaves(result) if hasattr(x, "dtype")}
        assert kinds <= {WrappedArray}
        assert kinds or row.op in WITHOUT_ARRAYS
        found = _native(result)
        found = found if row.then is None else row.then(found)
    check(found, expectation(row, "float32", backend), row, "float32", backend)


def test_native_arrays_pay_nothing():
    """The class is found where no type of the table is: the table that compilers guard on stays."""
    assert WrappedArray not in dispatch._by_type
    assert not hasattr(np.ndarray, "__trellis_backend__")


def test_wrapped_arrays_may_meet_native_ones_of_their_framework(xp):
    x = xp.asarray([1.0, 2.0])
    for result in (trellis.add(wrap(x), x), trellis.add(x, wrap(x))):
        assert isinstance(result, WrappedArray)
        assert np.array_equal(np.asarray(result), [2.0, 4.0])


@pytest.mark.needs("jax", "torch", "tensorflow")
@pytest.mark.parametrize("pair", [("numpy", "torch"), ("jax", "tensorflow")])
def test_two_frameworks_raise(pair):
    x, y = [wrap(trellis.namespace(name).asarray([1.0])) for name in pair]
    for call in (lambda: x + y, lambda: trellis.add(x, y), lambda: trellis.stack([x, y])):
        with pytest.raises(trellis.errors.MixedBackendsError, match="different frameworks"):
            call()
