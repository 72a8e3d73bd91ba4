"""What streaming needs of memory and disk, told before it begins."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanwise.errors import InputError
from fanwise.formatting import size

LOCAL_BYTES_PER_PAIR = 40.0
MAPPED_BYTES = 4.0
"""Bytes of a pair in the file of interests."""
CHOSEN_BYTES = 4.0 + 8.0 + 8.0
"""Bytes of a chosen pair: in its file, on a pile, and in the plan at worst."""


@dataclass(frozen=True)
class Needs:
    """Bytes of memory and disk; of disk also at worst, if every pair is chosen."""

    memory: float
    disk: float
    disk_at_worst: float

    def __str__(self) -> str:
        return (
            f"about {size(self.memory)} of memory, {size(self.disk)} of disk for the interests "
            f"and up to {size(self.disk_at_worst)} with the plan"
        )


def estimate_needs(header: dict[str, Any]) -> Needs:
    """Estimate from ``workload.json`` what streaming takes; measured sizes and a little more."""
    pairs = float(header["pairs"])
    return Needs(
        memory=2.0**30 + 120.0 * header["subscribers"] + 200.0 * header["topics"] + 3.0 * pairs,
        disk=MAPPED_BYTES * pairs,
        disk_at_worst=(MAPPED_BYTES + CHOSEN_BYTES) * pairs,
    )


def local_memory(header: dict[str, Any]) -> float:
    """Estimate what planning in memory takes, in bytes."""
    per_name = 120.0
    named = float(header["subscribers"] + header["topics"])
    return 2.0**29 + LOCAL_BYTES_PER_PAIR * float(header["pairs"]) + per_name * named


def memory_of_machine() -> float:
    """Return the bytes of memory that this machine, or the container, may use."""
    total = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, float(limit)) if limit.isdigit() else total


def refuse_full_disk(folder: Path, needed: float, what: str) -> None:
    """Raise unless a folder's disk has room."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{folder}: {what} takes {size(needed)}, but only {size(free)} are free; "
            "free some, or write to another disk."
        )
