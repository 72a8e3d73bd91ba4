"""The metrics that brokers and directories have in common, each with what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanwise.brokers.network.metrics import Measure, Reading

if TYPE_CHECKING:
    from fanwise.brokers.network.server import Server


def _gauge(name: str, help: str, label: str | None = None) -> Measure:
    return Measure(name, help, False, label)


def _counter(name: str, help: str, label: str | None = None) -> Measure:
    return Measure(name, help, True, label)


CONNECTIONS = _gauge("connections", "Connections that stand.")
RECEIVED = _counter("received_bytes", "Bytes received.")
SENT = _counter("sent_bytes", "Bytes sent.")
WAITING = _gauge("waiting_bytes", "Bytes that wait for peers that are slow.")
REFUSED = _counter("refused_connections", "Connections that were not let in.")
COMMITS = _counter("log_commits", "Writes to the log, each with all records of a moment.")
RECORDS = _counter("log_records", "Records written to the log.")
WRITTEN = _counter("log_written_bytes", "Bytes written to the log.")
COMMIT_SECONDS = _counter("log_commit_seconds", "Time that writing the log took.")
LOG_BYTES = _gauge("log_bytes", "Bytes of the log and its snapshot on disk.")
HELD = _gauge("held_effects", "Effects that wait for the disk.")
FULL = _gauge("disk_full", "1 where there is no room on the disk.")
NOTED = _counter("notes", "How often each thing happened.", "what")
MOVES = _counter("moves", "Moves that this broker asked for, by how they ended.", "outcome")

COMMON = (
    CONNECTIONS, RECEIVED, SENT, WAITING, REFUSED, COMMITS, RECORDS, WRITTEN, COMMIT_SECONDS,
    LOG_BYTES, HELD, FULL, NOTED, MOVES,
)  # fmt: skip

MACHINE = {
    measure.name: measure
    for measure in (
        _gauge("clients", "Clients that are served here."),
        _gauge("connected", "Of them, those that are connected."),
        _gauge("load", "Load of the clients, in the unit of the capacity."),
        _gauge("capacity", "Load that is taken at most."),
        _gauge("prepared", "Clients for which room is kept until they come."),
        _gauge("leaving", "Clients that have moved and are still redirected."),
        _gauge("subscriptions", "Subscriptions of all these."),
        _gauge("undelivered", "Deliveries that clients have not confirmed."),
        _gauge("waiting", "Publications and messages that wait for other brokers."),
        _gauge("linked", "Brokers that there is a link with."),
        _gauge("routes", "Rectangles that lead here."),
        _gauge("others_routes", "Rectangles that lead to other brokers."),
        _gauge("brokers", "Brokers that have joined; at a broker, the others."),
        _gauge("alive", "Brokers that live."),
    )
}
"""What machines count of themselves, by their own names."""


def read_common(server: Server) -> Reading:
    """Return what every server measures."""
    driver, endpoint = server.driver, server.endpoint
    received, sent = endpoint.num_bytes()
    found: dict[Measure, float | dict[str, float]] = {
        CONNECTIONS: endpoint.num_connections,
        RECEIVED: received,
        SENT: sent,
        WAITING: endpoint.waiting_bytes,
        REFUSED: endpoint.num_refused,
        COMMITS: driver.num_commits,
        RECORDS: driver.num_records,
        WRITTEN: driver.num_bytes,
        COMMIT_SECONDS: driver.commit_seconds,
        LOG_BYTES: server.journal.num_bytes,
        HELD: driver.num_held,
        FULL: float(driver.is_full),
        NOTED: {what: float(count) for what, count in sorted(server.noted.items())},
        MOVES: {outcome: float(count) for outcome, count in sorted(server.moves.items())},
    }
    counts = getattr(driver.machine, "counts", None)
    for name, value in counts().items() if counts is not None else ():
        found[MACHINE.get(name, _gauge(name, "As the broker counts it."))] = value
    return found
