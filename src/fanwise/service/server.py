"""The HTTP server in a thread of its own, beside the loop that decides."""

from __future__ import annotations

import logging
import socket
import threading
import time

import uvicorn
from fastapi import FastAPI

from fanwise.errors import InputError
from fanwise.service.configuration.model import Server
from fanwise.service.tls import check_served

log = logging.getLogger(__name__)

START_SECONDS = 20.0


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
                limit_concurrency=200,
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
