"""Files are told apart by the real folders of packages, whatever a user's folders are called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import trellis
from trellis._core.frames import folder_of, is_in, is_installed

PROGRAM = """
import sys
import numpy as np
import trellis
from trellis import nn

assert not trellis.__file__.startswith(sys.path[0])
model = nn.Linear(3, 2, backend="numpy")


class Holder:
    def __init__(self):
        self.model = model


holder = Holder()


def program(x):
    return trellis.tanh(holder.model(x))


graph = trellis.trace(program, np.ones((4, 3), "float32"))
print(sorted({node.where for node in graph.nodes}))
print(len(graph.variables))
report = trellis.diverge(program, (np.ones((4, 3), "float32"),), backends=("numpy", "numpy"))
print(report.is_same)
"""

READING = """
import torch
from trellis import convert, errors


class Deciding(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


try:
    convert.from_torch(Deciding(), (torch.ones(3),))
except errors.ConversionError as error:
    print(error)
"""


def run(folder, program):
    folder.mkdir(parents=True)
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    source = str(Path(trellis.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return file, done.stdout


def test_a_program_in_a_folder_called_trellis(tmp_path):
    _, shown = run(tmp_path / "ein Päckchen" / "trellis", PROGRAM)
    assert shown.splitlines() == ["['Linear, program.py:20', 'program.py:20']", "2", "True"]


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", ["trellis", "torch"])
def test_a_model_in_a_folder_called_like_a_framework(tmp_path, name):
    file, shown = run(tmp_path / "ein Päckchen" / name, READING)
    assert f"({file}, line 8: `if x.sum() > 0:`)" in shown


def test_folders():
    ours = folder_of("trellis")
    assert is_in(os.path.join(ours, "nn", "init.py"), "trellis")
    assert not is_in(ours.rstrip(os.sep) + "_app" + os.sep + "model.py", "trellis")
    assert not is_in(__file__, "trellis", "a_package_that_is_not_loaded")
    assert is_installed(os.__file__)
    assert is_installed(pytest.__file__)
    assert is_installed(trellis.__file__)
    assert not is_installed(__file__)
    assert not is_installed(os.path.join(os.sep, "home", "me", "site-packages-of-mine", "x.py"))
