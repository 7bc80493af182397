"""Example inputs: those that the user gives, or made up from the shapes that the file declares."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ..._array.interchange import to_numpy
from ..._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from ..semantics.small_types import numpy_dtype
from .tensors import dtype_name, shape_of

_OPEN = 2  # the size of an axis that the file leaves open
_LARGEST = 1 << 26  # bytes of all made-up inputs


def examples_for(
    model: onnx.ModelProto, args: Sequence[Any] | Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """One NumPy array for each input by name; None if none can be made up."""
    stored = {tensor.name for tensor in model.graph.initializer}
    infos = [info for info in model.graph.input if info.name not in stored]
    if args is None:
        return _made_up(infos)
    names = [info.name for info in infos]
    given: dict[str, Any]
    if isinstance(args, Mapping):
        given = dict(args)
    elif isinstance(args, Sequence) and not isinstance(args, str):
        given = dict(zip(names, args))
        if len(args) > len(names):
            raise ArgumentError(f"from_onnx() got {len(args)} args for the inputs {names}.")
    else:
        raise ArgumentTypeError(
            f"from_onnx() takes args as a sequence or by name, got {type(args).__name__}."
        )
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        raise ArgumentError(
            f"from_onnx() needs args for the inputs {names}: missing {missing}, unknown {unknown}."
        )
    found = {name: np.asarray(to_numpy(given[name])) for name in names}
    for info in infos:
        shape = shape_of(info.type.tensor_type)
        x = found[info.name]
        if shape is not None and len(shape) != x.ndim:
            raise ShapeError(
                f"from_onnx() expects args for {info.name!r} of shape {shape}, got {x.shape}."
            )
    return found


def fixed_sizes(
    model: onnx.ModelProto,
    example: Mapping[str, Any] | None,
    dynamic: Mapping[str, Mapping[int, str]] | None,
) -> None:
    """Write the sizes of the example into the declared shapes, but for the axes in `dynamic`."""
    names = [info.name for info in model.graph.input]
    for name in dynamic or {}:
        if name not in names:
            raise ArgumentError(
                f"from_onnx() finds no input {name!r} for dynamic; there are {names}."
            )
    if dynamic is None:
        return
    # What the file says of other values holds for its own sizes only.
    model.graph.ClearField("value_info")
    for info in model.graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    for info in model.graph.input:
        if info.type.WhichOneof("value") != "tensor_type":
            continue
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            if example is None or info.name not in example:
                continue
            tensor.shape.Clear()
            for _ in example[info.name].shape:
                tensor.shape.dim.add()
        for axis, dim in enumerate(tensor.shape.dim):
            open_axes = dynamic.get(info.name, {})
            if axis in open_axes:
                dim.Clear()
                dim.dim_param = open_axes[axis]
            elif example is not None and info.name in example:
                dim.dim_value = example[info.name].shape[axis]


def _made_up(infos: list[onnx.ValueInfoProto]) -> dict[str, Any] | None:
    draws = np.random.default_rng(0)
    found = {}
    sizes: dict[str, int] = {}
    total = 0
    for info in infos:
        if info.type.WhichOneof("value") != "tensor_type":
            return None
        shape = shape_of(info.type.tensor_type)
        if shape is None:
            return None
        known = [
            size if isinstance(size, int) else sizes.setdefault(size, _OPEN) if size else _OPEN
            for size in shape
        ]
        kind = dtype_name(info.type.tensor_type.elem_type)
        if kind == "str":
            return None
        # They are drawn in 64 bits. An axis of no elements makes none of the others possible.
        total += 8 * math.prod([max(size, 1) for size in known])
        if total > _LARGEST:
            return None
        if kind == "bool" or "int" in kind:
            found[info.name] = draws.integers(0, 2, known).astype(numpy_dtype(kind))
        else:
            found[info.name] = draws.standard_normal(known).astype(numpy_dtype(kind))
    return found
