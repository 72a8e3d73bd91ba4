"""Compile what a broker runs before it serves anybody.

On a machine's first run kernels are compiled, which holds the interpreter for seconds at a time: a
broker that did so at its first publication would keep its clients waiting, and answer no heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.jit import announce_compilation
from fanwise.brokers.matching.rectangle_index import RectangleIndex
from fanwise.brokers.moving.rounds import Rounds
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.workload.generators.sparse import sparse

CLIENTS, BROKERS, CHANNELS = 12, 3, 4
ROUNDS = 6
"""Enough that single moves end, and a rearrangement is looked for and followed."""


def warm_up(announce: Callable[[str], None], *, is_moving: bool) -> None:
    """Compile the kernels of a broker; a moment where they are in the cache.

    Parameters
    ----------
    announce
        Told once, if anything is compiled.
    is_moving
        Whether the broker will propose moves as well.
    """
    told: list[str] = []

    def tell(name: str) -> None:
        if not told:
            told.append(name)
            announce("compiling kernels; this happens on the first run only")

    with announce_compilation(tell):
        _match()
        if is_moving:
            _move()


def _match() -> None:
    index = RectangleIndex.build([0, 1], [[0.0, 0.0], [0.2, 0.2]], [[0.5, 0.5], [0.9, 0.9]])
    index.add(2, (0.1, 0.1), (0.3, 0.3))
    index.match((0.25, 0.25))
    index.remove(2)


def _move() -> None:
    workload = sparse(CLIENTS, brokers=BROKERS, channels=CHANNELS, dims=2, core_ratio=20.0, seed=0)
    spread = np.arange(CLIENTS, dtype=np.int32) % BROKERS
    settings = MovingSettings(turn_seconds=1.0, rest_seconds=0.0, wait_seconds=1.0)
    for _ in Rounds(workload, spread, settings).run(ROUNDS):
        pass
