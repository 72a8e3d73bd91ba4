"""Decisions for tests of the service."""

from __future__ import annotations

import hashlib
from typing import Any

from fanwise.service.records import AuditEntry, Change, Decision, Window

HOUR = 3_600_000_000
"""In microseconds."""
NOON = 1_700_049_600_000_000


def make_hash(name: Any) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def make_decision(index: int = 1, served: tuple[str, ...] = ("a",), **more: Any) -> Decision:
    """The decision of the window with a number, that serves some of 10 topics."""
    values: dict[str, Any] = {
        "hash": make_hash((index, served)),
        "window": Window(NOON + index * HOUR, NOON + (index + 1) * HOUR),
        "state": "pending",
        "value": 100.0 + index,
        "bound": 110.0 + index,
        "gap": 0.01,
        "changes": len(served),
        "workload": make_hash(f"workload {index}"),
        "made_at": NOON + (index + 1) * HOUR,
        "facts": {"served": len(served), "topics": 10},
        "seconds": {"solve": 0.5},
    }
    return Decision(**values | more)


def make_changes(*topics: str) -> list[Change]:
    return [Change(topic, True, 1.5, 3, f"{topic!r} satisfies 3 for 1.5") for topic in topics]


def entry(what: str, about: str, *, who: str = "ann", at: int = NOON) -> AuditEntry:
    return AuditEntry(at, who, what, about)
