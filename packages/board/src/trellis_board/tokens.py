"""Tokens for the HTTP API: random, stored only as a hash, bound to a project, revocable.

A token has 256 random bits, so a plain SHA-256 is enough to store it: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, insert, select, update

from . import schema

__all__ = ["SCOPES", "TokenInfo", "create_token", "find_token", "list_tokens", "revoke_token"]

SCOPES = ("write", "read")
_PREFIX = "board_"


@dataclass(frozen=True)
class TokenInfo:
    """What is known of a token; the token itself is not."""

    id: int
    project: str
    scope: str
    label: str
    created: float
    revoked: float | None


def create_token(connection: Connection, project: int, scope: str, label: str = "") -> str:
    """Make a token and return it: this is the only time it can be seen."""
    if scope not in SCOPES:
        raise ValueError(f"scope {scope!r}; expected one of {', '.join(SCOPES)}")
    secret = _PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        insert(schema.token).values(
            project_id=project, scope=scope, label=label, hash=_hash(secret), created=time.time()
        )
    )
    return secret


def find_token(connection: Connection, secret: str) -> TokenInfo | None:
    """The token that `secret` is, or None if there is none or it was revoked."""
    query = _every().where(schema.token.c.hash == _hash(secret), schema.token.c.revoked.is_(None))
    row = connection.execute(query).one_or_none()
    return TokenInfo(*row) if row else None


def list_tokens(connection: Connection) -> list[TokenInfo]:
    """All tokens of the store, revoked ones too."""
    return [TokenInfo(*row) for row in connection.execute(_every().order_by(schema.token.c.id))]


def revoke_token(connection: Connection, id: int) -> bool:
    """Make a token useless from now on; False if there is none with this number."""
    done = connection.execute(
        update(schema.token)
        .where(schema.token.c.id == id, schema.token.c.revoked.is_(None))
        .values(revoked=time.time())
    )
    return done.rowcount > 0


def _every() -> Select[Any]:
    token, project = schema.token, schema.project
    return select(
        token.c.id, project.c.name, token.c.scope, token.c.label, token.c.created, token.c.revoked
    ).join(project, project.c.id == token.c.project_id)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
