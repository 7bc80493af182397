"""Files of frameworks that would never end, or take all memory: a child notices it first."""

import json
import re
import resource
import sys
import zipfile

import pytest

from oracles import keras, tf, torch
from trellis import cli, convert
from trellis.convert.apart import process
from trellis.errors import ConversionError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux'")


@pytest.fixture(scope="module", autouse=True)
def children():
    """One child for each framework: to import one takes seconds."""
    with process.kept_children():
        yield


@pytest.fixture
def short(monkeypatch):
    """Three seconds are enough to see that it does not end."""
    monkeypatch.setattr(process, "SECONDS", 3.0)


def grown():
    """Megabytes that this process has taken at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.needs("torch")
def test_a_torch_archive_of_gigabytes(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(2**34).sum()

    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Model(), (torch.ones(2),)), path)
    assert path.stat().st_size < 50_000
    before = grown()
    with pytest.raises(ConversionError, match=r"torch needs more than .*--no-verify"):
        convert.from_torch(path, to="numpy")
    # Nothing is computed then, and no constant of that size.
    assert convert.from_torch(path, to="numpy", verify=False).graph.nodes
    assert grown() - before < 1000


@pytest.mark.needs("torch")
def test_a_torch_archive_without_end(tmp_path, short):
    from torch._higher_order_ops.while_loop import while_loop

    class Model(torch.nn.Module):
        def forward(self, x):
            def is_less(i, x):
                return i < 2**62

            def body(i, x):
                return i + 1, x + 1

            return while_loop(is_less, body, (torch.tensor(0), x))[1]

    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Model(), (torch.ones(2),)), path)
    with pytest.raises(ConversionError, match="torch did not end within 3 seconds"):
        convert.from_torch(path, to="numpy")


def saved_model(path, count):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
        def __call__(self, x):
            last = tf.constant(count, tf.int64)
            loop = tf.while_loop(
                lambda i, x: i < last, lambda i, x: (i + 1, x * 0.5), [tf.constant(0, tf.int64), x]
            )
            return {"y": loop[1]}

    model = Model()
    tf.saved_model.save(model, str(path), signatures=model.__call__.get_concrete_function())
    return path


@pytest.mark.needs("tensorflow")
def test_a_saved_model_without_end(tmp_path, short, capsys):
    assert cli.main(["convert", str(saved_model(tmp_path / "good", 3))]) == 0
    assert "verified, largest difference" in capsys.readouterr().out
    assert cli.main(["convert", str(saved_model(tmp_path / "endless", 2**31 - 1))]) == 1
    assert "TensorFlow did not end within 3 seconds" in capsys.readouterr().err
    assert cli.main(["convert", str(tmp_path / "endless"), "--no-verify"]) == 0


# Keras about NumPy 2, when it saves.
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept:DeprecationWarning")
@pytest.mark.needs("tensorflow")
def test_a_keras_file_of_gigabytes(tmp_path, short, capsys):
    layers = [keras.layers.Input((6,)), keras.layers.Dense(4), keras.layers.Dense(2)]
    keras.Sequential(layers).save(tmp_path / "good.keras")
    path = tmp_path / "hostile.keras"
    with zipfile.ZipFile(tmp_path / "good.keras") as good, zipfile.ZipFile(path, "w") as made:
        for name in good.namelist():
            content = good.read(name)
            if name == "config.json":
                content = content.replace(b'"units": 4', b'"units": 4000000000')
                assert json.loads(content)["config"]["layers"][1]["config"]["units"] == 4 * 10**9
            made.writestr(name, content)
    before = grown()
    assert cli.main(["convert", str(path)]) == 1
    # TensorFlow waits for memory, so which of the two limits is met first is chance.
    assert re.search(r"Keras (needs more than|did not end).*--no-verify", capsys.readouterr().err)
    assert grown() - before < 1000
    assert cli.main(["convert", str(tmp_path / "good.keras")]) == 0
