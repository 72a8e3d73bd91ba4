import json
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import InputError, PlanError
from fanwise.report.plans import plan_section
from fanwise.select.bounds import paper_bounds
from fanwise.select.explain.explain import explain
from fanwise.select.explain.plan import explain_plan
from fanwise.select.explain.sentences import reason
from fanwise.select.explain.topic import explain_topic
from fanwise.select.greedy_curve import greedy_curve
from fanwise.select.problem import Selection, served_topics

METRICS = ("binary", "fractional")


def solve(instance, metric, algorithm="greedy", capacity="40%"):
    workload = instance.workload()
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    problem = fw.Selection(workload, tau=tau, capacity=capacity, metric=metric)
    return workload, problem.solve(algorithm, seed=1)


def read(workload, plan):
    """The problem, and which topics are served."""
    served = served_topics(plan.tables["topics"], workload.num_topics)
    return Selection.state_from(workload, plan.parameters), served


def served_of(plan):
    return set(
        np.flatnonzero(plan.tables["topics"].column("served").to_numpy(zero_copy_only=False))
    )


def satisfied(instance, served):
    """The subscribers that get all of what they need."""
    needs = select_oracle.demand(instance.rates, instance.interests, instance.tau)
    return {
        v
        for v, topics in enumerate(instance.interests)
        if needs[v] > 0
        and sum((Fraction(instance.rates[t]) for t in topics if t in served), Fraction(0))
        >= needs[v]
    }


def missing(instance, served):
    needs = select_oracle.demand(instance.rates, instance.interests, instance.tau)
    got = [
        sum((Fraction(instance.rates[t]) for t in topics if t in served), Fraction(0))
        for topics in instance.interests
    ]
    return [max(Fraction(0), need - had) for need, had in zip(needs, got, strict=True)], needs


def benefit(instance, served, topic, metric):
    lacks, needs = missing(instance, served)
    total = Fraction(0)
    for v, topics in enumerate(instance.interests):
        if topic in topics and lacks[v] > 0:
            weight = 1 if instance.weight is None else Fraction(instance.weight[v])
            whole = lacks[v] if metric == "binary" else needs[v]
            total += weight * min(Fraction(instance.rates[topic]), lacks[v]) / whole
    return total


def value(instance, served, metric):
    return select_oracle.value(
        instance.rates, instance.interests, instance.tau, served, metric, instance.weight
    )


def cost_of(instance, topic):
    if instance.cost is not None:
        return Fraction(instance.cost[topic])
    return select_oracle.normal_cost(instance.rates, instance.interests)[topic]


@settings(max_examples=60)
@given(
    instances(with_cost=True, with_weight=True), st.sampled_from(["greedy", "random"]), st.data()
)
@pytest.mark.parametrize("metric", METRICS)
def test_what_is_said_of_a_topic_is_the_definition(metric, instance, algorithm, data):
    assume(instance.rates)
    workload, plan = solve(instance, metric, algorithm)
    topic = data.draw(st.integers(0, len(instance.rates) - 1))
    facts = explain_topic(*read(workload, plan), f"t{topic}")
    served = served_of(plan)
    others, both = served - {topic}, served | {topic}
    assert facts.served == (topic in served)
    assert facts.rate == instance.rates[topic]
    assert facts.followers == sum(topic in topics for topics in instance.interests)
    assert facts.cost == pytest.approx(float(cost_of(instance, topic)))
    assert facts.benefit == pytest.approx(float(benefit(instance, others, topic, metric)))
    assert facts.subscribers == len(satisfied(instance, both) - satisfied(instance, others))
    gain = value(instance, both, metric) - value(instance, others, metric)
    assert facts.value == pytest.approx(float(gain), abs=1e-9)
    lacks, _ = missing(instance, served)
    assert facts.unsatisfied_followers == sum(
        topic in topics and lacks[v] > 0 for v, topics in enumerate(instance.interests)
    )
    used = sum((cost_of(instance, t) for t in served), Fraction(0))
    assert facts.left == pytest.approx(plan.parameters["capacity"] - float(used), abs=1e-6)
    limit = Fraction(plan.parameters["capacity"]) * (1 + Fraction(1, 10**9))
    assert facts.fits == (topic in served or used + cost_of(instance, topic) <= limit)

    def ratio(t):
        gained, cost = benefit(instance, others, t, metric), cost_of(instance, t)
        return gained / cost if cost else Fraction(10**30) * (gained > 0)

    offloaded = [t for t in range(len(instance.rates)) if t not in others]
    assert facts.offloaded == len(offloaded)
    higher = sum(ratio(t) > ratio(topic) * (1 + Fraction(1, 10**8)) for t in offloaded)
    assert facts.rank == 1 + higher
    assert reason(facts)
    json.dumps(asdict(facts), allow_nan=False)


@settings(max_examples=40)
@given(instances(with_cost=True, with_weight=True), st.sampled_from(["greedy", "random"]))
@pytest.mark.parametrize("metric", METRICS)
def test_what_is_said_of_a_plan_is_the_definition(metric, instance, algorithm):
    workload, plan = solve(instance, metric, algorithm)
    facts = explain_plan(*read(workload, plan))
    json.dumps(asdict(facts), allow_nan=False)
    served = served_of(plan)
    lacks, needs = missing(instance, served)
    short = [v for v, lack in enumerate(lacks) if lack > 0]
    assert facts.subscribers == sum(need > 0 for need in needs)
    assert facts.unsatisfied == len(short)
    shares = [float(lacks[v] / needs[v]) for v in short]
    if shares:
        assert facts.missing_quartiles[0] == pytest.approx(min(shares))
        assert facts.missing_quartiles[2] == pytest.approx(np.median(shares))
        assert facts.missing_quartiles[4] == pytest.approx(max(shares))
    else:
        assert facts.missing_quartiles is None
    assert sum(row.subscribers for row in facts.shortages) == facts.subscribers
    assert sum(row.unsatisfied for row in facts.shortages) == facts.unsatisfied
    assert sum(
        row.unsatisfied * row.mean_missing for row in facts.shortages if row.unsatisfied
    ) == pytest.approx(sum(shares))
    for ranked in facts.candidates:
        topic = int(ranked.topic[1:])
        assert topic not in served
        assert ranked.benefit == pytest.approx(float(benefit(instance, served, topic, metric)))
        added = satisfied(instance, served | {topic}) - satisfied(instance, served)
        assert ranked.subscribers == len(added)
    useful = {
        t for t in range(len(instance.rates))
        if t not in served and benefit(instance, served, t, metric) > 0
    }  # fmt: skip
    assert {int(ranked.topic[1:]) for ranked in facts.candidates} == useful
    ratios = [np.inf if at.ratio is None else at.ratio for at in facts.candidates]
    assert ratios == sorted(ratios, reverse=True)
    for ranked in facts.weakest:
        topic = int(ranked.topic[1:])
        lost = value(instance, served, metric) - value(instance, served - {topic}, metric)
        assert ranked.benefit == pytest.approx(float(lost), abs=1e-9)
        gone = satisfied(instance, served) - satisfied(instance, served - {topic})
        assert ranked.subscribers == len(gone)
    assert explain(workload, plan).passages


@settings(max_examples=30)
@given(instances(with_cost=True))
@pytest.mark.parametrize("metric", METRICS)
def test_more_capacity_never_takes_away(metric, instance):
    workload, plan = solve(instance, metric, "random")
    facts = explain_plan(*read(workload, plan))
    for bought in (facts.leftover, facts.next_percent):
        assert bought.topics >= 0
        assert bought.subscribers >= 0
        assert bought.value >= -1e-9
    room = 1.01 * facts.capacity - facts.used
    spent = facts.leftover.capacity + facts.next_percent.capacity
    assert spent <= room + 1e-6 * (1 + facts.capacity)


def test_the_next_percent_buys_what_was_just_too_dear():
    # Two topics of cost 100 and 101, capacity 200: the second misses by 1, and 1% is 2.
    instance = Instance([100.0, 101.0], [[0], [1]], tau=200.0)
    workload, plan = solve(instance, "binary", capacity=200)
    facts = explain_plan(*read(workload, plan))
    assert served_of(plan) == {0}
    assert (facts.leftover.subscribers, facts.next_percent.subscribers) == (0, 1)
    assert facts.next_percent.topics == 1
    # 1% less still holds the one topic that is served.
    assert facts.last_percent.subscribers == 0
    tight_workload, tight = solve(instance, "binary", capacity=100)
    assert explain_plan(*read(tight_workload, tight)).last_percent.subscribers == 1


def test_unknown_topics_are_met_with_suggestions():
    instance = Instance([3.0, 4.0], [[0], [1]], tau=2.0)
    workload = instance.workload(topic_names=["jazz", "folk"])
    plan = fw.Selection(workload, tau=2, capacity="50%").solve("greedy")
    with pytest.raises(InputError, match=r"did you mean 'jazz'\?"):
        plan.explain(topic="jaz")
    with pytest.raises(InputError, match="no name is close"):
        plan.explain(topic="qqqqqq")


def test_another_workload_is_refused():
    instance = Instance([3.0, 4.0], [[0], [1]], tau=2.0)
    _, plan = solve(instance, "binary")
    with pytest.raises(PlanError, match="made for workload"):
        explain(replace(instance, rates=[3.0, 5.0]).workload(), plan)


@pytest.mark.parametrize("instance", [Instance([], [], 1.0), Instance([5.0], [[]], 1.0)])
def test_nothing_to_explain(instance):
    workload, plan = solve(instance, "binary")
    facts = explain_plan(*read(workload, plan))
    assert facts.unsatisfied == facts.subscribers == 0
    assert explain(workload, plan).passages
    assert len(plan.figures()) == 3


def test_the_report_explains():
    instance = Instance([30.0, 20.0, 50.0], [[0, 1], [1, 2], [2], [0]], tau=25.0)
    workload, plan = solve(instance, "binary", capacity="30%")
    titles = [getattr(item, "title", "") for item in plan_section(plan, workload).items]
    assert "What capacity buys" in titles
    assert "Who stays unsatisfied" in titles
    assert plan.explain(topic="t1").passages[0].title.startswith("t1: ")


@settings(max_examples=30)
@given(instances())
@pytest.mark.parametrize("metric", METRICS)
def test_the_curve_ends_at_greedy_and_carries_the_papers_bound(metric, instance):
    workload, plan = solve(instance, metric)
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    problem = fw.Selection(workload, tau=tau, capacity="40%", metric=metric)
    curve = greedy_curve(problem)
    assert curve.value[-1] == pytest.approx(plan.objective)
    assert curve.used[-1] == pytest.approx(plan.metrics["used"])
    assert np.all(np.diff(curve.used) >= 0)
    for capacity in curve.capacity[::15].tolist():
        at = fw.Selection(workload, tau=tau, capacity=capacity, metric=metric)
        assert paper_bounds(problem, np.array([capacity]))[0] == at.paper_bound
    below = np.interp(curve.used, curve.capacity, curve.bound)
    assert np.all(curve.value <= below + 1 + 1e-9)
