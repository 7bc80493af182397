"""Every row of `cases` on every backend: values, types, compiled equals eager, Containers,
gradients."""

import operator

import numpy as np
import pytest

import trellis
from trellis import testing

from .compilers import compile_with, forget_programs
from .narrow_gradients import check_narrow_gradients
from .rows import ROWS, arrays_in, cast, check, corners, expectation, float_types, map_arrays, run

FIRST_ROWS = {row.op: name for name, row in reversed(ROWS.items())}


# The tests
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_value(name, backend, array, x64):
    row = ROWS[name]
    for dtype in float_types(row, backend):
        with corners(row), trellis.using_backend(backend):
            if dtype == "float64":
                with x64():
                    args = map_arrays(lambda x: array(cast(x, "float64", backend)), row.args)
                    result = run(row, args)
            else:
                args = map_arrays(lambda x: array(cast(x, "float32", backend)), row.args)
                result = run(row, args)
        check(result, expectation(row, dtype, backend), row, dtype, backend)


@pytest.mark.parametrize(
    "name", [name for name, row in ROWS.items() if not isinstance(row.compiled, str)]
)
def test_compiled(name, backend, array):
    check_compiled(name, backend, array)


def check_compiled(name, backend, array, open_sizes=False):
    row = ROWS[name]
    forget_programs(backend)
    args = map_arrays(lambda x: array(cast(x, "float32", backend)), row.args)
    is_array = [isinstance(x, np.ndarray) for x in row.args]
    traced = [x for x, traced in zip(args, is_array, strict=True) if traced]

    def of_arrays(*arrays):
        remaining = list(arrays)
        return run(row, [remaining.pop(0) if t else x for x, t in zip(args, is_array, strict=True)])

    def of_one_list(*arrays):
        return run(row, (arrays,))

    fn = of_arrays
    if not traced and arrays_in(row.args):
        fn, traced = of_one_list, args[0]

    with corners(row), trellis.using_backend(backend):
        # Once for each function: rewriting sources takes longer than all else.
        is_first = name == FIRST_ROWS[row.op]
        compiled = compile_with(backend, fn, autograph=is_first, open_sizes=open_sizes)
        result = compiled(*traced)
    check(result, expectation(row, "float32", backend), row, "float32", backend)


# These ask about one array, or hand its memory over, or set no values.
ONE_ARRAY = ("can_cast", "dtype", "device", "result_type", "from_dlpack", "empty_like")


def _mappable():
    rows = [(name, ROWS[name]) for name in FIRST_ROWS.values()]
    return [n for n, r in rows if arrays_in(r.args) and not r.call and r.op not in ONE_ARRAY]


@pytest.mark.parametrize("name", _mappable())
def test_container(name, backend, array):
    """A Container gives what its leaves give, one by one; a result of several arrays is several
    pytrees."""
    row = ROWS[name]

    def leaf(scale):
        def make(x):
            x = cast(x, "float32", backend)
            return array(x * np.asarray(scale, x.dtype) if x.dtype.kind in "fc" else x)

        return make

    scale = 2.0 if row.op == "acosh" else 0.5  # it has no value below 1
    one, other = map_arrays(leaf(1.0), row.args), map_arrays(leaf(scale), row.args)
    nests = _nested(row.args, one, other)
    fn = operator.attrgetter(row.op)(trellis)
    result = fn(*nests, **row.kwargs)
    first, second = fn(*one, **row.kwargs), fn(*other, **row.kwargs)
    if isinstance(first, (tuple, list)):
        assert type(result) is type(first) and len(result) == len(first)
    for nest, x, y in zip(_flat(result), _flat(first), _flat(second), strict=True):
        assert type(nest) is trellis.Container
        testing.assert_close(nest, {"a": x, "b": {"c": y}}, backend=backend)


def _flat(result):
    """The arrays or pytrees of a result, which may be tuples of tuples."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _flat(part)]
    return [result]


def _nested(template, one, other):
    if isinstance(template, np.ndarray):
        return trellis.Container(a=one, b={"c": other})
    if isinstance(template, (list, tuple)):
        return type(template)(
            _nested(t, x, y) for t, x, y in zip(template, one, other, strict=True)
        )
    return one


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.gradient is True])
def test_gradient(name, backend, array, x64, xp):
    """Against central differences in float64; NumPy's derivatives are our own, so to second order
    there. A framework without float64 is compared with NumPy."""
    row = ROWS[name]
    if not xp.ABILITIES.has_float64:
        check_narrow_gradients(row, backend, array)
        return
    with x64(), trellis.using_backend(backend):
        args = map_arrays(lambda x: array(cast(x, "float64", backend)), row.args)
        order = 2 if backend == "numpy" else 1
        testing.check_gradients(lambda *args: run(row, args), args, order=order)
