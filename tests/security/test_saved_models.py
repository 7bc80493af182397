"""SavedModels that would touch files: each is refused before TensorFlow loads it."""

import numpy as np
import pytest

from oracles import tf
from trellis import cli, convert
from trellis.errors import ArgumentError, NotSupportedError

pytestmark = pytest.mark.needs("tensorflow")
X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def saved(path, body, holder=None):
    """A SavedModel that serves a function."""
    holder = tf.Module() if holder is None else holder
    holder.weight = tf.Variable(tf.ones((3, 2)), name="weight")

    def serve(x):
        return {"y": body(x @ holder.weight)}

    spec = [tf.TensorSpec([None, 3], tf.float32)]
    holder.serve = tf.function(serve, input_signature=spec, autograph=False)
    tf.saved_model.save(holder, str(path), signatures=holder.serve)
    return path


def refused(path, words, kind=ArgumentError):
    with pytest.raises(kind, match=words) as error:
        convert.from_tensorflow(path, kwargs={"x": X}, to="numpy")
    return str(error.value)


def test_a_harmless_one_is_read(tmp_path, capsys):
    def body(y):
        tf.debugging.assert_greater(tf.shape(y)[0], 0)
        return tf.tanh(y)

    path = saved(tmp_path / "good", body)
    model = convert.from_tensorflow(path, kwargs={"x": X}, to="numpy")
    assert "verified, largest" in model.report()
    np.testing.assert_allclose(model(X)["y"], np.tanh(X @ np.ones((3, 2))), rtol=1e-6)  # float32
    assert cli.main(["convert", str(path)]) == 0
    assert "verified, largest" in capsys.readouterr().out


def test_operations_that_touch_files(tmp_path, capsys):
    made, secret = tmp_path / "made", tmp_path / "secret"
    secret.write_text("1")

    def writes(y):
        tf.io.write_file(str(made), "x")  # nothing depends on it
        return y

    def reads(y):
        return y * tf.strings.to_number(tf.io.read_file(str(secret)))

    def prints(y):
        tf.print("x", output_stream=f"file://{made}")
        return y

    def calls_python(y):
        return tf.py_function(lambda y: made.touch() or y, [y], tf.float32)

    def inner(y):
        return tf.cond(y[0, 0] > 0, lambda: writes(y), lambda: y)

    for i, (body, name) in enumerate(
        [
            (writes, "WriteFile"),
            (reads, "ReadFile"),
            (prints, "PrintV2"),
            (calls_python, "EagerPyFunc"),
            (inner, "WriteFile"),
            (lambda y: y + tf.cast(tf.size(tf.io.matching_files("/*")), y.dtype), "MatchingFiles"),
        ]
    ):
        path = saved(tmp_path / f"bad{i}", body)
        assert "trust=True" in refused(path, f"operation '{name}'")
        assert cli.main(["convert", str(path)]) == 1
        assert "--trust" in capsys.readouterr().err
    assert not made.exists()


def test_operations_without_a_rule_are_listed_before_anything_runs(tmp_path, monkeypatch):
    path = saved(tmp_path / "bad", lambda y: tf.raw_ops.Betainc(a=y, b=y, x=y) + tf.sparse.to_dense(
        tf.sparse.from_dense(y)))  # fmt: skip
    monkeypatch.setattr(tf.saved_model, "load", lambda path: pytest.fail("it was loaded"))
    refused(path, "operations that Trellis has no rule for", NotSupportedError)


def test_tables(tmp_path):
    """Filling a table from constants is harmless, from a file is not."""
    lookup = tf.lookup
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    constant = lookup.KeyValueTensorInitializer([1, 2], [3.0, 4.0])
    text = lookup.TextFileInitializer(
        str(words), tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64,
        lookup.TextFileIndex.LINE_NUMBER,
    )  # fmt: skip
    holder = tf.Module()
    holder.table = lookup.StaticHashTable(constant, 0.0)
    path = saved(tmp_path / "good", tf.tanh, holder)
    assert (
        "verified, largest" in convert.from_tensorflow(path, kwargs={"x": X}, to="numpy").report()
    )
    holder.table = lookup.StaticHashTable(text, -1)
    path = saved(tmp_path / "bad", tf.tanh, holder)
    refused(path, "InitializeTableFromTextFileV2")
    trusted = convert.from_tensorflow(path, kwargs={"x": X}, to="numpy", trust=True)
    assert "verified, largest" in trusted.report()


def test_initializers_that_compute_more_than_tables(tmp_path):
    class Resource(tf.saved_model.experimental.TrackableResource):
        def _create_resource(self):
            return tf.raw_ops.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64)

        def _initialize(self):
            tf.raw_ops.Assert(condition=tf.reduce_all([True]), data=["x"])

    holder = tf.Module()
    holder.resource = Resource()
    path = saved(tmp_path / "bad", tf.tanh, holder)
    refused(path, "loading it runs")


def test_a_function_in_memory_loses_no_effect_in_silence(tmp_path):
    def writes(x):
        tf.io.write_file(str(tmp_path / "made"), "x")
        return x + 1.0

    with pytest.raises(NotSupportedError, match="WriteFile"):
        convert.from_tensorflow(writes, args=(X,), to="numpy")
    assert not (tmp_path / "made").exists()


def test_damaged_and_old_files(tmp_path):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no 'saved_model.pb'")
    (tmp_path / "empty" / "saved_model.pb").write_bytes(b"\xff" * 40)
    refused(tmp_path / "empty", "damaged")
    (tmp_path / "empty" / "saved_model.pb").write_bytes(b"\x08\x01\x12\x00")
    refused(tmp_path / "empty", "TensorFlow 1")
