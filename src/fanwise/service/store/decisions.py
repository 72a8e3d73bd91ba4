"""Decisions in the store: one a window, found by hash, moved from state to state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, exists, func, insert, select, update

from fanwise.service.records import AuditEntry, Change, Decision, State, Window
from fanwise.service.store import tables
from fanwise.service.store.database import Database, count_up, note, read_counter
from fanwise.service.store.errors import StaleError
from fanwise.service.store.packing import read_cursor
from fanwise.service.store.reading import (
    check_limit,
    find_in_force,
    from_change,
    from_decision,
    make_page,
    to_change,
    to_decision,
    write_audit,
)
from fanwise.service.store.rows import Page

_rows = tables.decisions
DECISION = "decision"
"""Counts how often decisions came to a state."""


class Decisions(Database):
    """Methods about decisions; each is one transaction."""

    def insert_decision(
        self,
        decision: Decision,
        changes: Sequence[Change],
        served: Iterable[str],
        audit: AuditEntry | None = None,
    ) -> Decision:
        """Keep the decision of a window, and return it with its number.

        If the window has one already, that one is returned and nothing changes. A pending decision
        of an earlier window is superseded, unless it is being applied.

        Parameters
        ----------
        decision
            Pending, rejected, or failed where there is nothing to apply.
        changes
            What it switches, with reasons.
        served
            All topics that it serves.
        audit
            Who rejected it.

        Raises
        ------
        StaleError
            If the window's decision was removed by retention.
        """
        if decision.state not in ("pending", "rejected", "failed"):
            raise ValueError(f"a new decision is not {decision.state}")
        with self.writing() as connection:
            row = connection.execute(select(_rows).where(_is_of(decision.window))).one_or_none()
            if row is not None:
                return to_decision(row)
            if decision.window.start <= read_counter(connection, "pruned"):
                raise StaleError(
                    f"The window from {decision.window.start} was decided; retention removed it."
                )
            supersede_pending(connection, f"decision {decision.hash} of a later window came")
            number = count_up(connection, "decision")
            connection.execute(insert(_rows).values(from_decision(decision, number)))
            note(connection, DECISION, decision.state)
            connection.execute(
                insert(tables.changes).values(
                    number=number, packed=[from_change(change) for change in changes]
                )
            )
            if decision.state != "failed":
                _keep_selection(connection, decision.hash, served)
            if audit is not None:
                write_audit(connection, audit)
            return _get(connection, number)

    def decision(self, number: int) -> Decision | None:
        """Return a decision by its number."""
        return self._find(_rows.c.number == number)

    def find(self, hash: str) -> Decision | None:
        """Return the decision with a hash; of several the one in force, or pending, or newest."""
        rank = case({"in-force": 0, "pending": 1}, value=_rows.c.state, else_=2)
        return self._find(_rows.c.hash == hash, first=rank)

    def find_applied(self, hash: str) -> Decision | None:
        """Return the newest decision with a hash that is in force or was."""
        return self._find(_rows.c.hash == hash, _rows.c.in_force_at.is_not(None))

    def current(self) -> Decision | None:
        """Return the decision in force."""
        with self.reading() as connection:
            return find_in_force(connection)

    def pending(self) -> Decision | None:
        """Return the newest decision that is pending."""
        return self._find(_rows.c.state == "pending")

    def newest(self) -> Decision | None:
        """Return the decision that was made last."""
        return self._find()

    def newest_standing(self) -> Decision | None:
        """Return the decision that was made last and was neither rejected nor failed."""
        return self._find(_rows.c.state.not_in(("rejected", "failed")))

    def newest_before(self, instant: int) -> Decision | None:
        """Return the decision of the last window that had ended at an instant, if it has a plan."""
        found = self._find(_rows.c.window_end <= instant)
        return None if found is None or found.state == "failed" else found

    def of_window(self, window: Window) -> Decision | None:
        """Return the decision of a window."""
        return self._find(_is_of(window))

    def is_decided(self, window: Window) -> bool:
        """Whether a window has its decision, or had one that retention has removed."""
        with self.reading() as connection:
            if window.start <= read_counter(connection, "pruned"):
                return True
            return bool(connection.execute(select(exists().where(_is_of(window)))).scalar_one())

    def decided_among(self, windows: Sequence[Window]) -> set[Window]:
        """Return those of some windows that have a decision, or had one."""
        with self.reading() as connection:
            pruned = read_counter(connection, "pruned")
            rows = connection.execute(select(_rows.c.window_start, _rows.c.window_end))
            known = {Window(row.window_start, row.window_end) for row in rows}
        return {one for one in windows if one.start <= pruned or one in known}

    def decisions(
        self, limit: int = 50, cursor: str | None = None, state: State | None = None
    ) -> Page[Decision]:
        """Return a page of decisions, newest first."""
        after = read_cursor(cursor)
        query = select(_rows).order_by(_rows.c.number.desc()).limit(check_limit(limit) + 1)
        if after is not None:
            query = query.where(_rows.c.number < after[0])
        if state is not None:
            query = query.where(_rows.c.state == state)
        with self.reading() as connection:
            found = list(connection.execute(query))
        return make_page(found, limit, ("number",), to_decision)

    def last_decisions(self, limit: int) -> tuple[Decision, ...]:
        """Return the newest decisions in the order they were made, for curves over time."""
        query = select(_rows).order_by(_rows.c.number.desc()).limit(limit)
        with self.reading() as connection:
            found = [to_decision(row) for row in connection.execute(query)]
        return tuple(reversed(found))

    def count_decisions(self) -> dict[str, int]:
        """Return how many decisions there are in each state."""
        query = select(_rows.c.state, func.count()).group_by(_rows.c.state)
        with self.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def changes_of(
        self, number: int, offset: int = 0, limit: int | None = None
    ) -> tuple[tuple[Change, ...], int]:
        """Return some of the changes of a decision, and how many it has."""
        query = select(tables.changes.c.packed).where(tables.changes.c.number == number)
        with self.reading() as connection:
            packed = connection.execute(query).scalar_one_or_none() or []
        end = None if limit is None else offset + limit
        return tuple(map(to_change, packed[offset:end])), len(packed)

    def served_by(self, hash: str) -> tuple[str, ...] | None:
        """Return the topics that decisions with a hash serve, in order; None if unknown."""
        with self.reading() as connection:
            return read_selection(connection, hash)

    def set_state(
        self, number: int, expected: State, state: State, why: str, audit: AuditEntry
    ) -> Decision:
        """Move a decision from one state to another, and say in the audit trail who did it.

        Raises
        ------
        StaleError
            If it is no longer in the expected state, or being applied; nothing has changed then.
        """
        if state == "in-force":
            raise ValueError("decisions come in force by being applied")
        with self.writing() as connection:
            is_busy = select(_rows.c.hash).where(_rows.c.number == number, _is_being_applied())
            if (busy := connection.execute(is_busy).scalar_one_or_none()) is not None:
                raise StaleError(f"Decision {busy} is being applied.")
            move(connection, number, expected, state, why)
            write_audit(connection, audit)
            return _get(connection, number)

    def set_why(self, number: int, state: State, why: str) -> None:
        """Say why a decision is in the state that it is in, if it still is."""
        with self.writing() as connection:
            connection.execute(
                update(_rows)
                .where(_rows.c.number == number, _rows.c.state == state)
                .values(why=why)
            )

    def set_delivered(self, number: int, value: float) -> None:
        """Fill in what a selection turned out to be worth."""
        with self.writing() as connection:
            connection.execute(
                update(_rows).where(_rows.c.number == number).values(delivered=float(value))
            )

    def _find(
        self, *conditions: ColumnElement[bool], first: ColumnElement[int] | None = None
    ) -> Decision | None:
        order = () if first is None else (first,)
        query = select(_rows).where(*conditions).order_by(*order, _rows.c.number.desc()).limit(1)
        with self.reading() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else to_decision(row)


def _is_of(window: Window) -> ColumnElement[bool]:
    return (_rows.c.window_start == int(window.start)) & (_rows.c.window_end == int(window.end))


def _get(connection: Connection, number: int) -> Decision:
    return to_decision(connection.execute(select(_rows).where(_rows.c.number == number)).one())


def _keep_selection(connection: Connection, hash: str, served: Iterable[str]) -> None:
    known = select(exists().where(tables.selections.c.hash == hash))
    if not connection.execute(known).scalar_one():
        connection.execute(insert(tables.selections).values(hash=hash, packed=sorted(served)))


def read_selection(connection: Connection, hash: str) -> tuple[str, ...] | None:
    """Return the topics that decisions with a hash serve."""
    query = select(tables.selections.c.packed).where(tables.selections.c.hash == hash)
    packed = connection.execute(query).scalar_one_or_none()
    return None if packed is None else tuple(packed)


def supersede_pending(connection: Connection, why: str) -> None:
    """Supersede what is pending and not being applied."""
    done = connection.execute(
        update(_rows)
        .where(_rows.c.state == "pending", ~_is_being_applied())
        .values(state="superseded", why=why)
    )
    note(connection, DECISION, "superseded", done.rowcount)


def _is_being_applied() -> ColumnElement[bool]:
    applications = tables.applications
    return exists().where(
        applications.c.number == _rows.c.number,
        applications.c.state == "open",
        applications.c.kind == "apply",
    )


def move(
    connection: Connection, number: int, expected: State, state: State, why: str, **more: Any
) -> None:
    """Move a decision from one state to another, or raise :class:`StaleError`."""
    moved = connection.execute(
        update(_rows)
        .where(_rows.c.number == number, _rows.c.state == expected)
        .values(state=state, why=why, **more)
    )
    if moved.rowcount != 1:
        query = select(_rows.c.hash, _rows.c.state).where(_rows.c.number == number)
        row = connection.execute(query).one_or_none()
        found = "is not there" if row is None else f"{row.hash} is {row.state}"
        raise StaleError(f"Decision {found}, no longer {expected}.")
    note(connection, DECISION, state)
