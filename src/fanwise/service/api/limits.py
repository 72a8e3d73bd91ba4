"""Bounds on requests: how large, and how many a minute from one client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fanwise.service.api.auth import Person
from fanwise.service.api.known import KnownTokens

MOST_CLIENTS = 10_000
"""Clients that are remembered; the one that was quiet longest is forgotten."""
BODY_SECONDS = 20.0
"""How long a body may take to come."""
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

    def give_back(self, client: str) -> None:
        """Undo that one request of a client was taken: it is somebody else's."""
        with self._lock:
            if client in self._buckets:
                left, since = self._buckets[client]
                self._buckets[client] = (min(float(self._per_minute), left + 1), since)

    def __len__(self) -> int:
        return len(self._buckets)


class BoundedRequests:
    """Refuses requests that are too large (413), too slow (408) or too many (429).

    Parameters
    ----------
    identify
        Says who an Authorization header is of, None if nobody; it may take a while.
    known
        Headers that are known already.
    find_session
        Says which session of the page a Cookie header is of, None if none.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        largest: int,
        limit: RateLimit,
        identify: Callable[[str], Person | None],
        known: KnownTokens,
        find_session: Callable[[str], str | None] = lambda cookies: None,
    ) -> None:
        self._app, self._largest, self._limit = app, largest, limit
        self._identify, self._known = identify, known
        self._find_session = find_session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is within the bounds."""
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        wait = await self._wait_for(scope, headers)
        if wait:
            told = {"Retry-After": str(max(1, round(wait)))}
            answer = JSONResponse({"detail": "Too many requests; wait."}, 429, told)
            await answer(scope, receive, send)
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._read_body(headers, receive)
        except TimeoutError:
            told = {"Connection": "close"}
            answer = JSONResponse({"detail": "The request did not come to its end."}, 408, told)
            await answer(scope, receive, send)
            return
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

    async def _wait_for(self, scope: Scope, headers: Headers) -> float:
        """Take one request of whoever asks; return the seconds to wait, 0 if none.

        Clients are told apart by their address. Who has come with a valid token or session is
        counted by that instead: made-up ones neither make new clients nor use up what others have.
        """
        address = f"at {scope['client'][0]}" if scope.get("client") else "at ?"
        header, cookies = headers.get("authorization"), headers.get("cookie")
        session = self._find_session(cookies) if header is None and cookies else None
        if session is not None:
            return self._limit.wait_for(f"session {session}")
        person = None if header is None else self._known.get(header)
        if header is not None and person is None:
            wait = self._limit.wait_for(address)
            if wait:
                return wait
            person = await run_in_threadpool(self._identify, header)
            if person is None or person.token is None:
                return 0.0
            self._limit.give_back(address)
        name = None if person is None else person.token
        return self._limit.wait_for(address if name is None else f"token {name}")

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
