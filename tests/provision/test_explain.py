"""What ``explain`` says of a provisioning is what a plain recount says."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.cli.test_provision_engines import run
from tests.oracles import provision_money_oracle as oracle
from tests.oracles import provision_oracle
from tests.provision.breaks import add_an_idle_machine, place, rows_of
from tests.provision.small_machines import PERIOD, machine, pose
from tests.provision.test_verify_in_chunks import little_memory as little_memory
from tests.provision.test_verify_in_chunks import map_and_read, save_in_parts, shuffle
from tests.provision.test_verify_in_chunks import tiny as tiny
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import InfeasibleError, InputError, PlanError
from fanwise.provision.explain import placement as placements
from fanwise.provision.explain.explain import explain
from fanwise.provision.explain.money import split_by_machine, split_by_part, split_by_subscriber
from fanwise.provision.explain.placement import read_placement
from fanwise.provision.problem import Provisioning
from fanwise.report.plans import plan_section

ALGORITHMS = ("gsp+ffbp", "rsp+ffbp", "gsp+cbp", "best+best")
PRICE = 0.01
PARTS = ("rent", "incoming", "outgoing")


@st.composite
def questions(draw):
    """Instances and machines of a few pairs, maybe with limits; prices in and out differ."""
    instance = draw(instances(max_topics=6, max_subscribers=8))
    count = len(instance.rates)
    sizes = draw(st.lists(st.integers(0, 4).map(float), min_size=count, max_size=count))
    capacity = draw(st.integers(60, 1500))
    limits = draw(
        st.sampled_from([{}, {"max_topics": 2}, {"max_connections": 3},
                         {"max_topics": 3, "max_connections": 5}])
    )  # fmt: skip
    reserve = draw(st.sampled_from([0.0, 0.25]))
    return instance, sizes, machine(capacity, **limits), reserve


def solve(question, algorithm, **options):
    instance, sizes, kind, reserve = question
    problem = pose(instance, [kind], PRICE, sizes, reserve=reserve, **options)
    try:
        return problem, problem.solve(algorithm, seed=1)
    except InfeasibleError:
        assume(False)
        raise


def prices(problem):
    """What a byte per period costs, in and out."""
    per_byte = Fraction(problem.horizon) / Fraction(PERIOD) / 10**9
    return per_byte * Fraction(problem.price_gb_in), per_byte * Fraction(problem.price_gb_out)


def needs_of(instance, sizes):
    return [Fraction(rate) * Fraction(size) for rate, size in zip(instance.rates, sizes,
                                                                  strict=True)]  # fmt: skip


def rents_of(plan, problem):
    hours = Fraction(problem.horizon) / 3600
    return [Fraction(usd) * hours for usd in plan.tables["vms"].column("usd_per_hour").to_pylist()]


def money_of(values, index):
    return tuple(float(part[index]) for part in values)


@settings(max_examples=100)
@given(questions(), st.sampled_from(ALGORITHMS), st.sampled_from([0.0, 1.0, 3.0]))
def test_the_money_is_shared_as_the_oracle_shares_it(question, algorithm, in_factor):
    instance, sizes, _, _ = question
    problem, plan = solve(question, algorithm)
    problem = replace(problem, price_gb_in=in_factor * problem.price_gb_in)
    placement = read_placement(problem, plan)
    rows, needs = rows_of(plan), needs_of(instance, sizes)
    paid, idle = oracle.shares(rows, needs, rents_of(plan, problem), *prices(problem))
    assert idle == 0
    by_part = split_by_part(placement)
    by_subscriber = split_by_subscriber(placement, by_part)
    by_topic = by_part.added_up(placement.parts.topic, len(instance.rates))
    by_machine = split_by_machine(placement, by_part)
    for split, position in ((by_machine, 0), (by_topic, 1), (by_subscriber, 2)):
        for key in range(len(split.rent)):
            expected = [float(part) for part in oracle.add_up(paid, position, key)]
            assert money_of(split, key) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        paid_in_all = problem.measure(plan.tables).objective
        assert float(split.total.sum()) == pytest.approx(paid_in_all, rel=1e-9)


AT_THE_EDGE = (Instance([32.0, 1.0], [[1]], tau=0.0), [3.0, 1.0], machine(256), 0.25)


@settings(max_examples=60)
@given(questions(), st.sampled_from(ALGORITHMS))
@example(AT_THE_EDGE, "gsp+ffbp")
def test_every_item_is_explained_by_the_definition(question, algorithm):
    instance, sizes, kind, reserve = question
    problem, plan = solve(question, algorithm)
    rows, needs = rows_of(plan), needs_of(instance, sizes)
    in_price, out_price = prices(problem)
    # What fits to the tolerance fits: 256 bytes less a quarter are 191.99… in doubles.
    capacity = Fraction(kind.mbps) * 10**6 * (1 - Fraction(reserve)) * (1 + Fraction(1, 10**9))
    paid, _ = oracle.shares(rows, needs, rents_of(plan, problem), in_price, out_price)
    wanted = provision_oracle.demand(instance.rates, instance.interests, instance.tau)
    for who, interests in enumerate(instance.interests):
        facts = plan.explain(subscriber=f"s{who}").facts
        mine = [row for row in rows if row[2] == who]
        assert facts["num_pairs"] == len(mine)
        assert facts["gets"] == sum(instance.rates[topic] for _, topic, _ in mine)
        assert facts["needs"] == pytest.approx(float(wanted[who]))
        split = [float(part) for part in oracle.add_up(paid, 2, who)]
        assert [facts["cost"][name] for name in PARTS] == pytest.approx(split, abs=1e-12)
        for pair in facts["pairs"]:
            row = (pair["machine"], int(pair["topic"][1:]), who)
            assert pair["cost"]["total"] == pytest.approx(float(sum(paid[row])), abs=1e-12)
        own = oracle.own_traffic(who, rows, needs, in_price, out_price)
        assert facts["own_traffic"] == pytest.approx(float(own), abs=1e-12)
        fitting = [t for t in interests if 2 * needs[t] <= capacity]
        best = oracle.cheapest_choice(
            who, fitting, wanted[who], instance.rates, rows, needs, in_price, out_price
        )
        cheapest = facts["cheapest"]
        assert cheapest["traffic"] == pytest.approx(float(best), abs=1e-12)
        chosen = [int(name[1:]) for name in cheapest["topics"]]
        cost = oracle.traffic_for(who, chosen, rows, needs, in_price, out_price)
        assert cost == best
        if cheapest["has_room"] and plan.bound is not None:
            saved = facts["own_traffic"] - cheapest["traffic"]
            assert plan.objective - saved >= plan.bound * (1 - 1e-9)
    for topic in range(len(instance.rates)):
        facts = plan.explain(topic=f"t{topic}").facts
        machines = {vm for vm, one, _ in rows if one == topic}
        assert facts["pairs"] == sum(one == topic for _, one, _ in rows)
        assert facts["machines"] == len(machines) >= facts["least_machines"]
        assert (facts["least_machines"] > 0) == bool(machines)
        assert facts["fits"] == (2 * needs[topic] <= capacity)
        further = max(len(machines) - 1, 0) * needs[topic] * in_price
        assert facts["further_copies"] == pytest.approx(float(further), abs=1e-12)
    for vm in range(plan.metrics["vms"]):
        facts = plan.explain(machine=vm).facts
        is_full = oracle.takes_no_more(vm, rows, needs, capacity)
        assert (facts["binds"] == "bandwidth") == is_full
        if facts["binds"] == "connections":
            assert facts["pairs"] == kind.max_connections
        if facts["binds"] == "topics":
            assert facts["topics"] == kind.max_topics
        without = facts["without"]
        assert (without["saves"] is None) == (without["left_over"] > 0)
        if without["saves"] is not None:
            # What is left is a plan, and no plan costs less than the bound.
            assert plan.objective - without["saves"] >= plan.bound * (1 - 1e-9)


@settings(max_examples=40)
@given(questions(), st.sampled_from(ALGORITHMS))
def test_the_whole_plan_adds_up(question, algorithm):
    _, plan = solve(question, algorithm)
    explanation = plan.explain()
    facts = explanation.facts
    json.dumps(facts, allow_nan=False)
    metrics = plan.metrics
    assert facts["cost"]["total"] == pytest.approx(plan.objective)
    assert facts["cost"]["rent"] == pytest.approx(metrics["cost_machines"])
    assert facts["cost"]["incoming"] == pytest.approx(metrics["cost_incoming"])
    assert facts["further_copies"] == pytest.approx(metrics["cost_splits"])
    assert sum(facts["binding"].values()) == facts["machines"] == metrics["vms"]
    rent = facts["cost"]["rent"] * (1 + 1e-9)
    assert facts["least_rent"] <= rent
    assert facts["least_rent_for_pairs"] <= rent
    assert 0 <= facts["unused_rent"] <= rent
    assert facts["served"] == len({who for _, _, who in rows_of(plan)})
    assert (facts["lightest"] is None) == (metrics["vms"] == 0)
    assert [passage.title for passage in explanation.passages][:2] == [
        "Where the money goes",
        "The fleet",
    ]


# Three subscribers of one topic of 10 bytes each, on machines of 60: three pairs and a copy are 40.
TRIPLE = Instance([10.0, 10.0], [[0], [0], [0], [1]], tau=10.0)


def plan_with(rows, capacity=60, instance=TRIPLE, **limits):
    problem = pose(instance, [machine(capacity, **limits)], PRICE)
    plan = problem.solve("gsp+ffbp")
    machines = pa.concat_tables(
        [plan.tables["vms"].slice(0, 1)] * (1 + max(row[0] for row in rows))
    )
    numbers = pa.array(range(len(machines)), pa.int32())
    return place(plan, rows, machines.set_column(0, "vm", numbers))


def test_a_machine_that_others_could_stand_in_for():
    # 0 has room for 20 of 60: both pairs of topic 0 on it need a copy, and 1 has one.
    plan = plan_with([(0, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 3)])
    without = plan.explain(machine=0).facts["without"]
    assert without["left_over"] == 0
    assert without["new_copies"] == 0
    assert without["saves"] == pytest.approx(1.0 + 10 * PRICE)
    words = dict(plan.explain(machine=0).passages[0].pairs)["why it is there"]
    assert words.startswith("not needed")
    # 1 moves 50: 0 takes its two pairs of topic 0 (20 of 40 left), and topic 1 with a new copy.
    other = plan.explain(machine=1).facts["without"]
    assert (other["left_over"], other["new_copies"]) == (0, 1)
    assert other["saves"] == pytest.approx(1.0 + 10 * PRICE)


def test_a_machine_that_is_needed():
    plan = plan_with([(0, 0, 0), (0, 0, 1), (0, 0, 2), (1, 1, 3)], capacity=50)
    facts = plan.explain(machine=1).facts
    assert facts["without"]["left_over"] == 1  # 10 free on 0, a pair and a copy are 20
    assert facts["without"]["missing_bytes"] == 10
    assert facts["without"]["saves"] is None
    assert plan.explain(machine=0).facts["without"]["left_over"] == 1  # 30 free on 1: copy, 2 pairs


@pytest.mark.parametrize(
    ("limits", "binds", "left_over"),
    [({}, "nothing", 0), ({"max_topics": 1}, "topics", 1), ({"max_connections": 3},
                                                            "connections", 1)],
)  # fmt: skip
def test_limits_bind(limits, binds, left_over):
    plan = plan_with([(0, 0, 0), (0, 0, 1), (0, 0, 2), (1, 1, 3)], capacity=600, **limits)
    assert plan.explain(machine=0).facts["binds"] == binds
    assert plan.explain(machine=1).facts["without"]["left_over"] == left_over


def test_a_cheaper_choice_is_found():
    # Topic 1 has enough for the first as well, and is sent to the second anyway.
    instance = Instance([10.0, 10.0], [[0, 1], [1]], tau=10.0)
    plan = plan_with([(0, 0, 0), (0, 1, 1)], instance=instance)
    explanation = plan.explain(subscriber="s0")
    facts = explanation.facts
    assert facts["own_traffic"] == pytest.approx(20 * PRICE)
    assert facts["cheapest"]["traffic"] == pytest.approx(10 * PRICE)
    assert facts["cheapest"]["topics"] == ["t1"]
    assert facts["cheapest"]["has_room"]
    said = dict(explanation.passages[0].pairs)["the cheapest choice"]
    assert said == "saves $0.1 of traffic with topics 1: t1; the machines have room"
    # With a connection to spare nowhere, its own pair makes room for the other.
    tight = plan_with([(0, 0, 0), (0, 1, 1)], instance=instance, max_connections=2)
    assert tight.explain(subscriber="s0").facts["cheapest"]["has_room"]


def test_why_a_topic_is_split():
    split = plan_with([(0, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 3)])
    words = dict(split.explain(topic="t0").passages[0].pairs)["why"]
    assert words.startswith("one machine could hold it")
    tight = plan_with([(0, 0, 0), (0, 0, 1), (1, 0, 2), (2, 1, 3)], capacity=30)
    assert tight.explain(topic="t0").facts["least_machines"] == 2
    assert "as little as may be" in dict(tight.explain(topic="t0").passages[0].pairs)["why"]
    once = plan_with([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 3)])
    assert "comes in once" in dict(once.explain(topic="t1").passages[0].pairs)["why"]


def test_rent_of_an_idle_machine_is_nobodys():
    plan = plan_with([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 3)], capacity=100)
    idle = add_an_idle_machine(plan)
    problem = Provisioning.state_from(plan.source, plan.parameters)
    placement = read_placement(problem, idle)
    shared = split_by_subscriber(placement, split_by_part(placement)).total.sum()
    rows = rows_of(idle)
    needs = [Fraction(10), Fraction(10)]
    paid, unpaid = oracle.shares(rows, needs, rents_of(idle, problem), *prices(problem))
    assert float(shared) == pytest.approx(float(sum(sum(parts) for parts in paid.values())))
    assert unpaid == 1
    cost = problem.measure(idle.tables).objective
    assert float(shared) + float(unpaid) == pytest.approx(cost)
    facts = idle.explain(machine=1).facts
    assert (facts["cost"]["rent"], facts["without"]["saves"]) == (1, 1)
    assert "serves nobody" in dict(idle.explain(machine=1).passages[0].pairs)["why it is there"]


def test_names_that_are_unknown():
    plan = plan_with([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 3)])
    with pytest.raises(InputError, match="did you mean 't0'"):
        plan.explain(topic="t0x")
    with pytest.raises(InputError, match="subscriber 'nobody' is not in the workload"):
        plan.explain(subscriber="nobody")
    for number in (1, -1):
        with pytest.raises(InputError, match="they are numbered 0 to 0"):
            plan.explain(machine=number)
    with pytest.raises(PlanError, match="made for workload"):
        explain(replace(TRIPLE, rates=[11.0, 10.0]).workload(period_seconds=PERIOD), plan)


@pytest.mark.parametrize("instance", [Instance([], [], 1.0), Instance([5.0], [[]], 1.0)])
def test_nothing_to_explain(instance):
    plan = pose(instance, [machine(100)], PRICE).solve()
    facts = plan.explain().facts
    assert (facts["machines"], facts["least_rent"], facts["cost"]["total"]) == (0, 0, 0)
    assert facts["quartiles"] is None
    if instance.rates:
        said = plan.explain(topic="t0")
        assert "nobody needs it" in dict(said.passages[0].pairs)["why"]
        assert plan.explain(subscriber="s0").facts["cost"]["total"] == 0


def test_the_report_explains():
    plan = pose(TRIPLE, [machine(60)], PRICE).solve()
    titles = [getattr(item, "title", "") for item in plan_section(plan, plan.source).items]
    assert {"Where the money goes", "The fleet", "Dearest topics"} <= set(titles)


@pytest.mark.parametrize("about", [{}, {"topic": "t1"}, {"subscriber": "s1"}, {"machine": 1}])
def test_pairs_on_disk_are_explained_in_chunks(about, tiny, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    interests = [sorted(rng.choice(6, size=3, replace=False).tolist()) for _ in range(12)]
    instance = Instance([3.0, 8.0, 5.0, 2.0, 9.0, 4.0], interests, tau=11.0)
    plan = pose(instance, [machine(60)], PRICE).solve("rsp+ffbp", seed=1)
    expected = plan.explain(**about).facts
    monkeypatch.setattr(placements, "MERGED_AT", 3)
    save_in_parts(shuffle(plan), tmp_path / "plan", 3)
    workload, read = map_and_read(plan, tmp_path)
    assert plain(read.explain(workload, **about).facts) == pytest.approx(plain(expected))


def test_a_plan_larger_than_memory_is_explained(tmp_path, capsys, little_memory):
    plan = pose(TRIPLE, [machine(60)], PRICE).solve()
    fw.write_workload(plan.source, tmp_path / "w")
    plan.save(tmp_path / "p")
    status, out, _ = run(capsys, "explain", tmp_path / "p", "--workload", tmp_path / "w", "--json")
    assert (status, len(little_memory)) == (0, 1)
    assert json.loads(out)["cost"]["total"] == pytest.approx(plan.objective)


def plain(facts, path=""):
    """Facts as one flat dictionary, for comparing numbers nearly and words exactly."""
    items = facts.items() if isinstance(facts, dict) else enumerate(facts)
    found = {}
    for key, value in items:
        place = f"{path}/{key}"
        found.update(plain(value, place) if isinstance(value, dict | list) else {place: value})
    return found
