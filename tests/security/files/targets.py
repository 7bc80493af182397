"""Readers, each used on a file as users do: by its function, by a command, and what comes after."""

import contextlib
import io
from pathlib import Path

import numpy as np

from . import seeds


class Target:
    """How good files are made, and how one is read; `own` are the errors that count as in our
    words."""

    def __init__(self, make, read, own=None):
        self.make, self.read, self.own = make, read, own or _trellis_errors


def _trellis_errors():
    from trellis.errors import TrellisError

    return (TrellisError, FileNotFoundError, ImportError)


def _board_errors():
    from trellis_board.junit import JUnitError
    from trellis_board.tables import TableError

    return (JUnitError, TableError, _Told)


def _inspect(path):
    """`trellis inspect`: what it prints must not reach the terminal as commands."""
    from trellis import cli

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        cli.main(["inspect", str(path)])
    text = shown.getvalue()
    assert "\x1b" not in text and "\r" not in text and "\0" not in text, "a raw escape is printed"


def _used(model):
    """A converted model: its source is compiled and run in its own module, and the model runs."""
    source = model.to_source()
    space = {"__name__": "ejected"}
    exec(compile(source, "<ejected>", "exec"), space)
    model.report()
    assert repr(model)


def _converted(name, **options):
    def read(folder):
        from trellis._commands.models import converted

        path = folder / name if name else folder
        _inspect(path)
        _used(converted(path, "numpy", **options))

    return read


def _one_of(suffixes):
    def read(folder):
        from trellis._commands.models import converted

        (path,) = [each for each in folder.iterdir() if each.suffix in suffixes]
        _inspect(path)
        _used(converted(path, "numpy"))

    return read


def _weights(folder):
    from trellis._core.files import map_arrays

    path = folder / "weights.safetensors"
    _inspect(path)
    map_arrays(path)
    seeds.a_module().load_weights(path, strict=False)


def _checkpoint(folder):
    from trellis.train.checkpoint import load_checkpoint, read_checkpoint, read_extra

    path = folder / "run.ckpt"
    _inspect(path)
    read_extra(path)
    read_checkpoint(path)
    load_checkpoint(path, seeds.a_state())


def _pretrained(folder):
    from trellis import models

    model = models.from_pretrained(folder, backend="numpy", strict=False)
    if isinstance(model, models.GPT2 | models.Bert | models.Llama):
        model(np.array([[1, 2, 3]]))


def _tokenizer(folder):
    from trellis import models

    assert isinstance(models.load_tokenizer(folder).encode("a b ab").ids, list)


def _gguf(folder):
    from trellis import convert
    from trellis.errors import NotSupportedError

    found = convert.read_gguf(folder / "model.gguf")
    assert repr(found.metadata) and found.shapes
    for name in found:
        with contextlib.suppress(NotSupportedError):  # another format, after damage
            assert found[name].shape == found.shapes[name]


def _adapters(folder):
    from trellis import nn

    model = nn.adapters.load(seeds.a_small_module(), folder)
    with np.errstate(all="ignore"):  # numbers after damage
        model(np.ones(3, "float32"))


def _recording(folder):
    from trellis._diverge.recording import load_recording
    from trellis._diverge.report import compare

    path = folder / "a.rec"
    _inspect(path)
    str(compare([load_recording(path), load_recording(path)], labels=["a", "b"]))


def _junit(folder):
    from trellis_board.junit import read_junit

    text = (folder / "results.xml").read_bytes()
    read_junit(text, backend="torch", run="1", shard="a", at=1.0)


def _table(folder):
    from trellis_board.tables import read_table, write_table

    write_table(read_table((folder / "table.txt").read_text(errors="replace")))


def _store(folder):
    from trellis_board.commands import main

    path = str(folder / "board.sqlite")
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        for command in (["runs"], ["flaky"], ["html", "--out", str(folder / "page")]):
            if main([*command, "--store", path, "--project", "p"]):
                raise _Told(quiet.getvalue())


class _Told(Exception):
    """The command ended with a message and an exit code."""


def _described(folder):
    (path,) = folder.iterdir()
    _inspect(path)
    from trellis.export import describe

    repr(describe(path))


TARGETS = {
    "onnx": Target(seeds.onnx_files, _converted("model.onnx")),
    "pt2": Target(seeds.torch_archives, _converted("model.pt2")),
    "saved_model": Target(seeds.saved_models, _converted("")),
    "keras": Target(seeds.keras_files, _one_of({".keras", ".h5"})),
    "safetensors": Target(seeds.weights, _weights),
    "checkpoint": Target(seeds.checkpoints, _checkpoint),
    "pretrained": Target(seeds.pretrained, _pretrained),
    "tokenizer": Target(seeds.tokenizers, _tokenizer),
    "gguf": Target(seeds.gguf_files, _gguf),
    "adapters": Target(seeds.adapters, _adapters),
    "recording": Target(seeds.recordings, _recording),
    "pickle": Target(seeds.described, _described),
    "junit": Target(seeds.junit, _junit, _board_errors),
    "table": Target(seeds.tables, _table, _board_errors),
    "store": Target(seeds.stores, _store, _board_errors),
}


def written(folder, files):
    """The files of a case in a folder; a name that leads out of it is not written."""
    for name, content in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
