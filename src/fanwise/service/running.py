"""A whole service: parts, HTTP, and what is printed when it is ready."""

from __future__ import annotations

import contextlib
import logging
import signal
import time
from collections.abc import Callable
from pathlib import Path

from fanwise.service.api.app import make_app
from fanwise.service.api.metrics import Metrics
from fanwise.service.checking import check_source
from fanwise.service.configuration.model import Configuration
from fanwise.service.demo import Replay
from fanwise.service.server import HttpServer
from fanwise.service.supervisor import Supervisor

log = logging.getLogger(__name__)

Ready = Callable[[str, Path, str | None, str | None], None]
"""Told the address, the state folder, and of the demo a token and a link that signs in once."""


def run_service(configuration: Configuration, ready: Ready, *, is_demo: bool = False) -> None:
    """Run a service until a signal ends it.

    Parameters
    ----------
    ready
        Told once requests are answered and the input is read.
    is_demo
        Whether a made day is replayed; ``ready`` gets a token and a link for it then.
    """
    check_source(configuration)
    service = Supervisor(configuration)
    metrics = service.listener = Metrics(service)
    server = None
    replay = Replay(configuration.state) if is_demo else None
    try:
        app = make_app(service, metrics)
        server = HttpServer(app, configuration.server)
        server.start()
        service.start()
        token, link = None, None
        if is_demo:
            id, token = _demo_token(service)
            link = f"{server.url}/#code={app.state.sessions.invite(id)}"
        ready(server.url, configuration.state, token, link)
        if replay is not None:
            replay.start()
        service.run()
    finally:
        # A second signal would leave things half: ends take a few seconds, and are announced.
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if replay is not None:
            replay.stop()
        if server is not None:
            server.stop()
        service.stop()


def _demo_token(service: Supervisor) -> tuple[str, str]:
    """Make a token that may do everything, for the life of the demo's folder: id and text."""
    token, text = service.store.create_token("admin", "demo", who="demo", at=time.time_ns() // 1000)
    return token.id, text
