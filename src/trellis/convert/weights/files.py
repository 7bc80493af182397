"""Loading a safetensors file with the module's own layouts: `Module.load_weights`."""

import os
from collections.abc import Mapping
from typing import Any

from ..._core.errors import ArgumentError
from ..._core.files import check_regular, read_arrays
from ...nn import Module
from .fitting import Found, compare, put_fitting
from .hugging_face import advice
from .naming import Names, renamed
from .report import WeightsReport


def load_file(
    module: Module, path: str | os.PathLike[str], names: Names | None, strict: bool
) -> WeightsReport:
    """Load the arrays of a file into a module by name."""
    arrays = read_safetensors(path)
    state = module.state_dict()
    chains = set(state.key_chains())
    found, unknown = Found(module.__node__), []
    for new, old in renamed(arrays, names, "load_weights").items():
        # Other libraries write dots for slashes.
        spelt = (new, new.replace(".", "/"))
        known = [chain for chain in spelt if chain in chains or found.is_second(chain)]
        if known:
            found.add(known[0], old, arrays[old])
        else:
            unknown.append(old)
    report, fitting = compare(found, unknown, state, "equal" if strict else "cast")
    source = os.fspath(path)

    how = advice(module, unknown)

    def refusal() -> str:
        differences = "; ".join(report.differences())
        return f"{source} does not fit {type(module).__name__}: {differences}. {how}".rstrip()

    return put_fitting(module, report, fitting, source, refusal if strict else None, how)


# The first bytes of other files of weights, which are not read: a pickle could run code.
_OTHERS = {
    b"PK\x03\x04": "a zip archive, as torch.save and Keras write it",
    b"\x80": "a pickle",
    b"\x89HDF": "an HDF5 file, as Keras writes it",
}


def read_safetensors(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The arrays of a file; for pickles and the like, an error that says how to get their
    weights."""
    check_regular(path)
    with open(path, "rb") as file:
        head = file.read(9)
    # A safetensors file begins with 8 bytes of length, which may look like any of these, and a
    # brace.
    for start, kind in _OTHERS.items():
        if head.startswith(start) and head[8:] != b"{":
            raise ArgumentError(
                f"{os.fspath(path)} is {kind}, and load_weights() reads safetensors, which cannot "
                "run code. Load the file with its own library, torch.load(path, weights_only=True) "
                "or model.load_weights(path) of Keras, and pass its weights to "
                "trellis.convert.load_torch_weights or load_keras_weights."
            )
    return read_arrays(path)[0]
