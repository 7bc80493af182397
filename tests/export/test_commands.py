"""The command line in both directions."""

import numpy as np
import pytest

import trellis
from export_models import run
from oracles import torch
from trellis import cli, nn
from trellis._commands import convert, export, inspect


@pytest.mark.needs("jax")
def test_export_of_a_named_module(tmp_path, capsys):
    """Weights from a file, a dynamic axis from its name, the format from the suffix."""
    trellis.seed(3)
    model = trellis.demo.DigitReader(backend="numpy")
    model.save_weights(tmp_path / "weights.safetensors")
    path = tmp_path / "digits.stablehlo"
    words = ["export", "trellis.demo:DigitReader", str(path)]
    words += [
        "--input",
        "x=float32[batch,8,8,1]",
        "--weights",
        str(tmp_path / "weights.safetensors"),
    ]
    assert cli.main(words) == 0
    assert "verified by jax" in capsys.readouterr().out
    x = np.random.default_rng(0).random((5, 8, 8, 1), "float32")
    (found,) = run("stablehlo", path, {"x": x})
    np.testing.assert_allclose(found, model.eval()(x), rtol=1e-4, atol=1e-5)  # float32
    assert cli.main(["inspect", str(path)]) == 0
    assert "x: float32 (batch, 8, 8, 1)" in capsys.readouterr().out


def onnx_file(path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.parser")
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 3] y) '
        "<float[2, 3] w = {1, 2, 3, 4, 5, 6}> { z = MatMul(x, w) y = Relu(z) }"
    )
    onnx.save(onnx.parser.parse_model(text), path)
    return np.array([[1, 2, 3], [4, 5, 6]], "float32")


@pytest.mark.needs("torch")
def test_convert_writes_source_and_weights(tmp_path, capsys):
    w = onnx_file(tmp_path / "model.onnx")
    source, weights = tmp_path / "model.py", tmp_path / "model.safetensors"
    words = ["convert", str(tmp_path / "model.onnx"), "--to", "torch", "--name", "Small"]
    assert cli.main([*words, "--source", str(source), "--weights", str(weights)]) == 0
    assert "converted from ONNX to torch: verified" in capsys.readouterr().out
    space = {}
    exec(source.read_text(), space)
    model = space["Small"](backend="torch")
    model.load_weights(weights)
    x = np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 3.0]], "float32")
    np.testing.assert_allclose(model(torch.tensor(x)).numpy(), np.maximum(x @ w, 0), rtol=1e-6)


@pytest.mark.needs("jax")
def test_export_of_a_file_of_another_framework(tmp_path, capsys):
    w = onnx_file(tmp_path / "model.onnx")
    path = tmp_path / "model.stablehlo"
    assert cli.main(["export", str(tmp_path / "model.onnx"), str(path)]) == 0
    assert "x: float32 (N, 2)" in capsys.readouterr().out
    x = np.array([[1.0, 2.0]], "float32")
    np.testing.assert_allclose(run("stablehlo", path, {"x": x})[0], x @ w, rtol=1e-6)  # float32


@pytest.mark.long
@pytest.mark.needs("jax", "torch", "tensorflow")
@pytest.mark.parametrize("name", ["model.pt2", "saved"])
def test_files_of_ours_come_back(name, tmp_path, capsys):
    """Out through one framework, in again, and out through another."""
    format = {"model.pt2": "torch_export", "saved": "saved_model"}[name]
    x = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1D(3), nn.Tanh(), backend="numpy")
    write = getattr(trellis.export, f"to_{format}")
    write(model, (x,), tmp_path / name, dynamic={"x": {0: "batch"}})
    assert cli.main(["convert", str(tmp_path / name)]) == 0
    assert "verified, largest difference" in capsys.readouterr().out
    assert cli.main(["export", str(tmp_path / name), str(tmp_path / "out.stablehlo")]) == 0
    (found,) = run("stablehlo", tmp_path / "out.stablehlo", {"x": x[:1]})
    np.testing.assert_allclose(found, model.eval()(x[:1]), rtol=1e-5, atol=1e-6)  # float32


@pytest.mark.parametrize(
    "words, message",
    [
        (["inspect", "nothing.onnx"], "nothing.onnx"),
        (["convert", "nothing.onnx"], "There is no file 'nothing.onnx'"),
        (["export", "trellis.demo:DigitReader", "out.xyz"], "is not the suffix of a format"),
        (["export", "trellis.demo:DigitReader", "out.onnx"], "Describe the inputs of the model"),
        (["export", "trellis.demo:Nothing", "out.onnx"], "has no 'Nothing'"),
        (["export", "no_such_module:x", "out.onnx"], "No module named"),
    ],
)
def test_mistakes_are_told_in_a_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 1
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_a_wrong_input_is_told_by_the_parser(capsys):
    with pytest.raises(SystemExit):
        cli.main(["export", "trellis.demo:DigitReader", "out.onnx", "--input", "x:3"])
    assert "such as x=float32[batch,8,8,1]" in capsys.readouterr().err


def test_commands_have_a_line_for_the_help():
    assert all([module.SUMMARY for module in (convert, export, inspect)])
