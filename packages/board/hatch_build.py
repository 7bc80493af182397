"""The addresses on a package index: only who releases knows where the repository is.

``REPOSITORY_URL=https://code.example/trellis make release`` writes them into the metadata.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Source, issues, the manual and what is new, if the repository is known."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the metadata of the project."""
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        if repository and not repository.startswith("https://"):
            raise ValueError(f"REPOSITORY_URL is {repository!r}; expected an address with https://")
        # The newest text of a file: GitHub and GitLab both know HEAD.
        file = f"{repository}/blob/HEAD"
        addresses = {
            "Documentation": f"{file}/packages/board/docs/board.md",
            "Changelog": f"{file}/CHANGELOG.md",
            "Source": repository,
            "Issues": f"{repository}/issues",
        }
        metadata["urls"] = addresses if repository else {}
