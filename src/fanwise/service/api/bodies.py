"""What requests and answers look like; the description for other programs is made from it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from fanwise.planning.families import find_family
from fanwise.service.api.forms import make_form
from fanwise.service.records import AuditEntry, Change, Decision, Role, State, Window
from fanwise.service.store.rows import Application, Delivery, Pin, WindowTotals

HASH = "4be1c0e4d9b0a0a6f6b1a3f0f3d1c6f0d0e6a9a4f5b8c7d6e5f4a3b2c1d0e9f8"


def write_time(micros: int) -> str:
    """Write microseconds since the epoch in ISO 8601."""
    moment = datetime.fromtimestamp(micros / 1e6, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[int, PlainSerializer(write_time, return_type=str)]
"""Microseconds inside, ISO 8601 outside."""


class Body(BaseModel):
    """An answer, or a request: unknown names are mistakes."""

    model_config = ConfigDict(extra="forbid")


class Error(Body):
    """What went wrong, and what to do."""

    detail: str = Field(examples=["Decision 4be1… is superseded; nothing is pending."])


class WindowBody(Body):
    """A span of event time, half-open."""

    start: Time
    end: Time

    @classmethod
    def of(cls, window: Window) -> WindowBody:
        return cls(start=window.start, end=window.end)


class DecisionBody(Body):
    """What to serve after a window, how good that is, and what became of it."""

    number: int = Field(examples=[17])
    hash: str = Field(description="The plan's id.", examples=[HASH])
    window: WindowBody
    state: State
    value: float = Field(description="Objective.", examples=[8123.0])
    bound: float | None = Field(description="No selection is worth more.", examples=[8130.0])
    gap: float | None = Field(description="Certified distance to the best.", examples=[0.00086])
    changes: int = Field(description="Topics switched.", examples=[12])
    workload: str = Field(description="Fingerprint of what was planned for.", examples=[HASH])
    made_at: Time
    previous: str | None = Field(description="In force when it was made.")
    forecast: str
    predicted: float | None = Field(description="Value foretold for the next window.")
    delivered: float | None = Field(description="Value on what then came, once known.")
    facts: dict[str, Any]
    seconds: dict[str, float]
    why: str = Field(description="Why the state is what it is.")
    in_force_at: Time | None = Field(description="When it came in force last; null if never.")

    @classmethod
    def of(cls, decision: Decision) -> DecisionBody:
        entries = {name: getattr(decision, name) for name in cls.model_fields if name != "window"}
        return cls(window=WindowBody.of(decision.window), **entries)


class DecisionPage(Body):
    """Decisions, newest first."""

    decisions: list[DecisionBody]
    cursor: str | None = Field(description="Give it back for the next page; null after the last.")


class ChangeBody(Body):
    """A topic that is switched."""

    topic: str = Field(examples=["artists/abba"])
    served: bool = Field(description="From now on.")
    cost: float
    followers: int
    reason: str

    @classmethod
    def of(cls, change: Change) -> ChangeBody:
        return cls(**change.__dict__)


class DiffBody(Body):
    """What a decision switches against the one in force when it was made."""

    hash: str
    previous: str | None
    on: int = Field(description="Topics that are served from now on.")
    off: int = Field(description="Topics that no longer are.")
    changes: list[ChangeBody]
    next: int | None = Field(description="Offset of the next page; null after the last.")


class Reason(Body):
    """Why, in a person's words; kept in the audit trail."""

    why: str = Field("", max_length=1000, examples=["the campaign must stay up"])


class Confirmation(Body):
    """What a person typed to show which decision is meant."""

    starts: str = Field(
        min_length=6, max_length=64, description="Beginning of its hash.", examples=["4be1c0"]
    )


class Applied(Body):
    """What an approval or roll back came to so far."""

    decision: DecisionBody
    epoch: int = Field(description="Counts applications.")
    state: Literal["open", "done", "failed", "cancelled"]
    why: str = ""


class PinBody(Body):
    """A topic fixed by hand."""

    topic: str
    kind: Literal["pin", "exclude"]
    who: str
    at: Time

    @classmethod
    def of(cls, pin: Pin) -> PinBody:
        return cls(topic=pin.topic, kind=pin.kind, who=pin.who, at=pin.at)


class PinRequest(Body):
    """How to fix a topic."""

    kind: Literal["pin", "exclude"]


NARROWED = {
    "tau": {
        "type": "number",
        "minimum": 1e-9,
        "description": "Events per window that satisfy a subscriber.",
        "examples": [30],
    }
}
"""A window has no column of thresholds, and one of nothing would satisfy everybody."""

Parameters: Any = make_form("Parameters", Body, find_family("select"), NARROWED)


class WhatIf(Parameters):  # type: ignore[misc]
    """Another question about the last window; what is left out is as configured."""

    def given(self) -> dict[str, Any]:
        """Return what is asked for, by the problem's own names."""
        return {name: value for name, value in dict(self).items() if value is not None}


class WhatIfAnswer(Body):
    """How good a plan for that question is."""

    window: WindowBody
    tau: float
    capacity: float
    metric: str
    value: float
    bound: float | None
    gap: float | None
    served: int
    changes: int = Field(description="Topics switched against what is in force.")
    seconds: float


class ServingBody(Body):
    """What it would take to serve a topic that is offloaded."""

    more: float = Field(description="Capacity missing for it; 0 where it fits.")
    is_possible: bool = Field(description="Whether it could be served if others made room.")
    dropped: int = Field(description="Served topics that would make room.")
    names: list[str] = Field(description="The first of them.")
    subscribers: int = Field(description="More, or fewer, satisfied after that exchange.")


class TopicBody(Body):
    """A topic in the last window, and why it is served or offloaded."""

    topic: str
    served: bool
    in_force: bool = Field(description="Whether it is served now.")
    window: WindowBody
    facts: dict[str, Any]
    pinned: Literal["pin", "exclude"] | None
    why: str = Field(description="In a sentence.")
    takes: ServingBody | None = Field(description="To serve it; null where it is served.")


class SubscriberBody(Body):
    """A subscriber in the last window: what it wants, what it gets."""

    subscriber: str
    window: WindowBody
    needs: float
    gets: float
    satisfied: bool
    topics: list[dict[str, Any]]
    takes: list[str] = Field(description="Topics whose serving would satisfy it.")
    takes_cost: float | None = Field(description="What they cost; null where none would.")


class WindowTotalsBody(Body):
    """What was counted in a window."""

    window: WindowBody
    events: int
    late: int
    bad: int
    closed_by: str
    closed_at: Time

    @classmethod
    def of(cls, totals: WindowTotals) -> WindowTotalsBody:
        return cls(
            window=WindowBody.of(totals.window),
            events=totals.events,
            late=totals.late,
            bad=totals.bad,
            closed_by=totals.closed_by,
            closed_at=totals.closed_at,
        )


class WindowPage(Body):
    """Windows, newest first."""

    windows: list[WindowTotalsBody]
    cursor: str | None


class AuditBody(Body):
    """Who did what, when."""

    number: int
    at: Time
    who: str
    what: str
    about: str
    note: str
    token: str | None = Field(description="Id of the token that was used.")

    @classmethod
    def of(cls, entry: AuditEntry) -> AuditBody:
        return cls(**entry.__dict__)


class AuditPage(Body):
    """The audit trail, newest first."""

    entries: list[AuditBody]
    cursor: str | None


class DeliveryBody(Body):
    """What an output is to be told, or was given up."""

    epoch: int
    hash: str | None = Field(description="Of the decision; null: that nothing is in force.")
    output: str
    attempts: int
    error: str = Field(description="Of the last attempt; empty where none failed.")
    created_at: Time
    next_attempt: Time = Field(description="Of a delivery that waits.")

    @classmethod
    def of(cls, delivery: Delivery) -> DeliveryBody:
        return cls(**{name: getattr(delivery, name) for name in cls.model_fields})


class DeadLetterPage(Body):
    """Deliveries that were given up, newest first."""

    deliveries: list[DeliveryBody]
    cursor: str | None


class ApplyingBody(Body):
    """What is being applied, and which outputs have yet to confirm."""

    epoch: int
    hash: str | None
    kind: Literal["apply", "roll-back", "restate"]
    who: str
    opened_at: Time
    waiting: list[DeliveryBody]

    @classmethod
    def of(cls, application: Application, waiting: Iterable[Delivery]) -> ApplyingBody:
        return cls(
            epoch=application.epoch,
            hash=application.hash,
            kind=application.kind,
            who=application.who,
            opened_at=application.opened_at,
            waiting=[DeliveryBody.of(one) for one in waiting if one.epoch == application.epoch],
        )


class OutputBody(Body):
    """What an output was told last."""

    name: str
    hash: str | None
    epoch: int | None
    is_sure: bool = Field(description="Whether no attempt has failed since.")
    is_behind: bool = Field(description="Whether it may miss what is in force.")


class InputBody(Body):
    """Input since the state folder was begun, and how it flows now."""

    events: int
    late: int
    bad: int
    reasons: dict[str, int] = Field(description="Rows that cannot be read, by reason.")
    gaps: int = Field(description="Times that changes of subscriptions may have been missed.")
    lost_sessions: int = Field(description="Times that the broker forgot the receiver.")
    duplicates: int
    redelivered: int
    received: int
    lag: float | None = Field(description="Seconds that the newest counted event is old.")
    idle: float = Field(description="Seconds since the last batch with input.")
    backlog: int = Field(description="Bytes that wait to be counted.")
    batch: int
    batch_seconds: float
    rows_per_second: float
    subscriptions: int
    last: Time | None = Field(description="Of the newest event.")


class WindowsBody(Body):
    """How windows are cut, in seconds, and the last that was decided."""

    length: float
    slide: float
    lateness: float
    last: WindowBody | None


class NowBody(Body):
    """What is in force, on the last window."""

    window: WindowBody
    satisfied: int
    subscribers: int
    value: float
    bound: float | None
    gap: float | None = Field(description="Certified distance from the best, of this selection.")
    used: float
    capacity: float
    served: int
    topics: int


class StatusBody(Body):
    """How the service is."""

    version: str
    mode: str
    ready: bool
    troubles: dict[str, str] = Field(description="Parts that are not well, and why.")
    parts: dict[str, str] = Field(description="All parts; empty where nothing is wrong.")
    now: NowBody | None = Field(description="What is in force, on the last window.")
    newest: DecisionBody | None
    in_force: DecisionBody | None
    pending: DecisionBody | None
    epoch: int
    applying: list[ApplyingBody] = Field(description="At most one that is no restatement.")
    outputs: list[OutputBody]
    dead_letters: int = Field(description="Deliveries that were given up and are kept.")
    input: InputBody
    windows: WindowsBody
    decisions: dict[str, int] = Field(description="How many are in each state.")
    settings: dict[str, Any] = Field(description="What is decided by: tau, capacity, metric.")
    you: Role | None = Field(description="Your role; null without a token.")
