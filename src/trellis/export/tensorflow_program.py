"""A program as a function of TensorFlow, for the formats that TensorFlow writes."""

from typing import Any

import tensorflow as tf

from .program import Program


def traced(program: Program, variables: str) -> tuple[Any, Any]:
    """An object of TensorFlow that holds the variables, and the function of its inputs."""
    holder = tf.Module(name=program.name)
    is_kept = variables == "parameters"
    v: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for found, arrays in ((v, program.variables), (kept, program.buffers)):
        for chain, x in arrays.items():
            can_learn = found is v and (x.dtype.is_floating or x.dtype.is_complex)
            found[chain] = tf.Variable(x, trainable=can_learn, name=chain) if is_kept else x
    if is_kept:
        # What they are called in the checkpoint of a SavedModel.
        holder.weights = {**v, **kept}

    def run(*inputs: Any) -> dict[str, Any]:
        of_v, of_kept = [[tf.convert_to_tensor(x) for x in part.values()] for part in (v, kept)]
        result = program.named(program.call(of_v, of_kept, inputs))
        # An output that is an input has to be one of its own.
        return {name: tf.identity(x, name=name) for name, x in result.items()}

    specs = [
        tf.TensorSpec(
            [None if isinstance(size, str) else size for size in port.shape],
            port.dtype,
            name=port.name,
        )
        for port in program.inputs
    ]
    holder.run = tf.function(run, input_signature=specs, autograph=False)
    return holder, holder.run.get_concrete_function()
