"""Posting a part to a board server."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from .records import Part

__all__ = ["Client"]


@dataclass(frozen=True)
class Client:
    """A board server, as one project of it.

    The token comes from ``trellis-board token create``; the plugin takes it from ``BOARD_TOKEN``.
    """

    address: str
    project: str
    token: str | None

    def __post_init__(self) -> None:
        if not self.token:
            raise ValueError(
                "a board server needs a token: set BOARD_TOKEN to one made with "
                f"`trellis-board token create --project {self.project}`"
            )

    def record(self, part: Part) -> None:
        """Post `part`; an answer other than success raises and says what the server said."""
        project = urllib.parse.quote(self.project, safe="")
        request = urllib.request.Request(
            f"{self.address.rstrip('/')}/api/v1/projects/{project}/parts",
            data=gzip.compress(json.dumps(part.to_json()).encode()),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "Content-Encoding": "gzip",
            },
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=120):
                return
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode(errors="replace")
            raise RuntimeError(f"the server answered {error.code}: {said}") from error
        except (urllib.error.URLError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ConnectionResetError | BrokenPipeError):
                # A server does not wait for the rest of a large part that it will not take.
                raise RuntimeError(
                    f"{self.address} closed the connection before it had the whole part; is "
                    f"BOARD_TOKEN a valid token that may write to project {self.project!r}?"
                ) from error
            raise RuntimeError(f"cannot reach {self.address}: {reason}") from error
