"""What holds for every (family, algorithm); each new one inherits all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from tests.families import ALGORITHMS, CASES, is_seeded
from tests.strategies import Instance, instances, odd_rates

import fanwise as fw
from fanwise.errors import VerificationError
from fanwise.planning.families import FAMILIES
from fanwise.planning.verify import checks

SCHEMA = json.loads((files("fanwise") / "schemas" / "plan.schema.json").read_text())

# Sums of rates and numbers of followers are all different: nothing ties, so ids cannot matter.
TIE_FREE = Instance(
    rates=[13.0, 29.0, 53.0, 101.0, 211.0, 401.0],
    interests=[
        [0, 1, 2],
        [0, 1],
        [0, 2, 5],
        [0, 1, 3],
        [1, 4],
        [0, 2, 3],
        [2, 3],
        [0, 1, 4],
        [],
    ],
    tau=97.0,
)

every_algorithm = pytest.mark.parametrize(("family", "algorithm"), ALGORITHMS)


def solve(family: str, algorithm: str, instance: Instance, workload=None, seed=0) -> fw.Plan:
    workload = CASES[family].workload(instance) if workload is None else workload
    problem = CASES[family].pose(workload, instance).posed_for(algorithm)
    return problem.solve(algorithm, seed=seed)


@every_algorithm
@settings(max_examples=40)
@given(instance=instances(rates=odd_rates))
def test_plans_verify(family, algorithm, instance):
    plan = solve(family, algorithm, instance)
    plan.verify()
    assert plan.feasible
    assert plan.algorithm == algorithm
    assert plan.problem == family


@every_algorithm
@settings(max_examples=40)
@given(instance=instances(max_topics=5, max_subscribers=4))
def test_bound_and_plan_enclose_the_optimum(family, algorithm, instance):
    case = CASES[family]
    problem = case.pose(case.workload(instance), instance).posed_for(algorithm)
    plan = problem.solve(algorithm)
    optimum = case.optimum(problem, instance)
    if optimum is None:
        return
    low, high = (
        (plan.objective, plan.bound)
        if FAMILIES[family].sense == "max"
        else (plan.bound, plan.objective)
    )
    slack = 1e-9 * max(1.0, abs(optimum))
    assert low - slack <= optimum <= high + slack


@every_algorithm
def test_same_seed_same_plan(family, algorithm):
    first, second, other = (solve(family, algorithm, TIE_FREE, seed=seed) for seed in (5, 5, 6))
    assert first.id == second.id
    assert first.id != other.id  # the seed is a parameter
    for name, table in first.tables.items():
        assert table.equals(second.tables[name])


@every_algorithm
@pytest.mark.parametrize(
    "instance",
    [
        Instance(rates=[], interests=[], tau=5.0),
        Instance(rates=[], interests=[[], []], tau=5.0),
        Instance(rates=[2.0], interests=[], tau=5.0),
        Instance(rates=[2.0], interests=[[], [0]], tau=0.0),
    ],
    ids=["nothing", "no topics", "no subscribers", "nothing wanted"],
)
def test_empty_input(family, algorithm, instance):
    plan = solve(family, algorithm, instance)
    plan.verify()
    assert plan.objective == 0
    assert plan.bound == 0
    assert plan.gap == 0


@every_algorithm
def test_renaming_changes_nothing_but_names(family, algorithm):
    plain = solve(family, algorithm, TIE_FREE)
    renamed = CASES[family].workload(
        TIE_FREE,
        topic_names=[f"ω{i}" for i in range(6)],
        subscriber_names=[f"ψ{i}" for i in range(9)],
    )
    plan = solve(family, algorithm, TIE_FREE, renamed)
    assert plan.objective == plain.objective
    assert plan.id == plain.id
    assert plan.workload != plain.workload


@every_algorithm
def test_relabelling_ids_changes_nothing_else(family, algorithm):
    rng = np.random.default_rng(3)
    new_topic, new_subscriber = rng.permutation(6), rng.permutation(9)
    rates = [0.0] * 6
    interests: list[list[int]] = [[]] * 9
    for topic, rate in enumerate(TIE_FREE.rates):
        rates[new_topic[topic]] = rate
    for subscriber, topics in enumerate(TIE_FREE.interests):
        interests[new_subscriber[subscriber]] = sorted(int(new_topic[t]) for t in topics)
    plan = solve(family, algorithm, Instance(rates, interests, TIE_FREE.tau))
    plan.verify()
    original = solve(family, algorithm, TIE_FREE)
    if not is_seeded(family, algorithm) and not CASES[family].follows_ids:
        assert plan.objective == pytest.approx(original.objective, rel=1e-12)
    if not is_seeded(family, algorithm):
        assert plan.bound == pytest.approx(original.bound, rel=1e-12)


@every_algorithm
def test_save_and_load(family, algorithm, tmp_path):
    workload = CASES[family].workload(TIE_FREE)
    plan = solve(family, algorithm, TIE_FREE, workload)
    plan.save(tmp_path / "plan")
    again = fw.read_plan(tmp_path / "plan", workload)
    again.verify()
    assert again.to_dict() == plan.to_dict()
    for name, table in plan.tables.items():
        assert again.tables[name].equals(table)
    jsonschema.validate(json.loads((tmp_path / "plan" / "plan.json").read_text()), SCHEMA)


@every_algorithm
def test_input_is_not_modified(family, algorithm):
    workload = CASES[family].workload(TIE_FREE)
    before = workload.hash
    solve(family, algorithm, TIE_FREE, workload)
    columns = {name: getattr(workload, name) for name in workload.__dataclass_fields__}
    assert type(workload)(**columns).hash == before


@every_algorithm
def test_figures_are_drawn(family, algorithm):
    figures = solve(family, algorithm, TIE_FREE).figures()
    assert figures
    for figure in figures.values():
        figure.canvas.draw()
        assert any(axes.has_data() for axes in figure.axes)


BREAKS = [(family, name) for family, case in CASES.items() for name in case.breaks]


@pytest.mark.parametrize(("family", "name"), BREAKS)
def test_every_break_is_caught(family, name):
    plan = solve(family, FAMILIES[family].default, TIE_FREE)
    plan.verify()
    broken = CASES[family].breaks[name](plan)
    failed = [check for check in checks(plan.source, broken) if not check.holds]
    assert failed, f"verify missed: {name}"
    # The fingerprint alone would catch any change: a real check must see it first.
    assert failed[0].name != "id"
    with pytest.raises(VerificationError):
        broken.verify()


@pytest.mark.parametrize("family", CASES)
@pytest.mark.parametrize(
    "change",
    [
        {"objective": 1e9},
        {"objective": -1.0},
        {"gap": 0.123456},
        {"gap": None},
        {"feasible": False},
        {"workload": "0" * 64},
        {"id": "0" * 64},
        {"algorithm": "other"},
    ],
    ids=str,
)
def test_every_false_statement_is_caught(family, change):
    plan = solve(family, FAMILIES[family].default, TIE_FREE)
    with pytest.raises(VerificationError):
        replace(plan, **change).verify()


@pytest.mark.parametrize("family", CASES)
def test_a_bound_on_the_wrong_side_is_caught(family):
    plan = solve(family, FAMILIES[family].default, TIE_FREE)
    factor = 0.5 if FAMILIES[family].sense == "max" else 2.0
    bound = plan.objective * factor
    gap = abs(bound - plan.objective) / max(bound, plan.objective)
    with pytest.raises(VerificationError, match="bound"):
        replace(plan, bound=bound, gap=gap).verify()


@pytest.mark.parametrize("family", CASES)
def test_a_plan_for_another_workload_is_caught(family):
    plan = solve(family, FAMILIES[family].default, TIE_FREE)
    other = CASES[family].workload(replace(TIE_FREE, rates=[*TIE_FREE.rates[:-1], 402.0]))
    with pytest.raises(VerificationError, match="workload"):
        plan.verify(other)
