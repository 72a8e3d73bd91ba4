"""The service put together: monitor, analyzer, executor and store, started, watched and stopped.

One loop decides closed windows in their order, lets the executor do what time brings, and looks
after the stream and the receiver. Whatever fails is said in the status, tried again, and never
takes the rest down.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanwise.errors import FanwiseError
from fanwise.service.analyzer.ahead import LAG
from fanwise.service.analyzer.deciding import Analyzer, Decided
from fanwise.service.analyzer.forecasting import DAY
from fanwise.service.analyzer.silent import InForce
from fanwise.service.analyzer.workloads import Traffic
from fanwise.service.checking import is_there
from fanwise.service.configuration.model import Configuration, FolderSource, MqttSource
from fanwise.service.executor.applying import Assessment, Executor
from fanwise.service.executor.errors import OutputError
from fanwise.service.monitor.jumps import JumpWatch
from fanwise.service.monitor.ledger import NEVER, Ledger
from fanwise.service.monitor.receiver import ReceiverProcess, ReceiverStatus
from fanwise.service.monitor.snapshot import read_snapshot
from fanwise.service.monitor.spool import archive_of, bytes_waiting, prune
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Decision, Window
from fanwise.service.state import StateFolder, StateLock
from fanwise.service.status import Input, StreamStatus
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.store.retention import Retention, remove_old
from fanwise.service.store.rows import WindowTotals
from fanwise.service.store.store import Store
from fanwise.service.store.waiting import retrying
from fanwise.workload.topic.files import write_workload

if TYPE_CHECKING:
    from fanwise.service.monitor.stream import Stream

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""Between two looks for closed windows."""
TICK_SECONDS = 1.0
"""Between two looks at the executor, the stream and the receiver."""
RETRY_SECONDS = 1.0
"""Before a window is tried again that could not be decided; it doubles."""
RESTART_SECONDS = 10.0
"""Between two attempts to start a stream that ended."""
TIDY_SECONDS = 600.0
"""Between two removals of what is too old."""
LONGEST_PAUSE = 60.0
"""Most seconds between two attempts to decide the same window."""
RECALLED = 24
"""Decisions among which the last one is looked for that says what a switch must gain."""
MOST_ATTEMPTS = 5
"""Attempts to decide a window, after which its decision is that there is none."""


@dataclass
class Health:
    """What state each part is in, in a sentence; empty where all is well."""

    store: str = ""
    stream: str = "not started yet"
    receiver: str = ""
    analyzer: str = ""
    executor: str = ""

    @property
    def troubles(self) -> dict[str, str]:
        """Parts that are not well."""
        return {name: text for name, text in self.__dict__.items() if text}


@dataclass
class Latest:
    """What was decided last, for questions that need the workload."""

    decided: Decided | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, decided: Decided) -> None:
        with self.lock:
            self.decided = decided

    def get(self) -> Decided | None:
        with self.lock:
            return self.decided


class Listener:
    """Hears what the service does; does nothing."""

    def note_decision(self, decision: Decision) -> None:
        """Hear of a decision, and what became of it."""

    def note_delivered(self, foretold: float, delivered: float) -> None:
        """Hear what a decision was worth on what came, and what was foretold."""

    def note_failure(self, output: str, kind: str) -> None:
        """Hear of an output that could not be told, and why in a word."""


class Supervisor:
    """Runs the service on a configuration.

    Attributes
    ----------
    listener
        Hears what happens; metrics take its place.
    health
        What state each part is in.
    latest
        What was decided last.
    """

    def __init__(self, configuration: Configuration) -> None:
        """Take the state folder and open what is in it.

        Raises
        ------
        StateInUseError
            Where another service uses the folder.
        InputError
            Where what is in the folder does not go with the configuration.
        """
        self.configuration = configuration
        self.folder = StateFolder(configuration.state)
        self.folder.make()
        self._lock = StateLock(self.folder)
        windows = configuration.windows
        self.rule = WindowRule.from_seconds(windows.length, windows.slide, windows.lateness)
        self.ledger = Ledger(self.folder.ledger, self.rule)
        self.stopping = threading.Event()
        self.health = Health()
        self.latest = Latest()
        self.started_at = time.time()
        self.store = retrying(self._open_store, self.stopping, on_wait=self._note_store)
        self.health.store = ""
        self.listener = Listener()
        self.executor = Executor(self.store, configuration.execute, on_attempt=self._note_attempt)
        self.analyzer = Analyzer(configuration.decide, self._history, price=configuration.price)
        self.receiver: ReceiverProcess | None = None
        self.stream: Stream | None = None
        self._spark: Any = None
        self._closed = threading.Event()
        self._jumps = JumpWatch(self.ledger, self.store.newest_before)
        self._last_end = retrying(self._find_last_end, self.stopping, on_wait=self._note_store)
        self._ticked = self._tidied = self._restarted = 0.0
        self._attempts, self._not_before = 0, 0.0

    def _open_store(self) -> Store:
        url = self.configuration.store.url
        if url is None:
            self.folder.protect_store()
        return Store(self.folder.store if url is None else url)

    def start(self) -> None:
        """Start the receiver, Spark and the stream, and carry on what was being applied."""
        self._take_snapshot()
        source = self.configuration.source
        if isinstance(source, MqttSource):
            monitor = self.configuration.monitor
            self.receiver = ReceiverProcess(
                source,
                self.folder.spool,
                limit=monitor.spool_limit,
                largest=monitor.message_limit,
                ignored=[
                    topic
                    for output in self.configuration.execute.mqtt
                    for topic in (output.topic, output.delta_topic)
                    if topic is not None
                ],
            )
            self.receiver.start()
        retrying(self.executor.start, self.stopping, on_wait=self._note_store)
        self._start_stream()

    def run(self) -> None:
        """Run until :attr:`stopping` is set."""
        while not self.stopping.is_set():
            self._closed.wait(POLL_SECONDS)
            self._closed.clear()
            self.step()

    def step(self) -> None:
        """Look once at everything that may need something."""
        now = time.monotonic()
        if now >= self._not_before:
            self._guard("analyzer", self.decide_closed)
        if now - self._ticked >= TICK_SECONDS:
            self._ticked = now
            self._guard("executor", self.executor.tick)
            self._look_after_input()
        if now - self._tidied >= TIDY_SECONDS:
            self._tidied = now
            self._guard("store", self._tidy)

    def stop(self) -> None:
        """Stop everything in order: input first, so that nothing is lost."""
        self.stopping.set()
        if self.receiver is not None:
            self.receiver.stop()
        if self.stream is not None:
            self.stream.stop()
        if self._spark is not None:
            self._spark.stop()
        self.executor.stop()
        self.store.close()
        self.ledger.close()
        self._lock.release()

    # Deciding

    def decide_closed(self) -> None:
        """Decide every closed window that has no decision yet, oldest first."""
        for window in self.ledger.windows_after(self._last_end):
            if self.stopping.is_set():
                return
            if not self.store.is_decided(window):
                self._attempt(window)
            self._last_end = window.end

    def _attempt(self, window: Window) -> None:
        """Decide a window; one that cannot be decided does not hold up those that follow it."""
        try:
            self._decide(window)
        except (StoreUnavailable, OSError):
            self._not_before = time.monotonic() + RETRY_SECONDS  # it may pass
            raise
        except Exception as error:
            self._attempts += 1
            if self._attempts < MOST_ATTEMPTS:
                pause = min(RETRY_SECONDS * 2**self._attempts, LONGEST_PAUSE)
                self._not_before = time.monotonic() + pause
                raise
            log.exception("the window from %s cannot be decided", _say_time(window))
            why = f"it could not be decided: {type(error).__name__}: {error}"
            self._put(self.analyzer.give_up(window, self.in_force(window), why))
        self._attempts, self._not_before = 0, 0.0
        self.health.store = ""

    def _decide(self, window: Window) -> None:
        started = time.perf_counter()
        closed = self.ledger.closed_window(window)
        self.store.put_window(
            WindowTotals(window, closed.total, closed.late, closed.bad, closed.closed_by, _now())
        )
        self._compare_forecast(closed)
        pins = self.store.pins()
        decided = self.analyzer.decide(
            closed,
            self.in_force(window),
            pin=[one.topic for one in pins if one.kind == "pin"],
            exclude=[one.topic for one in pins if one.kind == "exclude"],
            before=self._last_facts(window),
        )
        if decided.plan is not None:
            self._save(decided)
        decision = self._put(decided)
        self.latest.put(decided)
        log.info(
            "window from %s: value %s, bound %s, %d changes, %s; %.2f s",
            _say_time(window),
            decision.value,
            decision.bound,
            decision.changes,
            decision.state,
            time.perf_counter() - started,
        )

    def _last_facts(self, window: Window) -> Mapping[str, Any] | None:
        """Return the facts of the last decision before a window that was made with a plan."""
        if self.configuration.decide.give_up is None:
            return None
        made = [
            one
            for one in self.store.last_decisions(RECALLED)
            if one.window.start < window.start and "stability" in one.facts
        ]
        return max(made, key=lambda one: (one.window.end, one.number)).facts if made else None

    def _put(self, decided: Decided) -> Decision:
        """Hand a decision to the executor; return what became of it."""
        decision = self.executor.submit(
            decided.decision,
            decided.changes,
            decided.served.to_pylist(),
            Assessment(decided.kept, decided.hold, decided.must),
        )
        self.listener.note_decision(decision)
        return decision

    def in_force(self, window: Window | None = None) -> InForce | None:
        """Return what changes are counted against.

        That is what is obeyed; in mode dry-run, where nothing is, the last decision that would be.

        Parameters
        ----------
        window
            The one to decide: which topics were heard not long before its end.
        """
        current = self.store.current()
        if current is None and self.executor.mode == "dry-run":
            current = self.store.newest_standing()
        if current is None:
            return None
        served = self.store.served_by(current.hash) or ()
        heard: frozenset[str] = frozenset()
        if window is not None:
            since = window.end - int(self.configuration.decide.keep_silent * 1e6)
            heard = frozenset(served) & self.ledger.heard_since(since)
        return InForce(current.hash, pa.array(served, pa.string()), heard)

    def _compare_forecast(self, closed: Any) -> None:
        """Tell the decision before what it was worth on what really came."""
        before = self.store.newest_before(closed.window.start)
        if before is None or before.delivered is not None:
            return
        served = pa.array(self.store.served_by(before.hash) or (), pa.string())
        value = self.analyzer.delivered_value(closed, served)
        self.store.set_delivered(before.number, value)
        if before.predicted is not None:
            self.listener.note_delivered(before.predicted, value)

    def plan_folder(self, decision: Decision) -> Path:
        """Return where the plan of a decision is, if it is still kept."""
        return self.folder.plans / _name(decision.window, decision.hash)

    def _save(self, decided: Decided) -> None:
        if decided.plan is None:
            return
        name = _name(decided.decision.window, decided.decision.hash)
        decided.plan.save(self.folder.plans / name, overwrite=True)
        keeping = self.configuration.store
        if keeping.keep_workloads:
            write_workload(decided.workload, self.folder.workloads / name, overwrite=True)
        _keep_newest(self.folder.plans, keeping.keep_plans)
        _keep_newest(self.folder.workloads, keeping.keep_workloads)

    def _history(self, windows: Sequence[Window]) -> list[Traffic]:
        kept = [window for window in windows if self.ledger.has_window(window)]
        return [
            Traffic(topics, events.astype(float), size)
            for topics, events, size in map(self.ledger.counts_in, kept)
        ]

    def _find_last_end(self) -> int:
        """Return the end of the last window that was decided before all undecided ones."""
        windows = self.ledger.windows_after()
        decided = self.store.decided_among(windows)
        undecided = next((one for one in windows if one not in decided), None)
        if undecided is not None:
            return undecided.end - 1
        return windows[-1].end if windows else self.ledger.totals()["closed_through"]

    # Input

    def _take_snapshot(self) -> None:
        """Begin with the subscriptions of the snapshot, once in the life of a state folder."""
        path = self.configuration.monitor.snapshot
        if path is None or self.ledger.has_snapshot():
            return
        # What was counted before has its own subscriptions, or none: history stays as it is.
        totals = self.ledger.totals()
        begun = _now() if totals["batch"] >= 0 else 0
        instant = totals["last"] if totals["last"] > NEVER else begun
        rows = self.ledger.take_snapshot(read_snapshot(path), instant)
        log.info("%s: %d subscriptions", path, rows)

    def _start_stream(self) -> None:
        from fanwise.service.monitor.sources import open_source
        from fanwise.service.monitor.stream import MOST_FORWARD, Stream, start_spark

        monitor, windows = self.configuration.monitor, self.configuration.windows
        if self._spark is None:
            self._spark = start_spark(monitor.master, dict(monitor.conf))
        source = self.configuration.source
        frame = open_source(self._spark, source, self.folder.spool)
        is_timed_here = isinstance(source, MqttSource) and source.time_field is None
        self.stream = Stream(
            frame,
            self.ledger,
            self.rule,
            self.folder.checkpoint,
            trigger=monitor.trigger,
            idle=windows.idle,
            ahead=MOST_FORWARD if is_timed_here else windows.ahead,
            when_closed=lambda closed: self._closed.set(),
            spool=self.folder.spool if self.receiver is not None else None,
            aside=self.folder.aside,
        )
        self.stream.start()
        self.health.stream = ""

    def _look_after_input(self) -> None:
        receiver = None if self.receiver is None else self.receiver.status()
        if receiver is not None:
            self.health.receiver = receiver.trouble
        stream = self.stream
        if stream is None:
            return
        if stream.is_alive():
            self.health.stream = stream.doubt
            self._guard("stream", self._look_at_time)
            if self._is_source_away(receiver):
                stream.note_away()
            self._guard("stream", stream.close_if_silent)
            self._guard("stream", stream.renew_if_large)
            return
        self.health.stream = stream.status.trouble or "the stream ended"
        if time.monotonic() - self._restarted >= RESTART_SECONDS:
            self._restarted = time.monotonic()
            log.warning("%s; starting it again", self.health.stream)
            self._guard("stream", self._start_stream)

    def _look_at_time(self) -> None:
        """Go on where the clock was set back after it had been far ahead."""
        if self.stream is None:
            return
        through = self._jumps.look(self.stream.now(), self.stream.ahead)
        if through is not None:
            self._last_end = min(self._last_end, through)

    def _is_source_away(self, receiver: ReceiverStatus | None) -> bool:
        """Whether it is known that input cannot come."""
        if receiver is not None:
            return not receiver.is_connected or bool(receiver.trouble)
        source = self.configuration.source
        return isinstance(source, FolderSource) and not is_there(source.publications)

    def input(self) -> Input:
        """Return what is known of the input."""
        totals = self.ledger.totals()
        stream = StreamStatus() if self.stream is None else self.stream.status
        receiver = ReceiverStatus() if self.receiver is None else self.receiver.last_status
        return Input(
            events=totals["events"],
            late=totals["late"],
            bad=totals["bad"],
            reasons=self.ledger.reasons(),
            gaps=totals["gaps"],
            lost_sessions=totals["lost_sessions"],
            duplicates=receiver.doubles,
            redelivered=receiver.again,
            received=receiver.received,
            lag=self._lag(totals["last"]),
            idle=time.monotonic() - stream.last_input,
            backlog=self._backlog(),
            batch=totals["batch"],
            batch_seconds=stream.batch_seconds,
            rows_per_second=stream.rows_per_second,
            subscriptions=totals["subscriptions"],
            last=totals["last"] if totals["last"] > NEVER else None,
        )

    def _backlog(self) -> int:
        return bytes_waiting(self.folder.spool) if self.stream is None else self.stream.backlog()

    @staticmethod
    def _lag(last: int) -> float | None:
        """Return how old the newest counted event is, in seconds; None before the first."""
        return max(0.0, (_now() - last) / 1e6) if last > NEVER else None

    # Looking after things

    def _guard(self, part: str, act: Callable[[], None]) -> None:
        """Do something of a part; whatever is wrong with it is said in the status."""
        try:
            act()
        except StoreUnavailable as error:
            self._note_store(error)
        except (FanwiseError, OSError) as error:
            setattr(self.health, part, str(error))
            log.warning("%s: %s", part, error)
        except Exception as error:
            setattr(self.health, part, f"{type(error).__name__}: {error}")
            log.exception("%s", part)
        else:
            if part == "executor":  # it has asked the store
                self.health.store = ""
            if part != "stream":
                setattr(self.health, part, "")

    def _note_attempt(self, output: str, error: OutputError | None) -> None:
        if error is not None:
            self.listener.note_failure(output, error.kind)

    def _note_store(self, error: StoreUnavailable) -> None:
        self.health.store = str(error)

    def _tidy(self) -> None:
        """Remove what is too old."""
        # What is on this disk first: it must not fill up while the store is away.
        prune(archive_of(self.folder.spool), self.configuration.monitor.spool_keep)
        through = min(self.ledger.totals()["closed_through"], self._last_end)
        silent = int(self.configuration.decide.keep_silent * 1e6)
        self.ledger.forget(through - self._span_needed(), through - silent)
        keeping = self.configuration.store
        remove_old(self.store, Retention(keeping.keep, keeping.keep_decisions), _now())

    def _span_needed(self) -> int:
        """Return how far back forecasts and prices of switches look, in microseconds."""
        forecast = self.configuration.decide.forecast
        windows = {"last": 2, "quantile": forecast.windows + 1, "same-hour": 2}[forecast.kind]
        days = forecast.days if forecast.kind == "same-hour" else 0
        span = windows * self.rule.length + days * DAY
        if self.configuration.decide.give_up is None:
            return span
        return max(span, (LAG + 3) * self.rule.length, DAY + 2 * self.rule.length)


def _name(window: Window, hash: str) -> str:
    """Return the name of a decision's folders: they sort by time."""
    return f"{window.end:020d}-{window.start:020d}-{hash[:16]}"


def _say_time(window: Window) -> str:
    return datetime.fromtimestamp(window.start / 1e6, UTC).isoformat(" ", "seconds")


def _keep_newest(folder: Path, count: int) -> None:
    for old in sorted(folder.iterdir())[: -count or None]:
        shutil.rmtree(old, ignore_errors=True)


def _now() -> int:
    return time.time_ns() // 1000
