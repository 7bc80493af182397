"""The attributes of TensorFlow's operations, and at which values a rule need not name them.

Defaults are those of the operation's own definition. A type or a count that the inputs imply says
nothing new; the type of a result must be named, unless it stands here.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from ..binding import ANY

_HOW = (  # how TensorFlow runs an operation, and what it prints
    "config", "config_proto", "executor_type", "parallel_iterations", "use_cudnn_on_gpu",
    "message", "output_shapes", "container", "shared_name",
)  # fmt: skip
# Where these do not hold, TensorFlow raises, or (the last one) answers False; Trellis raises.
_CHECKS = ("validate_indices", "validate_shape", "num_elements", "incompatible_shape_error")
_GRADIENTS = ("grad_a", "grad_b", "grad_x", "grad_y")  # whether an operand is a gradient
_SEEDS = ("seed", "seed2")  # Trellis draws numbers of its own, as a remark of the report says
_EVERYWHERE = dict.fromkeys((*_HOW, *_CHECKS, *_GRADIENTS, *_SEEDS), ANY)
_OF_ONE = {
    # Their types are those of the functions, which are read too.
    **dict.fromkeys(("If", "StatelessIf", "Case", "StatelessCase"), ("Tout",)),
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), ("Tout",)),
    # As wide as the operand: TensorFlow has no kernel for other pairs.
    **dict.fromkeys(("Real", "Imag", "ComplexAbs", "Complex", "Angle"), ("Tout",)),
    **dict.fromkeys(("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"), ("Tcomplex",)),
    # Shapes that the operand has, or TensorFlow raises.
    **dict.fromkeys(("EnsureShape", "AccumulateNV2", "PlaceholderWithDefault"), ("shape",)),
    # For people to read.
    "Assert": ("summarize",),
    "Print": ("summarize", "first_n"),
    "PrintV2": ("output_stream", "end"),
    "SplitV": ("num_split",),  # as many as there are sizes
}


class FunctionName(str):
    """The name of a function among the attributes of an operation."""


def attributes_of(op: tf.Operation) -> dict[str, Any]:
    """The attributes of an operation as Python's values; types by name."""
    given = op.node_def.attr
    return {name: _plain(given[name]) for name in given if not name.startswith("_")}


def defaults_of(op: tf.Operation) -> Mapping[str, Any]:
    """At which values the attributes of an operation may be left out."""
    found: dict[str, Any] = {}
    for attribute in op.op_def.attr:
        if attribute.HasField("default_value"):
            found[attribute.name] = _plain(attribute.default_value)
    for operand in op.op_def.input_arg:
        for name in (operand.type_attr, operand.number_attr, operand.type_list_attr):
            found[name] = ANY
    return {**found, **_EVERYWHERE, **dict.fromkeys(_OF_ONE.get(op.type, ()), ANY)}


def input_names(op: tf.Operation) -> list[str]:
    """What the operation's definition calls its inputs."""
    return [operand.name for operand in op.op_def.input_arg]


def _plain(value: Any) -> Any:
    field = value.WhichOneof("value")
    if field == "list":
        for name in ("s", "i", "f", "b", "type", "shape", "func"):
            items = getattr(value.list, name)
            if len(items):
                return [_item(name, x) for x in items]
        return []
    return None if field is None else _item(field, getattr(value, field))


def _item(field: str, value: Any) -> Any:
    if field == "s":
        return value.decode(errors="replace")
    if field == "type":
        return tf.as_dtype(value).name
    return FunctionName(value.name) if field == "func" else value
