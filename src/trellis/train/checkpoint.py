"""Checkpoints: the whole state of a run in one file, safe against crashes, readable on every
framework.

A state is a pytree of arrays and numbers, for example what `fit` keeps:

    Container(v=model.v, buffers=model.buffers, optimizer=state, key=key, step=1200)

The file is safetensors; the structure and the numbers are in its header as JSON. It cannot run
code: no object is ever unpickled.
"""

import json
import math
import os
from typing import Any

import numpy as np

from .._array.casting import dtype as dtype_of
from .._array.creation import asarray
from .._array.device import device as device_of
from .._array.interchange import to_numpy
from .._core import tree
from .._core.container import Container
from .._core.dispatch import backend_of, load, xp_of
from .._core.dtypes import INTEGER
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.files import read_arrays, write_arrays
from .._core.kinds import check_arguments
from .._random.stream import is_key

Path = str | os.PathLike[str]

_FORMAT = "trellis-checkpoint-1"


def save_checkpoint(path: Path, state: object, /, *, extra: object = None) -> None:
    """Write a pytree of arrays, numbers, strings and None to a file; missing directories are
    created. The write is atomic: the file is written under a temporary name in the same directory,
    flushed to disk, and renamed. A crash at any moment leaves the previous checkpoint intact.
    `extra` is anything that JSON can hold.

    >>> import numpy as np, tempfile, trellis
    >>> from trellis.train import load_checkpoint, save_checkpoint
    >>> state = {"step": 7, "w": np.array([1.0, 2.0])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/run.safetensors", state)
    ...     load_checkpoint(f"{folder}/run.safetensors", {"step": 0, "w": np.zeros(2)})
    {'step': 7, 'w': array([1., 2.])}
    """
    check_arguments(save_checkpoint, locals())
    arrays: dict[str, Any] = {}
    backends: set[str] = set()
    try:
        described = json.dumps(_describe(state, "", arrays, backends))
    except RecursionError:
        raise ArgumentError(
            "The state is nested too deeply for a checkpoint (or holds itself)."
        ) from None
    metadata = {
        "format": _FORMAT,
        "state": described,
        "backends": json.dumps(sorted(backends)),
        "extra": _as_json(extra),
    }
    write_arrays(path, arrays, metadata)


def load_checkpoint(path: Path, like: object, /) -> Any:
    """The state in a file, on the frameworks and devices of `like`, a state of the same structure.

    The file may come from another framework. Where structures, shapes or data types differ, or the
    file is damaged, the error lists every difference; `like` is never changed. Between frameworks
    an integer may have another width if its values fit, as JAX uses 32 bits by default.
    """
    check_arguments(load_checkpoint, locals())
    state, backends = _read(path)
    found = dict(zip(tree.key_chains(state), tree.leaves(state), strict=True))
    needed, spec = tree.flatten(like)
    chains = tree.key_chains(like)
    wrong = [f"{chain!r} is missing in the file" for chain in chains if chain not in found]
    wrong += [
        f"{chain!r} of the file is unknown here" for chain in found if chain not in set(chains)
    ]
    for chain, leaf in zip(chains, needed, strict=True):
        if chain in found:
            wrong += _differences(chain, found[chain], leaf, backends)
    if wrong:
        raise ShapeError(
            f"{os.fspath(path)} does not fit, and nothing was changed:\n  " + "\n  ".join(wrong)
        )
    leaves = [_like(found[chain], leaf) for chain, leaf in zip(chains, needed, strict=True)]
    return tree.unflatten(spec, leaves)


def read_checkpoint(path: Path, /, *, backend: str = "numpy") -> Any:
    """The state in a file as it was saved, on one framework, without a template of its structure.
    Dicts, Containers, lists and tuples keep their types; named tuples become tuples.
    """
    check_arguments(read_checkpoint, locals())
    state, _ = _read(path)
    load(backend)
    return tree.map(
        lambda x: asarray(x, backend=backend, copy=True) if isinstance(x, np.ndarray) else x, state
    )


def read_extra(path: Path, /) -> Any:
    """The `extra` that was passed to `save_checkpoint`."""
    check_arguments(read_extra, locals())
    try:
        return json.loads(_checked(path)[1]["extra"])
    except (KeyError, RecursionError, json.JSONDecodeError):
        raise ArgumentError(f"{os.fspath(path)} is damaged: its extra part is invalid.") from None


# Writing ------------------------------------------------------------------------------------------


def _as_json(extra: object) -> str:
    try:
        return json.dumps(extra)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentTypeError(
            f"extra must be something that JSON can hold (dicts, lists, strings, numbers): {error}."
        ) from None


def _describe(nest: object, chain: str, arrays: dict[str, Any], backends: set[str]) -> Any:
    """The pytree in JSON; its arrays go to `arrays` under their key paths."""
    if isinstance(nest, dict):
        unfit = [key for key in nest if not isinstance(key, str) or "/" in key or not key]
        if unfit:
            raise ArgumentError(
                "Keys of a checkpoint are strings that are not empty and without '/', got "
                f"{unfit[0]!r} at {chain or 'the top'!r}."
            )
        kind = "container" if isinstance(nest, Container) else "dict"
        return {
            kind: {
                key: _describe(dict.__getitem__(nest, key), _join(chain, key), arrays, backends)
                for key in nest
            }
        }
    if isinstance(nest, (list, tuple)):
        kind = "list" if isinstance(nest, list) else "tuple"
        return {
            kind: [
                _describe(item, _join(chain, str(i)), arrays, backends)
                for i, item in enumerate(nest)
            ]
        }
    # The scalars of NumPy are numbers too, but with a data type that must come back.
    is_plain = isinstance(nest, (bool, int, float, str)) and not isinstance(nest, np.number)
    if nest is None or is_plain:
        return {"value": nest}
    if not hasattr(nest, "dtype"):
        raise ArgumentTypeError(
            f"A checkpoint holds arrays, numbers, strings and None; at {chain or 'the top'!r} is a "
            f"{type(nest).__name__}."
        )
    # safetensors allows any name but this one, and the whole state may be one array.
    name = chain or "state"
    backends.add(backend_of(nest))
    arrays[name] = _as_numpy(nest)
    return {"array": name}


def _as_numpy(x: object) -> Any:
    if is_key(x):
        x = xp_of(x).random.as_raw_key(x)
    return np.asarray(to_numpy(x))


def _join(chain: str, key: str) -> str:
    return f"{chain}/{key}" if chain else key


# Reading ------------------------------------------------------------------------------------------


def _checked(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    arrays, metadata = read_arrays(path)
    if metadata.get("format") != _FORMAT:
        raise ArgumentError(
            f"{os.fspath(path)} is a safetensors file, but not a checkpoint of save_checkpoint(). "
            "Weights alone are read with module.load_weights(path)."
        )
    return arrays, metadata


def _read(path: Path) -> tuple[Any, list[str]]:
    arrays, metadata = _checked(path)
    try:
        return _rebuilt(json.loads(metadata["state"]), arrays), json.loads(metadata["backends"])
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"{os.fspath(path)} is damaged: its header is invalid ({error!r})."
        ) from None


def _rebuilt(described: Any, arrays: dict[str, Any]) -> Any:
    ((kind, content),) = described.items()
    if kind == "array":
        return arrays[content]
    if kind == "value":
        if not (content is None or isinstance(content, (bool, int, float, str))):
            raise TypeError(f"{content!r} is not a value")
        return content
    if kind in ("list", "tuple"):
        items = [_rebuilt(item, arrays) for item in content]
        return items if kind == "list" else tuple(items)
    entries = {key: _rebuilt(item, arrays) for key, item in content.items()}
    # The order of the keys in the file is that of the Container, sorted or not.
    return (
        entries
        if kind == "dict"
        else Container(entries, alphabetical_keys=list(entries) == sorted(entries))
    )


def _differences(chain: str, found: Any, needed: Any, backends: list[str]) -> list[str]:
    if _is_number_of(found, needed):
        return []
    is_array = hasattr(needed, "dtype")
    if is_array != isinstance(found, np.ndarray):
        return [f"{chain!r} is {_kind(found)} in the file, {_kind(needed)} here"]
    if not is_array:
        fits = isinstance(found, str) == isinstance(needed, str)
        return [] if fits else [f"{chain!r} is {found!r} in the file, {needed!r} here"]
    if is_key(needed):
        fits = found.dtype == np.uint32 and found.shape == (2,)
        return [] if fits else [f"{chain!r} is {_kind(found)} in the file, a random key here"]
    shape = tuple(needed.shape)
    if found.shape != shape:
        return [f"{chain!r} has shape {found.shape} in the file, {shape} here"]
    name, wanted = str(dtype_of(found)), str(dtype_of(needed))
    if name == wanted or (
        backend_of(needed) not in backends and _is_integer_that_fits(found, name, wanted)
    ):
        return []
    return [f"{chain!r} is {name} in the file, {wanted} here"]


def _is_number_of(found: object, needed: Any) -> bool:
    """Whether a plain number represents a NumPy scalar, as in files up to version 0.1."""
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return is_number and isinstance(needed, np.floating)


def _is_integer_that_fits(found: Any, name: str, wanted: str) -> bool:
    if name not in INTEGER or wanted not in INTEGER:
        return False
    limits = np.iinfo(wanted)
    return math.prod(found.shape) == 0 or bool(
        found.min() >= limits.min and found.max() <= limits.max
    )


def _like(found: Any, needed: Any) -> Any:
    """A leaf of the file in the framework, data type, device and memory order of the one here."""
    if not hasattr(needed, "dtype"):
        return found
    if isinstance(needed, np.generic):
        return np.asarray(found).astype(needed.dtype)[()]
    if is_key(needed):
        return xp_of(needed).random.make_key(int(found[0]), int(found[1]), device_of(needed))
    new = asarray(
        found,
        dtype=str(dtype_of(needed)),
        backend=backend_of(needed),
        device=device_of(needed),
        copy=True,
    )
    return xp_of(needed).laid_like(new, needed)


def _kind(x: Any) -> str:
    if not hasattr(x, "dtype"):
        return f"the value {x!r}"
    return f"an array of {dtype_of(x)!s}, shape {tuple(x.shape)}"
