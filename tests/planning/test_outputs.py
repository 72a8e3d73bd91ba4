"""What we wrote is known from everything else, whatever somebody put there since."""

from __future__ import annotations

import json

import pytest
from tests.families import CASES
from tests.strategies import Instance

from fanwise.planning.export import export_as, export_csv
from fanwise.planning.families import FAMILIES
from fanwise.planning.outputs import CURVE, EXPORTS, PLAN, TABLES
from fanwise.workload.outputs import PROGRAM, LocalContents

SMALL = Instance([3.0, 5.0], [[0], [0, 1], [1]], tau=3)
QUICK = {"select": "greedy", "provision": "gsp+cbp", "connect": "gpm", "assign": "closest",
         "wire": "packing"}  # fmt: skip


def make(family):
    case = CASES[family]
    workload = case.workload(SMALL)
    return workload, case.pose(workload, SMALL).solve(QUICK[family])


def flaw_of(kind, folder):
    return kind.find_flaw(LocalContents(folder))


@pytest.fixture(params=FAMILIES)
def saved(request, tmp_path):
    _, plan = make(request.param)
    plan.save(tmp_path / "plan")
    return tmp_path / "plan"


def test_a_plan_is_known_with_its_proof(saved):
    assert flaw_of(PLAN, saved) is None
    assert any(name.endswith("/") for name in LocalContents(saved).names)
    assert flaw_of(TABLES, saved) == (
        "is not a folder of exported tables (no tables.json that says so)"
    )


@pytest.mark.parametrize("stray", ["notes.txt", "proof/notes.txt", "more/notes.txt"])
def test_what_is_not_part_of_a_plan_is_named(saved, stray):
    (saved / stray).parent.mkdir(exist_ok=True)
    (saved / stray).write_text("mine")
    told = flaw_of(PLAN, saved)
    assert told is not None
    assert told.endswith("in it, which is not part of a plan")
    assert "notes.txt" in told or "more/" in told


@pytest.mark.parametrize(
    "changed", [{"format": "mine"}, {"problem": "dance"}, {"problem": ["select"]}]
)
def test_a_plan_must_say_that_it_is_one(saved, changed):
    header = json.loads((saved / "plan.json").read_text())
    (saved / "plan.json").write_text(json.dumps({**header, **changed}))
    assert flaw_of(PLAN, saved) == "is not a plan (no plan.json that says so)"


def test_proof_files_that_are_not_listed_are_strange(saved):
    header = json.loads((saved / "plan.json").read_text())
    header["proof"] = None
    (saved / "plan.json").write_text(json.dumps(header))
    assert "proof" in flaw_of(PLAN, saved)


def test_exported_tables_are_those_listed(tmp_path):
    workload, plan = make("provision")
    export_csv(plan, workload, tmp_path / "tables")
    assert flaw_of(TABLES, tmp_path / "tables") is None
    (tmp_path / "tables" / "third.csv").write_text("a\n")
    assert flaw_of(TABLES, tmp_path / "tables") == (
        "has third.csv in it, which is not part of a folder of exported tables"
    )
    assert flaw_of(PLAN, tmp_path / "tables") is not None


def test_a_curve_is_known_by_its_picture(tmp_path):
    (tmp_path / "points.csv").write_text("value\n")
    picture = tmp_path / "curve.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n....tEXtSoftware\0" + PROGRAM.encode())
    assert flaw_of(CURVE, tmp_path) is None
    picture.write_bytes(b"\x89PNG\r\n\x1a\n....tEXtSoftware\0somebody else")
    assert flaw_of(CURVE, tmp_path) == f"is not a sweep's output (no curve.png that {PROGRAM} drew)"
    picture.unlink()
    assert flaw_of(CURVE, tmp_path) is not None


@pytest.mark.parametrize(
    ("kind", "name"),
    [("graphml", "it"), ("dot", "it"), ("forests", "it.csv"), ("forests", "it.parquet")],
)
def test_exported_files_carry_a_remark(tmp_path, kind, name):
    workload, plan = make("connect")
    path = tmp_path / name
    export_as(kind, plan, workload, path)
    assert EXPORTS[kind].find_flaw(path) is None
    for other in set(EXPORTS) - {kind}:
        assert EXPORTS[other].find_flaw(path) is not None
    path.write_bytes(path.read_bytes()[1:])
    assert f"that {PROGRAM} wrote" in EXPORTS[kind].find_flaw(path)
