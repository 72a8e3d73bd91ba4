"""A whole forwarder: until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from fanwise.service.forwarding.forwarder import Forwarder
from fanwise.service.forwarding.settings import ForwarderConfiguration

Ready = Callable[[Forwarder], None]
"""Told once messages are taken."""


def run_forwarder(configuration: ForwarderConfiguration, ready: Ready) -> int:
    """Run a forwarder; return the number of the signal that ended it."""
    return asyncio.run(_run(configuration, ready))


async def _run(configuration: ForwarderConfiguration, ready: Ready) -> int:
    forwarder = Forwarder(configuration)
    is_over = asyncio.Event()
    heard: list[int] = []

    def stop(number: int) -> None:
        heard.append(number)
        is_over.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    await forwarder.run(is_over, lambda: ready(forwarder))
    return heard[0]
