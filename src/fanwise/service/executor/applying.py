"""The state machine of decisions: who or what puts them in force, and what comes of it.

A decision that comes is pending, or rejected at once if it gains too little. One that changes
nothing is put in force by itself; others wait for a person (mode approve), for the guardrails
(mode auto), or for the next window (dry-run). A decision is in force when every output has
confirmed; until then the old one is. If an output is given up, the decision has failed, and
outputs that were told of it are told again what is in force.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fanwise.service.executor.announcing import Output
from fanwise.service.executor.errors import ConflictError, OutputError, UnknownDecisionError
from fanwise.service.executor.guardrails import Case, find_refusals
from fanwise.service.executor.outbox import Outbox
from fanwise.service.executor.settings import Execute
from fanwise.service.executor.to_file import ToFile
from fanwise.service.executor.to_forwarder import ToForwarder
from fanwise.service.executor.to_mqtt import ToMqtt
from fanwise.service.executor.to_webhook import ToWebhook
from fanwise.service.records import AuditEntry, Change, Decision, Mode
from fanwise.service.store.errors import StaleError
from fanwise.service.store.rows import Application, ApplicationKind, Delivery, OutputState
from fanwise.service.store.store import Store

POLICY = "policy"
"""Who does what the configuration says."""
KEPT = "kept"
"""Among the facts of a decision: value that what was in force has on its window."""
MUST = "must"
"""Among the facts of a decision: why what was in force cannot stay."""
_DRY = (
    "The service runs in mode dry-run and applies nothing; set mode = 'approve' or 'auto' in "
    "[execute]."
)
_POLL_SECONDS = 0.25
"""Seconds between looks at an application that somebody else may close."""


@dataclass(frozen=True)
class Assessment:
    """What the analyzer thinks of a decision against the one in force.

    Attributes
    ----------
    kept
        Value that what is in force has on the same window; None if nothing is in force.
    hold
        Why to keep what is in force, with the numbers; None where the gain is large enough.
    must
        Why what is in force cannot stay, whatever the gain; None where it can.
    """

    kept: float | None = None
    hold: str | None = None
    must: str | None = None


@dataclass(frozen=True)
class Status:
    """What people may want to know of the executor.

    Attributes
    ----------
    epoch
        Of the newest application, 0 before the first.
    applying
        What is being applied, and what of it waits with which error.
    unaware
        Outputs that do not surely know what is in force.
    """

    mode: Mode
    in_force: str | None
    epoch: int
    applying: tuple[Application, ...]
    waiting: tuple[Delivery, ...]
    outputs: tuple[OutputState, ...]
    unaware: tuple[str, ...]


def make_outputs(settings: Execute, now: Callable[[], int]) -> list[Output]:
    """Return the outputs of the configuration."""
    return [
        *map(ToFile, settings.file),
        *(ToWebhook(webhook, now) for webhook in settings.webhook),
        *map(ToMqtt, settings.mqtt),
        *map(ToForwarder, settings.forwarder),
    ]


def read_clock() -> int:
    """Return microseconds since the epoch."""
    return time.time_ns() // 1000


class Executor:
    """Carries decisions out.

    Parameters
    ----------
    outputs
        Where to; left out: those of the settings.
    now, monotonic
        Microseconds since the epoch; seconds that never go back.
    on_attempt, on_closed
        As of :class:`~fanwise.service.executor.outbox.Outbox`.
    """

    def __init__(
        self,
        store: Store,
        settings: Execute,
        *,
        outputs: Sequence[Output] | None = None,
        now: Callable[[], int] = read_clock,
        monotonic: Callable[[], float] = time.monotonic,
        on_attempt: Callable[[str, OutputError | None], None] = lambda name, error: None,
        on_closed: Callable[[Application], None] = lambda application: None,
    ) -> None:
        self._store, self._settings = store, settings
        self._now, self._monotonic = now, monotonic
        self._outputs = make_outputs(settings, now) if outputs is None else list(outputs)
        self._hear_closed = on_closed
        self._closed = threading.Condition()
        self._resent = -settings.resend
        self._counted: tuple[str, str, int] | None = None
        self.outbox = Outbox(
            store,
            self._outputs,
            settings.retries,
            now=now,
            monotonic=monotonic,
            on_attempt=on_attempt,
            on_closed=self._on_closed,
        )

    @property
    def mode(self) -> Mode:
        """What may happen to decisions."""
        return self._settings.mode

    def prepare(self) -> None:
        """Tell the store which outputs there are; what was being applied goes on.

        In mode dry-run nothing goes on: what was being applied has failed.
        """
        now = self._now()
        if self.mode == "dry-run":
            for one in self._find_open():
                if one.number is not None:
                    entry = AuditEntry(now, POLICY, "give-up", one.hash or "", "mode is dry-run")
                    why = "The mode became dry-run while it was being applied"
                    self._store.abandon(one.number, "failed", why, entry)
            self._store.keep_outputs({}, now)
        else:
            self._store.keep_outputs({one.name: one.target for one in self._outputs}, now)

    def start(self) -> None:
        """Prepare, and deliver from now on; call it again if the store was away."""
        self.prepare()
        self.tick()
        if self.mode != "dry-run":
            self.outbox.start()

    def stop(self) -> None:
        """Stop delivering; what is left is delivered after the next start."""
        self.outbox.stop()

    def tick(self) -> None:
        """Do what time alone brings: call this every second or so.

        Quiet hours end, and outputs that have missed what is in force are told again.
        """
        self._consider()
        clock = self._monotonic()
        if self.mode != "dry-run" and clock - self._resent >= self._settings.resend:
            self._resent = clock
            if self._store.restate(self._now()) is not None:
                self.outbox.wake()

    def submit(
        self,
        decision: Decision,
        changes: Sequence[Change],
        served: Iterable[str],
        assessment: Assessment | None = None,
    ) -> Decision:
        """Take a new decision, and return what became of it.

        A second one for the same window changes nothing: the first is returned.

        Parameters
        ----------
        changes
            What it switches, with reasons.
        served
            All topics that it serves.
        """
        known = tuple(sorted(served))
        assessment = assessment or Assessment()
        facts = {**decision.facts, KEPT: assessment.kept, MUST: assessment.must}
        decision = replace(decision, facts=facts)
        entry = None
        if assessment.hold is not None and not self._changes_nothing(known):
            decision = replace(decision, state="rejected", why=assessment.hold)
            entry = AuditEntry(self._now(), POLICY, "reject", decision.hash, assessment.hold)
        kept = self._store.insert_decision(decision, changes, known, entry)
        self._consider()
        return self._store.decision(kept.number) or kept

    def approve(self, hash: str, who: str, token: str | None = None) -> Application:
        """Begin to apply the pending decision, which must have this hash.

        Raises
        ------
        UnknownDecisionError
            If no decision has this hash.
        ConflictError
            If it is not the newest that is pending, or is being applied already.
        """
        decision = self._get(hash)
        self._refuse_dry()
        pending = self._store.pending()
        if pending is None or pending.hash != hash:
            newest = "nothing is pending" if pending is None else f"{pending.hash} is pending"
            raise ConflictError(f"Decision {hash} is {self._say_state(decision)}; {newest}.")
        entry = AuditEntry(self._now(), who, "approve", hash, token=token)
        return self._open(pending, "apply", entry)

    def reject(self, hash: str, who: str, why: str = "", token: str | None = None) -> Decision:
        """Reject the pending decision; if it is being applied, that is given up.

        Raises
        ------
        UnknownDecisionError
            If no decision has this hash.
        ConflictError
            If it is neither pending nor being applied.
        """
        decision = self._get(hash)
        because = f"rejected by {who}" + (f": {why}" if why else "")
        entry = AuditEntry(self._now(), who, "reject", hash, why, token=token)
        try:
            for one in self._find_open():
                if one.hash == hash and one.number is not None:
                    self._on_closed(self._store.abandon(one.number, "rejected", because, entry))
                    self.outbox.wake()
                    return self._get(hash)
            return self._store.set_state(decision.number, "pending", "rejected", because, entry)
        except StaleError as error:
            raise ConflictError(str(error)) from None

    def roll_back(self, hash: str, who: str, token: str | None = None) -> Application:
        """Begin to apply an earlier decision again.

        Raises
        ------
        UnknownDecisionError
            If no decision has this hash.
        ConflictError
            If it was never in force, is in force, or another is being applied.
        """
        decision = self._get(hash)
        self._refuse_dry()
        target = self._store.find_applied(hash)
        if target is None:
            state = self._say_state(decision)
            raise ConflictError(f"Decision {hash} is {state} and was never in force.")
        if target.state == "in-force":
            raise ConflictError(f"Decision {hash} is in force already.")
        entry = AuditEntry(self._now(), who, "roll-back", hash, token=token)
        return self._open(target, "roll-back", entry)

    def wait(self, epoch: int, seconds: float) -> Application:
        """Return an application when it is closed, or as it is after some seconds."""
        end = time.monotonic() + seconds
        while True:
            application = self._store.application(epoch)
            if application is None:
                raise ConflictError(f"There is no application with epoch {epoch}.")
            rest = end - time.monotonic()
            if application.state != "open" or rest <= 0:
                return application
            with self._closed:
                self._closed.wait(min(rest, _POLL_SECONDS))

    def status(self) -> Status:
        """Return what people may want to know."""
        current, outputs = self._store.current(), self._store.outputs()
        hash = None if current is None else current.hash
        applying = self._store.open_applications()
        deliveries = [one for item in applying for one in self._store.deliveries(item.epoch)]
        return Status(
            mode=self.mode,
            in_force=hash,
            epoch=self._store.last_epoch(),
            applying=applying,
            waiting=tuple(one for one in deliveries if one.state == "waiting"),
            outputs=outputs,
            unaware=tuple(one.name for one in outputs if not one.is_sure or one.hash != hash),
        )

    def _consider(self) -> None:
        """Do with the pending decision what the mode says."""
        pending = self._store.pending()
        if pending is None or self.mode == "dry-run" or self._find_open():
            return
        current = self._store.current()
        changes = self._count_changes(pending, current)
        try:
            if current is not None and changes == 0:
                entry = AuditEntry(self._now(), POLICY, "apply", pending.hash, "changes nothing")
                self._store.adopt(pending.number, current.number, entry)
                self.outbox.wake()
            elif self.mode == "auto":
                self._consult_guardrails(pending, current, changes)
        except StaleError:
            pass  # somebody was faster; the next tick looks again

    def _consult_guardrails(
        self, pending: Decision, current: Decision | None, changes: int
    ) -> None:
        case = Case(
            changes=changes,
            value=pending.value,
            gap=pending.gap,
            is_first=current is None,
            kept=pending.facts.get(KEPT),
            now=self._now(),
            must_change=pending.facts.get(MUST) is not None,
            rolled_back_by=self._find_who_rolled_back(),
        )
        why = " ".join(find_refusals(self._settings.guardrails, case))
        if not why:
            entry = AuditEntry(self._now(), POLICY, "approve", pending.hash, "guardrails allow it")
            self._begin(pending, "apply", entry)
        elif why != pending.why:
            self._store.set_why(pending.number, "pending", why)

    def _find_who_rolled_back(self) -> str | None:
        """Return who went back to what is in force by hand; None where nobody did.

        Decisions that came in force since without changing anything do not matter.
        """
        last = self._store.last_switch()
        return last.who if last is not None and last.kind == "roll-back" else None

    def _open(self, decision: Decision, kind: ApplicationKind, entry: AuditEntry) -> Application:
        try:
            return self._begin(decision, kind, entry)
        except StaleError as error:
            raise ConflictError(str(error)) from None

    def _begin(self, decision: Decision, kind: ApplicationKind, entry: AuditEntry) -> Application:
        application = self._store.open_application(decision.number, kind, entry)
        if application.state == "open":
            self.outbox.wake()
        else:  # nobody has to be told
            self._on_closed(application)
        return application

    def _find_open(self) -> list[Application]:
        """Return the application that changes what is in force, if there is one."""
        return [one for one in self._store.open_applications() if one.kind != "restate"]

    def _say_state(self, decision: Decision) -> str:
        is_applied = any(one.hash == decision.hash for one in self._find_open())
        return "being applied" if is_applied else decision.state

    def _get(self, hash: str) -> Decision:
        decision = self._store.find(hash)
        if decision is None:
            raise UnknownDecisionError(hash)
        return decision

    def _refuse_dry(self) -> None:
        if self.mode == "dry-run":
            raise ConflictError(_DRY)

    def _changes_nothing(self, served: tuple[str, ...]) -> bool:
        current = self._store.current()
        return current is not None and self._store.served_by(current.hash) == served

    def _count_changes(self, pending: Decision, current: Decision | None) -> int:
        """Return how many topics are switched against what is in force now."""
        old = "" if current is None else current.hash
        if self._counted is None or self._counted[:2] != (pending.hash, old):
            before = set((self._store.served_by(old) if old else None) or ())
            after = set(self._store.served_by(pending.hash) or ())
            self._counted = (pending.hash, old, len(before ^ after))
        return self._counted[2]

    def _on_closed(self, application: Application) -> None:
        with self._closed:
            self._closed.notify_all()
        self._hear_closed(application)
