"""Posting a part to a board server."""

from __future__ import annotations

import gzip
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from typing import IO

from .clean import clean
from .records import Part

__all__ = ["Client", "UnreachableError", "opener"]

_NOT_NOW = (429, 500, 502, 503, 504)


class UnreachableError(RuntimeError):
    """The server did not answer, or not as it usually does: later it may."""


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

    @property
    def page(self) -> str:
        """Where the project's board is seen."""
        return f"{self.address.rstrip('/')}/p/{urllib.parse.quote(self.project, safe='')}/"

    def record(self, part: Part) -> None:
        """Post `part`; an answer other than success raises and says what the server said."""
        part = clean(part)
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
            with opener("board server").open(request, timeout=120) as answer:
                status, said = answer.status, answer.read(_LONGEST_ANSWER)
        except urllib.error.HTTPError as error:
            told = error.read(2000).decode(errors="replace")
            kind = UnreachableError if error.code in _NOT_NOW else RuntimeError
            raise kind(f"the server answered {error.code}: {told}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ConnectionResetError | BrokenPipeError):
                # A server does not wait for the rest of a large part that it will not take.
                raise RuntimeError(
                    f"{self.address} closed the connection before it had the whole part; is "
                    f"BOARD_TOKEN a valid token that may write to project {self.project!r}?"
                ) from error
            raise UnreachableError(f"cannot reach {self.address}: {reason}") from error
        if status != 201 or not _says_recorded(said, part):
            raise RuntimeError(
                f"{self.address} answered {status}, but not that the part was recorded; is it the "
                "address of a board server?"
            )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is sent is for the address that the user gave, and for no other."""

    def __init__(self, what: str) -> None:
        self.what = what

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        raise RuntimeError(
            f"the server answered {code} and wants what was sent, a token perhaps, to go to "
            f"{newurl[:200]!r} instead; if that is the {self.what}, write this address"
        )


def opener(what: str) -> urllib.request.OpenerDirector:
    """Opens addresses of a server of this kind, and follows no redirect."""
    return urllib.request.build_opener(_NoRedirects(what))


_LONGEST_ANSWER = 10_000


def _says_recorded(said: bytes, part: Part) -> bool:
    try:
        answer = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return answer == {"run": part.run, "shard": part.shard, "cells": len(part.results)}
