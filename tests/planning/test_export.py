"""Plans for other programs: names for ids in every family, and what no family writes."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.families import CASES
from tests.strategies import Instance

from fanwise.errors import FanwiseError, PlanError
from fanwise.planning.export import export_as, export_csv, named_tables
from fanwise.planning.families import FAMILIES
from fanwise.planning.plan import Plan

SMALL = Instance([3.0, 5.0], [[0], [0, 1], [1]], tau=3)
QUICK = {"select": "greedy", "provision": "gsp+cbp", "connect": "gpm", "assign": "closest",
         "wire": "packing"}  # fmt: skip
KINDS = {"topic": "topic", "subscriber": "subscriber", "broker": "broker", "other": "broker",
         "u": "subscriber", "v": "subscriber"}  # fmt: skip


def make(family) -> tuple[object, Plan]:
    case = CASES[family]
    workload = case.workload(SMALL)
    return workload, case.pose(workload, SMALL).solve(QUICK[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_become_names_and_nothing_else_changes(family):
    workload, plan = make(family)
    tables = named_tables(plan, workload)
    assert list(tables) == list(plan.tables)
    named = 0
    for name, table in plan.tables.items():
        assert tables[name].column_names == table.column_names
        for column in table.column_names:
            found, was = tables[name].column(column).to_pylist(), table.column(column).to_pylist()
            if column not in KINDS:
                assert found == was
                continue
            known = getattr(workload, f"{KINDS[column]}_names").to_pylist()
            assert found == [known[number] for number in was]
            named += 1
    assert named >= 1


@pytest.mark.parametrize("family", FAMILIES)
def test_one_file_per_table_and_what_they_are_of(family, tmp_path):
    workload, plan = make(family)
    rows = export_csv(plan, workload, tmp_path / "out")
    origin = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert origin == {
        "format": "fanwise.tables",
        "plan": plan.id,
        "workload": plan.workload,
        "tables": list(plan.tables),
    }
    expected = named_tables(plan, workload)
    for name, count in rows.items():
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            read = list(csv.DictReader(file))
        assert len(read) == count == plan.tables[name].num_rows
        for column in set(KINDS) & set(expected[name].column_names):
            assert [row[column] for row in read] == expected[name].column(column).to_pylist()
    with pytest.raises(FanwiseError, match="exists"):
        export_csv(plan, workload, tmp_path / "out")
    assert export_csv(plan, workload, tmp_path / "out", overwrite=True) == rows


def test_an_unknown_id_is_told():
    workload, plan = make("select")
    table = plan.tables["topics"]
    strange = pa.array([0, 2], table.column("topic").type)
    tables = {"topics": table.set_column(0, "topic", strange)}
    with pytest.raises(PlanError, match=r"topics\.parquet: column 'topic' has an id"):
        named_tables(replace(plan, tables=tables), workload)


def test_the_workload_must_be_the_plans_own():
    _, plan = make("select")
    other = Instance([3.0, 6.0], [[0], [0, 1], [1]], tau=3).workload()
    with pytest.raises(PlanError, match="made for workload"):
        named_tables(plan, other)


@pytest.mark.parametrize("kind", ["graphml", "dot", "forests"])
def test_formats_of_a_family_are_for_its_plans(kind, tmp_path):
    workload, plan = make("connect")
    assert export_as(kind, plan, workload, tmp_path / "plan.csv") > 0
    workload, plan = make("wire")
    with pytest.raises(PlanError) as told:
        export_as(kind, plan, workload, tmp_path / "other")
    assert str(told.value) == (
        f"a wire plan cannot be written as {kind}, only plans of connect; --csv writes any."
    )
    assert not (tmp_path / "other").exists()
