"""Requests in, refusals or requests out: only our own pages on this machine may ask, at a limited rate.

A page elsewhere can make a browser send requests to loopback. The Host check stops DNS rebinding, the Origin
check stops other sites' scripts and forms.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 * 1024
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


@dataclass
class Bucket:
    """A rate limit in requests per second, with bursts."""

    rate: float = 10.0
    burst: float = 40.0
    level: float = 40.0
    last: float = field(default_factory=time.monotonic)

    def take(self, now: float) -> bool:
        """Whether one more request is allowed now."""
        self.level = min(self.burst, self.level + (now - self.last) * self.rate)
        self.last = now
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True


@dataclass
class Guard:
    """The outermost layer of the server."""

    app: ASGIApp
    hosts: frozenset[str]  # host:port as a browser writes it
    bucket: Bucket = field(default_factory=Bucket)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope)
            answer = PlainTextResponse(refusal[1], refusal[0]) if refusal else self.app
            await answer(scope, _limited(receive), _hardened(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "").lower() not in self.hosts:
            return 400, "wrong host; open the address that assay serve printed"
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, "requests from other sites are refused"
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "requests from other sites are refused"
        length = headers.get(b"content-length", "0")
        # int() refuses thousands of figures, and isdigit() lets ² through.
        if not length.isdecimal() or len(length) > 9 or int(length) > MOST_BYTES:
            return 413, f"at most {MOST_BYTES} bytes per request"
        if not self.bucket.take(time.monotonic()):
            return 429, "too many requests; wait a moment"
        return None


def _limited(receive: Receive) -> Receive:
    """Count the bytes that really arrive: the declared length can be missing or wrong."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= MOST_BYTES else {"type": "http.disconnect"}

    return counted


def _hardened(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return with_headers
