"""A backend of seven names runs every case on the host; one of a few dozen derives the rest."""

import inspect

import numpy as np
import pytest

import trellis
from small_backends import ELEMENTWISE, SMALL, STRUCTURAL, registered
from trellis import errors, nn, optim, testing
from trellis import functional as F
from trellis._backends.interface import Backend
from trellis.conformance.cases import all_cases
from trellis.conformance.rows import cast, check, corners, expectation, float_types, map_arrays, run

ROWS = dict(all_cases())
SOME = list(ROWS)[::5]


@pytest.fixture(scope="module", params=SMALL)
def small(request):
    """The name of a small backend, registered while the tests of this file run."""
    with registered(SMALL[request.param]()):
        yield request.param


def arrays(row, dtype, name):
    xp = trellis.namespace(name)
    return map_arrays(lambda x: xp.from_numpy(cast(x, dtype, name), copy=True), row.args)


def check_row(row, name, order):
    if name == "boxed_narrow" and row.op == "can_cast":
        # These cases need types that it does not have.
        with pytest.raises(errors.DtypeError, match=r"float64|complex128"):
            with trellis.using_backend(name):
                run(row, arrays(row, "float32", name))
        return
    for dtype in float_types(row, name):
        with corners(row), trellis.using_backend(name):
            result = run(row, arrays(row, dtype, name))
        check(result, expectation(row, dtype, name), row, dtype, name)
    if row.gradient is True and trellis.namespace(name).ABILITIES.has_float64:
        with trellis.using_backend(name):
            args = arrays(row, "float64", name)
            testing.check_gradients(lambda *args: run(row, args), args, order=order)


@pytest.mark.parametrize("name", SOME)
def test_rows(name, small):
    check_row(ROWS[name], small, order=1)


@pytest.mark.long
@pytest.mark.parametrize("name", ROWS)
def test_all_rows_to_second_order(name, small):
    check_row(ROWS[name], small, order=2)


def test_how_functions_are_made(small):
    made = trellis.namespace(small).MADE
    natives = {name for name, how in made.items() if how == "native"}
    seven = {"from_numpy", "to_numpy", "vjp", "custom_vjp"}  # the other three are values
    if small != "boxed_native":
        assert natives == seven
    else:
        assert natives == {*seven, *ELEMENTWISE, *STRUCTURAL}
        assert list(made.values()).count("derived") > 110
    assert [name for name, how in made.items() if how == "missing"] == ["connect_ranks"]


def test_signatures_are_those_of_the_interface(small):
    xp = trellis.namespace(small)
    for name, how in xp.MADE.items():
        expected = getattr(Backend, name, None)
        if how in ("derived", "host") and expected is not None and not name.startswith("_"):
            wanted = list(inspect.signature(expected).parameters.values())[1:]
            found = list(inspect.signature(getattr(xp, name)).parameters.values())
            assert [(p.kind, p.default) for p in found] == [(p.kind, p.default) for p in wanted]


def test_a_missing_function_says_so(small):
    with pytest.raises(errors.NotSupportedError, match=rf"{small}.*connect_ranks"):
        trellis.namespace(small).connect_ranks(None)


def test_built_in_backends_take_nothing_from_the_host(xp):
    assert set(xp.MADE.values()) <= {"native", "derived"}


def test_a_small_backend_trains(small):
    """The same seed gives the same losses as on NumPy."""

    def losses(backend):
        trellis.seed(3)
        with trellis.using_backend(backend):
            model = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
        numbers = np.random.default_rng(0)
        x = trellis.asarray(numbers.normal(size=(6, 3)).astype("float32"), backend=backend)
        y = trellis.asarray(numbers.integers(0, 2, 6).astype("int32"), backend=backend)
        optimizer, found = optim.Adam(lr=0.01), []
        v, state = model.v, optimizer.init(model.v)
        step = trellis.value_and_grad(lambda v: F.cross_entropy(model(x, v=v), y))
        for _ in range(3):
            value, grads = step(v)
            v, state = optimizer.update(v, grads, state)
            found.append(float(value))
        return found

    assert losses(small) == pytest.approx(losses("numpy"), rel=1e-5)


def test_a_backend_without_64_bits_counts_in_32():
    name = "boxed_narrow"
    with registered(SMALL[name]()) as xp:
        x = trellis.asarray([[3, 1], [2, 2]], backend=name)
        for found, expected in (
            (x, [[3, 1], [2, 2]]),
            (trellis.argsort(x), [[1, 0], [0, 1]]),
            (trellis.full((2,), 7, backend=name), [7, 7]),
            (trellis.count_nonzero(x, axis=0), [2, 2]),
        ):
            assert trellis.dtype(found) == "int32"
            assert xp.to_numpy(found).tolist() == expected


def test_a_small_backend_is_traced(small):
    """A recording replaces it, as it does the others."""
    x = trellis.namespace(small).from_numpy(np.array([0.5, 1.0], "float32"))
    graph = trellis.trace(lambda x: trellis.tanh(x) * 2, x)
    assert [node.op.__name__ for node in graph.nodes] == ["tanh", "mul"]
