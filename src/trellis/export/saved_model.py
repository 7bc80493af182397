"""Models as SavedModels of TensorFlow."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from .description import RECORD, Description, to_text
from .program import Dynamic, Program
from .tensorflow_program import traced
from .verify import Runner
from .writing import Format, write

SIGNATURE = "serving_default"

_FORMAT = Format("SavedModel", ("tensorflow",), "tensorflow")


def to_saved_model(
    model: Any,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: str = "parameters",
    training: bool = False,
    verify: bool = True,
) -> Description:
    """Write a model as a SavedModel, the directory that TensorFlow and TensorFlow Serving load.

    It has one signature, "serving_default", from the inputs to the outputs by name. Variables are
    variables of TensorFlow, by key path in `weights` of what is loaded, or constants of the graph.
    The options are those of all writers: see docs/export.md.

    >>> import os, tempfile, numpy as np, tensorflow as tf, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "saved")
    >>> model, x = trellis.nn.Linear(3, 2, backend="numpy"), np.ones((4, 3), "float32")
    >>> _ = trellis.export.to_saved_model(model, (x,), path, dynamic={"x": {0: "batch"}})
    >>> loaded = tf.saved_model.load(path)
    >>> loaded.signatures["serving_default"](x=tf.ones((7, 3)))["output"].shape
    TensorShape([7, 2])
    """
    names = (input_names, output_names)
    program = Program(
        model,
        args,
        kwargs,
        dynamic,
        names,
        training,
        backend="tensorflow",
        function="to_saved_model",
    )

    def save(target: Path, about: Mapping[str, Any]) -> None:
        holder, function = traced(program, variables)
        tf.saved_model.save(holder, os.fspath(target), signatures={SIGNATURE: function})
        extra = target / "assets.extra"  # TensorFlow's place for files of others
        extra.mkdir()
        (extra / f"{RECORD}.json").write_text(to_text(about))

    def load(target: Path) -> Runner:
        loaded = tf.saved_model.load(os.fspath(target))
        function = loaded.signatures[SIGNATURE]

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            given = {p.name: tf.constant(x) for p, x in zip(program.inputs, inputs, strict=True)}
            found = function(**given)
            # The function does not keep what it was loaded with alive.
            assert loaded is not None
            return [found[port.name].numpy() for port in program.outputs]

        return run

    return write(program, path, _FORMAT, variables, save=save, load=load, verify=verify)
