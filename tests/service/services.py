"""Services without Spark: windows are put into the ledger by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fanwise.service.configuration.model import Configuration
from fanwise.service.monitor.ledger import Batch, TopicCount
from fanwise.service.supervisor import Supervisor

HOUR = 3600 * 10**6
EVENTS = {"news": 10, "chat/room": 4, "cats": 2, "dogs": 2}
PAIRS = [
    ("ann", "news"), ("bob", "news"), ("cid", "news"), ("bob", "chat/room"), ("dan", "chat/room"),
    ("eve", "cats"), ("fay", "dogs"), ("fay", "cats"),
]  # fmt: skip


def configuration_in(folder: Path, **sections: Any) -> Configuration:
    """Return a configuration below a folder; sections are merged into it."""
    (folder / "publications").mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {
        "state": str(folder / "state"),
        "source": {"kind": "folder", "publications": str(folder / "publications")},
        "decide": {"tau": 2, "capacity": 20},
        "execute": {"mode": "approve", "file": [{"path": str(folder / "served.json")}]},
    }
    for name, section in sections.items():
        entries[name] = {**entries.get(name, {}), **section}
    return Configuration.model_validate(entries)


def supervise(
    folder: Path, *, pairs: Iterable[tuple[str, str]] = PAIRS, **sections: Any
) -> Supervisor:
    """Return a service whose stream is not started, with subscriptions."""
    service = Supervisor(configuration_in(folder, **sections))
    if not service.ledger.has_snapshot():
        service.ledger.take_snapshot(pairs, 0)
    service.executor.start()
    service.health.stream = ""
    return service


def close_hour(service: Supervisor, hour: int, events: dict[str, int] | None = None) -> None:
    """Let an hour pass with these events, and decide it."""
    number = service.ledger.totals()["batch"] + 1
    counts = [
        TopicCount(hour * HOUR, topic, many, 0.0, 0)
        for topic, many in (EVENTS if events is None else events).items()
    ]
    service.ledger.commit(Batch(number, counts, (hour + 1) * HOUR + 120 * 10**6))
    service.step()
