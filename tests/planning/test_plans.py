"""What plans say beside their numbers: proofs, limits, why they stopped, warnings."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.families import ALGORITHMS, CASES
from tests.planning.test_common_suite import TIE_FREE
from tests.strategies import Instance

import fanwise as fw
from fanwise.cli.main import main
from fanwise.errors import ParameterError, PlanError, VerificationError
from fanwise.planning.assembling import Made, assemble
from fanwise.planning.families import FAMILIES
from fanwise.planning.problem import Bound, Measurement, Run
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import examine
from fanwise.workload.json_numbers import find_odd_number

every_family = pytest.mark.parametrize("family", CASES)


def pose(family, instance=TIE_FREE):
    return CASES[family].pose(CASES[family].workload(instance), instance)


@pytest.fixture(scope="module")
def plans():
    return {family: pose(family).solve(FAMILIES[family].default) for family in CASES}


@every_family
def test_without_a_proof_the_bound_is_the_same_and_said_not_to_be_checked(family, plans):
    plan = pose(family).solve(FAMILIES[family].default, proof=False)
    assert plan.proof is None
    assert plan.bound == plans[family].bound
    result = plan.verify()
    assert not result.is_bound_checked
    assert any("not checked" in remark for remark in result.remarks)
    assert plans[family].verify().is_bound_checked


@every_family
def test_a_proof_is_written_read_and_no_part_of_the_fingerprint(family, plans, tmp_path):
    plan = plans[family]
    plan.save(tmp_path / "plan")
    entry = json.loads((tmp_path / "plan" / "plan.json").read_text())["proof"]
    assert entry["kind"] in ("duals", "leaves")
    files = sorted(path.name for path in (tmp_path / "plan" / "proof").iterdir())
    assert sorted(name.removeprefix("proof/") for name in entry["files"]) == files
    again = fw.read_plan(tmp_path / "plan", plan.source)
    assert again.verify().is_bound_checked
    assert replace(again, proof=None).compute_id() == plan.id


@every_family
def test_every_plan_says_why_it_stopped_and_under_which_limits(family, plans):
    plan = plans[family]
    assert plan.stopped in ("gap", "limit", "work", "exhausted")
    limited = pose(family).solve(FAMILIES[family].default, time_limit=50.0, gap=0.5)
    assert limited.limits["time_limit"] == 50.0
    assert limited.limits["gap"] == 0.5
    assert plan.to_dict()["stopped"] == plan.stopped


@every_family
@pytest.mark.parametrize(
    "instance",
    [Instance([], [], 5.0), Instance([2.0], [[], [0]], 0.0), Instance([2.0], [[], []], 3.0)],
    ids=["nothing", "nothing wanted", "no pairs"],
)
def test_an_empty_question_says_so(family, instance):
    plan = pose(family, instance).solve(FAMILIES[family].default)
    assert plan.warnings["empty-question"].startswith("There is nothing to decide: ")
    assert plan.objective == 0
    plan.verify()


def warnings_of(family, objective, bound, trivial):
    made = Made(
        family=family, algorithm="any", parameters={}, workload="", tables={}, identity="",
        measured=Measurement(objective, is_feasible=True, metrics={}),
        proved=None if bound is None else Bound(bound),
        emptiness=None, trivial_bound=trivial,
    )  # fmt: skip
    return set(assemble(made, Run(), fw.Plan).warnings)


def test_a_bound_that_says_nothing_is_called_that():
    assert warnings_of("select", 8.0, 10.0, trivial=10.0) == {"no-useful-bound"}
    assert warnings_of("select", 8.0, 9.0, trivial=10.0) == set()
    assert warnings_of("select", 10.0, 10.0, trivial=10.0) == set()  # everybody is satisfied
    assert warnings_of("provision", 8.0, 0.0, trivial=0.0) == {"no-useful-bound"}
    assert warnings_of("provision", 8.0, None, trivial=0.0) == set()
    assert warnings_of("connect", 8.0, 10.0, trivial=None) == set()


@pytest.mark.parametrize("objective", [float("nan"), float("inf")])
def test_an_objective_that_is_no_number_is_refused(objective):
    with pytest.raises(ParameterError, match="below 1e308"):
        warnings_of("select", objective, None, trivial=None)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "kind, files and proves"),
        ([], "kind, files and proves"),
        ({"kind": "faith", "files": [], "proves": 1.0}, "one of duals, leaves, solver"),
        ({"kind": "duals", "files": [], "proves": "much"}, "must be a number"),
        ({"kind": "duals", "files": "proof/a.parquet", "proves": 1.0}, "a list of names"),
        ({"kind": "duals", "files": ["../../etc/x.parquet"], "proves": 1.0}, "different names"),
        ({"kind": "duals", "files": ["proof/../a.parquet"], "proves": 1.0}, "different names"),
        ({"kind": "duals", "files": ["proof/a.parquet"] * 2, "proves": 1.0}, "different names"),
        ({"kind": "duals", "files": [3], "proves": 1.0}, "different names"),
    ],
    ids=str,
)
def test_entries_of_proofs_are_checked(plans, tmp_path, entry, reason):
    plan = plans["select"]
    plan.save(tmp_path / "plan")
    file = tmp_path / "plan" / "plan.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "proof": entry}))
    with pytest.raises(PlanError, match=reason):
        fw.read_plan(tmp_path / "plan")


def test_a_proof_that_is_listed_but_not_there_is_an_error(plans, tmp_path):
    plan = plans["select"]
    plan.save(tmp_path / "plan")
    for file in (tmp_path / "plan" / "proof").iterdir():
        file.unlink()
    with pytest.raises(PlanError, match=r"not there, but plan\.json lists it"):
        fw.read_plan(tmp_path / "plan", plan.source).verify()


def test_tables_of_proofs_are_looked_at():
    table = pa.table({"topic": pa.array([1, 2]), "price": pa.array([0.5, None])})
    proof = Proof(kind="duals", tables={"prices": table}, proves=1.0)
    assert proof.table("prices", {"topic": "id"}) is table
    for name, columns, reason in (
        ("other", {}, "no table"),
        ("prices", {"node": "id"}, "no column"),
        ("prices", {"topic": "flag"}, "is int64"),
        ("prices", {"price": "number"}, "empty cell"),
    ):
        with pytest.raises(ProofError, match=reason):
            proof.table(name, columns)


def test_plans_of_older_versions_are_read(plans, tmp_path):
    plan = plans["select"]
    plan.save(tmp_path / "plan")
    file = tmp_path / "plan" / "plan.json"
    header = json.loads(file.read_text())
    for entry in ("proof", "stopped", "limits", "warnings"):
        del header[entry]
    file.write_text(json.dumps(header))
    again = fw.read_plan(tmp_path / "plan", plan.source)
    assert again.proof is None
    assert not again.verify().is_bound_checked


@every_family
def test_a_solver_may_be_trusted_only_where_it_is_asked(family, plans):
    """Nobody gets around the check of a bound by calling the proof a solver's word."""
    weakest = {"select": "random", "provision": "rsp+ffbp", "connect": "random-maximum",
               "assign": "closest", "wire": "random"}  # fmt: skip
    problem = pose(family).posed_for(weakest[family])
    plan = problem.solve(weakest[family])
    claimed = replace(plan.proof, kind="solver", proves=plan.proof.proves)
    result = examine(plan.source, replace(plan, proof=claimed))
    assert not result.holds
    assert "solver" in (result.first or "")


@pytest.mark.parametrize("family", CASES)
def test_no_metric_goes_unseen(family, plans):
    plan = plans[family]
    with pytest.raises(VerificationError, match="no metric"):
        replace(plan, metrics={**plan.metrics, "glory": 1.0}).verify()


def test_default_limits_are_noted_beside_those_asked_for():
    run = Run(time_limit=3.0)
    run.default_limits(time_limit=60.0, gap=1e-4, rounds=7)
    assert run.limits_in_force == {"time_limit": 3.0, "gap": 1e-4, "rounds": 7.0}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [1, {"b": 2**63}]}, "a[1].b"),
        ({"a": float("nan")}, "a"),
        ([float("inf")], "[0]"),
        ({"a": -(2**64)}, "a"),
    ],
)
def test_odd_numbers_are_found(value, place):
    assert find_odd_number(value).startswith(place + " ")


def test_other_numbers_are_not_odd():
    assert find_odd_number({"a": [1, 2.5, True, None, "9" * 99, 2**63 - 1]}) is None


@pytest.mark.parametrize(("family", "algorithm"), ALGORITHMS)
def test_every_certificate_has_tables(family, algorithm, tmp_path):
    """Also one that says next to nothing is there to be read."""
    for number, instance in enumerate((TIE_FREE, Instance([], [], 5.0))):
        plan = pose(family, instance).posed_for(algorithm).solve(algorithm)
        plan.save(tmp_path / str(number))
        files = sorted(path.name for path in (tmp_path / str(number) / "proof").iterdir())
        assert files, algorithm
        assert plan.proof.kind in ("duals", "leaves")


def test_columns_whose_names_are_no_text_are_refused(plans, tmp_path):
    plans["select"].save(tmp_path / "plan")
    file = tmp_path / "plan" / "topics.parquet"
    content = file.read_bytes()
    assert content.count(b"served") > 1
    file.write_bytes(content.replace(b"served", b"ser\x96ed"))
    with pytest.raises(PlanError, match=r"topics\.parquet: not readable"):
        fw.read_plan(tmp_path / "plan")


@pytest.mark.parametrize(
    ("family", "table", "key"), [("provision", "allocation", "vm"), ("select", "topics", "topic")]
)
def test_a_column_that_stands_twice_is_refused(family, table, key, plans, tmp_path, capsys):
    plan = plans[family]
    plan.save(tmp_path / "plan")
    fw.write_workload(plan.source, tmp_path / "workload")
    file = tmp_path / "plan" / f"{table}.parquet"
    kept = pq.read_table(file)
    pq.write_table(kept.append_column(key, kept.column(key)), file)
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(tmp_path / "workload"), str(tmp_path / "plan")])
    assert ended.value.code == 2
    assert f"{table}.parquet" in capsys.readouterr().err


@every_family
def test_the_kind_of_a_proof_must_be_that_of_its_tables(family, plans):
    plan = plans[family]
    other = "leaves" if plan.proof.kind == "duals" else "duals"
    result = examine(plan.source, replace(plan, proof=replace(plan.proof, kind=other)))
    assert not result.holds
    assert (result.first or "").startswith("proof")


@every_family
def test_a_missing_or_overflowing_parameter_is_named(family, plans):
    plan = plans[family]
    name = {"select": "capacity", "provision": "message_bytes", "connect": "topic_weight",
            "assign": "max_delay", "wire": "core_factor"}[family]  # fmt: skip
    left = {key: value for key, value in plan.parameters.items() if key != name}
    assert name in (examine(plan.source, replace(plan, parameters=left)).first or "")
    if name != "topic_weight":
        huge = replace(plan, parameters={**plan.parameters, name: 1e308})
        assert (examine(plan.source, huge).first or "").startswith(f"parameters.{name}: must be")
