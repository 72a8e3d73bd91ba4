"""A made day of a music service, replayed fast, so that decisions come while one watches.

Topics have their hours: some are for the morning, some for the night. So what is worth serving
changes through the day, and decisions have something to switch.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np

from fanwise.service.configuration.model import Configuration

SEED = 11
TOPICS, SUBSCRIBERS, MEAN_INTERESTS = 400, 3000, 2
EVENTS_PER_HOUR = 20_000
TAU, CAPACITY = 3, 20_000
"""About two thirds can be satisfied; the best selection is not obvious, and yet proven in time."""
HOURS = 24
PERIOD = 600
"""Seconds of event time in one file; one file a second is written, later one in three."""
FAST = 36
"""Periods that are written fast: six hours, of which decisions come one after the other."""
DAY = 86_400


class MadeDay:
    """Who wants what, and what is published in each ten minutes of the day."""

    def __init__(self, start: int, seed: int = SEED) -> None:
        """Make the day.

        Parameters
        ----------
        start
            Its first second, since the epoch.
        """
        self.start = start
        self._rng = rng = np.random.default_rng(seed)
        popularity = 1 / np.arange(1, TOPICS + 1) ** 0.9
        self._share = rng.permutation(popularity / popularity.sum())
        self._peak = rng.uniform(0, HOURS, TOPICS)
        wanted = popularity / popularity.sum()
        self.pairs = sorted(
            {
                (f"user-{subscriber:04d}", f"artist/{topic:03d}")
                for subscriber in range(SUBSCRIBERS)
                for topic in rng.choice(TOPICS, 1 + rng.poisson(MEAN_INTERESTS - 1), p=wanted)
            }
        )

    @property
    def num_periods(self) -> int:
        return HOURS * 3600 // PERIOD

    def events(self, period: int) -> list[dict[str, object]]:
        """Return what is published in a period."""
        hour = period * PERIOD / 3600
        distance = np.abs((self._peak - hour + HOURS / 2) % HOURS - HOURS / 2)
        weight = self._share * (0.15 + np.exp(-((distance / 3) ** 2)))
        busy = 0.6 + 0.4 * np.sin(np.pi * hour / HOURS) ** 2
        counts = self._rng.poisson(weight / weight.sum() * busy * EVENTS_PER_HOUR * PERIOD / 3600)
        topics = np.repeat(np.arange(TOPICS), counts)
        times = np.sort(self._rng.uniform(0, PERIOD, len(topics)))
        self._rng.shuffle(topics)
        first = self.start + period * PERIOD
        return [
            {"topic": f"artist/{topic:03d}", "timestamp": round(first + at, 3), "bytes": 200}
            for topic, at in zip(topics.tolist(), times.tolist(), strict=True)
        ]


def demo_configuration(state: Path, host: str, port: int) -> Configuration:
    """Return the configuration of the demo, all of it below the state folder."""
    for name in ("publications", "subscriptions"):
        (state / "demo" / name).mkdir(parents=True, exist_ok=True)
    return Configuration.model_validate(
        {
            "state": str(state),
            "server": {"host": host, "port": port},
            "source": {
                "kind": "folder",
                "publications": str(state / "demo" / "publications"),
                "subscriptions": str(state / "demo" / "subscriptions"),
            },
            "monitor": {"trigger": "0.5s"},
            "windows": {"length": "1h", "lateness": "1m", "idle": "20s"},
            "decide": {
                "tau": TAU,
                "capacity": CAPACITY,
                "max_changes": 60,
                "least_gain": 0.002,
                "time_limit": "2.5s",
            },
            "execute": {
                "mode": "approve",
                "file": [{"path": str(state / "demo" / "served.json")}],
            },
        }
    )


class Replay(threading.Thread):
    """Writes the day until it is over or stopped: the first hours fast, then at leisure.

    Fast, so that there is something to see; at leisure, so that one can approve a decision before
    the next one comes.
    """

    def __init__(
        self, state: Path, *, seconds_per_period: float = 1.0, leisurely: float = 3.0
    ) -> None:
        super().__init__(name="fanwise-demo", daemon=True)
        # The day before today: nothing lies in the future.
        start = int(time.time()) // DAY * DAY - DAY
        self.day = MadeDay(start)
        self._folder, self._pause, self._leisurely = state / "demo", seconds_per_period, leisurely
        self._stop_event = threading.Event()

    def run(self) -> None:
        """Write who wants what, then period after period."""
        changes = [
            {"subscriber": who, "topic": topic, "action": "subscribe", "timestamp": self.day.start}
            for who, topic in self.day.pairs
        ]
        self._write("subscriptions", "first", changes)
        for period in range(self.day.num_periods):
            begun = time.monotonic()
            self._write("publications", f"{period:04d}", self.day.events(period))
            pause = self._pause * (1.0 if period < FAST else self._leisurely)
            if self._stop_event.wait(max(0.0, pause - (time.monotonic() - begun))):
                return

    def stop(self) -> None:
        """Stop to write."""
        self._stop_event.set()

    def _write(self, kind: str, name: str, rows: list[dict[str, object]]) -> None:
        folder = self._folder / kind
        hidden = folder / f".{name}.jsonl"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
        hidden.rename(folder / f"{name}.jsonl")
