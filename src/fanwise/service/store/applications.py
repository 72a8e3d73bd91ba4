"""Applications in the store: the outbox, and who is told what.

:mod:`~fanwise.service.store.settling` says what becomes of decisions when it is emptied.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, func, insert, or_, select, update

from fanwise.service.records import AuditEntry, State
from fanwise.service.store import tables
from fanwise.service.store.database import Database, read_counter
from fanwise.service.store.decisions import read_selection
from fanwise.service.store.errors import StaleError, StoreError
from fanwise.service.store.packing import read_cursor
from fanwise.service.store.reading import (
    check_limit,
    find_in_force,
    make_page,
    to_application,
    to_decision,
    to_delivery,
    to_output_state,
    write_audit,
)
from fanwise.service.store.rows import (
    Announcement,
    Application,
    ApplicationKind,
    Delivery,
    OutputState,
    Page,
)
from fanwise.service.store.settling import (
    START,
    count_offloaded,
    fail,
    find_unaware,
    get_application,
    open_with_deliveries,
    put_in_force,
    refuse_open,
    restate_in_force,
    settle,
)

_applications, _deliveries, _outputs = tables.applications, tables.deliveries, tables.outputs


class Applications(Database):
    """Methods about applications and deliveries; each is one transaction."""

    def open_application(
        self, number: int, kind: ApplicationKind, audit: AuditEntry
    ) -> Application:
        """Begin to apply a decision: every output is to be told, and whoever did it is known.

        Without outputs, the decision is in force when this returns.

        Raises
        ------
        StaleError
            If the decision is no longer pending (to roll back: superseded), or another is being
            applied; nothing has changed then.
        """
        with self.writing() as connection:
            refuse_open(connection)
            rows = tables.decisions
            row = connection.execute(select(rows).where(rows.c.number == number)).one_or_none()
            if row is None or row.state != START[kind]:
                found = "is not there" if row is None else f"{row.hash} is {row.state}"
                raise StaleError(f"Decision {found}, no longer {START[kind]}.")
            write_audit(connection, audit)
            names = connection.execute(select(_outputs.c.name)).scalars().all()
            decision = to_decision(row)
            epoch = open_with_deliveries(
                connection, decision, kind, names, who=audit.who, at=audit.at
            )
            settle(connection, epoch, audit.at)
            return get_application(connection, epoch)

    def adopt(self, number: int, kept: int, audit: AuditEntry) -> Application:
        """Put a pending decision in force that serves what the one in force, ``kept``, serves.

        Outputs are told of it, but need not confirm.

        Raises
        ------
        StaleError
            If it is no longer pending, or another is in force or being applied.
        """
        with self.writing() as connection:
            refuse_open(connection)
            in_force = find_in_force(connection)
            if in_force is None or in_force.number != kept:
                raise StaleError("Another decision came in force meanwhile.")
            put_in_force(connection, number, "pending", audit.note, audit.at)
            write_audit(connection, audit)
            return get_application(connection, restate_in_force(connection, at=audit.at))

    def abandon(self, number: int, state: State, why: str, audit: AuditEntry) -> Application:
        """Give up applying a decision, which gets another state; outputs are put back.

        Raises
        ------
        StaleError
            If it is not being applied.
        """
        query = select(_applications).where(
            _applications.c.number == number,
            _applications.c.state == "open",
            _applications.c.kind != "restate",
        )
        with self.writing() as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                raise StaleError(f"Decision {audit.about} is not being applied.")
            write_audit(connection, audit)
            fail(connection, to_application(row), why, audit.at, state)
            return get_application(connection, row.epoch)

    def restate(self, at: int) -> Application | None:
        """Tell outputs what is in force that may not know it; None if all do.

        Nothing happens while an application is open.
        """
        query = select(func.count()).where(_applications.c.state == "open")
        with self.writing() as connection:
            if connection.execute(query).scalar_one() or not find_unaware(connection):
                return None
            return get_application(connection, restate_in_force(connection, at=at))

    def keep_outputs(self, targets: Mapping[str, str], at: int) -> None:
        """Know from now on exactly these outputs, by digests of where they lead.

        Deliveries to others are cancelled; one that leads elsewhere than before knows nothing.
        """
        with self.writing() as connection:
            known = {row.name: row.target for row in connection.execute(select(_outputs))}
            for name in known.keys() - targets.keys():
                connection.execute(delete(_outputs).where(_outputs.c.name == name))
            for name, target in targets.items():
                if known.get(name) != target:
                    connection.execute(delete(_outputs).where(_outputs.c.name == name))
                    connection.execute(
                        insert(_outputs).values(name=name, target=target, is_sure=True)
                    )
            connection.execute(
                update(_deliveries)
                .where(_deliveries.c.state == "waiting", _deliveries.c.output.not_in(targets))
                .values(state="cancelled")
            )
            is_open = select(_applications.c.epoch).where(_applications.c.state == "open")
            for epoch in connection.execute(is_open).scalars().all():
                settle(connection, epoch, at)

    def outputs(self) -> tuple[OutputState, ...]:
        """Return what each output was told last."""
        with self.reading() as connection:
            rows = connection.execute(select(_outputs).order_by(_outputs.c.name))
            return tuple(map(to_output_state, rows))

    def application(self, epoch: int) -> Application | None:
        """Return an application."""
        with self.reading() as connection:
            query = select(_applications).where(_applications.c.epoch == epoch)
            row = connection.execute(query).one_or_none()
        return None if row is None else to_application(row)

    def open_applications(self) -> tuple[Application, ...]:
        """Return what is being applied, at most one that is no restatement."""
        query = select(_applications).where(_applications.c.state == "open")
        with self.reading() as connection:
            rows = connection.execute(query.order_by(_applications.c.epoch))
            return tuple(map(to_application, rows))

    def last_switch(self) -> Application | None:
        """Return the newest application that changed what is served."""
        query = select(_applications).where(
            _applications.c.state == "done", _applications.c.kind != "restate"
        )
        with self.reading() as connection:
            row = connection.execute(query.order_by(_applications.c.epoch.desc())).first()
        return None if row is None else to_application(row)

    def last_epoch(self) -> int:
        """Return the epoch of the newest application, 0 before the first."""
        with self.reading() as connection:
            return read_counter(connection, "epoch")

    def deliveries(self, epoch: int) -> tuple[Delivery, ...]:
        """Return what each output is told by an application."""
        query = select(_deliveries).where(_deliveries.c.epoch == epoch)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(_deliveries.c.id))
            return tuple(map(to_delivery, rows))

    def dead_letters(self, limit: int = 50, cursor: str | None = None) -> Page[Delivery]:
        """Return a page of deliveries that were given up, newest first."""
        after = read_cursor(cursor)
        query = select(_deliveries).where(_deliveries.c.state == "dead")
        if after is not None:
            query = query.where(_deliveries.c.id < after[0])
        query = query.order_by(_deliveries.c.id.desc()).limit(check_limit(limit) + 1)
        with self.reading() as connection:
            rows = list(connection.execute(query))
        return make_page(rows, limit, ("id",), to_delivery)

    def count_dead_letters(self) -> int:
        """Return how many deliveries were given up and are kept."""
        query = select(func.count()).where(_deliveries.c.state == "dead")
        with self.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def waiting(self, output: str) -> Delivery | None:
        """Return what an output is to be told next; there is at most one."""
        query = select(_deliveries).where(
            _deliveries.c.state == "waiting", _deliveries.c.output == output
        )
        with self.reading() as connection:
            row = connection.execute(query.order_by(_deliveries.c.id)).first()
        return None if row is None else to_delivery(row)

    def announcement(self, delivery: Delivery) -> Announcement:
        """Return all that a delivery tells.

        Raises
        ------
        StoreError
            If the decision is no longer known, which retention prevents.
        """
        with self.reading() as connection:
            application = get_application(connection, delivery.epoch)
            rows = tables.decisions
            query = select(rows).where(rows.c.number == application.number)
            row = connection.execute(query).one_or_none()
            served = None if row is None else read_selection(connection, row.hash)
            if application.hash is not None and served is None:
                raise StoreError(f"Decision {application.hash} is no longer known.")
            held = connection.execute(
                select(_outputs).where(_outputs.c.name == delivery.output)
            ).one_or_none()
            before = None
            if held is not None and held.epoch is not None:
                before = () if held.hash is None else read_selection(connection, held.hash)
            decision = None if row is None else to_decision(row)
        return Announcement(
            epoch=delivery.epoch,
            hash=application.hash,
            window=None if decision is None else decision.window,
            served=served or (),
            offloaded=count_offloaded(decision),
            kind=application.kind,
            at=application.opened_at,
            key=delivery.key,
            before_hash=None if held is None else held.hash,
            before_epoch=None if held is None else held.epoch,
            before=before,
        )

    def begin_attempt(self, id: int) -> bool:
        """Count an attempt, and note that the output may change; False if none is to be made."""
        with self.writing() as connection:
            row = connection.execute(
                update(_deliveries)
                .where(_deliveries.c.id == id, _deliveries.c.state == "waiting")
                .values(attempts=_deliveries.c.attempts + 1)
                .returning(_deliveries.c.output)
            ).one_or_none()
            if row is None:
                return False
            connection.execute(
                update(_outputs).where(_outputs.c.name == row.output).values(is_sure=False)
            )
            return True

    def confirm(self, id: int, at: int) -> Application:
        """Note that an output has confirmed; the last one puts the decision in force."""
        with self.writing() as connection:
            row = connection.execute(select(_deliveries).where(_deliveries.c.id == id)).one()
            connection.execute(
                update(_outputs)
                .where(
                    _outputs.c.name == row.output,
                    or_(_outputs.c.epoch.is_(None), _outputs.c.epoch <= row.epoch),
                )
                .values(hash=row.hash, epoch=row.epoch, is_sure=True)
            )
            if row.state == "waiting":  # else it was cancelled while it was on its way
                connection.execute(
                    update(_deliveries)
                    .where(_deliveries.c.id == id)
                    .values(state="delivered", error="")
                )
                settle(connection, row.epoch, at)
            return get_application(connection, row.epoch)

    def postpone(self, id: int, error: str, next_attempt: int) -> None:
        """Note why an attempt failed, and when to make the next one."""
        with self.writing() as connection:
            connection.execute(
                update(_deliveries)
                .where(_deliveries.c.id == id)
                .values(error=error, next_attempt=next_attempt)
            )

    def give_up(self, id: int, error: str, at: int) -> Application:
        """Note that an output cannot be told; the application fails with it."""
        with self.writing() as connection:
            row = connection.execute(
                update(_deliveries)
                .where(_deliveries.c.id == id, _deliveries.c.state == "waiting")
                .values(state="dead", error=error)
                .returning(_deliveries.c.epoch)
            ).one_or_none()
            if row is not None:
                settle(connection, row.epoch, at)
            query = select(_deliveries.c.epoch).where(_deliveries.c.id == id)
            return get_application(connection, connection.execute(query).scalar_one())
