"""What a receiver remembers of the broker across its own restarts, in a small file."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heard:
    """When the broker was heard last.

    Attributes
    ----------
    at
        By the clock of events, in microseconds since the epoch.
    wall
        By the machine's clock, in seconds since the epoch.
    begun, started
        When the connection before began and when the broker was started, as far as is known: in
        microseconds since the epoch by the broker's clock.
    """

    at: int = 0
    wall: float = 0.0
    begun: int = 0
    started: int = 0

    @classmethod
    def read(cls, path: Path) -> Heard | None:
        """Return what a file says; None where there is none, or nothing in it."""
        try:
            found = json.loads(path.read_text(encoding="ascii"))
            return cls(**found)
        except (OSError, ValueError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the file, so that it is there whole or not at all."""
        hidden = path.with_name(f".{path.name}")
        hidden.write_text(json.dumps(asdict(self)), encoding="ascii")
        os.replace(hidden, path)

    def seconds_ago(self) -> float:
        """Return how long ago that was."""
        return max(0.0, time.time() - self.wall)


def heard_file(spool: Path) -> Path:
    """Return where a receiver remembers what it heard."""
    return spool.parent / f"{spool.name}-heard.json"
