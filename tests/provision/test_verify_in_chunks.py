"""Checking a plan in chunks, from disk, says what checking it in memory says."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.test_provision_engines import run
from tests.provision.breaks import CAUGHT_BY, rows_of
from tests.provision.test_problem import SPREAD, pose

import fanwise as fw
from fanwise.errors import PlanError
from fanwise.planning.verify import checks
from fanwise.provision import verify_chunks
from fanwise.provision.streamed import needs, open_large, source
from fanwise.provision.streamed.plan import read_plan_in_chunks
from fanwise.provision.streamed.source import map_workload

NAMES = ("vm", "topic", "subscriber")


@pytest.fixture
def tiny(monkeypatch):
    """Chunks of two rows, piles of three, all of them in files."""
    sizes = {"CHUNK": 2, "ROWS_PER_PILE": 3, "ROWS_IN_MEMORY": 0, "MOST_CELLS": 5}
    for name, size in sizes.items():
        monkeypatch.setattr(verify_chunks, name, size)
    monkeypatch.setattr(source, "PAIRS_AT_ONCE", 2)


@pytest.fixture(scope="module")
def plan():
    return pose(SPREAD, 802).solve()


def shuffle(plan):
    allocation = plan.tables["allocation"]
    order = np.random.default_rng(7).permutation(allocation.num_rows)
    return replace(plan, tables={**plan.tables, "allocation": allocation.take(pa.array(order))})


def save_in_parts(plan, folder, num_parts):
    """Write a plan with its allocation in part files."""
    plan.save(folder, overwrite=True)
    file = folder / "allocation.parquet"
    table = pq.read_table(file)
    file.unlink()
    file.mkdir()
    size = -(-table.num_rows // num_parts)
    for i in range(num_parts):
        pq.write_table(table.slice(i * size, size), file / f"part-{i}.parquet")


def map_and_read(plan, folder):
    fw.write_workload(plan.source, folder / "workload", overwrite=True)
    workload = map_workload(folder / "workload", folder / "interests.bin")
    return workload, read_plan_in_chunks(folder / "plan")


@pytest.mark.parametrize("arrange", [lambda plan: plan, shuffle], ids=["sorted", "shuffled"])
@pytest.mark.parametrize("name", ["nothing", *CAUGHT_BY])
def test_the_same_words_as_in_memory(tmp_path, monkeypatch, plan, name, arrange, request):
    broken = arrange(plan if name == "nothing" else CAUGHT_BY[name][0](plan))
    save_in_parts(broken, tmp_path / "plan", 3)
    in_memory = list(checks(plan.source, fw.read_plan(tmp_path / "plan")))
    request.getfixturevalue("tiny")
    assert list(checks(*map_and_read(plan, tmp_path))) == in_memory
    assert all(check.holds for check in in_memory) == (name == "nothing")


FEW = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
known = st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 8))
wild = st.tuples(st.integers(-1, 5), st.integers(-1, 6), st.integers(-1, 9))


@FEW
@given(st.lists(known, max_size=12), st.integers(0, 12))
def test_rows_in_order(tiny, rows, cut):
    for arranged in (rows, sorted(rows)[cut:] + sorted(rows)[:cut]):
        columns = [[row[i] for row in arranged] for i in range(3)]
        table = pa.table({name: pa.array(column, pa.int32()) for name, column in
                          zip(NAMES, columns, strict=True)})  # fmt: skip
        found = verify_chunks.AllocationRows.of_table(table)
        assert found.is_sorted == (arranged == sorted(rows))
        assert [row for chunk in found.ordered() for row in zip(*chunk, strict=True)] == sorted(
            rows
        )


@FEW
@given(st.data(), st.one_of(st.lists(known, max_size=4), st.lists(wild, max_size=3)))
def test_the_first_bad_row_is_named(tmp_path, tiny, plan, data, strange):
    mixed = [*rows_of(plan), *data.draw(st.lists(st.sampled_from(rows_of(plan)), max_size=2))]
    rows = data.draw(st.permutations([*mixed, *strange]))
    columns = {name: np.array([row[i] for row in rows], np.int32) for i, name in enumerate(NAMES)}
    table = pa.table(columns)
    spoilt = replace(plan, tables={**plan.tables, "allocation": table})
    save_in_parts(spoilt, tmp_path / "plan", 2)
    failed = next((c for c in checks(*map_and_read(plan, tmp_path)) if not c.holds), None)
    expected = first_bad_row(plan, rows)
    if expected is None:
        assert failed is None or failed.name not in ("known vms", "interests", "pairs")
    else:
        name, row = expected
        assert failed.name == name
        assert failed.problem.startswith(f"allocation.parquet, row {row}: ")


def first_bad_row(plan, rows):
    """Say what is wrong with rows and where, one row at a time."""
    workload = plan.source
    counts = (plan.tables["vms"].num_rows, workload.num_topics, workload.num_subscribers)
    for i, name in enumerate(NAMES):
        for number, row in enumerate(rows):
            if not 0 <= row[i] < counts[i]:
                return f"known {name}s", number
    indptr, indices = workload.interests
    for number, (_, topic, subscriber) in enumerate(rows):
        if topic not in indices[indptr[subscriber] : indptr[subscriber + 1]]:
            return "interests", number
    repeated = sorted(row for row in rows if rows.count(row) > 1)
    if repeated:
        places = [number for number, row in enumerate(rows) if row == repeated[0]]
        return "pairs", places[1]
    return None


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
@pytest.mark.parametrize("extra", [False, True])
def test_the_fingerprint_counts_types_and_further_columns(tmp_path, tiny, plan, kind, extra):
    allocation = shuffle(plan).tables["allocation"]
    allocation = allocation.cast(pa.schema([(name, kind) for name in NAMES]))
    if extra:
        allocation = allocation.append_column("note", pa.array(range(len(allocation))))
    other = replace(plan, tables={**plan.tables, "allocation": allocation})
    save_in_parts(other, tmp_path / "plan", 2)
    read = read_plan_in_chunks(tmp_path / "plan")
    assert read.compute_id() == other.compute_id()
    assert (read.compute_id() == plan.id) == (kind == pa.int32() and not extra)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda table: table.drop(["topic"]), "no column 'topic'"),
        (lambda table: table.set_column(0, "vm", pa.array([0.5] * len(table))), "int32 is needed"),
        (lambda table: table.set_column(0, "vm", pa.nulls(len(table), pa.int32())), "empty cell"),
    ],
)
def test_a_malformed_allocation(tmp_path, plan, spoil, words):
    plan.save(tmp_path / "plan")
    file = tmp_path / "plan" / "allocation.parquet"
    pq.write_table(spoil(pq.read_table(file)), file)
    with pytest.raises(PlanError, match=words):
        list(checks(*map_and_read(plan, tmp_path)))
    file.write_bytes(b"PAR1 but cut")
    with pytest.raises(PlanError, match="cut or damaged"):
        read_plan_in_chunks(tmp_path / "plan")
    file.unlink()
    with pytest.raises(PlanError, match="not there"):
        read_plan_in_chunks(tmp_path / "plan")


@pytest.fixture
def little_memory(tmp_path, monkeypatch):
    """A machine with hardly any memory; return a list of what was opened on disk."""
    opened = []

    def map_and_tell(*arguments):
        opened.append(arguments[0])
        return map_workload(*arguments)

    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(needs, "memory_of_machine", lambda: 1e6)
    monkeypatch.setattr(open_large, "map_workload", map_and_tell)
    monkeypatch.setattr("tempfile.tempdir", str(room))
    yield opened
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("is_sorted", [True, False])
def test_the_command_leaves_pairs_on_disk_by_itself(
    tmp_path, capsys, tiny, plan, little_memory, is_sorted
):
    fw.write_workload(plan.source, tmp_path / "workload")
    file = tmp_path / "workload" / "interests.parquet"
    if not is_sorted:
        pairs = pq.read_table(file)
        pq.write_table(pairs.take(pa.array(range(len(pairs) - 1, -1, -1))), file)
    plan.save(tmp_path / "plan")
    status, text, _ = run(capsys, "verify", tmp_path / "workload", tmp_path / "plan")
    assert (status, len(little_memory)) == (0, 1)
    assert "the plan holds what it says" in text
    CAUGHT_BY["somebody gets nothing"][0](plan).save(tmp_path / "worse")
    status, _, told = run(capsys, "verify", tmp_path / "workload", tmp_path / "worse")
    assert (status, len(little_memory)) == (1, 2)
    assert "everybody is satisfied: subscriber" in told


def test_the_command_reads_small_plans_whole(tmp_path, capsys, plan, monkeypatch):
    monkeypatch.setattr(open_large, "map_workload", None)
    fw.write_workload(plan.source, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    assert run(capsys, "verify", tmp_path / "workload", tmp_path / "plan")[0] == 0


def test_a_disk_too_small(tmp_path, capsys, plan, little_memory, monkeypatch):
    monkeypatch.setattr(open_large, "PILED_BYTES", 1e15)
    fw.write_workload(plan.source, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    status, _, told = run(capsys, "verify", tmp_path / "workload", tmp_path / "plan")
    assert (status, little_memory) == (2, [])
    assert "checking a plan of this size takes" in told
