"""How applications end, each function within a transaction of others.

At most one application that changes what is in force is open. It is done when every output has
confirmed, and puts its decision in force in the same transaction; it has failed when one output is
given up, and what is in force stays so: outputs that were told something else, or may have been,
are told again what is in force by an application of kind ``restate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, insert, select, update

from fanwise.service.records import AuditEntry, Decision, State
from fanwise.service.store import tables
from fanwise.service.store.database import count_up
from fanwise.service.store.decisions import move, supersede_pending
from fanwise.service.store.errors import StaleError, StoreError
from fanwise.service.store.reading import (
    find_in_force,
    to_application,
    to_delivery,
    to_output_state,
    write_audit,
)
from fanwise.service.store.rows import Application, ApplicationKind, Delivery

_applications, _deliveries, _outputs = tables.applications, tables.deliveries, tables.outputs
SERVICE = "service"
"""Who does what nobody does by hand."""
START: Mapping[ApplicationKind, State] = {"apply": "pending", "roll-back": "superseded"}
"""The state that a decision is in until it is applied."""


def get_application(connection: Connection, epoch: int) -> Application:
    """Return an application that is there."""
    query = select(_applications).where(_applications.c.epoch == epoch)
    return to_application(connection.execute(query).one())


def refuse_open(connection: Connection) -> None:
    """Refuse to begin while another decision is being applied."""
    query = select(_applications.c.hash).where(
        _applications.c.state == "open", _applications.c.kind != "restate"
    )
    hash = connection.execute(query).scalars().first()
    if hash is not None:
        raise StaleError(f"Decision {hash} is being applied; reject it to give that up.")


def open_with_deliveries(
    connection: Connection,
    decision: Decision | None,
    kind: ApplicationKind,
    names: Iterable[str],
    *,
    who: str,
    at: int,
) -> int:
    """Write an application and its deliveries, in place of restatements; return the epoch."""
    _cancel_restatements(connection, at)
    epoch = count_up(connection, "epoch")
    hash = None if decision is None else decision.hash
    connection.execute(
        insert(_applications).values(
            epoch=epoch,
            number=None if decision is None else decision.number,
            hash=hash,
            kind=kind,
            state="open",
            opened_at=at,
            who=who,
            why="",
        )
    )
    for name in sorted(names):
        connection.execute(
            insert(_deliveries).values(
                epoch=epoch,
                hash=hash,
                output=name,
                key=f"{hash or 'none'}-{epoch}-{name}",
                state="waiting",
                attempts=0,
                created_at=at,
                next_attempt=at,
                error="",
            )
        )
    return epoch


def _cancel_restatements(connection: Connection, at: int) -> None:
    query = select(_applications.c.epoch).where(
        _applications.c.state == "open", _applications.c.kind == "restate"
    )
    for epoch in connection.execute(query).scalars().all():
        _cancel_deliveries(connection, epoch)
        _close(connection, epoch, "cancelled", "", at)


def _cancel_deliveries(connection: Connection, epoch: int) -> None:
    connection.execute(
        update(_deliveries)
        .where(_deliveries.c.epoch == epoch, _deliveries.c.state == "waiting")
        .values(state="cancelled")
    )


def _close(connection: Connection, epoch: int, state: str, why: str, at: int) -> None:
    connection.execute(
        update(_applications)
        .where(_applications.c.epoch == epoch)
        .values(state=state, why=why, closed_at=at)
    )


def settle(connection: Connection, epoch: int, at: int) -> None:
    """Close an application when its outputs are through, with what follows from that."""
    application = get_application(connection, epoch)
    query = select(_deliveries).where(_deliveries.c.epoch == epoch).order_by(_deliveries.c.id)
    deliveries = list(map(to_delivery, connection.execute(query)))
    is_waiting = any(delivery.state == "waiting" for delivery in deliveries)
    dead = next((delivery for delivery in deliveries if delivery.state == "dead"), None)
    if application.state != "open" or (is_waiting and dead is None):
        return
    if application.kind == "restate":
        if not is_waiting:  # outputs do not wait for each other here
            _close(connection, epoch, "failed" if dead else "done", _explain(dead), at)
    elif dead is not None:
        fail(connection, application, _explain(dead), at, "failed")
    else:
        _finish(connection, application, at)


def _explain(dead: Delivery | None) -> str:
    if dead is None:
        return ""
    attempts = f"{dead.attempts} attempt{'' if dead.attempts == 1 else 's'}"
    return f"Output {dead.output} failed after {attempts}: {dead.error}"


def _finish(connection: Connection, application: Application, at: int) -> None:
    if application.number is None:
        raise StoreError(f"Application {application.epoch} has no decision.")
    is_return = application.kind == "roll-back"
    why = f"rolled back to by {application.who}" if is_return else ""
    put_in_force(connection, application.number, START[application.kind], why, at)
    if is_return:
        supersede_pending(connection, f"{application.who} rolled back to {application.hash}")
    _close(connection, application.epoch, "done", "", at)
    note = f"epoch {application.epoch}, by {application.who}"
    write_audit(connection, AuditEntry(at, SERVICE, "apply", application.hash or "", note))


def put_in_force(connection: Connection, number: int, expected: State, why: str, at: int) -> None:
    """Put a decision in force, in place of the one that is."""
    in_force = find_in_force(connection)
    if in_force is not None:
        move(connection, in_force.number, "in-force", "superseded", "another came in force")
    move(connection, number, expected, "in-force", why, in_force_at=at)


def fail(connection: Connection, application: Application, why: str, at: int, state: State) -> None:
    """Close an application that changes nothing, and have outputs put back."""
    in_force = find_in_force(connection)
    stays = "nothing is in force" if in_force is None else f"{in_force.hash} stays in force"
    whole = f"{why.rstrip('.')}; {stays}."
    _cancel_deliveries(connection, application.epoch)
    _close(connection, application.epoch, "failed", whole, at)
    if application.kind == "apply" and application.number is not None:
        move(connection, application.number, "pending", state, whole)
    write_audit(connection, AuditEntry(at, SERVICE, "fail", application.hash or "", whole))
    if find_unaware(connection):
        restate_in_force(connection, at=at)


def find_unaware(connection: Connection) -> list[str]:
    """Return the outputs that do not surely know what is in force."""
    in_force = find_in_force(connection)
    hash = None if in_force is None else in_force.hash
    states = map(to_output_state, connection.execute(select(_outputs)))
    return [one.name for one in states if not one.is_sure or one.hash != hash]


def restate_in_force(connection: Connection, *, at: int) -> int:
    """Have outputs told what is in force that may not know it; return the epoch."""
    in_force, names = find_in_force(connection), find_unaware(connection)
    epoch = open_with_deliveries(connection, in_force, "restate", names, who=SERVICE, at=at)
    settle(connection, epoch, at)
    return epoch


def count_offloaded(decision: Decision | None) -> int | None:
    """Return how many topics with traffic a decision does not serve, if that is known.

    Silent topics that it serves are not among those with traffic.
    """
    facts = {} if decision is None else decision.facts
    topics, served = facts.get("topics"), facts.get("served")
    if not isinstance(topics, int | float) or not isinstance(served, int | float):
        return None
    return max(0, int(topics) - int(served))
