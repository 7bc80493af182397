"""What the writers promise beside the numbers: names, modes, constants, refusals, whole files."""

import collections
import os

import numpy as np
import pytest

import trellis
from export_models import run
from oracles import jax, torch
from trellis import errors, export, nn

pytestmark = pytest.mark.needs("jax", "torch", "tensorflow")

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


class Pair(trellis.Module):
    """Two inputs, of two types, and a dict of outputs; an integer among them."""

    def __init__(self, **options):
        self._linear = nn.Linear(4, 3)
        super().__init__(**options)

    def _forward(self, x, rows, *, shift=0.0):
        y = self._linear(x)
        return {"scores": trellis.take(y, rows, axis=0) + shift, "best": trellis.argmax(y, axis=-1)}


def pair_by_hand(model, x, rows, shift):
    w, b = [np.asarray(model.v.linear[name]) for name in "wb"]
    y = x @ w.T + b
    return {"scores": y[rows] + shift, "best": y.argmax(-1)}


@pytest.mark.parametrize("format", ["onnx", "stablehlo", "tflite"])
def test_inputs_and_outputs_keep_their_names(format, tmp_path):
    model, rows = Pair(backend="numpy"), np.array([2, 0], "int32")
    path = tmp_path / "model.file"
    made = getattr(export, f"to_{format}")(
        model, args=(X, rows), kwargs={"shift": 0.5}, path=path, dynamic={"rows": {0: "n"}}
    )
    assert [str(port) for port in made.inputs] == ["x: float32 (3, 4)", "rows: int32 (n,)"]
    assert [(port.name, port.shape) for port in made.outputs] == [
        ("best", (3,)),
        ("scores", ("n", 3)),
    ]
    given = {"x": X * 2, "rows": np.array([0, 1, 2, 2, 1], "int32")}
    found = run(format, path, given)
    found = found if isinstance(found, dict) else dict(zip(("best", "scores"), found))
    expected = pair_by_hand(model, given["x"], given["rows"], 0.5)
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-5, atol=1e-6)  # float32
    np.testing.assert_array_equal(found["best"], expected["best"])
    assert made.inputs == export.describe(path).inputs
    assert [port.name for port in export.describe(path).outputs] == ["best", "scores"]


def test_names_can_be_chosen(tmp_path):
    made = export.to_stablehlo(
        lambda a, b: (a + b, a * b),
        (X, X),
        tmp_path / "sums.stablehlo",
        input_names=["left", "right"],
        output_names=["sum", "product"],
        dynamic={"left": {0: "n"}, "right": {0: "n"}},
    )
    assert [str(port) for port in made.outputs] == [
        "sum: float32 (n, 4)",
        "product: float32 (n, 4)",
    ]


def test_a_function_that_holds_arrays_is_refused_with_a_way_out(tmp_path):
    weight = np.ones((4, 2), "float32")
    with pytest.raises(errors.ArgumentError, match=r"Make it a trellis\.Module"):
        export.to_stablehlo(lambda x: trellis.matmul(x, weight), (X,), tmp_path / "model.stablehlo")


def test_variables_are_arguments_beside_their_file(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1D(4), backend="numpy")
    path = tmp_path / "model.stablehlo"
    export.to_stablehlo(model, (X,), path, variables="parameters")
    program = jax.export.deserialize(bytearray(path.read_bytes()))
    weights = trellis._core.files.read_arrays(f"{path}.safetensors")[0]
    model.eval().v["layers/v0/b"] = weights["layers/v0/b"] = np.full(4, 7.0, "float32")
    np.testing.assert_allclose(program.call(weights, X), model(X), rtol=1e-5, atol=1e-5)  # float32


def test_parameters_of_torch_train(tmp_path):
    path = tmp_path / "model.pt2"
    export.to_torch_export(nn.Linear(4, 2, backend="numpy"), (X,), path)
    program = torch.export.load(path)
    assert sorted(program.state_dict) == ["b", "w"]
    module = program.module()
    module(torch.tensor(X)).sum().backward()
    np.testing.assert_allclose(module.w.grad, [X.sum(0)] * 2, rtol=1e-5)  # float32
    export.to_torch_export(nn.Linear(4, 2, backend="numpy"), (X,), path, variables="constants")
    assert len(torch.export.load(path).state_dict) == 0


def test_weights_of_onnx_can_be_replaced(tmp_path):
    """Zeros are not folded away: the user may replace them by other numbers."""
    import onnx
    import onnxruntime

    path = tmp_path / "model.onnx"
    model = nn.Linear(4, 2, backend="numpy")
    assert not np.any(model.v.b)
    export.to_onnx(model, (X,), path)
    file = onnx.load(path)
    (bias,) = [each for each in file.graph.initializer if each.name == "b"]
    bias.CopyFrom(onnx.numpy_helper.from_array(np.array([1.0, 2.0], "float32"), "b"))
    session = onnxruntime.InferenceSession(file.SerializeToString())
    found = session.run(None, {"x": X})[0]
    np.testing.assert_allclose(found, X @ model.v.w.T + [1, 2], rtol=1e-5, atol=1e-6)  # float32
    assert not [each for node in file.graph.node for each in node.metadata_props]


def test_modes(tmp_path):
    """Evaluation unless training is asked for; the model keeps its own mode and statistics."""
    model = nn.BatchNorm1D(4, backend="numpy")
    before = np.array(model.buffers.mean)
    path = tmp_path / "model.stablehlo"
    export.to_stablehlo(model, (X,), path)
    (found,) = run("stablehlo", path, {"x": X})
    np.testing.assert_allclose(found, X / np.sqrt(1 + 1e-5), rtol=1e-5)  # float32
    export.to_stablehlo(model, (X,), path, training=True)
    (found,) = run("stablehlo", path, {"x": X})
    by_hand = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
    np.testing.assert_allclose(found, by_hand, rtol=1e-4, atol=1e-5)  # float32, a variance of three
    assert model.training and np.array_equal(model.buffers.mean, before)
    with pytest.raises(errors.ArgumentError, match="draws random numbers"):
        export.to_stablehlo(nn.Dropout(0.5), (X,), path, training=True)


def test_64_bit_floats_stay(tmp_path):
    path = tmp_path / "model.stablehlo"
    made = export.to_stablehlo(lambda x: x / 3, (X.astype("float64"),), path)
    assert made.outputs[0].dtype == "float64"
    with jax.enable_x64(True):
        (found,) = run("stablehlo", path, {"x": X.astype("float64")})
    # XLA multiplies by a third: the last bit of a float64.
    np.testing.assert_allclose(found, X.astype("float64") / 3, rtol=1e-15)


def test_fields_of_named_tuples_name_inputs(tmp_path):
    State = collections.namedtuple("State", "h c")
    state = State(X, X + 1)
    path = tmp_path / "step.stablehlo"
    made = export.to_stablehlo(lambda s: State(s.h + s.c, s.c), (state,), path)
    assert [port.name for port in made.inputs] == ["s_h", "s_c"]
    assert [port.name for port in made.outputs] == ["h", "c"]
    found = run("stablehlo", path, {"h": X, "c": X})
    np.testing.assert_array_equal(found[0], X + X)


# What goes wrong
# --------------------------------------------------------------------------------------


def test_a_file_that_differs_is_not_left_behind(tmp_path, monkeypatch):
    """The error names the worst output; what was there before stays."""
    from trellis.export import stablehlo

    path = tmp_path / "model.stablehlo"
    path.write_bytes(b"before")
    load = stablehlo.load

    def wrong(file):
        right = load(file)
        return lambda inputs: [x + i * 1e-2 for i, x in enumerate(right(inputs))]

    monkeypatch.setattr(stablehlo, "load", wrong)
    with pytest.raises(errors.ConversionError, match="the output 'c' of the file differs"):
        export.to_stablehlo(lambda x: {"a": x, "b": x, "c": x}, (X,), path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == [path.name]


def test_what_a_runtime_cannot_run_is_told(tmp_path):
    """onnxruntime has no kernels of bfloat16 for processors."""
    x = trellis.ones((2, 4), dtype="bfloat16", backend="torch")
    with pytest.raises(
        errors.ConversionError, match=r"onnxruntime .* cannot load it: .*verify=False"
    ):
        export.to_onnx(lambda x: trellis.matmul(x, x.T), (x,), tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == []


def test_an_axis_that_cannot_be_open_is_found(tmp_path):
    class Fixed(trellis.Module):
        def _forward(self, x):
            return x + 1 if x.shape[0] == 3 else x + 2

    with pytest.raises(errors.ConversionError):
        export.to_torch_export(Fixed(), (X,), tmp_path / "a.pt2", dynamic={"x": {0: "batch"}})


@pytest.mark.parametrize(
    "options, message",
    [
        ({"args": X}, "as a tuple"),
        ({"args": ()}, "needs example inputs"),
        ({"dynamic": {"y": {0: "n"}}}, "which is not an input; the inputs are x"),
        ({"dynamic": {"x": {5: "n"}}}, "names the axis 5"),
        ({"dynamic": {"x": {0: "1n"}}}, "identifier"),
        ({"dynamic": {"x": {0: "n", 1: "n"}}}, "sizes 3 and 4"),
        ({"dynamic": {"x": "n"}}, "must map axes"),
        ({"input_names": ["a", "b"]}, "There are 1 inputs"),
        ({"input_names": ["a b"]}, "a_b"),
        ({"variables": "folded"}, "'parameters' or 'constants'"),
        ({"model": 3}, "expects a module or a function"),
        ({"model": lambda x: (x, 3)}, "returns int as output_1"),
        ({"model": nn.Linear(4, 2, build_mode="on_call")}, "has no variables yet"),
    ],
)
def test_refusals(options, message, tmp_path):
    given = {"model": lambda x: x, "args": (X,), "path": tmp_path / "model.stablehlo", **options}
    with pytest.raises(errors.TrellisError, match=message):
        export.to_stablehlo(**given)
    assert os.listdir(tmp_path) == []


def test_a_directory_of_other_things_is_kept(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(errors.ArgumentError, match="would be lost"):
        export.to_saved_model(lambda x: x, (X,), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_tflite_lacks_is_named(tmp_path):
    with pytest.raises(errors.NotSupportedError, match="SelfAdjointEigV2"):
        export.to_tflite(lambda x: trellis.linalg.eigh(x)[0], (X.T @ X,), tmp_path / "model.tflite")


def test_containers_pass_through_jax_export():
    model = nn.Linear(4, 2, backend="jax")
    x = jax.numpy.asarray(X)
    made = jax.export.export(jax.jit(lambda v, x: model(x, v=v)))(model.v, x)
    again = jax.export.deserialize(made.serialize())
    np.testing.assert_allclose(again.call(model.v, x), model(x), rtol=1e-6)  # the same program
