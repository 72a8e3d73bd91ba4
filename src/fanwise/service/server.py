"""The HTTP server in a thread of its own, beside the loop that decides."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from fanwise.errors import InputError
from fanwise.service.configuration.model import Server
from fanwise.service.tls import check_served

log = logging.getLogger(__name__)

START_SECONDS = 20.0
HEAD_SECONDS = 15.0
"""How long the head of a request may take, from the connection or its first byte on."""
MOST_CONNECTIONS = 400
"""With one more, the connection goes that has asked nothing for longest."""
MOST_REQUESTS = 500
"""Answered at a time; more are refused with 503."""
LARGEST_HEAD = 262_144
"""Bytes: the longest name of a topic, three characters for each of its bytes, and headers."""


class BoundedConnection(H11Protocol):
    """A connection that has to ask something, and gives way to others while it does not."""

    _deadline: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, in place of one that is idle where there are too many."""
        if len(self.connections) >= MOST_CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, BoundedConnection)]
            oldest = min(filter(BoundedConnection.is_idle, idle), key=_since_of, default=None)
            if oldest is not None:
                oldest.transport.close()
                self.connections.discard(oldest)
        super().connection_made(transport)
        self._since = self.loop.time()
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Take what was sent; where it begins a request, the rest of its head has to follow."""
        is_begun = self._deadline is not None
        super().data_received(data)
        self._since = self.loop.time()
        if not self.is_idle():
            self._forget_deadline()
        elif not is_begun:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget_deadline()
        super().connection_lost(exc)

    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        self._deadline = None
        if self.is_idle():
            self.transport.close()

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _since_of(connection: BoundedConnection) -> float:
    return connection._since


class HttpServer:
    """Serves an application until it is stopped."""

    def __init__(self, app: FastAPI, settings: Server) -> None:
        """Take the port.

        Raises
        ------
        InputError
            Where the port cannot be had, or the certificate cannot be read.
        """
        if settings.tls_certificate is not None and settings.tls_key is not None:
            check_served(settings.tls_certificate, settings.tls_key)
        self._socket = _bind(settings.host, settings.port)
        port = self._socket.getsockname()[1]
        is_tls = settings.tls_certificate is not None
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"{'https' if is_tls else 'http'}://{host}:{port}"
        try:
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=5,
                limit_concurrency=MOST_REQUESTS,
                # Nobody but the other end of the connection says who it is.
                proxy_headers=False,
                http=BoundedConnection,
                h11_max_incomplete_event_size=LARGEST_HEAD,
                ssl_certfile=settings.tls_certificate,
                ssl_keyfile=settings.tls_key,
            )
            config.load()
        except OSError as error:
            self._socket.close()
            raise InputError(
                f"server: the TLS certificate or key cannot be read: {error}"
            ) from None
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="fanwise-http", daemon=True)

    def start(self) -> None:
        """Start to serve; return when requests are answered."""
        self._thread.start()
        end = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise InputError(f"server: {self.url} does not start to answer.")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop after the requests that are being answered."""
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio would leave small answers waiting for acknowledgements (40 ms each).
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise InputError(
            f"server: cannot listen on {host}:{port}: {error.strerror or error}; "
            "give another --host or --port."
        ) from None
    taken.setblocking(False)
    return taken
