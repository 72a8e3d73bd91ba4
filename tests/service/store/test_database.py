"""The database: schema, upgrades, newer versions, and going away and coming back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from tests.service.decisions import entry, make_decision

from fanwise.service.store import tables, upgrading
from fanwise.service.store.database import read_url
from fanwise.service.store.errors import StoreError, StoreUnavailable
from fanwise.service.store.store import Store
from fanwise.service.store.waiting import retrying


def test_the_migrations_make_the_tables_that_the_code_knows(store):
    with store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.metadata) == []


def test_a_store_is_opened_again_as_it_was_left(store_url):
    with Store(store_url) as store:
        kept = store.insert_decision(make_decision(1), [], ["a"])
    with Store(store_url) as store:
        assert store.pending() == kept


def test_several_may_open_an_empty_store_at_once(store_url):
    errors = []

    def open_it():
        try:
            Store(store_url).close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_newer_schema_is_refused_in_one_line(store_url):
    with Store(store_url) as store, store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(StoreError, match="has schema 0999, which a newer fanwise made") as caught:
        Store(store_url)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, StoreUnavailable)


def test_a_failed_transaction_leaves_nothing(store):
    def fail():
        with store.writing() as connection:
            connection.execute(tables.counters.update().values(value=77))
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError):
        fail()
    assert store.insert_decision(make_decision(1), [], []).number == 1


def test_sqlite_waits_checks_and_logs_ahead(tmp_path):
    with Store(tmp_path / "store.sqlite") as store, store.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "busy_timeout": 10_000,
        "synchronous": 2,
    }


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://somebody:secret@host/x", "is no store"),
        ("mysql://somebody@host/x?password=secret&passfile=secret", "is no store"),
        ("no address", "must look like"),
        ("sqlite://", "is no store"),
        ("sqlite:///:memory:", "is no store"),
        ("postgresql+psycopg2://u:secret@h/x", "is no store"),
    ],
)
def test_other_addresses_are_refused_without_their_password(url, says):
    with pytest.raises(StoreError, match=says) as caught:
        Store(url)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(StoreUnavailable, match="does not answer") as caught:
        Store("postgresql://somebody:secret@127.0.0.1:1/x?password=secret")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_locked_or_unwritable_sqlite_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setattr("fanwise.service.store.database.BUSY_SECONDS", 0.05)
    with Store(tmp_path / "store.sqlite") as store:
        other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another process"):
            store.insert_decision(make_decision(1), [], [])
        store.ping()
        other.execute("ROLLBACK")
        other.close()
        assert store.insert_decision(make_decision(1), [], []).number == 1
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Store(tmp_path / "nowhere" / "store.sqlite")
    (tmp_path / "text").write_text("no database, but some text that is long enough" * 99)
    with pytest.raises(StoreError, match="is no SQLite database, or damaged"):
        Store(tmp_path / "text")


def test_postgresql_goes_away_and_comes_back(postgres):
    with Store(postgres.new_database()) as store:
        store.insert_decision(make_decision(1), [], [])
        postgres.stop()
        try:
            with pytest.raises(StoreUnavailable, match="does not answer"):
                store.ping()
            heard = []
            stop = threading.Event()
            timer = threading.Timer(0.3, postgres.start)
            timer.start()
            kept = retrying(
                lambda: store.insert_decision(make_decision(2), [], []),
                stop,
                first_wait=0.02,
                longest_wait=0.1,
                on_wait=heard.append,
            )
            timer.join()
        finally:
            postgres.stop()
            postgres.start()
        assert kept.number == 2
        assert heard
        assert all(isinstance(error, StoreUnavailable) for error in heard)
        assert len(store.decisions().rows) == 2


def test_a_stop_ends_the_waiting():
    stop = threading.Event()
    waits = []

    def never():
        raise StoreUnavailable("gone.")

    def on_wait(error):
        waits.append(error)
        if len(waits) == 4:
            stop.set()

    with pytest.raises(StoreUnavailable, match="gone"):
        retrying(never, stop, first_wait=0.001, longest_wait=0.002, on_wait=on_wait)
    assert len(waits) == 4


KILLED = """
import os, signal, sys
from fanwise.service.store.store import Store
from fanwise.service.store import tables
from tests.service.decisions import make_decision
store = Store(sys.argv[1])
store.insert_decision(make_decision(1), [], ["a"])
with store.writing() as connection:
    connection.execute(tables.decisions.update().values(state="rejected"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_within_a_transaction_leaves_nothing_of_it(store_url):
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, store_url],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr.decode()
    with Store(store_url) as store:
        assert store.pending().number == 1


def test_a_store_of_the_first_schema_is_upgraded_with_its_rows(store_url):
    """What was written before entries of the audit trail had a token."""
    engine = create_engine(read_url(store_url))
    with engine.begin() as connection:
        command.upgrade(upgrading.make_config(connection), "0001")
        for statement in (
            "INSERT INTO audit (at, who, what, about, note) VALUES (1, 'ann', 'pin', 'a', '')",
            "INSERT INTO tokens VALUES ('3fa9', 'read', 'ann', 'digest', 1, NULL)",
            "UPDATE counters SET value = 3 WHERE name = 'epoch'",
        ):
            connection.execute(text(statement))
    engine.dispose()
    with Store(store_url) as store:
        (old,) = store.audit().rows
        assert (old.number, old.who, old.about, old.token) == (1, "ann", "a", None)
        assert (store.last_epoch(), store.find_token("3fa9").label) == (3, "ann")
        store.add_audit(replace(entry("approve", "h"), token="3fa9"))
        newest = store.audit().rows[0]
        assert (newest.number, newest.token) == (2, "3fa9")
        assert store.insert_decision(make_decision(1), [], ["a"]).number == 1


def test_an_install_path_may_hold_anything(tmp_path, monkeypatch):
    place = tmp_path / "100%(home)s %d"
    shutil.copytree(Path(upgrading.__file__).parent / "migrations", place / "migrations")
    monkeypatch.setattr(upgrading, "FOLDER", place / "migrations")
    with Store(tmp_path / "store.sqlite") as store:
        assert store.audit().rows == ()
