"""What every request must pass: limits of size, time and rate, and headers that tame the
browser."""

from __future__ import annotations

import ipaddress
import json
import time
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import ClassVar

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["AnswerHead", "BodyLimit", "RateLimit", "Refused", "SafeHeaders"]

_MOST_CLIENTS = 10_000
_SLOWEST = 20_000  # bytes a second
_DROPPED_BYTES = 1_000_000
_MOST_AT_ONCE = 2


class Refused(Exception):
    """A request that may not send its body: the status and the reason it is answered with."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


class _GoneError(Exception):
    """The client hung up before its body was whole."""


class BodyLimit:
    """Takes a body only from those who may send one, while it is small enough and in time.

    `check` is asked before the first byte is read: it says whether the request may have a body at
    all, and raises `Refused` if its sender may not. Bodies may have `most_bytes`, packed or
    unpacked; gzip is unpacked. A body must arrive with 20 kB a second after the first `patience`
    seconds, so that connections that send nothing end by themselves. Two bodies at a time are
    unpacked and answered: what they become in memory is many times their size.
    """

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int,
        check: Callable[[Scope], Awaitable[bool]],
        patience: float = 10.0,
    ) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.check = check
        self.patience = patience
        self._few = anyio.Semaphore(_MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        try:
            if not await self.check(scope):
                await self._hand_over(b"", scope, send)
                return
            body = await self._read(receive)
            async with self._few:
                if dict(scope["headers"]).get(b"content-encoding") == b"gzip":
                    body = await anyio.to_thread.run_sync(self._unpack, body)
                await self._hand_over(body, scope, send)
        except Refused as refused:
            await _refuse_body(send, receive, refused)
        except _GoneError:
            return

    async def _hand_over(self, body: bytes, scope: Scope, send: Send) -> None:
        handed_over = False

        async def receive_whole() -> Message:
            nonlocal handed_over
            if handed_over:
                return {"type": "http.disconnect"}
            handed_over = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, receive_whole, send)

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        begun = time.monotonic()
        more = True
        while more:
            left = begun + self.patience + len(body) / _SLOWEST - time.monotonic()
            with anyio.move_on_after(left) as waiting:
                message = await receive()
            if waiting.cancelled_caught:
                raise Refused(408, f"the body came to a halt after {len(body)} bytes")
            if message["type"] == "http.disconnect":
                raise _GoneError
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.most_bytes:
                raise self._too_large()
        return bytes(body)

    def _unpack(self, body: bytes) -> bytes:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            whole = unpacker.decompress(body, self.most_bytes + 1)
        except zlib.error:
            raise Refused(400, "the body says it is gzip and is not") from None
        if len(whole) > self.most_bytes:
            raise self._too_large()
        if not unpacker.eof:
            raise Refused(400, "the gzip body ends too early")
        return whole

    def _too_large(self) -> Refused:
        return Refused(413, f"a body may have {self.most_bytes} bytes; send smaller parts")


class RateLimit:
    """Lets each client address make `per_minute` requests a minute, with bursts of the same size.

    By address and not by token, so that guessing tokens is limited too; of IPv6 by network.
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
        client = _network((scope.get("client") or ("unknown", 0))[0])
        now = self.clock()
        left, since = self._clients.pop(client, (float(self.per_minute), now))
        left = min(self.per_minute, left + (now - since) * self.per_minute / 60)
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return allowed


def _network(address: str) -> str:
    """The address; of IPv6 the network, because a single client usually has all 2**64 of one."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return address
    mapped = known.ipv4_mapped
    return str(mapped or ipaddress.ip_network((known.packed[:8] + bytes(8), 64)))


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


class AnswerHead:
    """Answers HEAD as it would answer GET, without the body: monitors and proxies ask so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive, send_head)


async def _refuse(
    send: Send, status: int, detail: str, headers: dict[str, str] | None = None
) -> None:
    await _begin(send, status, detail, headers)
    await send({"type": "http.response.body", "body": b""})


async def _refuse_body(send: Send, receive: Receive, refused: Refused) -> None:
    """Answer, and close the connection instead of waiting for the rest of the body.

    A little of what is under way is taken and dropped first: a client that is still sending when
    the connection goes away may never read the answer.
    """
    headers = {**(refused.headers or {}), "connection": "close"}
    await _begin(send, refused.status, refused.detail, headers)
    dropped = 0
    with anyio.move_on_after(1.0):
        while dropped < _DROPPED_BYTES:
            message = await receive()
            dropped += len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                break
    await send({"type": "http.response.body", "body": b""})


async def _begin(send: Send, status: int, detail: str, headers: dict[str, str] | None) -> None:
    body = json.dumps({"detail": detail}).encode()
    fixed = {"content-type": "application/json", "content-length": str(len(body))}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(k.encode(), v.encode()) for k, v in (fixed | (headers or {})).items()],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": True})
