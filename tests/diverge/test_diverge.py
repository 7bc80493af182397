"""Finding the first difference: planted faults are named, clean programs are clean."""

import threading

import numpy as np
import pytest

import trellis
from conftest import BACKENDS, compile_with
from trellis import functional as F
from trellis import nn
from trellis._core import dispatch
from trellis._recording import RecordedArray
from trellis.errors import ArgumentError, ArgumentTypeError, NotSupportedError, TracingError

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
OTHERS = [name for name in BACKENDS if name != "numpy"]


class Net(nn.Module):
    def __init__(self, **options):
        self.first = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.second = nn.Linear(8, 2)
        super().__init__(**options)

    def _forward(self, x):
        y = self.second(F.gelu(self.norm(self.first(x)))) * 2.0  # GELU
        return y[:, :1] @ y[:1, 1:] + trellis.arange(1.0)


def line_of(mark):
    """The line of this file that ends in the mark."""
    with open(__file__, encoding="utf-8") as file:
        lines = [i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}")]
    return f"test_diverge.py:{lines[0]}"


@pytest.fixture
def rows():
    """The table before; it must be the same after the test."""
    before = dict(dispatch._by_type)
    yield before
    for cls, module in before.items():  # others may have come: a framework was loaded
        assert dispatch._by_type[cls] is module
    assert RecordedArray not in dispatch._by_type
    assert all(
        [
            not hasattr(row, "joined") or cls in (dict, trellis.Container)
            for cls, row in dispatch._by_type.items()
        ]
    )


@pytest.fixture
def wrong_gelu(backend, monkeypatch):
    """GELU by its approximation, as a port might have it: off by up to 5e-4."""
    xp = trellis.namespace(backend)
    right = xp.gelu
    monkeypatch.setattr(xp, "gelu", lambda x, /, *, approximate=False: right(x, approximate=True))


def test_a_clean_program_is_clean(backend, rows):
    report = trellis.diverge(Net(), (X,), backends=("numpy", backend), gradients=True)
    assert report.is_same, str(report)
    assert "no call differs" in str(report)
    assert [step.call.op for step in report.steps[backend]][:4] == [
        *("linear", "layer_norm", "gelu", "linear")
    ]
    assert "arange" in [step.call.op for step in report.steps[backend]]


@pytest.mark.parametrize("mode", ["accumulated", "local"])
def test_the_wrong_call_is_named(backend, rows, wrong_gelu, mode):
    if backend == "numpy":
        pytest.skip("the others are compared with it")
    report = trellis.diverge(Net(), (X,), backends=("numpy", backend), mode=mode, gradients=True)
    found = report.differences[0]
    assert found.call.op == "gelu" and found.call.where == line_of("GELU")
    assert found.call.module == "Net" and found.kinds == ["value", "gradient"]
    # The approximation is off by at most 4.8e-4, and x times as much of its derivative.
    assert 1e-4 < found.size < 5e-3
    if mode == "local":
        assert len(report.differences) == 1
    else:
        assert len(report.differences) > 1  # what comes after it is off too
    assert f"gelu at {line_of('GELU')} in Net" in str(report)


def test_variables_are_named(backend, rows, monkeypatch):
    if backend == "numpy":
        pytest.skip("the others are compared with it")
    xp = trellis.namespace(backend)
    right = xp.linear
    monkeypatch.setattr(xp, "linear", lambda x, w, b: right(x, w, None))
    net = Net()
    net.v["first/b"] = np.ones(8, "float32")
    found = trellis.diverge(net, (X,), backends=("numpy", backend)).differences[0]
    assert found.call.variables == ["first/w", "first/b"]
    assert found.call.module == "Net/first"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (lambda xp, y: xp.astype(y, "float64"), "dtype"),
        (lambda xp, y: xp.reshape(y, (-1,)), "shape"),
        (lambda xp, y: xp.where(y == xp.max(y), y / 0 * 0, y), "nan"),
    ],
)
def test_kinds_of_differences(fault, kind, monkeypatch):
    pytest.importorskip("torch")
    xp = trellis.namespace("torch")
    right = xp.exp
    monkeypatch.setattr(xp, "exp", lambda x, /: fault(xp, right(x)))
    report = trellis.diverge(trellis.exp, (X,), backends=("numpy", "torch"))
    assert kind in report.differences[0].kinds, str(report)


def test_operators_are_seen(backend, rows):
    w = X + 3  # of NumPy, and moved: a constant of the program

    def program(x):
        return (w * x + 1) @ trellis.matrix_transpose(x)[:, :2] > 0

    report = trellis.diverge(program, (X,), backends=("numpy", backend))
    ops = [step.call.op for step in report.steps[backend]]
    assert report.is_same and ops == ["mul", "add", "matrix_transpose", "getitem", "matmul", "gt"]


@pytest.mark.needs("torch")
def test_functions_of_numpy_and_torch_are_seen_by_name():
    import torch

    def ops(program, backend):
        report = trellis.diverge(program, (X,), backends=(backend, backend))
        return [step.call.op for step in report.steps[backend]]

    assert ops(lambda x: torch.relu(x) + 1, "torch") == ["torch.relu", "add"]
    assert ops(lambda x: np.tanh(x) * 2, "numpy") == ["numpy.tanh", "mul"]
    report = trellis.diverge(lambda x: np.tanh(x), (X,), backends=("numpy", "torch"), mode="local")
    assert "a function of the framework itself" in report.remarks[0]


def test_differentiated_functions_and_loops_are_one_call(backend):
    net = nn.GRU(4, 3)

    def program(x):
        loss = lambda v: trellis.mean(net(x, v=v)[0] ** 2)  # noqa: E731
        return trellis.execute_with_gradients(loss, net.v)[:2]

    report = trellis.diverge(program, (X[None],), backends=("numpy", backend))
    assert report.is_same, str(report)
    ops = [step.call.op for step in report.steps[backend]]
    assert "vjp" in ops and "matmul" not in ops


def test_integers_of_jax_are_narrower_and_that_is_no_difference():
    pytest.importorskip("jax")
    x = np.arange(6)
    report = trellis.diverge(lambda x: trellis.cumulative_sum(x), (x,), backends=("numpy", "jax"))
    assert report.is_same, str(report)


def test_draws_begin_with_the_same_key(backend):
    report = trellis.diverge(
        lambda x: F.dropout(x, 0.5), (X,), backends=("numpy", backend), mode="accumulated"
    )
    assert report.is_same, str(report)


def test_the_module_stays_as_it_is(backend):
    norm = nn.BatchNorm1D(4)
    before = norm.buffers.mean
    trellis.diverge(norm, (X,), backends=("numpy", backend))
    assert norm.buffers.mean is before


# Compilers ----------------------------------------------------------------------------------------


@pytest.mark.needs("jax")
def test_a_compiled_program_is_compared_as_it_is_fused():
    """On JAX a * b + c in one kernel rounds once; where a * b is kept too, twice. The report must
    see what people run, not only the program that keeps all values."""
    import jax

    a, b, c = np.random.default_rng(0).normal(size=(3, 1000)).astype("float32")
    fused = jax.jit(lambda a, b, c: a * b + c)(a, b, c)
    plain = jax.numpy.asarray(a) * b + c
    expected = np.abs(np.asarray(fused) - np.asarray(plain)).max() / np.abs(plain).max()
    report = trellis.diverge(
        lambda a, b, c: a * b + c, (a, b, c), backends=("jax",), compiled=True, tolerance=1e-9
    )
    if expected == 0:  # a processor without fused multiply-add
        assert report.is_same
    else:
        found = report.differences[0]
        assert found.call.op == "return" and found.size == pytest.approx(float(expected))
        assert "the first is call 1: add" in report.remarks[0]


@pytest.mark.needs("jax")
def test_a_compiled_module_is_compared():
    report = trellis.diverge(Net(), (X,), backends=("jax",), compiled=True)
    assert report.is_same and report.others == ["jax compiled"], str(report)


@pytest.mark.long
@pytest.mark.parametrize("backend_", ["torch", "tensorflow"])
def test_other_compilers(backend_):
    trellis.namespace(backend_)
    report = trellis.diverge(Net(), (X,), backends=(backend_,), compiled=True)
    assert report.is_same, str(report)


# Safety -------------------------------------------------------------------------------------------


def test_an_exception_leaves_everything_as_it_was(backend, rows):
    def program(x):
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        trellis.diverge(program, (X,), backends=("numpy", backend))
    assert trellis.backend_of(trellis.exp(X)) == "numpy"
    assert trellis.diverge(trellis.exp, (X,), backends=("numpy", backend)).is_same


def test_other_threads_go_on_and_are_not_recorded(backend, array, rows):
    inside, done = threading.Event(), threading.Event()
    results = []

    def other():
        inside.wait(30)
        x = array(X)
        results.append(trellis.tanh(x) + trellis.zeros((4,), backend=backend))
        results.append(nn.Linear(4, 2, backend=backend)(x))
        done.set()

    def program(x):
        inside.set()
        assert done.wait(30)
        return trellis.exp(x)

    thread = threading.Thread(target=other)
    thread.start()
    report = trellis.diverge(program, (array(X),), backends=(backend, "numpy"))
    thread.join()
    assert [step.call.op for step in report.steps["numpy"]] == ["exp"]
    assert [trellis.backend_of(x) for x in results] == [backend, backend]


def test_two_threads_take_turns(rows):
    found = []

    def run():
        report = trellis.diverge(Net(), (X,), backends=("numpy", "numpy"))
        found.append((report.is_same, report.count))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1 and found[0][0]


def test_under_a_compiler_it_is_refused(backend, array):
    program = trellis.compile(lambda x: trellis.trace(trellis.exp, x) and x)
    with pytest.raises(TracingError, match="outside the compiled function"):
        program(array(X))


@pytest.mark.needs("torch")
def test_a_compiled_function_in_another_thread_goes_on(rows):
    """torch.compile guards the table; what stands there meanwhile must be something it can read."""
    import torch

    x = torch.from_numpy(X)
    compiled = compile_with("torch", lambda x: trellis.tanh(x) * 2)
    expected = compiled(x)
    inside, done = threading.Event(), threading.Event()
    results = []

    def other():
        inside.wait(30)
        try:
            results.append(compiled(x))
        finally:
            done.set()

    def program(x):
        inside.set()
        assert done.wait(30)
        return trellis.exp(x)

    thread = threading.Thread(target=other)
    thread.start()
    report = trellis.diverge(program, (x,), backends=("torch", "numpy"))
    thread.join()
    assert [step.call.op for step in report.steps["numpy"]] == ["exp"]
    for found in (*results, compiled(x)):
        assert torch.equal(found, expected)
    assert len(results) == 1


def test_a_recording_inside_another_is_refused(rows):
    with pytest.raises(NotSupportedError, match="a recording of its own"):
        trellis.diverge(
            lambda x: trellis.trace(trellis.exp, x) and x, (X,), backends=("numpy", "numpy")
        )


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match="at least two"):
        trellis.diverge(trellis.exp, (X,), backends=("numpy",))
    with pytest.raises(ArgumentError, match="accumulated, local"):
        trellis.diverge(trellis.exp, (X,), backends=("numpy", "numpy"), mode="global")
    with pytest.raises(ArgumentTypeError, match="expects a function"):
        trellis.diverge(X, (X,), backends=("numpy", "numpy"))
    with pytest.raises(NotSupportedError, match="no compiler"):
        trellis.diverge(trellis.exp, (X,), backends=("numpy",), compiled=True)
