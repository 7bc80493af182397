"""ONNX files as data: read with limits, external data only from the folder of the file.

Nothing in a file is run, and no path in it leads out of its folder.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..._core.errors import ArgumentError, ArgumentTypeError
from .tensors import array_of, check_shape, check_size, dtype_name, shape_of

LARGEST_FILE = (1 << 31) - 1  # what the format itself allows
DEEPEST = 16  # graphs inside graphs


def loaded(source: object) -> tuple[onnx.ModelProto, Path | None]:
    """The model from a path, bytes or a model, and the folder of its external data."""
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
        return _checked(model), None
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _checked(_parsed(bytes(source))), None
    if not isinstance(source, (str, Path)):
        raise ArgumentTypeError(
            f"from_onnx() takes a path, bytes or an onnx.ModelProto, got {type(source).__name__}."
        )
    path = Path(source)
    if not path.is_file():
        raise ArgumentError(f"from_onnx() finds no file {str(path)!r}.")
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ArgumentError(
            f"from_onnx() got a file of {size} bytes; models above 2 GiB keep their weights in a "
            "file beside them (external data)."
        )
    return _checked(_parsed(path.read_bytes())), path.resolve().parent


def initial_arrays(model: onnx.ModelProto, folder: Path | None) -> dict[str, Any]:
    """The initializers of the main graph by name; the large ones leave the model, so that they
    are in memory once."""
    if model.graph.sparse_initializer:
        raise ArgumentError("from_onnx() reads dense initializers only; this file has sparse ones.")
    arrays = {}
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            arrays[tensor.name] = _external(tensor, folder)
        else:
            arrays[tensor.name] = array_of(tensor)
        if arrays[tensor.name].size > 1024:
            for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data"):
                tensor.ClearField(field)
            tensor.ClearField("uint64_data")
            tensor.ClearField("external_data")
            tensor.data_location = onnx.TensorProto.DEFAULT
    return arrays


def external_size(model: onnx.ModelProto, folder: Path | None) -> int:
    """The bytes of the files beside the model that its weights are in."""
    places = {
        entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    if folder is None:
        return 0
    paths = [folder / place for place in places if "\0" not in place]
    return sum([path.stat().st_size for path in paths if path.is_file()])


def _parsed(data: bytes) -> onnx.ModelProto:
    if len(data) > LARGEST_FILE:
        raise ArgumentError(f"from_onnx() got {len(data)} bytes; the format ends at 2 GiB.")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:
        raise ArgumentError(f"from_onnx() got bytes that are not an ONNX model: {error}") from None
    return model


def _checked(model: onnx.ModelProto) -> onnx.ModelProto:
    if not model.HasField("graph") or not model.graph.output:
        raise ArgumentError("from_onnx() got bytes that are not an ONNX model: there is no graph.")
    _check_depth(model.graph, 0)
    for kind, given in (("inputs", model.graph.input), ("initializers", model.graph.initializer)):
        names = [each.name for each in given]
        if len(set(names)) < len(names):
            raise ArgumentError(f"from_onnx() got a damaged model: two {kind} have one name.")
    for info in model.graph.input:
        if info.type.WhichOneof("value") == "tensor_type":
            tensor = info.type.tensor_type
            check_size(info.name, shape_of(tensor), dtype_name(tensor.elem_type))
    return model


def _check_depth(graph: onnx.GraphProto, depth: int) -> None:
    if depth > DEEPEST:
        raise ArgumentError(f"from_onnx() reads graphs inside graphs up to {DEEPEST} deep.")
    names = [x.name for x in (*graph.input, *graph.output, *graph.value_info, *graph.initializer)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    if not all([isinstance(name, str) for name in names]):
        raise ArgumentError("from_onnx() got a damaged model: a name in it is not text.")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _check_depth(attribute.g, depth + 1)
            for inner in attribute.graphs:
                _check_depth(inner, depth + 1)


def _external(tensor: onnx.TensorProto, folder: Path | None) -> Any:
    """An array from a file in the folder of the model."""
    name = tensor.name
    if folder is None:
        raise ArgumentError(
            f"from_onnx() got a model whose weights ({name!r}) are in another file: pass the path "
            "of the model, so that they can be found in its folder."
        )
    entries = {entry.key: entry.value for entry in tensor.external_data}
    place = Path(entries.get("location", ""))
    if place.is_absolute() or ".." in place.parts or not place.parts or "\\" in str(place):
        raise ArgumentError(
            f"from_onnx() reads external data only in the folder of the model; {name!r} asks for "
            f"{str(place)!r}."
        )
    path = (folder / place).resolve()  # follows links
    if not path.is_relative_to(folder) or not path.is_file():
        raise ArgumentError(
            f"from_onnx() finds no external data {str(place)!r} of {name!r} in the folder of the "
            "model."
        )
    dims = tuple(tensor.dims)
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    if dtype_name(tensor.data_type) == "str" or kind.itemsize * 8 != _bits(tensor.data_type):
        raise ArgumentError(f"from_onnx() cannot read external data of {name!r}: {kind.name}.")
    check_shape(repr(name), dims)
    try:
        offset = int(entries.get("offset", "0") or 0)
    except ValueError:
        offset = -1
    needed = math.prod(dims) * kind.itemsize
    if offset < 0 or offset + needed > path.stat().st_size:
        raise ArgumentError(f"from_onnx() finds fewer than the {needed} bytes of {name!r}.")
    with path.open("rb") as file:
        file.seek(offset)
        return np.frombuffer(file.read(needed), kind.newbyteorder("<")).astype(kind).reshape(dims)


def _bits(elem_type: int) -> int:
    """Types of 2 and 4 bits are packed in files, and wider in memory."""
    name = onnx.TensorProto.DataType.Name(elem_type)
    for small, bits in (("INT4", 4), ("INT2", 2), ("FLOAT4", 4), ("FLOAT6", 6)):
        if small in name:
            return bits
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type)).itemsize * 8
