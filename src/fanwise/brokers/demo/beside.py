"""A process beside the demo's: what computes there does not keep clients waiting."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

import numpy as np

from fanwise.brokers.demo.costs import cost_of, loads_of, solve_centrally
from fanwise.brokers.demo.crowd import Crowd
from fanwise.brokers.warming import warm_up

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Beside:
    """One process that runs functions, one at a time; use it with ``with``."""

    def __enter__(self) -> Beside:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_leave_signals)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    async def run(
        self,
        function: Callable[Arguments, Answer],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Answer:
        """Return what a function of a module returns there."""
        assert not named
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, function, *arguments)


def prepare() -> None:
    """Compile what the brokers and the demo run, once for all of them."""
    warm_up(lambda _: None, is_moving=True)
    crowd = Crowd(2, 12, 10.0, 0)
    homes = np.arange(12, dtype=np.int32) % 2
    cost_of(crowd.workload, homes)
    loads_of(crowd.workload, homes)
    solve_centrally(crowd.workload, 0.5, homes)


def _leave_signals() -> None:
    """Ctrl-C reaches the whole group; the demo's process ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
