"""Bounds on requests: how large, and how many a minute from one client."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_CLIENTS = 10_000
"""Clients that are remembered; the one that was quiet longest is forgotten."""
EXEMPT = frozenset({"/healthz", "/readyz"})


class RateLimit:
    """A bucket of requests for each client, filled all the time."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_for(self, client: str) -> float:
        """Take one request of a client; return the seconds it has to wait, 0 if none."""
        now, rate = self._clock(), self._per_minute / 60
        with self._lock:
            left, since = self._buckets.pop(client, (float(self._per_minute), now))
            left = min(float(self._per_minute), left + (now - since) * rate)
            is_allowed = left >= 1
            self._buckets[client] = (left - is_allowed, now)
            if len(self._buckets) > MOST_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if is_allowed else (1 - left) / rate


class BoundedRequests:
    """Refuses requests that are too large (413) or too many (429)."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        largest: int,
        limit: RateLimit,
        is_session: Callable[[dict[str, str]], object] = lambda cookies: None,
    ) -> None:
        self._app, self._largest, self._limit = app, largest, limit
        self._is_session = is_session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is within the bounds."""
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        wait = self._limit.wait_for(self._client(scope, headers))
        if wait:
            told = {"Retry-After": str(max(1, round(wait)))}
            answer = JSONResponse({"detail": "Too many requests; wait."}, 429, told)
            await answer(scope, receive, send)
            return
        body = await self._read_body(headers, receive)
        if body is None:
            answer = JSONResponse(
                {"detail": f"The request is larger than {self._largest:,} bytes."}, 413
            )
            await answer(scope, receive, send)
            return
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, receive_again, send)

    def _client(self, scope: Scope, headers: Headers) -> str:
        """Tell clients apart: by token or session if they have one, else by address."""
        known = headers.get("authorization")
        cookies = headers.get("cookie")
        if known is None and cookies is not None and self._is_session(cookie_parser(cookies)):
            known = cookies
        if known:
            return hashlib.sha256(known.encode()).hexdigest()
        return scope["client"][0] if scope.get("client") else "?"

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body; None if it is too large, whatever its header says."""
        try:
            if int(headers.get("content-length", 0)) > self._largest:
                return None
        except ValueError:
            return None
        body = b""
        while True:
            message = await receive()
            body += bytes(message.get("body", b""))
            if len(body) > self._largest:
                return None
            if message["type"] != "http.request" or not message.get("more_body"):
                return body
