"""What the store returns beside decisions: windows, applications, deliveries, tokens, pins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from fanwise.service.records import ClosedBy, Role, Window

ApplicationKind = Literal["apply", "roll-back", "restate"]
"""A decision put in force; an earlier one again; outputs told once more what is in force."""
ApplicationState = Literal["open", "done", "failed", "cancelled"]
DeliveryState = Literal["waiting", "delivered", "dead", "cancelled"]
PinKind = Literal["pin", "exclude"]

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Some rows, newest first, and where the next page begins; None after the last one."""

    rows: tuple[Row, ...]
    cursor: str | None


@dataclass(frozen=True)
class WindowTotals:
    """What was counted in a window that has closed.

    Attributes
    ----------
    late
        Events of this window that came after its close.
    bad
        Rows that could not be read while it was open.
    """

    window: Window
    events: int
    late: int
    bad: int
    closed_by: ClosedBy
    closed_at: int


@dataclass(frozen=True)
class Application:
    """One attempt to have outputs follow a decision.

    Attributes
    ----------
    epoch
        Grows with every application.
    number, hash
        Of the decision; None where outputs are told that nothing is in force.
    who
        Whoever caused it.
    why
        Why it failed, in a sentence.
    """

    epoch: int
    number: int | None
    hash: str | None
    kind: ApplicationKind
    state: ApplicationState
    opened_at: int
    closed_at: int | None
    who: str
    why: str


@dataclass(frozen=True)
class Delivery:
    """What one output is to be told by one application.

    Attributes
    ----------
    key
        The same for every attempt: hash, epoch and output.
    next_attempt
        Not before this time.
    error
        Of the last attempt; empty where none failed.
    """

    id: int
    epoch: int
    hash: str | None
    output: str
    key: str
    state: DeliveryState
    attempts: int
    created_at: int
    next_attempt: int
    error: str


@dataclass(frozen=True)
class OutputState:
    """What an output was told last.

    Attributes
    ----------
    hash, epoch
        Of the last delivery that it confirmed; None before the first, and a hash of None where it
        was told that nothing is in force.
    is_sure
        Whether no attempt has failed since then, which may have changed it all the same.
    """

    name: str
    hash: str | None
    epoch: int | None
    is_sure: bool


@dataclass(frozen=True)
class Token:
    """Who may come in; of the secret only the digest is known."""

    id: str
    role: Role
    label: str
    digest: str
    created_at: int
    revoked_at: int | None


@dataclass(frozen=True)
class Pin:
    """A topic that a person wants served, or not served, whatever the numbers say."""

    topic: str
    kind: PinKind
    who: str
    at: int


@dataclass(frozen=True)
class Announcement:
    """All that an output is told.

    Attributes
    ----------
    hash, window, served
        Of the decision; None and nothing where no decision is in force.
    offloaded
        How many other topics had traffic; None if that is not known.
    at
        When the application began.
    key
        The same for every attempt.
    before_hash, before_epoch, before
        What the output confirmed last, and what that serves; None before the first time, and where
        the topics are no longer known.
    """

    epoch: int
    hash: str | None
    window: Window | None
    served: tuple[str, ...]
    offloaded: int | None
    kind: ApplicationKind
    at: int
    key: str
    before_hash: str | None
    before_epoch: int | None
    before: tuple[str, ...] | None
