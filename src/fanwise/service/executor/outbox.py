"""The worker that empties the outbox: a thread for each output, at least once, in order.

Waits and ages are measured by a clock that never jumps, from when this process first saw a
delivery; after a restart it is tried at once. What the store says of the next attempt is for
people.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from fanwise.service.executor.announcing import Output
from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import Retries
from fanwise.service.store.errors import StoreError, StoreUnavailable
from fanwise.service.store.rows import Application, Delivery
from fanwise.service.store.store import Store
from fanwise.service.store.waiting import retrying

_log = logging.getLogger(__name__)
_POLL_SECONDS = 1.0
"""Seconds between looks at an outbox that nobody has announced anything in."""
_MOST_DOUBLINGS = 60

Answer = TypeVar("Answer")


@dataclass
class _Trial:
    """A delivery as this process knows it; times in seconds of the clock that never jumps."""

    id: int
    since: float
    due: float


class Outbox:
    """Delivers what the store says is to be delivered.

    Parameters
    ----------
    outputs
        Where to deliver.
    now
        Microseconds since the epoch.
    monotonic
        Seconds that never go back.
    chance
        Returns numbers in [0, 1).
    on_attempt
        Told the output's name and why the attempt failed, None if it did not.
    on_closed
        Told of applications that were done or failed.
    """

    def __init__(
        self,
        store: Store,
        outputs: Iterable[Output],
        retries: Retries,
        *,
        now: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        on_attempt: Callable[[str, OutputError | None], None] = lambda name, error: None,
        on_closed: Callable[[Application], None] = lambda application: None,
    ) -> None:
        self._store = store
        self._outputs = {output.name: output for output in outputs}
        self._retries = retries
        self._now, self._monotonic, self._chance = now, monotonic, chance
        self._on_attempt, self._on_closed = on_attempt, on_closed
        self._trials: dict[str, _Trial] = {}
        self._stop = threading.Event()
        self._wakes = {name: threading.Event() for name in self._outputs}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Deliver from now on, in threads of their own."""
        for name in self._outputs:
            thread = threading.Thread(
                target=self._run, args=(name,), name=f"outbox-{name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def stop(self, patience: float = 15.0) -> None:
        """Stop after the attempts that are being made; what is left is delivered next time."""
        self._stop.set()
        self.wake()
        end = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._threads.clear()

    def wake(self) -> None:
        """Look at the outbox now."""
        for event in self._wakes.values():
            event.set()

    def _run(self, name: str) -> None:
        while not self._stop.is_set():
            self._wakes[name].clear()
            wait: float | None
            try:
                wait = self._insist(lambda: self.attempt_due(name))
            except StoreUnavailable:  # and we are to stop
                return
            except Exception:
                _log.exception("The outbox of %s failed; it goes on.", name)
                wait = None
            if wait != 0:
                self._wakes[name].wait(_POLL_SECONDS if wait is None else min(wait, _POLL_SECONDS))

    def attempt_due(self, name: str) -> float | None:
        """Make the attempt that is due at an output, if one is.

        Returns
        -------
        float or None
            Seconds until there may be something to do; None if nothing waits.
        """
        delivery = self._store.waiting(name)
        if delivery is None:
            return None
        trial = self._trials.get(name)
        clock = self._monotonic()
        if trial is None or trial.id != delivery.id:
            trial = self._trials[name] = _Trial(delivery.id, since=clock, due=clock)
        if trial.due > clock:
            return trial.due - clock
        if not self._store.begin_attempt(delivery.id):
            return 0.0
        failure = self._attempt(delivery)
        self._on_attempt(name, failure)
        if failure is None:
            self._close(lambda: self._store.confirm(delivery.id, self._now()))
            return 0.0
        _log.warning("Output %s was not told of epoch %d: %s.", name, delivery.epoch, failure)
        attempts = delivery.attempts + 1
        age = self._monotonic() - trial.since
        retries = self._retries
        if not failure.may_pass or attempts >= retries.attempts or age >= retries.give_up_after:
            self._close(lambda: self._store.give_up(delivery.id, str(failure), self._now()))
            return 0.0
        wait = self._choose_wait(attempts, failure.wait)
        trial.due = self._monotonic() + wait
        next_attempt = self._now() + int(wait * 1e6)
        self._insist(lambda: self._store.postpone(delivery.id, str(failure), next_attempt))
        return wait

    def _attempt(self, delivery: Delivery) -> OutputError | None:
        """Tell an output, and return why that failed; None if it did not."""
        try:
            self._outputs[delivery.output].deliver(self._store.announcement(delivery))
        except OutputError as error:
            return error
        except StoreUnavailable:
            raise
        except StoreError as error:
            return OutputError(str(error), may_pass=False)
        except Exception as error:
            _log.exception("Output %s failed.", delivery.output)
            return OutputError(f"it failed unexpectedly ({type(error).__name__})")
        return None

    def _choose_wait(self, attempts: int, asked: float | None) -> float:
        """Return seconds until the next attempt: twice as long each time, a bit at random."""
        retries = self._retries
        wait = retries.first_wait * 2.0 ** min(attempts - 1, _MOST_DOUBLINGS)
        wait = min(max(wait, asked or 0.0), retries.longest_wait)
        return wait * (1 - retries.jitter * self._chance())

    def _close(self, act: Callable[[], Application]) -> None:
        application = self._insist(act)
        if application.state != "open":
            if application.state == "failed":
                _log.error("Epoch %d failed: %s", application.epoch, application.why)
            self.wake()  # outputs may have to be put back
            self._on_closed(application)

    def _insist(self, act: Callable[[], Answer]) -> Answer:
        """Wait for a store that is away: what was delivered need not be delivered again."""
        return retrying(act, self._stop)
