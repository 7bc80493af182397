"""Files of Keras with functions of Python in them."""

import os
import warnings

import numpy as np
import pytest

from oracles import keras
from trellis import cli

pytestmark = pytest.mark.needs("tensorflow")


def saved(path, *layers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that HDF5 is old
        keras.Sequential([keras.layers.Input((3,)), *layers]).save(path)
    return str(path)


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_layers_of_python_are_refused(suffix, tmp_path, capsys):
    made = str(tmp_path / "made")
    code = f"__import__('os').makedirs({made!r}, exist_ok=True)"
    call = eval(f"lambda x: ({code}, x)[1]")  # a lambda that knows the path by itself
    path = saved(tmp_path / f"bad{suffix}", keras.layers.Lambda(call))
    os.rmdir(made)  # building the model has run it
    assert cli.main(["convert", path]) == 1
    said = capsys.readouterr().err
    assert "functions of Python" in said and "--trust" in said
    assert not os.path.exists(made)


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_a_version_of_keras_that_runs_them_anyway(suffix, tmp_path, capsys, monkeypatch):
    path = saved(tmp_path / f"good{suffix}", keras.layers.Dense(2))
    assert cli.main(["convert", path]) == 0
    assert "verified, largest" in capsys.readouterr().out
    monkeypatch.setattr("keras.__version__", "3.11.2")
    assert cli.main(["convert", path]) == 1
    said = capsys.readouterr().err
    assert "Keras 3.11.2 runs functions" in said and "3.11.3" in said
    assert cli.main(["convert", path, "--trust"]) == 0


def test_a_damaged_file(tmp_path, capsys):
    (tmp_path / "bad.keras").write_bytes(np.zeros(40, "uint8").tobytes())
    assert cli.main(["convert", str(tmp_path / "bad.keras")]) == 1
    assert "Keras cannot read" in capsys.readouterr().err
