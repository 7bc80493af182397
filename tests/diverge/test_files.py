"""Recordings in files, the command line, and pictures."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import trellis
from trellis import cli
from trellis._diverge.recording import load_recording, record
from trellis._diverge.report import compare
from trellis.errors import ArgumentError

PROGRAM = """
import numpy as np, trellis
x = np.linspace(-1, 1, 5, dtype="float32")
def right(): return trellis.exp(x) * 2
def wrong(): return trellis.exp(x) * 2.01
"""


def test_a_recording_comes_back_from_its_file(tmp_path, backend):
    made = record(lambda x: trellis.tanh(x) + 1, (np.ones(3, "float32"),), backend=backend,
                  gradients=True)  # fmt: skip
    made.save(tmp_path / "run.safetensors")
    again = load_recording(tmp_path / "run.safetensors")
    assert again.backend == backend and again.versions["trellis"] == trellis.__version__
    assert [call.op for call in again.calls] == ["tanh", "add"]
    np.testing.assert_array_equal(again.calls[0].outputs[0], made.calls[0].outputs[0])
    # d tanh = 1 - tanh^2, times the upstream gradient cos(0), cos(1), cos(2).
    slope = (1 - np.tanh(1.0) ** 2) * np.cos(np.arange(3))
    np.testing.assert_allclose(again.calls[0].gradients[0], slope, rtol=1e-5)  # float32
    assert compare([made, again]).is_same


def test_other_files_are_refused(tmp_path):
    from trellis._core.files import write_arrays

    write_arrays(tmp_path / "weights.safetensors", {"w": np.ones(3)})
    with pytest.raises(ArgumentError, match="not a recording"):
        load_recording(tmp_path / "weights.safetensors")


def test_the_command_line_records_and_compares(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    files = [str(tmp_path / f"{name}.safetensors") for name in ("right", "wrong")]
    for name, file in zip(("right", "wrong"), files):
        assert cli.main(["diverge", "record", f"{tmp_path / 'program.py'}:{name}", file]) == 0
    assert cli.main(["diverge", "compare", files[0], files[0]]) == 0
    picture = tmp_path / "difference.svg"
    assert cli.main(["diverge", "compare", *files, "--svg", str(picture)]) == 1
    said = capsys.readouterr().out
    assert "call 1: mul at program.py" in said and "5.0e-03 of its scale" in said
    words = "".join(ET.fromstring(picture.read_text()).itertext())
    assert "mul program.py" in words


def test_mistakes_on_the_command_line(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert cli.main(["diverge", "record", "program.py", "x"]) == 2
    assert cli.main(["diverge", "record", f"{tmp_path / 'program.py'}:none", "x"]) == 2
    assert cli.main(["diverge", "compare", "one"]) == 2
    assert cli.main(["diverge", "compare", "one", "two"]) == 2
    said = capsys.readouterr().err
    assert "file.py:function" in said and "has no none" in said and "two recordings" in said


def test_programs_that_call_otherwise_are_lined_up():
    x = np.ones(3, "float32")
    one = record(lambda x: trellis.tanh(trellis.exp(x)), (x,))
    two = record(lambda x: trellis.tanh(trellis.negative(trellis.exp(x))), (x,))
    report = compare([one, two])
    assert any("negative" in remark for remark in report.remarks)
    assert [found.call.op for found in report.differences] == ["tanh"]


def test_the_picture_serves_light_and_dark(tmp_path):
    report = trellis.diverge(trellis.exp, (np.ones(3),), backends=("numpy", "numpy"))
    text = report.draw(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text() == text
    assert "prefers-color-scheme: dark" in text and ET.fromstring(text).tag.endswith("svg")
