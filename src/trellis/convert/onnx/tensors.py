"""Arrays and types of ONNX files as NumPy's."""

import math
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from ..._core.errors import ArgumentError, NotSupportedError
from ..semantics.small_types import numpy_dtype

# How many bytes an array may have that a file declares without bringing its data.
LARGEST = 1 << 31
_MOST_AXES = 64  # of NumPy
_IMPOSSIBLE = 1 << 58  # elements, of up to 16 bytes


def dtype_name(elem_type: int) -> str:
    """The name of an element type, as NumPy and ml_dtypes have it."""
    try:
        name = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type)).name
    except (KeyError, TypeError, ValueError):
        raise ArgumentError(
            f"from_onnx() got a file with the unknown element type {elem_type}."
        ) from None
    return "str" if name.startswith(("object", "str")) else name


def array_of(tensor: TensorProto) -> Any:
    """The NumPy array of a tensor whose data are in memory; the sizes are checked before."""
    name = tensor.name or "a constant"
    if tensor.data_type == TensorProto.STRING:
        raise NotSupportedError(f"from_onnx() reads numbers, and {name} holds strings.")
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        # ONNX's own helper would open that path, from wherever the program runs.
        raise ArgumentError(f"from_onnx() reads external data of initializers only, not of {name}.")
    kind = dtype_name(tensor.data_type)
    dims = tuple(tensor.dims)
    check_shape(name, dims, LARGEST)
    try:
        array = numpy_helper.to_array(tensor)
    except Exception as error:
        raise ArgumentError(f"from_onnx() cannot read {name} of shape {dims}: {error}") from None
    if array.dtype.name != kind or array.shape != dims:
        raise ArgumentError(f"from_onnx() got {name} whose data are not of type {kind} and {dims}.")
    return array


def shape_of(info: onnx.TypeProto.Tensor) -> tuple[int | str | None, ...] | None:
    """The shape of a tensor type: sizes, names of dynamic axes, or None for nameless ones."""
    if not info.HasField("shape"):
        return None
    sizes: list[int | str | None] = []
    for dim in info.shape.dim:
        if dim.HasField("dim_value"):
            if dim.dim_value < 0:
                sizes.append(None)
                continue
            sizes.append(dim.dim_value)
        else:
            # Some exporters call every axis that they know nothing of by the same sign.
            sizes.append(None if dim.dim_param in ("", "?") else dim.dim_param)
    return tuple(sizes)


def check_shape(name: str, shape: tuple[Any, ...], largest: int = _IMPOSSIBLE) -> None:
    """Raise for a shape that no array can have, or one of more than `largest` elements."""
    if len(shape) > _MOST_AXES:
        raise ArgumentError(
            f"from_onnx() got {name} with {len(shape)} axes; arrays have at most {_MOST_AXES}."
        )
    known = [size for size in shape if isinstance(size, int)]
    if any([size < 0 for size in known]):
        raise ArgumentError(f"from_onnx() got {name} of the impossible shape {shape}.")
    # NumPy counts the elements as if no axis were empty.
    if math.prod([max(size, 1) for size in known]) > largest:
        raise ArgumentError(f"from_onnx() got {name} of the shape {shape}, which is too large.")


def check_size(name: str, shape: tuple[Any, ...] | None, dtype: str) -> None:
    """Raise for a declared shape that is too large for memory."""
    if shape is not None:
        width = 1 if dtype == "str" else numpy_dtype(dtype).itemsize
        check_shape(name, shape, LARGEST // width)


def plain_attribute(attribute: onnx.AttributeProto) -> Any:
    """What an attribute holds: numbers, text, tuples of these, a NumPy array, or a graph."""
    kind = attribute.type
    types = onnx.AttributeProto
    if kind == types.FLOAT:
        return _short(attribute.f)
    if kind == types.INT:
        return attribute.i
    if kind == types.STRING:
        return attribute.s.decode(errors="replace")
    if kind == types.TENSOR:
        return array_of(attribute.t)
    if kind == types.GRAPH:
        return attribute.g
    if kind == types.FLOATS:
        return tuple([_short(x) for x in attribute.floats])
    if kind == types.INTS:
        return tuple(attribute.ints)
    if kind == types.STRINGS:
        return tuple([x.decode(errors="replace") for x in attribute.strings])
    name = types.AttributeType.Name(kind) if kind in types.AttributeType.values() else str(kind)
    raise NotSupportedError(f"from_onnx() has no use for attributes of type {name}.")


def _short(x: float) -> float:
    """A number that was stored in 32 bits, as short as it can be written."""
    return float(str(np.float32(x)))
