"""What ``explain`` says of an assignment, where it is plain what it should say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places
from tests.oracles import rectangles_oracle

import fanwise as fw
from fanwise.assign.explain.explain import explain
from fanwise.assign.explain.plan import wanted_below
from fanwise.assign.problem import make_tables, read_tables
from fanwise.errors import InputError, PlanError
from fanwise.planning.assembling import make_plan
from fanwise.planning.problem import Outcome, Run

LEFT, RIGHT = ((0.0, 0.0), (2.0, 2.0)), ((8.0, 8.0), (9.0, 9.0))
MADE = Places(
    at=[[0.0, 0.0]] * 6,
    boxes=[LEFT, LEFT, RIGHT, RIGHT, None, RIGHT],
    brokers=[[0.0, 1.0], [3.0, 1.0], [9.0, 1.0]],
    parent=[-1, -1, -1],
    shares=[0.5, 0.25, 0.25],
    publisher=[0.0, 0.0],
    candidates=[[0], [0, 1], [0, 1], [1, 2], [0, 1], [1]],
)


def plan_of(made, brokers, boxes, **limits):
    """Return a plan with these brokers and, for each broker, these rectangles."""
    problem = fw.Assignment(made.workload(), alpha=2, **limits)
    filters = problem.arrays.no_filters()
    for broker, some in enumerate(boxes):
        for slot, (lo, hi) in enumerate(some):
            filters.lo[broker, slot], filters.hi[broker, slot] = lo, hi
        filters.counts[broker] = len(some)
    tables = make_tables(np.array(brokers, dtype=np.int32), filters)
    return make_plan(problem, "balance", Outcome(tables), None, Run())


def test_what_keeps_subscribers_is_counted():
    plan = plan_of(
        MADE, [0, 0, 0, 2, 0, 1], [[LEFT, RIGHT], [RIGHT], [RIGHT]], lbf=1.0, lbf_max=1.8
    )
    plan.verify()
    facts = explain(plan.source, plan).facts
    # Limits are 5, 2 and 2; loads 4, 1 and 1: nobody is full.
    assert facts["reasons"] == {
        "late": 0,
        "only": 2,  # the first and the last
        "others_full": 0,
        "free_to_move": 2,  # the third to 1, and the fourth
        "dearer_elsewhere": 1,  # the second: 1 does not hold it
        "wants_nothing": 1,
    }
    assert (facts["full"], facts["full_at_desired"], facts["leaves"]) == (0, 3, 3)
    assert facts["one_choice"] == 2
    assert facts["unwanted"] == 0
    assert facts["trouble"] is None


def test_full_brokers_bind():
    plan = plan_of(
        MADE, [0, 0, 0, 2, 0, 1], [[LEFT, RIGHT], [RIGHT], [RIGHT]], lbf=1.0, lbf_max=1.0
    )
    facts = explain(plan.source, plan).facts  # limits 3, 1 and 1: all are full, 0 has 4
    assert facts["reasons"]["others_full"] == 4
    assert facts["overloaded_names"] == ["b0"]
    assert not facts["feasible"]
    assert facts["trouble"]["least_lbf"] == pytest.approx(4 / 3)
    assert facts["trouble"]["bottleneck_brokers"] == ["b0", "b1"]
    assert facts["trouble"]["left_over"] == 1


def test_what_nobody_wants_is_told():
    wide = ((0.0, 0.0), (9.0, 9.0))
    plan = plan_of(MADE, [0, 0, 0, 2, 0, 1], [[wide], [RIGHT], [RIGHT]], lbf=2, lbf_max=2)
    facts = explain(plan.source, plan).facts
    assert facts["bandwidth"] == 83
    assert facts["unwanted"] == 81 - 5
    first = facts["brokers"][0]
    assert (first["broker"], first["bandwidth"], first["unwanted"]) == ("b0", 81, 76)
    assert (first["serves"], first["limit"], first["only_choice_of"]) == (4, 6, 1)


@settings(max_examples=30)
@given(made=places(max_subscribers=6), alpha=st.integers(1, 2))
def test_counts_add_up_and_wants_are_unions(made, alpha):
    problem = fw.Assignment(made.workload(), alpha=alpha, lbf=1.0, lbf_max=1.5)
    plan = problem.solve("gr-star")
    explanation = explain(plan.source, plan)
    facts = explanation.facts
    assert sum(facts["reasons"].values()) == len(made.at)
    assert facts["reasons"]["late"] == plan.metrics["late"] == facts["late"]
    assert facts["overloaded"] == plan.metrics["overloaded"]
    assert facts["bandwidth"] == pytest.approx(plan.objective)
    assert facts["feasible"] == (facts["trouble"] is None)
    assigned, _ = read_tables(problem.arrays, plan.tables)
    wanted = wanted_below(problem, assigned)
    for broker in range(len(made.parent)):
        some = [
            box
            for box, at in zip(made.boxes, assigned.tolist(), strict=True)
            if box is not None and broker in way_up(made.parent, at)
        ]
        assert wanted[broker] == pytest.approx(rectangles_oracle.union_volume(some))
    titles = [passage.title for passage in explanation.passages]
    assert ("Limits that are broken" in titles) == (not plan.feasible)


def way_up(parent, broker):
    way = []
    while broker >= 0:
        way.append(broker)
        broker = parent[broker]
    return way


class TestSubscriber:
    plan = plan_of(
        MADE, [0, 0, 0, 2, 0, 1], [[LEFT, RIGHT], [RIGHT], [RIGHT]], lbf=1.0, lbf_max=1.8
    )

    def facts(self, name):
        return explain(self.plan.source, self.plan, subscriber=name).facts

    def test_growth_elsewhere(self):
        facts = self.facts("s1")
        assert (facts["broker"], facts["reason"]) == ("b0", "dearer_elsewhere")
        own, other, late = facts["choices"]
        assert (own["broker"], own["is_own"], own["holds"], own["growth"]) == ("b0", True, True, 0)
        assert (other["broker"], other["holds"], other["growth"]) == ("b1", False, 4)
        assert (late["broker"], late["in_time"]) == ("b2", False)
        assert facts["limit"] is None

    def test_the_only_broker_and_wants(self):
        facts = self.facts("s0")
        assert facts["reason"] == "only"
        assert facts["num_in_time"] == 1
        assert facts["wants"] == [[0, 2], [0, 2]]
        assert self.facts("s4")["wants"] is None

    def test_latency_limits(self):
        made = replace(MADE, candidates=None)
        plan = fw.Assignment(made.workload(), max_delay=0.5, lbf=2, lbf_max=2).solve("gr")
        facts = explain(plan.source, plan, subscriber="s0").facts
        assert facts["shortest"] == 2  # up to b0 and back
        assert facts["limit"] == 3
        made = replace(made, max_latency=[5.0] * 6)
        plan = fw.Assignment(made.workload(), lbf=2, lbf_max=2).solve("gr")
        assert explain(plan.source, plan, subscriber="s0").facts["limit"] == 5

    def test_unknown_names_are_refused(self):
        with pytest.raises(InputError, match="subscriber 's9' is not in the workload"):
            self.facts("s9")


def test_a_plan_for_another_workload_is_refused():
    plan = fw.Assignment(MADE.workload()).solve("gr")
    other = replace(MADE, boxes=[LEFT] * 6).workload()
    with pytest.raises(PlanError, match="not this one"):
        explain(other, plan)


def test_an_empty_workload_is_explained():
    empty = replace(MADE, at=[], boxes=[], candidates=None)
    plan = fw.Assignment(empty.workload()).solve("gr-star")
    facts = explain(plan.source, plan).facts
    assert facts["subscribers"] == facts["bandwidth"] == 0
