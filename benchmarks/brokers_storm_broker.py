"""A broker as ``fanwise broker run`` runs it, beside which something asks for many moves."""

from __future__ import annotations

import argparse
import cProfile
import json
import random
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from fanwise.brokers.matching.rectangle_index import RectangleIndex
from fanwise.brokers.network.addresses import parse_address
from fanwise.brokers.network.broker import PACE, BrokerOptions, run_broker
from fanwise.brokers.network.endpoint import Admission
from fanwise.brokers.network.server import Facts, ServerOptions
from fanwise.brokers.network.tokens import Tokens
from fanwise.brokers.protocol.effects import Propose
from fanwise.brokers.protocol.ports import DirectRouter
from fanwise.brokers.protocol.settings import BrokerSettings

LOOK = 0.1
"""Seconds between two looks whether it is time to begin."""


class Restless:
    """Asks random clients to move to random brokers, at a rate, until enough have moved.

    Parameters
    ----------
    go
        A file that is there once moves are to begin.
    """

    def __init__(self, go: Path, moves: int, rate: float, seed: int, now: float) -> None:
        self._go, self._moves, self._rate = go, moves, rate
        self._random = random.Random(seed)
        self._here: list[str] = []
        self._brokers: list[str] = []
        self._asked: set[str] = set()
        self._moved = 0
        self._due = now + LOOK
        self._has_begun = False

    def note(self, now: float, what: str, fields: dict[str, Any]) -> None:
        if what == "home":
            if fields["client"] not in self._here:
                self._here.append(fields["client"])
        elif what in ("away", "expired") and fields["client"] in self._here:
            self._here.remove(fields["client"])
        elif what == "linked" and fields["broker"] not in self._brokers:
            self._brokers.append(fields["broker"])
        elif what == "unlinked" and fields["broker"] in self._brokers:
            self._brokers.remove(fields["broker"])
        elif what == "move":
            self._asked.discard(fields["client"])
            self._moved += fields["outcome"] == "moved"

    def hear(self, now: float, broker: str, message: object) -> None:
        pass

    def tick(self, now: float) -> list[Propose]:
        if not self._has_begun:
            self._has_begun = self._go.exists()
            self._due = now + (self._random.random() / self._rate if self._has_begun else LOOK)
            return []
        self._due = max(self._due + 1 / self._rate, now)
        is_enough = self._moved + len(self._asked) >= self._moves or not self._go.exists()
        if is_enough or not self._brokers:
            return []
        free = [client for client in self._here if client not in self._asked]
        if not free:
            return []
        client = self._random.choice(free)
        self._asked.add(client)
        return [Propose(client, self._random.choice(self._brokers), "storm", 1.0)]

    def next_deadline(self) -> float | None:
        return self._due

    def summary(self, now: float) -> None:
        return None

    def counts(self) -> dict[str, float]:
        return {"storm_moved": self._moved, "storm_asked": len(self._asked)}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("name", "data", "listen", "directory", "metrics"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--position", default="")
    parser.add_argument("--capacity", type=float, default=float("inf"))
    parser.add_argument("--moves", type=int, default=0)
    parser.add_argument("--move-rate", type=float, default=1.0)
    parser.add_argument("--go", default="/nonexistent")
    parser.add_argument("--profile", default="")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    host, port = parse_address(given.listen, least_port=0)
    metrics_host, metrics_port = parse_address(given.metrics, least_port=0)
    roles = ("client", "broker", "directory", "tool")
    server = ServerOptions(
        data=Path(given.data), host=host, port=port, least_free=0,
        admission=Admission(dict.fromkeys(roles, Tokens())),
        metrics_host=metrics_host, metrics_port=metrics_port,
    )  # fmt: skip
    settings = BrokerSettings(
        given.name, "", given.directory, capacity=given.capacity, **PACE,
        position=tuple(float(one) for one in given.position.split(",") if one),
    )  # fmt: skip

    def companion(machine: object, now: float) -> Restless:
        return Restless(Path(given.go), given.moves, given.move_rate, hash(given.name), now)

    def ready(facts: Facts) -> None:
        told = {"address": facts.address, "listen": facts.listen, "metrics": facts.metrics}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()

    matcher = partial(RectangleIndex, settings.dimensions)
    options = BrokerOptions(server, settings, matcher, DirectRouter(), companion)
    with cProfile.Profile(time.process_time) if given.profile else nullcontext() as profile:
        run_broker(options, ready)
    if profile is not None:
        profile.dump_stats(given.profile)


if __name__ == "__main__":
    main()
