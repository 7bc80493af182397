"""Models as TFLite files, for phones and small devices."""

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from .._core.errors import NotSupportedError
from .description import RECORD, Description, to_text
from .program import Dynamic, Program
from .reading.tflite import read_tflite
from .tensorflow_program import traced
from .verify import Runner
from .writing import Format, write

_FORMAT = Format("TFLite", ("tensorflow",), "tensorflow")


def to_tflite(
    model: Any,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    training: bool = False,
    verify: bool = True,
) -> Description:
    """Write a model as a TFLite file, with the signature "serving_default".

    Variables are constants of the file. An operation that TFLite does not have raises an error that
    names it. The options are those of all writers: see docs/export.md.

    >>> import os, tempfile, numpy as np, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "model.tflite")
    >>> model, x = trellis.nn.Linear(3, 2, backend="numpy"), np.ones((4, 3), "float32")
    >>> print(*trellis.export.to_tflite(model, (x,), path).inputs)
    x: float32 (4, 3)
    """
    names = (input_names, output_names)
    program = Program(
        model, args, kwargs, dynamic, names, training, backend="tensorflow", function="to_tflite"
    )

    def save(target: Path, about: Mapping[str, Any]) -> None:
        holder, function = traced(program, "constants")
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function], holder)
        try:
            content = converter.convert()
        except Exception as error:
            raise NotSupportedError(_missing(program.name, str(error))) from error
        target.write_bytes(_with_record(content, to_text(about)))

    return write(program, path, _FORMAT, "constants", save=save, load=load, verify=verify)


def load(path: Path) -> Runner:
    """A file in the runtime of its format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where the interpreter is going to live
        interpreter = tf.lite.Interpreter(os.fspath(path))
    runner, about = interpreter.get_signature_runner(), read_tflite(path)

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        found = runner(**{p.name: x for p, x in zip(about.inputs, inputs, strict=True)})
        return [found[port.name] for port in about.outputs]

    return run


def _missing(name: str, message: str) -> str:
    """The missing operations, from the converter's long message."""
    operations = sorted(set(re.findall(r"\btf\.(\w+) ?[({]", message)))
    if not operations:
        return f"TensorFlow cannot convert {name} to TFLite: {message[:500]}"
    return (
        f"TFLite has no operation for what {name} computes with TensorFlow's "
        f"{', '.join(operations)}. Compute it in another way, or export to another format."
    )


def _with_record(content: bytes, text: str) -> bytes:
    """The file with our metadata, in the place that the format has for it."""
    import flatbuffers  # type: ignore[import-untyped]
    import numpy as np
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content)
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(text.encode(), "uint8")
    model.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name, entry.buffer = RECORD, len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
