"""Waiting for a store that is away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from fanwise.service.store.errors import StoreUnavailable

Answer = TypeVar("Answer")
_log = logging.getLogger(__name__)


def retrying(
    act: Callable[[], Answer],
    stop: threading.Event,
    *,
    first_wait: float = 0.2,
    longest_wait: float = 10.0,
    on_wait: Callable[[StoreUnavailable], None] | None = None,
) -> Answer:
    """Return what an action returns, as often as the store has to be asked for that.

    The action may have been done although the answer was lost, so it must be one that can be done
    twice.

    Parameters
    ----------
    stop
        Ends the waiting.
    first_wait, longest_wait
        Seconds; waits double from one to the other.
    on_wait
        Told of each failure, for status and metrics.

    Raises
    ------
    StoreUnavailable
        If ``stop`` was set while the store was away.
    """
    wait = first_wait
    waits = 0
    while True:
        try:
            answer = act()
        except StoreUnavailable as error:
            if waits == 0:
                _log.warning("%s Waiting for it.", error)
            if on_wait is not None:
                on_wait(error)
            if stop.wait(wait):
                raise
            waits += 1
            wait = min(2 * wait, longest_wait)
        else:
            if waits:
                _log.info("The store answers again.")
            return answer
