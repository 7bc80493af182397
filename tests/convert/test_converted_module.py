"""What every converted model can do, whichever reader made it: shown with one built by hand."""

import numpy as np
import pytest

import trellis
from trellis.convert import semantics
from trellis.convert.finish import finish
from trellis.convert.inputs import Inputs
from trellis.convert.reading import Reading
from trellis.errors import ArgumentError, ArgumentTypeError, ConversionError, DtypeError, ShapeError
from trellis.graph import Builder, Value

X = np.arange(12.0, dtype="float32").reshape(3, 4) / 8
W = np.linspace(-1, 1, 20, dtype="float32").reshape(5, 4)
SHIFT = np.arange(5.0, dtype="float32") / 8


def expected(x):
    return np.tanh(x @ W.T + SHIFT)


def a_reading(outputs=expected, values=None):
    g = Builder(semantics)
    x = g.input("x", ("batch", 4), "float32")
    g.source, g.where = "my.linear", "encoder.0"
    y = g.F.linear(x, g.variable("encoder/w", (5, 4), "float32"))
    y = g.t.add(y, g.t.astype(g.constant(SHIFT.astype("float64")), "float32"))
    y = g.F.dropout(y, 0.5, training=Value("training"))
    g.graph.outputs = {"y": g.t.tanh(y), "nothing": None}
    g.graph.updates = {"steps": g.t.add(g.buffer("steps", (), "int32"), 1)}
    names = [node.result.name for node in g.graph.nodes]
    return Reading(
        name="Tiny",
        source="PyTorch",
        graph=g.graph,
        inputs=Inputs(("x", "flag"), ((("x",), x),), ((("flag",), True),)),
        variables={"encoder/w": W},
        buffers={"steps": np.int32(0)},
        example=[X],
        outputs=lambda: {"y": outputs(X), "nothing": None},
        values=values and (lambda: values(names)),
    )


@pytest.fixture
def model(backend):
    return finish(a_reading(), to=backend)


# float32 with sums of four products: a few units in the last place.
CLOSE = {"rtol": 2e-6, "atol": 2e-7}


def test_it_runs_differentiates_and_compiles(model, backend, array, compiled):
    np.testing.assert_allclose(trellis.to_numpy(model(array(X))["y"]), expected(X), **CLOSE)
    other = X[:2] * 2  # the batch is open
    np.testing.assert_allclose(trellis.to_numpy(model(array(other))["y"]), expected(other), **CLOSE)
    assert model(array(X))["nothing"] is None

    def loss(v, x):
        return trellis.sum(model(x, v=v)["y"])

    slope = (1 - expected(X) ** 2).T @ X
    for grad in (trellis.grad(loss), compiled(trellis.grad(loss))):
        found = grad(model.v, array(X))["encoder/w"]
        np.testing.assert_allclose(trellis.to_numpy(found), slope, **CLOSE)


def test_training_updates_buffers_and_drops(model, array):
    model(array(X))
    assert int(model.buffers.steps) == 0
    model.train()
    with trellis.random.stream(trellis.random.key(0, backend=trellis.backend_of(array(X)))):
        y = trellis.to_numpy(model(array(X))["y"])
    assert int(model.buffers.steps) == 1
    kept = np.tanh(2 * (X @ W.T + SHIFT))
    is_dropped = y == 0
    assert 0 < is_dropped.sum() < y.size
    np.testing.assert_allclose(y[~is_dropped], kept[~is_dropped], **CLOSE)


def test_its_source_computes_the_same(model, backend, array, tmp_path):
    space = {}
    exec(compile(model.to_source("Written"), "written.py", "exec"), space)
    model.save_weights(tmp_path / "weights.safetensors")
    written = space["Written"](backend=backend, training=False)
    written.load_weights(tmp_path / "weights.safetensors")
    np.testing.assert_allclose(trellis.to_numpy(written(array(X))["y"]), expected(X), **CLOSE)
    written.train()(array(X))
    assert int(written.buffers.steps) == 1


def test_a_report_says_what_was_done(model, backend):
    report = model.report()
    assert f"Tiny, converted from PyTorch to {backend}: verified" in report
    assert "folded 1" in report and "1 linear" in report


@pytest.mark.parametrize(
    "args, kwargs, error, words",
    [
        ((X[:, :3],), {}, ShapeError, 'dynamic={"x": {1: "name"}}'),
        ((X[0],), {}, ShapeError, "2 axes"),
        ((X.astype("float64"),), {}, DtypeError, 'trellis.astype(x, "float32")'),
        ((), {}, ArgumentTypeError, "misses its argument x"),
        ((X, True, 3), {}, ArgumentTypeError, "at most 2"),
        ((X,), {"x": X}, ArgumentTypeError, "two values"),
        ((X,), {"mask": X}, ArgumentTypeError, "'mask'"),
        ((X, False), {}, ArgumentError, "flag=True"),
        (([1.0],), {}, ArgumentTypeError, "trellis.asarray"),
    ],
)
def test_other_inputs_are_refused_in_a_sentence(args, kwargs, error, words):
    model = finish(a_reading(), to="numpy")
    with pytest.raises(error) as raised:
        model(*args, **kwargs)
    assert words in str(raised.value)


def test_a_wrong_conversion_is_refused_with_its_first_wrong_call(backend):
    def wrong(x):
        return np.tanh(x @ W.T + SHIFT + 0.01)

    def values(names):  # of the linear call, and of the sum behind it
        return {names[0]: X @ W.T, names[2]: X @ W.T + SHIFT + 0.01}

    with pytest.raises(ConversionError, match=r"first call that differs is add, from my\.linear"):
        finish(a_reading(wrong, values), to=backend)


def test_what_is_constant_proves_nothing(backend):
    reading = a_reading(lambda x: np.zeros((3, 5), "float32"))
    reading.variables = {"encoder/w": W * 0}
    reading.graph.constants = {name: x * 0 for name, x in reading.graph.constants.items()}
    assert "not verified: every output is constant" in finish(reading, to=backend).report()
