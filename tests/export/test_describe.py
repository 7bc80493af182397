"""Files are read as data: what is in them, and that nothing of them runs."""

import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from oracles import jax, tf, torch
from trellis import errors, export, nn


def test_weights_of_ours(tmp_path):
    path = tmp_path / "weights.safetensors"
    nn.BatchNorm1D(3, backend="numpy").save_weights(path)
    found = export.describe(path)
    assert [str(port) for port in found.weights] == [
        f"{name}: float32 (3,)" for name in ("b", "mean", "var", "w")
    ]
    assert found.metadata["written_by"] == "trellis" and found.size == path.stat().st_size
    assert "weights: 4" in str(found)


@pytest.mark.needs("torch")
def test_what_torch_has_saved(tmp_path):
    path = tmp_path / "weights.pt"
    state = {
        "model": torch.nn.Linear(3, 2).state_dict(),
        "more": [torch.zeros(4, dtype=torch.int64), torch.nn.Parameter(torch.ones(1).half())],
        "epoch": 3,
    }
    torch.save(state, path)
    assert [str(port) for port in export.describe(path).weights] == [
        "model/weight: float32 (2, 3)",
        "model/bias: float32 (2,)",
        "more/0: int64 (4,)",
        "more/1: float16 (1,)",
    ]


class Harmful:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran')",)


def test_a_pickle_is_not_obeyed(tmp_path):
    path = tmp_path / "weights.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps({"a": Harmful()}, protocol=2))
    assert export.describe(path).weights == ()


@pytest.mark.needs("torch")
def test_a_program_of_torch(tmp_path):
    path = tmp_path / "theirs.pt2"
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    torch.export.save(program, path)
    found = export.describe(path)
    assert [str(port) for port in found.inputs] == ["input: float32 (4, 3)"]
    assert [port.shape for port in found.outputs] == [(4, 2)]
    assert [str(port) for port in found.weights] == ["weight: float32 (2, 3)", "bias: float32 (2,)"]
    assert found.metadata["torch"] == torch.__version__


@pytest.mark.needs("jax")
def test_a_program_of_jax(tmp_path):
    path = tmp_path / "theirs.bin"
    shape = jax.export.symbolic_shape("n, 3")
    spec = jax.ShapeDtypeStruct(shape, "float32")
    ids = jax.ShapeDtypeStruct((5,), "int32")

    def scale(x, i):
        return x * 2.0, i > 1

    path.write_bytes(jax.export.export(jax.jit(scale))(spec, ids).serialize())
    found = export.describe(path)
    assert [str(port) for port in found.inputs] == [
        "input_0: float32 (n, 3)",
        "input_1: int32 (5,)",
    ]
    assert [str(port) for port in found.outputs] == [
        "output_0: float32 (n, 3)",
        "output_1: bool (5,)",
    ]
    assert found.metadata["function"] == "scale"


@pytest.mark.needs("tensorflow")
def test_a_saved_model_and_a_file_of_tflite(tmp_path):
    holder = tf.Module()
    holder.weight = tf.Variable(tf.ones((3, 2)))
    spec = tf.TensorSpec([None, 3], tf.float32, name="x")
    fn = tf.function(lambda x: {"y": x @ holder.weight}, input_signature=[spec], autograph=False)
    holder.fn = fn
    tf.saved_model.save(holder, str(tmp_path / "saved"), {"serving_default": fn})
    found = export.describe(tmp_path / "saved")
    assert [str(port) for port in (*found.inputs, *found.outputs, *found.weights)] == [
        "x: float32 (?, 3)",
        "y: float32 (?, 2)",
        "weight: float32 (3, 2)",
    ]
    assert found.metadata["TensorFlow"] == tf.__version__
    file = tmp_path / "theirs.tflite"
    converter = tf.lite.TFLiteConverter.from_concrete_functions([fn.get_concrete_function()])
    file.write_bytes(converter.convert())
    found = export.describe(file)
    assert [str(port) for port in found.inputs] == ["x: float32 (?, 3)"]
    assert [port.shape for port in found.outputs] == [(None, 2)]
    assert [port.shape for port in found.weights] == [(2, 3)]


def test_an_onnx_file(tmp_path):
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.ones((3, 2), "float16"), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 10, ["batch", 3])],
        [onnx.helper.make_tensor_value_info("y", 10, [None, 2])],
        [weight],
    )
    model = onnx.helper.make_model(graph, producer_name="somebody")
    model.metadata_props.add(key="licence", value="MIT")
    onnx.save(model, tmp_path / "model.onnx")
    found = export.describe(tmp_path / "model.onnx")
    assert [str(port) for port in (*found.inputs, *found.outputs, *found.weights)] == [
        "x: float16 (batch, 3)",
        "y: float16 (?, 2)",
        "w: float16 (3, 2)",
    ]
    assert found.metadata["licence"] == "MIT" and found.metadata["producer"] == "somebody"


@pytest.mark.parametrize("name", ["a.onnx", "a.tflite", "a.stablehlo", "a.safetensors", "a.pt"])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_files_are_refused_in_words(name, seed, tmp_path):
    """Bytes that mean nothing, after a beginning that looks right."""
    heads = {
        "a.tflite": b"\x18\0\0\0TFL3",
        "a.safetensors": b"\x20\0\0\0\0\0\0\0{",
        "a.pt": b"PK\x03\x04",
        "a.onnx": b"\x08\x0a",
    }
    noise = np.random.default_rng(seed).bytes(200 + seed)
    path = tmp_path / name
    path.write_bytes(heads.get(name, b"") + noise)
    with pytest.raises(errors.ArgumentError, match="is damaged, or not a file"):
        export.describe(path)


def test_no_framework_is_loaded(tmp_path):
    path = tmp_path / "weights.safetensors"
    nn.Linear(2, 1, backend="numpy").save_weights(path)
    program = (
        "import sys; from trellis import cli\n"
        f"code = cli.main(['inspect', {str(path)!r}])\n"
        "heavy = {'torch', 'jax', 'tensorflow', 'onnx', 'trellis.nn'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
    assert "w: float32 (1, 2)" in done.stdout


def test_a_truncated_file_of_weights(tmp_path):
    """Every cut of a good file is refused as such."""
    path = tmp_path / "weights.safetensors"
    nn.Linear(2, 1, backend="numpy").save_weights(path)
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(errors.ArgumentError, match=r"weights\.safetensors"):
            export.describe(path)
