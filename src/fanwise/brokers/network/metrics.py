"""Metrics for Prometheus, on a port of their own; read when somebody asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

MOST_REQUEST_BYTES = 8 * 2**10
PATIENCE = 5.0
"""Seconds that a request may take."""


@dataclass(frozen=True)
class Measure:
    """A metric: its name without the prefix, what it says, whether it only grows."""

    name: str
    help: str
    is_counter: bool
    label: str | None = None


Reading = Mapping[Measure, float | Mapping[str, float]]
"""Values of metrics; by label where a metric has one."""


class _Collector(Collector):
    def __init__(self, read: Callable[[], Reading], labels: Mapping[str, str]) -> None:
        self._read, self._labels = read, labels

    def collect(self) -> Iterable[Metric]:
        names, values = list(self._labels), list(self._labels.values())
        for measure, value in self._read().items():
            more = [] if measure.label is None else [measure.label]
            kind = CounterMetricFamily if measure.is_counter else GaugeMetricFamily
            family = kind(f"fanwise_{measure.name}", measure.help, labels=[*names, *more])
            if isinstance(value, Mapping):
                for label, one in value.items():
                    family.add_metric([*values, label], one)
            else:
                family.add_metric(values, value)
            yield family


class MetricsServer:
    """Answers ``GET /metrics``.

    Parameters
    ----------
    read
        Returns the values of the moment.
    labels
        Given with every value.
    """

    def __init__(self, read: Callable[[], Reading], labels: Mapping[str, str]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Collector(read, labels))
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(
            self._answer, host, port, limit=MOST_REQUEST_BYTES
        )
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            status, kind, body = self._respond(head.split(b"\r\n", 1)[0])
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await asyncio.wait_for(writer.drain(), PATIENCE)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _respond(self, request: bytes) -> tuple[str, str, bytes]:
        words: list[Any] = request.split(b" ")
        if len(words) != 3 or words[0] != b"GET":
            return "405 Method Not Allowed", "text/plain", b"GET /metrics\n"
        if words[1].split(b"?")[0] != b"/metrics":
            return "404 Not Found", "text/plain", b"GET /metrics\n"
        return "200 OK", CONTENT_TYPE_LATEST, generate_latest(self._registry)
