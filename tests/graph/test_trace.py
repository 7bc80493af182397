"""Programs recorded as graphs: what is recorded is what runs, and what cannot be is refused."""

import operator

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn
from trellis.errors import MixedBackendsError, NotSupportedError, TracingError
from trellis.graph import run

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


class Net(nn.Module):
    def __init__(self, **options):
        self.layers = [nn.Linear(4, 8), nn.Linear(8, 2)]
        self.norm = nn.BatchNorm1D(8)
        super().__init__(**options)

    def _forward(self, x):
        return self.layers[1](F.gelu(self.norm(self.layers[0](x)))) * 2.0


def values_of(graph, module, *inputs):
    """What `run` needs, by the names of values."""
    known = {value.name: module.v[chain] for chain, value in graph.variables.items()}
    known |= {value.name: module.buffers[chain] for chain, value in graph.buffers.items()}
    known |= {value.name: x for value, x in zip(graph.inputs, inputs)}
    return {**known, **graph.constants}


def test_a_module_is_recorded_with_its_names_and_places(backend, array):
    net = Net(backend=backend).eval()
    x = array(X)
    graph = trellis.trace(net, x)
    assert list(graph.variables) == net.v.key_chains()
    assert list(graph.buffers) == ["norm/mean", "norm/var"]
    assert [value.name for value in graph.inputs] == ["x"]
    places = [node.where for node in graph.nodes]
    assert places[0].startswith("Net/layers_v0, test_trace.py:")
    assert places[-1].startswith("Net, test_trace.py:")
    assert graph.nodes[-1].op is operator.mul and graph.nodes[-1].args[1] == 2.0
    assert graph.updates == {}
    out = run(graph, values_of(graph, net, x))
    np.testing.assert_array_equal(trellis.to_numpy(out), trellis.to_numpy(net(x)))


def test_new_values_of_buffers_are_updates(backend, array):
    net = Net(backend=backend)
    before = trellis.to_numpy(net.buffers.norm.mean).copy()
    graph = trellis.trace(net, array(X))
    np.testing.assert_array_equal(trellis.to_numpy(net.buffers.norm.mean), before)
    assert sorted(graph.updates) == ["norm/mean", "norm/var"]
    known = values_of(graph, net, array(X))
    graph.outputs = (graph.outputs, graph.updates["norm/mean"])
    _, mean = run(graph, known)
    batch = X @ trellis.to_numpy(net.v.layers.v0.w).T + trellis.to_numpy(net.v.layers.v0.b)
    # torch's rule: 0.9 of the old mean, 0.1 of the batch's; float32 sums of three rows.
    np.testing.assert_allclose(
        trellis.to_numpy(mean), 0.9 * before + 0.1 * batch.mean(0), rtol=1e-5, atol=1e-6
    )


def test_operators_on_both_sides_are_seen(backend, array):
    w = array(X[:1] + 3)  # not recorded: a constant of the program

    def program(x):
        y = w * x + (w - x) / (1 + w) @ trellis.matrix_transpose(x)[:, :1]
        return (y[0] > 0) & ~(2.0 <= w[0]), -(abs(y) ** 2)

    graph = trellis.trace(program, array(X[:1]))
    names = [node.op.__name__ for node in graph.nodes]
    for name in ("mul", "sub", "truediv", "matmul", "getitem", "gt", "neg", "abs", "pow"):
        assert name in names, (name, names)
    out = run(graph, {"x": array(X[:1]), **{k: array(c) for k, c in graph.constants.items()}})
    for got, wanted in zip(out, program(array(X[:1]))):
        np.testing.assert_array_equal(trellis.to_numpy(got), trellis.to_numpy(wanted))


def test_containers_are_variables_and_lists_are_inputs():
    v = trellis.Container(w=X, inner={"b": X[0]})
    graph = trellis.trace(lambda v, xs: v.w * xs[0] + v.inner.b + xs[1], v, [X, X])
    assert list(graph.variables) == ["inner/b", "w"]
    assert [value.name for value in graph.inputs] == ["xs", "xs_1"]


def test_closures_globals_and_methods_are_searched_for_modules():
    one, two = Net().eval(), Net().eval()
    graph = trellis.trace(lambda x: one(x) + two(x), X)
    assert {chain.partition("/")[0] for chain in graph.variables} == {"one", "two"}
    assert len(graph.variables) == 12
    assert list(trellis.trace(one.layers[0].__call__, X).variables) == one.v.key_chains()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda x: x if x.sum() > 0 else -x, "a function of the framework"),
        (lambda x: x if trellis.sum(x) > 0 else -x, "trellis.where"),
        (lambda x: float(trellis.sum(x)), "float()"),
        (lambda x: np.tanh(x), "numpy.tanh"),
        (lambda x: np.asarray(x), "a NumPy array"),
        (lambda x: trellis.cond(trellis.sum(x) > 0, trellis.exp, trellis.tanh, x), "cond"),
        (lambda x: trellis.grad(trellis.sum)(x), "value_and_grad"),
    ],
)
def test_what_cannot_be_seen_is_refused(program, words):
    with pytest.raises(NotSupportedError) as raised:
        trellis.trace(program, X)
    assert words in str(raised.value) and "test_trace.py:" in str(raised.value)


def test_a_draw_without_a_key_would_be_frozen():
    with pytest.raises(TracingError):
        trellis.trace(lambda x: F.dropout(x, 0.5), X)


def test_arrays_of_two_frameworks_stay_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(MixedBackendsError):
        trellis.trace(lambda x: trellis.add(x, X), torch.ones(3, 4))


def test_a_loop_of_known_length_is_unrolled(backend, array):
    gru = nn.GRU(4, 3, backend=backend)
    x = array(X[None])
    graph = trellis.trace(lambda x: gru(x)[0], x)
    assert [node.op.__name__ for node in graph.nodes].count("stack") == 1
    out = run(graph, values_of(graph, gru, x))
    # The same calls, in the framework's loop and one by one: rounding only.
    np.testing.assert_allclose(
        trellis.to_numpy(out), trellis.to_numpy(gru(x)[0]), rtol=1e-5, atol=1e-6
    )
