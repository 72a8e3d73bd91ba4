"""The database behind the store: connections, transactions, and what its errors mean.

Transactions that write come one after the other, in SQLite by its own lock and in PostgreSQL by
one row that all of them lock first: what a transaction has read does not change before it writes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from fanwise.service.store import tables
from fanwise.service.store.errors import StoreError, StoreUnavailable
from fanwise.service.store.upgrading import upgrade

BUSY_SECONDS = 10
"""How long a transaction waits for another before the store counts as unavailable."""
_HAPPENED = "fanwise_happened"
_PASSING = {
    "SQLITE_BUSY": "is locked by another process",
    "SQLITE_LOCKED": "is locked by another process",
    "SQLITE_FULL": "has no room left on its disk",
    "SQLITE_CANTOPEN": "cannot be opened",
    "SQLITE_READONLY": "cannot be written",
    "SQLITE_IOERR": "cannot be read or written",
    "SQLITE_NOMEM": "has no memory left",
}
"""Errors of SQLite that end when its surroundings change, by how their names begin."""


class Database:
    """An open database with our schema; safe to use from several threads.

    Parameters
    ----------
    url
        ``sqlite:///PATH`` or ``postgresql://…``; a path means SQLite.

    Raises
    ------
    StoreError
        For a database of another kind or of a newer version.
    StoreUnavailable
        If it does not answer.
    """

    def __init__(self, url: str | Path) -> None:
        self._url = read_url(url)
        self.place = _name_place(self._url)
        """What to call it in messages; without a password."""
        self.happened: Counter[tuple[str, str]] = Counter()
        """What was written since it was opened: kinds of things, and what became of them."""
        self._counting = threading.Lock()
        self._engine = _make_engine(self._url)
        try:
            with self._transaction(is_writing=True) as connection:
                upgrade(connection, self.place)
        except DatabaseError as error:
            self.close()
            if getattr(error.orig, "sqlite_errorname", "") in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
                raise StoreError(
                    f"{self.place}: is no SQLite database, or damaged; restore a backup."
                ) from None
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ping(self) -> None:
        """Return if the database answers, raise :class:`StoreUnavailable` otherwise."""
        with self.reading() as connection:
            connection.execute(select(tables.counters.c.value).limit(1))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees the database as it is now, in all its statements."""
        with self._transaction(is_writing=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection alone in writing; all that it does holds, or nothing."""
        with self._transaction(is_writing=True) as connection:
            if connection.dialect.name == "postgresql":
                lock = select(tables.counters).where(tables.counters.c.name == "decision")
                connection.execute(lock.with_for_update())
            connection.info.pop(_HAPPENED, None)  # of a transaction that came to nothing
            yield connection
            happened = connection.info.pop(_HAPPENED, {})
        with self._counting:
            self.happened.update(happened)

    @contextmanager
    def _transaction(self, *, is_writing: bool) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                if self._engine.dialect.name == "postgresql":
                    level = "READ COMMITTED" if is_writing else "REPEATABLE READ"
                    connection = connection.execution_options(isolation_level=level)
                else:
                    connection = connection.execution_options(fanwise_writing=is_writing)
                with connection.begin():
                    yield connection
        except (DBAPIError, PoolTimeout) as error:
            reason = _passing_reason(error)
            if reason is None:
                raise
            raise StoreUnavailable(f"{self.place}: {reason}.") from error


def note(connection: Connection, kind: str, state: str, count: int = 1) -> None:
    """Count something that happens if the transaction holds."""
    connection.info.setdefault(_HAPPENED, Counter())[kind, state] += count


def count_up(connection: Connection, name: str) -> int:
    """Return the next number of a counter."""
    counters = tables.counters
    value = connection.execute(
        update(counters)
        .where(counters.c.name == name)
        .values(value=counters.c.value + 1)
        .returning(counters.c.value)
    ).scalar_one()
    return int(value)


def read_counter(connection: Connection, name: str) -> int:
    """Return the last number of a counter."""
    counters = tables.counters
    value = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar_one()
    return int(value)


def read_url(url: str | Path) -> URL:
    """Return the address of a database.

    Raises
    ------
    StoreError
        If it is of none that we know; without what may be a secret in it.
    """
    if isinstance(url, Path):
        return URL.create("sqlite+pysqlite", database=str(url))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(
            "The store's address must look like postgresql://user@host/database or sqlite:///path."
        ) from None
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and parsed.database not in (
        None,
        "",
        ":memory:",
    ):
        return parsed.set(drivername="sqlite+pysqlite")
    shown = parsed.set(query={}).render_as_string(hide_password=True)
    raise StoreError(
        f"{shown}{'?…' if parsed.query else ''}: is no store; write "
        "postgresql://user@host/database or sqlite:///path."
    )


def _name_place(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    # Options after the question mark may hold secrets too.
    host = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}"
    return f"postgresql://{host}/{url.database or ''}"


def _make_engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() == "sqlite":
            engine = create_engine(
                url, connect_args={"timeout": BUSY_SECONDS}, pool_timeout=BUSY_SECONDS
            )
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        defaults = {
            "connect_timeout": 5,
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            "application_name": "fanwise",
        }
        arguments = {key: value for key, value in defaults.items() if key not in url.query}
        engine = create_engine(
            url,
            connect_args=arguments,
            pool_pre_ping=True,
            pool_timeout=BUSY_SECONDS,
            pool_size=5,
            max_overflow=10,
        )
        event.listen(engine, "connect", _prepare_postgresql)
        return engine
    except (ImportError, NoSuchModuleError):
        raise StoreError(
            "PostgreSQL needs the package psycopg: pip install 'fanwise[serve]'."
        ) from None


def _prepare_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver does
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    is_writing = connection.get_execution_options().get("fanwise_writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _prepare_postgresql(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {BUSY_SECONDS * 1000}")
        cursor.execute("SET client_encoding = 'UTF8'")
    connection.commit()


def _passing_reason(error: DBAPIError | PoolTimeout) -> str | None:
    """Say why the database does not answer now; None for mistakes that will not pass."""
    if isinstance(error, PoolTimeout):
        return "is busy: all connections are in use"
    if isinstance(error.orig, sqlite3.Error):
        name = getattr(error.orig, "sqlite_errorname", "")
        return next((say for start, say in _PASSING.items() if name.startswith(start)), None)
    if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
        # Only the first line: the others are about single addresses of the same host.
        said = str(error.orig).strip().splitlines() or ["no reason given"]
        return f"does not answer: {said[0].rstrip('.')}"
    return None
