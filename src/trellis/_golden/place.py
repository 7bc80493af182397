"""Where an entry is replayed, and a module with recorded variables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import nn
from .._core.container import Container
from .values import Reader

Entry = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where an entry runs: its reader, the folder with the files of the release, the backend."""

    reader: Reader
    folder: Path
    backend: str


def flat(nest: Container) -> list[tuple[str, Any]]:
    return [(chain, nest[chain]) for chain in nest.key_chains()]


def set_state(module: nn.Module, state: dict[str, Any]) -> None:
    """Give a module variables and buffers by their key paths."""
    v, buffers = module.v, module.buffers
    for chain, x in state.items():
        (v if chain in v else buffers)[chain] = x
    module.v, module.buffers = v, buffers
