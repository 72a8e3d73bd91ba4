"""What tests put at the other end of outputs: a clock, a recorder, a web server, a subscriber."""

from __future__ import annotations

import json
import queue
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.service.decisions import NOON, make_changes, make_decision

from fanwise.service.executor.errors import OutputError


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> int:
        return NOON + int(self.seconds * 1e6)

    def monotonic(self) -> float:
        return self.seconds


class Recorder:
    """An output that keeps what it is told, and fails while it is told to."""

    def __init__(self, name: str = "recorder") -> None:
        self.name, self.target = name, f"target of {name}"
        self.told = []
        self.failure: OutputError | None = None
        self.changes_when_failing = False

    @property
    def held(self):
        """Topics that the other end serves now; None where it knows of no decision."""
        last = self.told[-1] if self.told else None
        return None if last is None or last.hash is None else last.served

    def deliver(self, announcement) -> None:
        if self.failure is None or self.changes_when_failing:
            self.told.append(announcement)
        if self.failure is not None:
            raise self.failure


class Receiver:
    """A web server that keeps what is posted, and answers as it is told to.

    Parameters
    ----------
    tls
        What it serves HTTPS with; left out: HTTP.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        """Statuses of the next answers; 204 afterwards. 0 breaks off the connection."""
        self.headers: dict[str, str] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posts.append(({k.lower(): v for k, v in self.headers.items()}, body))
                status = receiver.answers.pop(0) if receiver.answers else 204
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/hook?key=hidden"

    @property
    def keys(self) -> list[str]:
        return [headers["idempotency-key"] for headers, _ in self.posts]

    @property
    def bodies(self) -> list[dict]:
        return [json.loads(body) for _, body in self.posts]

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Subscriber:
    """A client that keeps what a broker sends.

    Parameters
    ----------
    tls_ca
        File of the broker's authority; left out: no TLS.
    """

    def __init__(self, port: int, *topics: str, tls_ca: Path | None = None) -> None:
        self.messages: queue.Queue = queue.Queue()
        ready = threading.Event()
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda client, data, message: self.messages.put(message)
        self._client.on_subscribe = lambda *_: ready.set()
        if tls_ca is not None:
            self._client.tls_set(str(tls_ca))
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe([(topic, 1) for topic in topics])
        assert ready.wait(10)

    def next(self):
        return self.messages.get(timeout=10)

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def submit(executor, index: int, *served: str, assessment=None, **more):
    """Hand in the decision of a window; return what became of it."""
    decision = make_decision(index, served, **more)
    return executor.submit(decision, make_changes(*served), served, assessment)


def drain(executor, names, limit: int = 50) -> None:
    """Make all attempts that are due, without threads."""
    for _ in range(limit):
        if all(executor.outbox.attempt_due(name) != 0 for name in names):
            return
    raise AssertionError("the outbox is never empty")
