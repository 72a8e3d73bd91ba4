"""Rows of the tables as records, and the other way round; each within a transaction of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, insert, select

from fanwise.errors import ParameterError
from fanwise.service.records import AuditEntry, Change, Decision, Window
from fanwise.service.store import tables
from fanwise.service.store.packing import write_cursor
from fanwise.service.store.rows import Application, Delivery, OutputState, Page

Record = TypeVar("Record")
LARGEST_PAGE = 1000
"""Most rows at once."""


def to_decision(row: Row[Any]) -> Decision:
    """Return the decision of a row."""
    return Decision(
        hash=row.hash,
        window=Window(row.window_start, row.window_end),
        state=row.state,
        value=row.value,
        bound=row.bound,
        gap=row.gap,
        changes=row.changes,
        workload=row.workload,
        made_at=row.made_at,
        number=row.number,
        previous=row.previous,
        forecast=row.forecast,
        predicted=row.predicted,
        delivered=row.delivered,
        facts=row.facts,
        seconds=row.seconds,
        why=row.why,
        in_force_at=row.in_force_at,
    )


def from_decision(decision: Decision, number: int) -> dict[str, Any]:
    """Return the columns of a decision; numbers of NumPy become plain ones."""
    return {
        "number": number,
        "hash": decision.hash,
        "window_start": int(decision.window.start),
        "window_end": int(decision.window.end),
        "state": decision.state,
        "value": float(decision.value),
        "bound": _maybe_float(decision.bound),
        "gap": _maybe_float(decision.gap),
        "changes": int(decision.changes),
        "workload": decision.workload,
        "made_at": int(decision.made_at),
        "previous": decision.previous,
        "forecast": decision.forecast,
        "predicted": _maybe_float(decision.predicted),
        "delivered": _maybe_float(decision.delivered),
        "facts": dict(decision.facts),
        "seconds": dict(decision.seconds),
        "why": decision.why,
        "in_force_at": None,
    }


def _maybe_float(value: float | None) -> float | None:
    return None if value is None else float(value)


def to_change(packed: list[Any]) -> Change:
    """Return a change as it was packed."""
    topic, served, cost, followers, reason = packed
    return Change(topic, bool(served), cost, followers, reason)


def from_change(change: Change) -> list[Any]:
    """Return what is packed of a change."""
    return [
        change.topic,
        bool(change.served),
        float(change.cost),
        int(change.followers),
        change.reason,
    ]


def to_audit_entry(row: Row[Any]) -> AuditEntry:
    """Return the entry of a row."""
    return AuditEntry(row.at, row.who, row.what, row.about, row.note, row.number, row.token)


def write_audit(connection: Connection, entry: AuditEntry) -> None:
    """Add an entry to the audit trail."""
    connection.execute(
        insert(tables.audit).values(
            at=entry.at,
            who=entry.who,
            what=entry.what,
            about=entry.about,
            note=entry.note,
            token=entry.token,
        )
    )


def to_application(row: Row[Any]) -> Application:
    """Return the application of a row."""
    return Application(
        epoch=row.epoch,
        number=row.number,
        hash=row.hash,
        kind=row.kind,
        state=row.state,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        who=row.who,
        why=row.why,
    )


def to_delivery(row: Row[Any]) -> Delivery:
    """Return the delivery of a row."""
    return Delivery(
        id=row.id,
        epoch=row.epoch,
        hash=row.hash,
        output=row.output,
        key=row.key,
        state=row.state,
        attempts=row.attempts,
        created_at=row.created_at,
        next_attempt=row.next_attempt,
        error=row.error,
    )


def to_output_state(row: Row[Any]) -> OutputState:
    """Return what an output was told last."""
    return OutputState(row.name, row.hash, row.epoch, row.is_sure)


def find_in_force(connection: Connection) -> Decision | None:
    """Return the decision in force."""
    rows = tables.decisions
    row = connection.execute(select(rows).where(rows.c.state == "in-force")).one_or_none()
    return None if row is None else to_decision(row)


def check_limit(limit: int) -> int:
    """Return how many rows a page has."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise ParameterError("limit", f"from 1 to {LARGEST_PAGE}", limit)
    return limit


def make_page(
    rows: list[Row[Any]], limit: int, key: tuple[str, ...], convert: Callable[[Row[Any]], Record]
) -> Page[Record]:
    """Return a page of rows, of which one more than the limit was asked for."""
    kept = rows[:limit]
    last = kept[-1] if len(rows) > limit else None
    cursor = None if last is None else write_cursor(*(getattr(last, name) for name in key))
    return Page(tuple(convert(row) for row in kept), cursor)
