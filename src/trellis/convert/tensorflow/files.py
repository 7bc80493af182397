"""Functions of TensorFlow from their files."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from ..._backends.tensorflow._private import SavedModel
from ..._core.errors import ArgumentError
from ..._core.files import check_regular
from ..._core.printable import printable
from ..apart import rehearse
from ..rules import refuse_missing
from ..trust import untrusted
from .operations import has_rule

_SERVED = "serving_default"
# What touches files, sockets, Python or other programs. It is found even where nothing calls it.
_REACHING_OUT = re.compile(
    r"File|Reader|PyFunc|^Save|^Restore|^Merge|^Load|^Print|^Recv|^_Recv|^Send|^_Send|Dataset"
    r"|Summary|^Debug|HostCompute|RemoteCall|RemoteFused|Collective|TRTEngine|codeProto"
    r"|FixedUnigramCandidateSampler|GenerateVocabRemapping|RecordInput|ImmutableConst|Assets"
)
_RUN_BY_LOADING = ("_create_resource", "_initialize", "_destroy_resource")
# What functions may do that TensorFlow calls while it loads a file: fill tables with constants.
_FILLING_TABLES = {
    "AnonymousHashTable", "Const", "HashTableV2", "Identity", "IdentityN", "LookupTableExportV2",
    "LookupTableImportV2", "MutableHashTableV2", "NoOp", "PartitionedCall", "Placeholder",
    "StatefulPartitionedCall",
}  # fmt: skip


def served_function(
    path: Path, trust: bool = False, example: Mapping[str, Any] | None = None
) -> Any:
    """The signature of a SavedModel that is served; it keeps what it was loaded with.

    TensorFlow calls functions of the file while it loads it, and operations may write files. So
    their names are read as data first; with `trust` TensorFlow loads the file without that. With
    an example, a child process loads and runs it before this one does.
    """
    if not trust:
        _check(path)
        if example is not None:
            rehearse("saved_model", "TensorFlow", path, dict(example))
    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures[_SERVED]
    signature.loaded = loaded
    return signature


def _check(path: Path) -> None:
    model = SavedModel()
    for part in path.rglob("*"):
        if not part.is_dir():
            check_regular(part)
    try:
        model.ParseFromString((path / "saved_model.pb").read_bytes())
    except FileNotFoundError as error:
        raise ArgumentError(f"There is no 'saved_model.pb' in {str(path)!r}.") from error
    except DecodeError as error:
        raise ArgumentError(f"'saved_model.pb' in {str(path)!r} is damaged.") from error
    if len(model.meta_graphs) != 1 or not model.meta_graphs[0].HasField("object_graph_def"):
        raise untrusted(path, "it is a SavedModel of TensorFlow 1, whose graph runs while it loads")
    objects = model.meta_graphs[0].object_graph_def
    functions = _Functions(model.meta_graphs[0].graph_def.library)
    for op, where in functions.operations(objects.concrete_functions):
        if _REACHING_OUT.search(op):
            raise untrusted(path, f"it has the operation {printable(op)!r} in {printable(where)!r}")
    for op, where in functions.operations(_called_by_loading(objects)):
        if op not in _FILLING_TABLES:
            raise untrusted(path, f"loading it runs {printable(op)!r} in {printable(where)!r}")
    served = _children(objects, "signature_map", _SERVED)
    if not served:
        raise ArgumentError(f"The SavedModel {str(path)!r} has no signature {_SERVED!r}.")
    refuse_missing(
        "TensorFlow",
        [
            (printable(op), printable(where))
            for op, where in functions.operations(served)
            if not has_rule(op)
        ],
    )


class _Functions:
    """The functions of a file, by name."""

    def __init__(self, library: Any):
        self._nodes = {each.signature.name: each.node_def for each in library.function}

    def operations(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """The operations of functions and of all that they call, each with its function."""
        waiting, seen, found = list(names), set(), []
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for node in self._nodes.get(name, ()):
                if node.op in self._nodes:
                    waiting.append(node.op)
                else:
                    found.append((node.op, name))
                for value in node.attr.values():
                    waiting += [each.name for each in (value.func, *value.list.func) if each.name]
        return found


def _called_by_loading(objects: Any) -> list[str]:
    """The functions that create and fill tables, and those that save and restore them."""
    found = []
    for node in objects.nodes:
        for child in node.children:
            if child.local_name in _RUN_BY_LOADING:
                found += _functions_of(objects, child.node_id)
        for each in node.saveable_objects.values():
            found += _functions_of(objects, each.save_function)
            found += _functions_of(objects, each.restore_function)
    return found


def _children(objects: Any, identifier: str, name: str) -> list[str]:
    found = []
    for node in objects.nodes:
        for child in node.children:
            if node.user_object.identifier == identifier and child.local_name == name:
                found += _functions_of(objects, child.node_id)
    return found


def _functions_of(objects: Any, index: int) -> list[str]:
    """The concrete functions of an object that is a function."""
    if not 0 <= index < len(objects.nodes):
        return []
    node = objects.nodes[index]
    names = [*node.function.concrete_functions, node.bare_concrete_function.concrete_function_name]
    return [name for name in names if name]
