"""Folders in Hugging Face's format: `config.json`, and weights in one safetensors file or several.

Nothing is downloaded, and nothing is unpickled: a file that could run code raises an error.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.files import check_regular, map_arrays, replace_file, write_arrays

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
# What torch.save and Keras write; their readers run what the file says, or need a framework.
_OTHERS = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


def checked_folder(folder: str | os.PathLike[str], function: str) -> Path:
    """The folder as a path; a name of a model on a hub is none."""
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentTypeError(
            f"{function}() expects the path of a folder, got {type(folder).__name__}."
        )
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(
            f"{function}() found no folder {os.fspath(folder)!r}. It reads local folders and "
            "downloads nothing: pass the path of a folder with config.json and model.safetensors."
        )
    return path


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object."""
    check_regular(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path.parent} has no {path.name}.") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"{path} should hold a JSON object, not {type(found).__name__}.")
    return found


def read_weights(folder: Path) -> dict[str, Any]:
    """All arrays of a folder by name, memory-mapped."""
    if (folder / WEIGHTS).is_file():
        return map_arrays(folder / WEIGHTS)
    if (folder / INDEX).is_file():
        return _read_shards(folder)
    others = [name for name in _OTHERS if (folder / name).exists()]
    if others:
        raise ArgumentError(
            f"{folder} has its weights in {others[0]} only, which Trellis does not read: files of "
            "that kind can run code. Write model.safetensors once, with "
            "transformers' save_pretrained(folder)."
        )
    raise FileNotFoundError(f"{folder} has neither {WEIGHTS} nor {INDEX}.")


def _read_shards(folder: Path) -> dict[str, Any]:
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not all([isinstance(x, str) for x in places.values()]):
        raise ArgumentError(f"{folder / INDEX} has no table 'weight_map' of names and files.")
    shards = {}
    for file in sorted(set(places.values())):
        if Path(file).name != file:
            raise ArgumentError(f"{folder / INDEX} names {file!r}, which is not in its folder.")
        shards[file] = map_arrays(folder / file)
    missing = [name for name, file in places.items() if name not in shards[file]]
    if missing:
        raise ArgumentError(
            f"{folder / INDEX} says that {missing[0]!r} is in {places[missing[0]]}, where it is "
            "not."
        )
    return {name: shards[file][name] for name, file in places.items()}


def write_folder(folder: Path, config: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write configuration and weights as transformers reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    write_arrays(folder / WEIGHTS, arrays, {"format": "pt"})
    (folder / INDEX).unlink(missing_ok=True)  # of what was here before
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    replace_file(folder / CONFIG, [text.encode()])
