"""What retention removes and what it never does; the history as Parquet."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from sqlalchemy import func, select
from tests.service.decisions import HOUR, NOON, entry, make_changes, make_decision

from fanwise.errors import OutputExistsError
from fanwise.service.store import tables
from fanwise.service.store.errors import StaleError
from fanwise.service.store.export import export_history
from fanwise.service.store.retention import Removed, Retention, remove_old
from fanwise.service.store.rows import WindowTotals

LONG = 10 * 365 * 86_400.0
LATER = NOON + 1000 * HOUR


def fill(store, count, applied=()):
    for index in range(count):
        decision = make_decision(index, (f"t{index}",))
        window = decision.window
        store.put_window(WindowTotals(window, 10, 0, 0, "watermark", window.end))
        kept = store.insert_decision(decision, make_changes("x"), [f"t{index}"])
        if index in applied:
            audit = entry("approve", decision.hash, at=window.end)
            store.open_application(kept.number, "apply", audit)


def numbers(store):
    return [one.number for one in store.decisions(100).rows][::-1]


def count(store, table):
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_the_oldest_go_when_there_are_too_many(store):
    fill(store, 8)
    removed = remove_old(store, Retention(LONG, 3), LATER)
    assert removed == Removed(decisions=5, windows=0, audit=0, applications=0)
    assert numbers(store) == [6, 7, 8]
    assert count(store, tables.changes) == count(store, tables.selections) == 3
    assert remove_old(store, Retention(LONG, 3), LATER).decisions == 0


def test_what_is_old_goes_with_its_windows_and_trail(store):
    fill(store, 6)
    store.add_audit(entry("approve", "x", at=NOON))
    now = NOON + 6 * HOUR
    removed = remove_old(store, Retention(2.5 * 3600, 100), now)
    assert removed == Removed(decisions=3, windows=3, audit=1, applications=0)
    assert numbers(store) == [4, 5, 6]
    assert len(store.windows(100).rows) == 3


def test_what_is_in_force_pending_or_needed_to_roll_back_stays(store):
    fill(store, 8, applied=(0, 1, 2, 3))
    assert (store.current().number, store.pending().number) == (4, 8)
    remove_old(store, Retention(1.0, 1, roll_back=2), LATER)
    assert numbers(store) == [2, 3, 4, 8]
    assert store.served_by(store.decision(2).hash) == ("t1",)
    assert len(store.windows(100).rows) == 4, "windows of decisions stay with them"
    assert count(store, tables.applications) == 1, "the one that is in force"
    back = store.open_application(2, "roll-back", entry("roll-back", "x", at=LATER))
    assert back.epoch == 5, "epochs never come again"
    assert store.current().number == 2


def test_what_is_being_applied_stays(store):
    store.keep_outputs({"file": "x"}, NOON)
    fill(store, 2, applied=(0,))
    remove_old(store, Retention(1.0, 1, roll_back=0), LATER)
    assert numbers(store) == [1, 2]
    delivery = store.waiting("file")
    store.begin_attempt(delivery.id)
    assert store.confirm(delivery.id, LATER).state == "done"
    assert store.current().number == 1


def test_what_is_being_rolled_back_to_stays(store):
    fill(store, 3, applied=(0, 1))
    store.keep_outputs({"file": "x"}, NOON)
    store.open_application(1, "roll-back", entry("roll-back", "x", at=LATER))
    remove_old(store, Retention(1.0, 1, roll_back=0), LATER)
    assert numbers(store) == [1, 2, 3]
    delivery = store.waiting("file")
    store.begin_attempt(delivery.id)
    store.confirm(delivery.id, LATER)
    assert store.current().number == 1


def test_windows_of_removed_decisions_are_not_decided_again(store):
    fill(store, 5)
    remove_old(store, Retention(LONG, 2), LATER)
    assert store.is_decided(make_decision(0).window)
    assert not store.is_decided(make_decision(5).window)
    with pytest.raises(StaleError, match="retention removed it"):
        store.insert_decision(make_decision(0), [], [])
    assert store.insert_decision(make_decision(5), [], []).number == 6


def test_the_history_is_exported_whole(store, tmp_path):
    fill(store, 3, applied=(1,))
    token, text = store.create_token("admin", "Ann", who="root", at=NOON)
    folder = tmp_path / "history"
    rows = export_history(store, folder)
    assert rows == {"decisions": 3, "changes": 3, "windows": 3, "audit": 3}
    tables_ = {name: pq.read_table(folder / f"{name}.parquet") for name in rows}
    assert {name: table.num_rows for name, table in tables_.items()} == rows
    first = tables_["decisions"].to_pylist()[0]
    assert (first["number"], first["state"]) == (1, "superseded")
    assert first["made_at"] == datetime.fromtimestamp((NOON + HOUR) / 1e6, UTC)
    assert json.loads(first["facts"]) == {"served": 1, "topics": 10}
    assert tables_["changes"].to_pylist()[2]["topic"] == "x"
    assert tables_["windows"].to_pylist()[0]["events"] == 10
    assert {path.name for path in folder.iterdir()} == {
        "history.json", "decisions.parquet", "changes.parquet", "windows.parquet", "audit.parquet"
    }  # fmt: skip
    for path in folder.iterdir():
        assert token.digest.encode() not in path.read_bytes()
        assert text.encode() not in path.read_bytes()


def test_an_empty_history_has_its_tables(store, tmp_path):
    assert set(export_history(store, tmp_path / "history").values()) == {0}
    names = pq.read_table(tmp_path / "history" / "decisions.parquet").column_names
    assert names[:2] == ["number", "hash"]


def test_only_an_exported_history_is_replaced(store, tmp_path):
    folder = tmp_path / "history"
    export_history(store, folder)
    with pytest.raises(OutputExistsError, match="exists already"):
        export_history(store, folder)
    fill(store, 1)
    assert export_history(store, folder, overwrite=True)["decisions"] == 1
    (folder / "mine.txt").write_text("stays")
    with pytest.raises(OutputExistsError, match=r"mine\.txt"):
        export_history(store, folder, overwrite=True)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_failed_export_leaves_nothing(store, tmp_path, monkeypatch):
    monkeypatch.setattr("fanwise.service.store.export._write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_history(store, tmp_path / "history")
    left = [path.name for path in tmp_path.iterdir() if "store.sqlite" not in path.name]
    assert left == []
