"""Retention: what of the history is removed, and what stays whatever its age."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, exists, func, or_, select, update

from fanwise.service.store import tables
from fanwise.service.store.database import Database

_rows = tables.decisions


@dataclass(frozen=True)
class Retention:
    """How much history is kept.

    Attributes
    ----------
    seconds
        What is older goes.
    decisions
        Most decisions that are kept; the oldest go first.
    roll_back
        How many decisions that were in force, the newest of them, stay whatever their age and
        number, so that one can return to them.
    """

    seconds: float
    decisions: int
    roll_back: int = 20


@dataclass(frozen=True)
class Removed:
    """How many rows of each kind are gone."""

    decisions: int
    windows: int
    audit: int
    applications: int


def remove_old(store: Database, retention: Retention, now: int) -> Removed:
    """Remove what is too old, in one transaction; return how much it was.

    What stays: the decision in force, what is pending or being applied, what roll back needs, and
    the windows, topics and deliveries of all that stays.

    Parameters
    ----------
    now
        Microseconds since the epoch.
    """
    oldest = now - int(retention.seconds * 1e6)
    with store.writing() as connection:
        decisions = _remove_decisions(connection, retention, oldest)
        applications = connection.execute(
            delete(tables.applications).where(
                tables.applications.c.state != "open",
                # The last of those that are done tells whether somebody went back by hand.
                tables.applications.c.epoch.not_in(
                    select(func.max(tables.applications.c.epoch)).where(
                        tables.applications.c.state == "done",
                        tables.applications.c.kind != "restate",
                    )
                ),
                or_(
                    tables.applications.c.opened_at < oldest,
                    and_(
                        tables.applications.c.number.is_(None),
                        tables.applications.c.hash.is_not(None),
                    ),
                ),
            )
        ).rowcount
        connection.execute(
            delete(tables.selections).where(
                ~exists().where(_rows.c.hash == tables.selections.c.hash)
            )
        )
        windows = connection.execute(
            delete(tables.windows).where(
                tables.windows.c.closed_at < oldest,
                ~exists().where(
                    _rows.c.window_start == tables.windows.c.start,
                    _rows.c.window_end == tables.windows.c.end,
                ),
            )
        ).rowcount
        audit = connection.execute(delete(tables.audit).where(tables.audit.c.at < oldest)).rowcount
    return Removed(decisions, windows, audit, applications)


def _remove_decisions(connection: Connection, retention: Retention, oldest: int) -> int:
    newest = select(_rows.c.number).order_by(_rows.c.number.desc()).limit(retention.decisions)
    to_return_to = (
        select(_rows.c.number)
        .where(_rows.c.in_force_at.is_not(None), _rows.c.state != "in-force")
        .order_by(_rows.c.in_force_at.desc(), _rows.c.number.desc())
        .limit(retention.roll_back)
    )
    being_applied = exists().where(
        tables.applications.c.number == _rows.c.number, tables.applications.c.state == "open"
    )
    goes = and_(
        or_(_rows.c.made_at < oldest, _rows.c.number.not_in(newest)),
        _rows.c.state.not_in(["in-force", "pending"]),
        _rows.c.number.not_in(to_return_to),
        ~being_applied,
    )
    last = connection.execute(select(func.max(_rows.c.window_start)).where(goes)).scalar_one()
    if last is None:
        return 0
    counters = tables.counters
    connection.execute(
        update(counters)
        .where(counters.c.name == "pruned", counters.c.value < last)
        .values(value=last)
    )
    return connection.execute(delete(_rows).where(goes)).rowcount
