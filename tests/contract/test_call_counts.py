"""What a call costs, in counts and not in seconds: counts are exact and repeat on every machine.

A number here that grows says which change made the library slower, before any clock could. Lower it
when the library gets better.
"""

import os
import sys

import numpy as np
import pytest

import trellis
from trellis import nn, optim

HERE = os.path.dirname(trellis.__file__)


def python_calls(fn, *args):
    """How many Python functions of Trellis one call enters; the frameworks' own do not count.

    Nor do comprehensions, which are functions up to Python 3.11 and not after.
    """
    count = [0]

    def profile(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HERE) and "comp>" not in code.co_name:
            count[0] += 1

    fn(*args)
    sys.setprofile(profile)
    try:
        fn(*args)
    finally:
        sys.setprofile(None)
    return count[0]


# Dispatch -----------------------------------------------------------------------------------------

# The public function and the look-up; where the framework's own function does not fit or its data
# types are not those of our table, some more.
ONE_ARRAY = {"numpy": 3, "jax": 3, "torch": 3, "tensorflow": 3}
TWO_ARRAYS = {"numpy": 3, "jax": 4, "torch": 3, "tensorflow": 4}


def test_calls_for_one_array(backend, array):
    x = array([0.5, 1.5])
    assert python_calls(trellis.tanh, x) == ONE_ARRAY[backend]


def test_calls_for_two_arrays(backend, array):
    x, y = array([0.5, 1.5]), array([1.0, 2.0])
    assert python_calls(trellis.maximum, x, y) == TWO_ARRAYS[backend]


def test_calls_for_a_hoisted_namespace(backend, xp, array):
    assert python_calls(xp.tanh, array([0.5])) == ONE_ARRAY[backend] - 2


def test_calls_for_each_leaf(xp, array):
    """Over a pytree, each leaf costs the call of the backend's function and nothing else."""

    def nest(leaves):
        return trellis.Container({f"x{i}": array([0.5]) for i in range(leaves)})

    for fn, ours in ((trellis.tanh, xp.tanh), (lambda x: trellis.add(x, x), xp.add)):
        x = array([0.5])
        one = python_calls(ours, x) if ours is xp.tanh else python_calls(ours, x, x)
        assert python_calls(fn, nest(30)) - python_calls(fn, nest(10)) == 20 * one


def test_calls_for_each_entry_of_the_tape():
    """On NumPy: how many functions of ours a multiplication, a sum and an addition take, forward
    and back.
    """

    def loss(v):
        total = 0.0
        for x in v.values():
            total = total + (x * x).sum()
        return total

    def nest(leaves):
        return trellis.Container({f"x{i}": np.ones(3, "float32") for i in range(leaves)})

    evaluate = trellis.value_and_grad(loss)
    assert python_calls(evaluate, nest(30)) - python_calls(evaluate, nest(10)) == 20 * 29


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_calls_of_a_recurrence_on_numpy(name):
    """All steps are one entry on the tape."""
    layer = getattr(nn, name)(3, 4, return_state=False, backend="numpy")
    gradient = trellis.grad(lambda v, x: trellis.sum(layer(x, v=v) ** 2))
    counts = [
        python_calls(gradient, layer.v, np.ones((2, steps, 3), "float32")) for steps in (5, 20)
    ]
    assert counts[0] == counts[1]


# Modules ------------------------------------------------------------------------------------------


def model(backend):
    with trellis.using_backend(backend):
        trellis.seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


LINEAR_CALLS = {"numpy": 8, "jax": 9, "torch": 8, "tensorflow": 8}


def test_calls_of_a_module(backend, array):
    with trellis.using_backend(backend):
        layer = nn.Linear(4, 8)
    assert python_calls(layer, array(np.ones((2, 4), "float32"))) == LINEAR_CALLS[backend]


# Compilation --------------------------------------------------------------------------------------


def training_step(module, optimizer, traces):
    @trellis.compile
    def step(v, state, x):
        traces.append(1)
        value, grads = trellis.value_and_grad(lambda v: trellis.mean(module(x, v=v) ** 2))(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    return step


@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_one_trace_for_each_shape(backend):
    module, optimizer, traces = model(backend), optim.Adam(1e-2), []
    step = training_step(module, optimizer, traces)
    v, state = module.v, optimizer.init(module.v)
    for rows in (3, 3, 5, 5, 3):
        x = trellis.to_backend(np.ones((rows, 4), "float32"), backend, copy=True)
        v, state, _ = step(v, state, x)
    assert len(traces) == 2


def test_torch_compiles_once_without_graph_breaks():
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    module, optimizer = model("torch"), optim.Adam(1e-2)
    frames = []

    def count(graph, inputs):
        frames.append(graph)
        return graph.forward

    def step(v, state, x):
        value, grads = trellis.value_and_grad(lambda v: trellis.mean(module(x, v=v) ** 2))(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    compiled = torch.compile(step, backend=count, fullgraph=True, dynamic=False)
    v, state, x = module.v, optimizer.init(module.v), torch.ones(3, 4)
    for _ in range(4):
        v, state, _ = compiled(v, state, x)
    assert len(frames) == 1
    assert not counters["graph_break"]
    compiled(v, state, torch.ones(5, 4))
    assert len(frames) == 2


# Native operations --------------------------------------------------------------------------------

# Each multi-tensor kernel counts once, however many leaves it takes: (at all, for each leaf). There
# is none for a sign that keeps NaN.
OPERATIONS = {"SGD": (2, 0), "Adam": (4, 0), "AdamW": (4, 0), "RMSprop": (9, 0), "Lion": (4, 3)}


@pytest.mark.parametrize("name", list(OPERATIONS))
@pytest.mark.parametrize("leaves", [3, 30])
def test_torch_operations_of_an_optimizer_step(name, leaves):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        found = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.found += 1
            return function(*args, **(kwargs or {}))

    optimizer = getattr(optim, name)(1e-2)
    w = trellis.Container({f"w{i}": torch.ones(3) for i in range(leaves)})
    g = trellis.Container({f"w{i}": torch.full((3,), 0.1) for i in range(leaves)})
    w = optimizer.step(w, g)
    with Counter() as counter:
        optimizer.step(w, g)
    at_all, each = OPERATIONS[name]
    assert counter.found == at_all + each * leaves


# Small leaves go through a graph of TensorFlow together, so that their number does not count. Each
# has its own arguments and results.
OPERATIONS_IN_A_GRAPH = 31


@pytest.mark.parametrize("leaves", [3, 30])
def test_tensorflow_operations_of_a_compiled_step(leaves):
    import tensorflow as tf

    optimizer = optim.Adam(1e-2)
    w = {f"w{i}": tf.ones(3) for i in range(leaves)}
    state = optimizer.init(w)
    flat, spec = trellis.tree.flatten((w, w, state))

    def update(*flat):
        return trellis.tree.leaves(optimizer.update(*trellis.tree.unflatten(spec, flat)))

    graph = tf.function(update, autograph=False).get_concrete_function(*flat).graph
    passive = ("Placeholder", "Const", "Identity", "NoOp")
    found = [op.type for op in graph.get_operations() if op.type not in passive]
    assert len(found) == OPERATIONS_IN_A_GRAPH
    assert found.count("Sqrt") == 2  # of the leaves, and of the correction


def test_calls_of_a_compiled_function():
    """A call that was traced: taking apart, the table of graphs, putting together."""
    import tensorflow as tf

    compiled = trellis.compile(lambda tree, x: (tree, x + 1))
    x = tf.ones(3)
    compiled({"a": x}, x)
    assert python_calls(compiled, {"a": x}, x) == COMPILED_CALLS


COMPILED_CALLS = 7

STEP_CALLS = {"numpy": 41, "jax": 55, "torch": 23, "tensorflow": 26}


def test_calls_of_an_optimizer_step(backend, array):
    optimizer = optim.Adam(1e-2)
    w = trellis.Container({f"w{i}": array(np.ones(3, "float32")) for i in range(10)})
    for _ in range(4):  # TensorFlow makes a graph of a step that comes again
        w = optimizer.step(w, w)
    assert python_calls(optimizer.step, w, w) == STEP_CALLS[backend]
