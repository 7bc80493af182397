"""From rows of `cases` to calls and comparisons, in the types of a run."""

import operator
from typing import Any

import numpy as np

import trellis
from trellis import testing

from .cases import all_cases
from .cases.case import CORNER

ROWS = dict(all_cases())
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def cast(x, dtype, backend):
    """A NumPy array of a row in the types of this run."""
    x = np.asarray(x)
    if x.dtype == np.float64:
        return x.astype(dtype)
    if x.dtype == np.complex128:
        return x.astype(COMPLEX_OF[dtype])
    if x.dtype == np.int64:
        return x.astype(np.dtype(default_int(backend, dtype)))
    return x


def default_int(backend, dtype):
    # JAX counts in 32 bits unless 64-bit types are on, which they are in the float64 run.
    is_wide = dtype == "float64" or trellis.namespace(backend).ABILITIES.is_always_64_bit
    return "int64" if is_wide else "int32"


def map_arrays(fn, value):
    if isinstance(value, np.ndarray):
        return fn(value)
    if isinstance(value, (list, tuple)):
        return type(value)([map_arrays(fn, item) for item in value])
    return value


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    return (
        [x for item in value for x in arrays_in(item)] if isinstance(value, (list, tuple)) else []
    )


def float_types(row, backend):
    """The float types of a row in which the framework can run it, by its abilities."""
    can = trellis.namespace(backend).ABILITIES
    kinds = {x.dtype.name for x in arrays_in(row.args)}
    if not can.has_complex128:
        kinds |= {x.dtype.name for x in arrays_in(expected_value(row))}
    if kinds & {"uint16", "uint32", "uint64"} and not can.has_wide_unsigned:
        return []
    is_wide = can.has_float64 and (can.has_complex128 or "complex128" not in kinds)
    return [name for name in row.dtypes if name != "float64" or is_wide]


def expected_value(row):
    """The expected value of a row, in float64."""
    if not callable(row.expected):
        return row.expected
    with np.errstate(all="ignore"):
        return row.expected(*row.args)


def expectation(row, dtype, backend):
    """The expected value in the types of this run; formulas see the arguments as rounded by the
    run."""
    value = row.expected
    if callable(value):

        def widened(x):
            x = cast(x, dtype, backend)
            wide = {"f": np.float64, "c": np.complex128, "i": np.int64}.get(x.dtype.kind)
            return x if wide is None else x.astype(wide)

        with np.errstate(all="ignore"):
            value = value(*map_arrays(widened, row.args))
    return typed(value, dtype, backend)


def typed(value, dtype, backend):
    if isinstance(value, tuple):
        return tuple(typed(item, dtype, backend) for item in value)
    if isinstance(value, dict):
        return {key: typed(item, dtype, backend) for key, item in value.items()}
    return value if isinstance(value, (str, bool)) else cast(value, dtype, backend)


def run(row, args, kwargs=None):
    """The call of a row; the default backend serves those without any array."""
    fn = operator.attrgetter(row.op)(trellis) if row.call is None else row.call
    result = fn(*args, **(row.kwargs if kwargs is None else kwargs))
    return result if row.then is None else row.then(result)


def corners(row):
    """NumPy warns where a row leaves the domain of a function on purpose."""
    return np.errstate(all="ignore" if row.gradient == CORNER else None)


def check(actual, expected, row, dtype, backend):
    if isinstance(actual, (str, bool, int, float)) and not hasattr(actual, "dtype"):
        assert actual == expected
    elif isinstance(actual, tuple) and all(isinstance(x, (int, float)) for x in actual):
        assert actual == tuple(x if isinstance(x, (int, float)) else x.item() for x in expected)
    else:
        same_type = backend not in row.other_dtype
        rtol = row.rtol32 if dtype == "float32" else None
        rtol = rtol if same_type else 1e-6  # the expectation was rounded to float32
        atol = None if rtol is None else rtol * 0.1
        testing.assert_close(
            actual, expected, backend=backend, rtol=rtol, atol=atol, dtype=same_type
        )


def is_asked(item: Any, backend: str) -> bool:
    """Whether a test is one of the backend: rows say which compilers cannot run them."""
    if item.nodeid.partition("[")[0].rpartition("::")[2] != "test_compiled":
        return True
    params = getattr(getattr(item, "callspec", None), "params", {})
    row = ROWS.get(params.get("name"))
    return row is None or row.is_compilable(backend)
