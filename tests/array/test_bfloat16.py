"""bfloat16 is whole on all four: the rows of `cases` with real floats, values and gradients, run in
it.

The expectation is the row's formula in float64 on the arguments as bfloat16 rounded them. Results
are rounded to 8 binary digits once or twice, so they are within two units (2**-6) of it, taken at
the largest element.
"""

import operator

import numpy as np
import pytest

import trellis
from conftest import one_program
from trellis._core import dtypes
from trellis.conformance.cases import all_cases

UNIT = 2.0**-7
# No framework factorises matrices or transforms in 16 bits; cast to float32 there.
NO_KERNELS = (
    "cholesky det eig eigvals eigh eigvalsh inv matrix_norm pinv qr slogdet solve svd svdvals "
    "matrix_rank"
).split()
# What comes out depends on the last digit of what goes in, or is no array.
SENSITIVE = {
    "nextafter": "the next number of bfloat16 is far away; tested below",
    "functional.accuracy": "a share of counts, in the default float",
    "functional.top_k_accuracy": "a share of counts, in the default float",
    "finfo": "limits of other types",
    "result_type": "rows name their types",
    "can_cast": "rows name their types",
    "isdtype": "rows name their types",
    "dtype": "rows name their types",
    "astype": "rows name their types",
    "empty_like": "its values are not set",
    "from_dlpack": "NumPy exports no bfloat16",
    "linalg.matrix_power": "NumPy's and PyTorch's repeated products; inverses have no kernel",
}


def is_real_row(row):
    arrays = list(leaves(row.args))
    kinds = {x.dtype.kind for x in arrays}
    return "f" in kinds and "c" not in kinds


def leaves(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)


def rows():
    for name, row in all_cases():
        room, _, stem = row.op.rpartition(".")
        if not is_real_row(row) or room == "fft" or stem in NO_KERNELS or row.op in SENSITIVE:
            continue
        if callable(row.expected) and row.then is None:
            yield name, row


ROWS = dict(rows())


def rounded(x, native):
    """A float64 array as bfloat16 holds it, and that in float64 again."""
    return x.astype(native).astype("float64") if x.dtype.kind == "f" else x


def mapped(fn, value):
    if isinstance(value, np.ndarray):
        return fn(value)
    if isinstance(value, (list, tuple)):
        return type(value)([mapped(fn, item) for item in value])
    return value


def arguments(row, backend, array):
    native = trellis.namespace("numpy").as_dtype("bfloat16")
    exact = mapped(lambda x: rounded(x, native), row.args)

    def half(x):
        return array(x.astype(native) if x.dtype.kind == "f" else narrow(x, backend))

    return mapped(half, row.args), exact


def narrow(x, backend):
    """JAX counts in 32 bits."""
    return x.astype("int32") if x.dtype == np.int64 and backend == "jax" else x


def call(row, args):
    fn = operator.attrgetter(row.op)(trellis) if row.call is None else row.call
    return fn(*args, **row.kwargs)


def as_list(value):
    return trellis.tree.leaves(value)


@pytest.mark.parametrize("name", ROWS)
def test_values(name, backend, array):
    row = ROWS[name]
    args, exact = arguments(row, backend, array)
    with np.errstate(all="ignore"), trellis.using_backend(backend):
        found, wanted = as_list(call(row, args)), as_list(row.expected(*exact))
    for y, z in zip(found, wanted, strict=True):
        if type(y) in (bool, int, float):
            assert y == z
            continue
        z = np.asarray(z)
        kind = str(trellis.dtype(y))
        if z.dtype.kind == "f":
            assert kind == "bfloat16"
        else:
            assert kind in ("bool", *dtypes.INTEGER)
        y = trellis.to_numpy(trellis.astype(y, "float32") if kind == "bfloat16" else y)
        if z.dtype.kind in "biu":
            np.testing.assert_array_equal(y, z)
            continue
        size = np.abs(z[np.isfinite(z)]).max(initial=0)
        np.testing.assert_allclose(y.astype("float64"), z, rtol=2 * UNIT, atol=2 * UNIT * size)


def places_of_floats(args):
    """Where arrays of floats stand: the argument, and the place in it if that is a list."""
    places = []
    for i, x in enumerate(args):
        items = enumerate(x) if isinstance(x, (list, tuple)) else [(None, x)]
        places += [(i, j) for j, y in items if isinstance(y, np.ndarray) and y.dtype.kind == "f"]
    return places


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.gradient is True])
def test_gradients(name, backend, array):
    """Against the gradients in float32 of the same numbers, which other tests compare with
    differences."""
    row = ROWS[name]
    args, exact = arguments(row, backend, array)

    def single_or_int(x):
        return x.astype("float32") if x.dtype.kind == "f" else narrow(x, backend)

    single = mapped(lambda x: array(single_or_int(x)), exact)
    halves = places_of_floats(row.args)
    assert halves

    def total(these, floats):
        full = [list(x) if isinstance(x, (list, tuple)) else x for x in these]
        for (i, j), x in zip(halves, floats, strict=True):
            if j is None:
                full[i] = x
            else:
                full[i][j] = x
        with trellis.using_backend(backend):
            parts = [y for y in as_list(call(row, full)) if hasattr(y, "dtype")]
        kinds = (*dtypes.FLOATING,)
        sums = [
            trellis.sum(trellis.astype(y, "float32"))
            for y in parts
            if str(trellis.dtype(y)) in kinds
        ]
        return trellis.sum(trellis.stack(sums))

    def both(*floats):
        return [
            trellis.grad(lambda xs, these=these: total(these, xs))(list(xs))
            for these, xs in zip((args, single), floats, strict=True)
        ]

    if row.is_compilable(backend):
        both = one_program(backend, both)
    floats = [
        [these[i] if j is None else these[i][j] for i, j in halves] for these in (args, single)
    ]
    gradients = both(*floats)
    for half, full in zip(*gradients, strict=True):
        assert trellis.dtype(half) == "bfloat16"
        half = trellis.to_numpy(trellis.astype(half, "float32"))
        full = trellis.to_numpy(full)
        size = np.abs(full[np.isfinite(full)]).max(initial=0)
        np.testing.assert_allclose(half, full, rtol=4 * UNIT, atol=4 * UNIT * size)
