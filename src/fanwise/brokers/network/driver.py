"""Drives a state machine: events in, effects out, records on disk before what follows from them.

Effects are carried out in order. Everything after a record that must be waited for waits until it
is on disk, also what later events led to. While one batch of records is written, the next gathers:
the busier a broker is, the more records share one write. Records that need not be waited for go
with the next batch, or alone a moment later.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from fanwise.brokers.protocol.effects import Disk, Record, Tick
from fanwise.brokers.storage.journal import DiskFullError, Journal
from fanwise.brokers.storage.records import pack

log = logging.getLogger(__name__)

MOST_HELD = 20_000
"""Effects that wait for the disk: above, nothing more is read."""
PATIENCE = 0.5
"""Seconds from a write for which there was no room to the next try."""
LAZY = 0.02
"""Seconds that a record may wait for which nothing else waits."""
SHRINK = 2.0
"""Seconds between two tries to make the log shorter while there is no room."""
LOOK = 1.0
"""Seconds between two looks at the room on the disk."""


class Machine(Protocol):
    """What is driven."""

    def start(self) -> list[Any]:
        """Begin; once, before all events."""

    def handle(self, now: float, event: Any) -> list[Any]:
        """Return what an event leads to."""

    def next_deadline(self) -> float | None:
        """Return when to tick."""

    def snapshot(self) -> list[tuple[Any, ...]]:
        """Return entries that amount to all that was recorded."""


class Driver:
    """Drives one machine in one event loop.

    Parameters
    ----------
    carry
        What carries an effect out, by its class.
    flush
        Called after effects were carried out.
    hold
        Told whether to stop reading.
    fail
        Told what makes going on impossible.

    Attributes
    ----------
    num_commits, num_records, num_bytes
        Written so far.
    commit_seconds
        That writing took, all together.
    is_full
        Whether there is no room on the disk.
    """

    def __init__(
        self,
        machine: Machine,
        carry: Mapping[type[Any], Callable[[Any], None]],
        journal: Journal | None = None,
        *,
        flush: Callable[[], None] = lambda: None,
        hold: Callable[[bool], None] = lambda is_held: None,
        fail: Callable[[BaseException], None],
    ) -> None:
        self.machine, self._carry, self._journal = machine, dict(carry), journal
        self._flush_out, self._hold, self._fail = flush, hold, fail
        self._loop = asyncio.get_running_loop()
        # Times outlive the process in records: those of the clock, but never backwards within one.
        self._origin = time.time() - self._loop.time()
        self._effects: list[Any] = []
        self._lazy: list[bytes] = []
        self._is_due = self._is_held = self._is_stuck = self._is_over = False
        self._must_shrink, self._shrunk_at, self._shrunk_records = False, 0.0, 0
        self._is_waiting = False  # for the commit that is under way
        self._commit: asyncio.Future[Any] | None = None
        self._lazy_timer: asyncio.TimerHandle | None = None
        self._snapshot: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._disk = ThreadPoolExecutor(2, "disk") if journal is not None else None
        self.num_commits = self.num_records = self.num_bytes = 0
        self.commit_seconds = 0.0
        self.is_full = False

    def now(self) -> float:
        """Return the time: seconds since the epoch."""
        return self._origin + self._loop.time()

    def start(self) -> None:
        """Let the machine begin."""
        self._effects += self.machine.start()
        self.handle(Tick())
        if self._journal is not None:
            self._look()

    def handle(self, event: Any) -> None:
        """Give the machine an event; what follows is carried out soon."""
        if self._is_over:
            return
        try:
            effects = self.machine.handle(self.now(), event)
        except Exception as error:
            # The machine may be half-way: what is on disk is right, what is in memory may not be.
            self._give_up(error)
            return
        if effects:
            self._effects += effects
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._step)

    async def settle(self) -> None:
        """Return when everything so far is on disk and carried out."""
        while not self._is_over and (self._is_due or self._effects or self._is_waiting):
            await asyncio.sleep(0.001)

    @property
    def num_held(self) -> int:
        """Effects that wait for the disk."""
        return len(self._effects)

    async def stop(self) -> None:
        """Bring what was recorded to disk, carry out what follows, and end."""
        while not self._is_over and (self._is_due or self._commit or self._effects or self._lazy):
            if self._commit is not None:
                await asyncio.wait([self._commit])
                await asyncio.sleep(0)
                if self._is_stuck:
                    break
            elif not self._is_due and not self._effects:
                self._begin_commit()
            else:
                await asyncio.sleep(0)
        self._is_over = True
        for timer in (self._timer, self._looking, self._lazy_timer):
            if timer is not None:
                timer.cancel()
        pending = [one for one in (self._commit, self._snapshot) if one is not None]
        if pending:
            await asyncio.wait(pending)
        if self._disk is not None:
            self._disk.shutdown(wait=True)

    def _step(self) -> None:
        self._is_due = False
        if self._is_over:
            return
        self._set_timer()
        if not self._is_waiting:
            self._carry_out()
        if not self._is_held and len(self._effects) > MOST_HELD:
            self._set_held(True)

    def _carry_out(self) -> None:
        """Carry out effects, up to the first record that must be waited for."""
        effects, self._effects = self._effects, []
        carry = self._carry
        for place, effect in enumerate(effects):
            if type(effect) is Record:
                if self._journal is None:
                    continue
                if effect.must_wait:
                    self._effects = effects[place:] + self._effects
                    if self._commit is None:
                        self._begin_commit()
                    break
                self._lazy.append(pack(effect.entry))
                continue
            carrier = carry.get(type(effect))
            if carrier is not None:
                carrier(effect)
        self._flush_out()
        if self._lazy and self._commit is None and self._lazy_timer is None:
            self._lazy_timer = self._loop.call_later(LAZY, self._write_lazily)

    def _write_lazily(self) -> None:
        self._lazy_timer = None
        if self._lazy and self._commit is None and not self._is_over:
            self._begin_commit()

    def _begin_commit(self) -> None:
        """Write all records that there are by now; what came with them waits."""
        assert self._journal is not None
        effects, self._effects = self._effects, []
        records, self._lazy = self._lazy, []
        records += [pack(effect.entry) for effect in effects if type(effect) is Record]
        entries = None
        if (self._journal.is_due or self._must_shrink) and self._snapshot is None:
            self._must_shrink = False
            # Exactly what all records up to these amount to: the next ones go to a new segment.
            entries = self.machine.snapshot()
        self._is_waiting = bool(effects)
        self._submit(effects, records, entries)

    def _submit(
        self, effects: list[Any], records: list[bytes], entries: list[tuple[Any, ...]] | None
    ) -> None:
        assert self._disk is not None
        commit = self._loop.run_in_executor(self._disk, self._write, records, entries is not None)
        self._commit = commit
        commit.add_done_callback(lambda done: self._end_commit(done, effects, records, entries))

    def _write(self, records: list[bytes], is_last: bool) -> tuple[float, int | None]:
        """Append records, in a thread; begin the next segment where a snapshot follows them."""
        assert self._journal is not None
        started = time.perf_counter()
        self._journal.append(records)
        number = None
        if is_last:
            try:
                number = self._journal.begin_segment()
            except DiskFullError as error:
                log.warning("no new segment of the log: %s", error)
        return time.perf_counter() - started, number

    def _end_commit(
        self,
        done: asyncio.Future[Any],
        effects: list[Any],
        records: list[bytes],
        entries: list[tuple[Any, ...]] | None,
    ) -> None:
        self._commit = None
        error = None if done.cancelled() else done.exception()
        if isinstance(error, DiskFullError):
            self._is_stuck = True
            self._say_full(str(error))
            if not self._is_over:
                # Nobody was told of these yet; once there is room, they are written.
                self._commit = self._loop.create_future()
                self._loop.call_later(PATIENCE, self._try_again, self._commit, effects, records)
            return
        if done.cancelled():
            return
        if error is not None:
            self._give_up(error)
            return
        seconds, number = done.result()
        self._is_stuck = self._is_waiting = False
        self.num_commits += 1
        self.num_records += len(records)
        self.num_bytes += sum(map(len, records))
        self.commit_seconds += seconds
        if entries is not None and number is not None:
            self._begin_snapshot(number, entries)
        carry = self._carry
        for effect in effects:
            carrier = carry.get(type(effect))
            if carrier is not None:
                carrier(effect)
        self._carry_out()
        if self._is_held and len(self._effects) < MOST_HELD // 2:
            self._set_held(False)

    def _try_again(
        self, waiting: asyncio.Future[Any], effects: list[Any], records: list[bytes]
    ) -> None:
        waiting.set_result(None)
        if not self._is_over:
            self._submit(effects, records, None)

    def _begin_snapshot(self, number: int, entries: Iterable[tuple[Any, ...]]) -> None:
        assert self._disk is not None
        assert self._journal is not None
        job = self._loop.run_in_executor(self._disk, self._journal.write_snapshot, number, entries)
        self._snapshot = job
        job.add_done_callback(self._end_snapshot)

    def _end_snapshot(self, done: asyncio.Future[None]) -> None:
        self._snapshot = None
        error = None if done.cancelled() else done.exception()
        if error is not None:
            log.warning("no snapshot of the log now: %s", error)

    def _look(self) -> None:
        """Look whether there is room on the disk, now and again."""
        assert self._journal is not None
        if self._is_over:
            return
        if self._journal.has_room():
            if self.is_full and not self._is_stuck:
                self.is_full = False
                log.warning("%s: there is room again.", self._journal.folder.path)
                self.handle(Disk(False))
        else:
            self._say_full(f"{self._journal.folder.path}: less room than is to stay free")
            self._shrink()
        self._looking = self._loop.call_later(LOOK, self._look)

    def _shrink(self) -> None:
        """Make the log shorter, where something was recorded since: it may be that less is kept."""
        now = self._loop.time()
        is_worth_it = self.num_records > self._shrunk_records and now > self._shrunk_at + SHRINK
        if is_worth_it and self._commit is None and self._snapshot is None:
            self._shrunk_at, self._shrunk_records = now, self.num_records
            self._must_shrink = True
            self._begin_commit()

    def _say_full(self, reason: str) -> None:
        if not self.is_full:
            self.is_full = True
            log.warning("the disk is full, publications are refused: %s", reason)
            self.handle(Disk(True))

    def _set_timer(self) -> None:
        deadline = self.machine.next_deadline()
        if self._timer is not None:
            if deadline is not None and self._timer.when() == deadline - self._origin:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer = self._loop.call_at(deadline - self._origin, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.handle(Tick())

    def _set_held(self, is_held: bool) -> None:
        self._is_held = is_held
        self._hold(is_held)

    def _give_up(self, error: BaseException) -> None:
        if not self._is_over:
            self._is_over = True
            self._fail(error)
