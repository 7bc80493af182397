"""Where a recorded part goes: a store on this machine, a database, or a board server."""

from __future__ import annotations

import os
from typing import Protocol

from .records import Part

__all__ = ["Destination", "open_destination"]


class Destination(Protocol):
    """Anything that records a part whole or raises."""

    def record(self, part: Part) -> None: ...


def open_destination(address: str, project: str) -> Destination:
    """The destination at `address`: ``board.sqlite``, ``postgresql://...`` or ``https://...``."""
    if address.startswith(("http://", "https://")):
        from .client import Client

        return Client(address, project, token=os.environ.get("BOARD_TOKEN"))
    from .store import Store

    return Store.open(address).for_project(project)
