"""What every request must pass: a size limit, a rate limit, and headers that tame the browser."""

from __future__ import annotations

import json
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BodyLimit", "RateLimit", "SafeHeaders"]

_MOST_CLIENTS = 10_000


class BodyLimit:
    """Refuses bodies above `most_bytes`, packed or unpacked, and unpacks gzip."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self.app = app
        self.most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT", "PATCH"):
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.most_bytes:
                await self._too_large(send)
                return
        whole = bytes(body)
        if headers.get(b"content-encoding") == b"gzip":
            try:
                unpacker = zlib.decompressobj(wbits=31)
                whole = unpacker.decompress(whole, self.most_bytes + 1)
            except zlib.error:
                await _refuse(send, 400, "the body says it is gzip and is not")
                return
            if len(whole) > self.most_bytes:
                await self._too_large(send)
                return
            if not unpacker.eof:
                await _refuse(send, 400, "the gzip body ends too early")
                return
        handed_over = False

        async def receive_whole() -> Message:
            nonlocal handed_over
            if handed_over:
                return {"type": "http.disconnect"}
            handed_over = True
            return {"type": "http.request", "body": whole, "more_body": False}

        await self.app(scope, receive_whole, send)

    async def _too_large(self, send: Send) -> None:
        await _refuse(send, 413, f"a body may have {self.most_bytes} bytes; send smaller parts")


class RateLimit:
    """Lets each client address make `per_minute` requests a minute, with bursts of the same size.

    By address and not by token, so that guessing tokens is limited too.
    """

    def __init__(
        self, app: ASGIApp, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self.per_minute = per_minute
        self.clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._may_pass(scope):
            seconds = max(1, round(60 / self.per_minute))
            await _refuse(send, 429, "too many requests", {"retry-after": str(seconds)})
            return
        await self.app(scope, receive, send)

    def _may_pass(self, scope: Scope) -> bool:
        client = (scope.get("client") or ("unknown", 0))[0]
        now = self.clock()
        left, since = self._clients.pop(client, (float(self.per_minute), now))
        left = min(self.per_minute, left + (now - since) * self.per_minute / 60)
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return allowed


class SafeHeaders:
    """Tells browsers to run nothing but the page's own files, wherever a text came from."""

    headers: ClassVar[dict[str, str]] = {
        "content-security-policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.encode(), v.encode()) for k, v in self.headers.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        await self.app(scope, receive, send_safely)


async def _refuse(
    send: Send, status: int, detail: str, headers: dict[str, str] | None = None
) -> None:
    all_headers = {"content-type": "application/json", **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(k.encode(), v.encode()) for k, v in all_headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": json.dumps({"detail": detail}).encode()})
