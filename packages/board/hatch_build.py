"""The addresses on a package index: only who releases knows where the repository is.

``REPOSITORY_URL=https://code.example/trellis make release`` writes them into the metadata.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Source and issues, if the repository is known."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the metadata of the project."""
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        if repository and not repository.startswith("https://"):
            raise ValueError(f"REPOSITORY_URL is {repository!r}; expected an address with https://")
        metadata["urls"] = (
            {"Source": repository, "Issues": f"{repository}/issues"} if repository else {}
        )
