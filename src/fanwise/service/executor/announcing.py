"""What outputs are told, as JSON, and what an output is."""

from __future__ import annotations

import json
from typing import Any, Protocol

from fanwise.pipeline.shared.times import iso
from fanwise.service.executor.errors import OutputError
from fanwise.service.store.rows import Announcement

FORMAT = "fanwise.decision"
DELTA_FORMAT = "fanwise.decision.delta"
VERSION = 1


class Output(Protocol):
    """Somewhere that decisions are applied to."""

    @property
    def name(self) -> str:
        """Tells outputs apart."""

    @property
    def target(self) -> str:
        """Digest of where it leads."""

    def deliver(self, announcement: Announcement) -> None:
        """Return when the output has confirmed; it may be told the same thing several times.

        Raises
        ------
        OutputError
            If it has not.
        """


def write_whole(announcement: Announcement) -> bytes:
    """Return the whole decision as one line of JSON, the same for every attempt.

    Where nothing is in force, ``hash``, ``window``, ``served`` and ``offloaded`` are null.
    """
    is_decided = announcement.hash is not None
    return _encode(
        {
            "format": FORMAT,
            "version": VERSION,
            **_write_origin(announcement),
            "served": list(announcement.served) if is_decided else None,
            "offloaded": announcement.offloaded,
        }
    )


def write_delta(announcement: Announcement) -> bytes:
    """Return what changes as one line of JSON.

    ``from_epoch`` is what the output confirmed last: whoever has another one, or sees null, takes
    the whole decision instead.
    """
    before, after = announcement.before, announcement.served
    if before is None:
        change: dict[str, Any] = {"from_hash": None, "from_epoch": None, "on": None, "off": None}
    else:
        change = {
            "from_hash": announcement.before_hash,
            "from_epoch": announcement.before_epoch,
            "on": sorted(set(after) - set(before)),
            "off": sorted(set(before) - set(after)),
        }
    return _encode(
        {"format": DELTA_FORMAT, "version": VERSION, **_write_origin(announcement), **change}
    )


def _write_origin(announcement: Announcement) -> dict[str, Any]:
    window = announcement.window
    return {
        "hash": announcement.hash,
        "epoch": announcement.epoch,
        "kind": announcement.kind,
        "at": iso(announcement.at),
        "window": None if window is None else {"start": iso(window.start), "end": iso(window.end)},
    }


def _encode(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode(errors="replace") + b"\n"


def refuse_large(body: bytes, largest: int) -> None:
    """Refuse what is larger than an output takes."""
    if len(body) > largest:
        raise OutputError(
            f"the decision has {len(body):,} bytes, largest_body is {largest:,}",
            may_pass=False,
            kind="too-large",
        )
