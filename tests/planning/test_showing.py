"""Plans as tables with names, and how plans and what is made of them show to people."""

from __future__ import annotations

from dataclasses import replace

import pytest

import fanwise as fw
from fanwise.errors import InputError, ParameterError, VerificationError

EVENTS = {"topic": ["rock", "jazz", "<folk>"], "events": [30, 10, 12]}
FOLLOWS = {
    "subscriber": ["ann", "ann", "bob", "rock"],
    "topic": ["rock", "jazz", "jazz", "<folk>"],
}


@pytest.fixture(scope="module")
def workload():
    return fw.TopicWorkload.from_frames(EVENTS, FOLLOWS)


@pytest.fixture(scope="module")
def question(workload):
    return fw.Selection(workload, tau=10, capacity=20)


@pytest.fixture(scope="module")
def plan(question):
    return question.solve("greedy")


def test_a_plan_is_a_table_with_names_or_ids(plan, workload):
    frame = plan.to_pandas()
    assert frame.loc[frame["served"], "topic"].tolist() == ["jazz"]
    assert plan.to_arrow(ids=True).column("topic").to_pylist() == [0, 1, 2]
    bare = replace(plan, source=None)
    assert bare.to_arrow(workload=workload).equals(plan.to_arrow())
    with pytest.raises(ParameterError, match="workload"):
        bare.to_arrow()
    with pytest.raises(ParameterError, match="one of 'topics'"):
        plan.to_arrow("vms")


def test_a_plan_shows_names_escaped_and_ids_where_it_knows_no_names(plan):
    shown = plan._repr_html_()
    assert "&lt;folk&gt;" in shown
    assert "<folk>" not in shown
    assert "at most possible" in shown
    assert "jazz" not in replace(plan, source=None)._repr_html_()
    assert repr(plan) == (
        "Plan(select by greedy: satisfied subscribers 2, at most 2 possible, gap 0%)"
    )


def test_a_difference_names_what_changes(plan, workload):
    after = fw.Selection(workload, tau=10, capacity=32).solve("greedy")
    difference = plan.diff(after)
    (topics,) = difference.tables
    assert topics.summary() == {"removed": 0, "added": 0, "changed": 1, "same": 2}
    shown = difference._repr_html_()
    assert "topics: changed" in shown
    assert "&lt;folk&gt;" in shown
    assert "jazz" not in shown
    assert "decide the same" in plan.diff(plan)._repr_html_()


def test_an_item_is_found_by_its_name(plan, workload):
    assert plan.explain("jazz").facts == plan.explain(topic="jazz").facts
    assert plan.explain(workload).facts == plan.explain().facts
    assert "followers: 2" in str(plan.explain("jazz"))
    assert "<table>" in plan.explain("jazz")._repr_html_()
    with pytest.raises(InputError, match="did you mean 'jazz'"):
        plan.explain("jaz")
    with pytest.raises(ParameterError, match="left out beside topic"):
        plan.explain("jazz", topic="jazz")


def test_a_name_of_two_kinds_must_be_told_apart(workload):
    plan = fw.Provisioning(workload, tau=10, horizon_seconds=60).solve("gsp+ffbp")
    with pytest.raises(InputError, match="topic='rock' or subscriber='rock'"):
        plan.explain("rock")
    with pytest.raises(InputError, match="neither a topic nor a subscriber"):
        plan.explain("nobody")
    assert plan.explain("ann").facts == plan.explain(subscriber="ann").facts
    assert plan.explain(0).facts == plan.explain(machine=0).facts


def test_a_sweep_has_a_run_for_every_combination(question):
    found = question.sweep("greedy", capacity=["10%", 20], tau=(10, 40))
    settings = [(point.parameters["tau"], point.parameters["capacity"]) for point in found.points]
    assert [tau for tau, _ in settings] == [10, 40, 10, 40]
    for point, (tau, capacity) in zip(found.points, settings, strict=True):
        alone = fw.Selection(question.workload, tau=tau, capacity=capacity).solve("greedy")
        assert (point.value, point.bound) == (alone.objective, alone.bound)
    assert found.to_pandas()["value"].tolist() == [point.value for point in found.points]
    shown = found._repr_html_()
    assert "10%" in shown
    assert "satisfied subscribers" in shown


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "for something to vary"),
        ({"capacty": [1]}, "one of tau, capacity"),
        ({"capacity": "10%"}, "a list of values"),
        ({"capacity": []}, "a list of values"),
        ({"workload": [1]}, "one of tau, capacity"),
    ],
)
def test_a_sweep_over_nothing_is_refused(question, axes, message):
    with pytest.raises(ParameterError, match=message):
        question.sweep("greedy", **axes)


def test_a_comparison_shows_the_best_first(question):
    found = fw.compare(question, ["cheapest", "greedy"])
    values = found.to_pandas()["objective"].tolist()
    assert values == sorted(values, reverse=True)
    assert found.best is found.plans[0]
    shown = found._repr_html_()
    assert [shown.index(plan.algorithm) for plan in found.plans] == sorted(
        shown.index(plan.algorithm) for plan in found.plans
    )


def test_a_report_is_written_and_tells_of_a_plan_that_lies(plan, tmp_path):
    plan.report(tmp_path / "good.html", plan)
    assert "Verified" in (tmp_path / "good.html").read_text()
    liar = replace(plan, objective=3.0)
    with pytest.raises(VerificationError, match="failed"):
        liar.report(tmp_path / "bad.html")
    assert "Verification failed" in (tmp_path / "bad.html").read_text()
