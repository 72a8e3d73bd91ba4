"""What ``explain`` says of a wiring is what a plain recount says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import wire_oracle as oracle
from tests.wire.small_wirings import Wires, some_wires, wirings

import fanwise as fw
from fanwise.errors import InputError
from fanwise.planning import explanation
from fanwise.wire.explain import plan as explaining
from fanwise.wire.explain.explain import explain

pytestmark = pytest.mark.kernels

ALGORITHMS = ("packing", "random", "migration")


def moved(attached, user, broker):
    return [broker if i == user else b for i, b in enumerate(attached)]


def changes_by_hand(facts, attached, user):
    """How C1 and C2 change if a user moves to each broker."""
    access, core = oracle.cost_of(facts, attached)
    found = [oracle.cost_of(facts, moved(attached, user, b)) for b in facts.brokers]
    return [(one - access, other - core) for one, other in found]


def reason_by_hand(facts, attached, user):
    if facts.demand[user] == 0:
        return "no_traffic"
    if len(facts.core) == 1:
        return "only_broker"
    total = sum(oracle.cost_of(facts, attached))
    load = oracle.loads_of(facts, attached)
    changes = [sum(change) for change in changes_by_hand(facts, attached, user)]
    cheaper = [b for b in facts.brokers if changes[b] < -1e-9 * total and b != attached[user]]
    if any(oracle.fits(facts, load[b] + facts.demand[user], b) for b in cheaper):
        return "moving_pays"
    if cheaper:
        return "no_room_elsewhere"
    prices = facts.access[user]
    is_cheapest = prices[attached[user]] <= min(prices)
    return "cheapest_access" if is_cheapest else "saves_core"


def attached_by(plan):
    return plan.tables["attachments"].column("broker").to_pylist()


@settings(max_examples=25)
@given(wirings(max_users=4), st.sampled_from(ALGORITHMS), st.booleans())
def test_places_for_a_user_cost_what_a_recount_says(wires, algorithm, is_tree):
    workload, facts = wires.workload(), oracle.facts_of(wires, is_tree)
    plan = fw.Wiring(workload, topology="tree" if is_tree else "mesh").solve(algorithm, seed=1)
    attached = attached_by(plan)
    load = oracle.loads_of(facts, attached)
    for user, name in enumerate(workload.subscriber_names.to_pylist()):
        said = explain(workload, plan, subscriber=name).facts
        assert said["reason"] == reason_by_hand(facts, attached, user)
        assert said["choices"][0]["is_own"]
        changes = changes_by_hand(facts, attached, user)
        by_broker = {choice["broker"]: choice for choice in said["choices"]}
        for b in facts.brokers:
            choice = by_broker[str(workload.broker_names[b])]
            assert (choice["access"], choice["core"]) == pytest.approx(changes[b], abs=1e-9)
            fits = oracle.fits(facts, load[b] + facts.demand[user], b)
            assert choice["has_room"] == (fits or b == attached[user])


@pytest.mark.parametrize("seed", [0, 1])
def test_the_parts_of_the_cost_add_up(seed, monkeypatch):
    monkeypatch.setattr(explanation, "MOST_LISTED", 100)
    wires = some_wires(seed)
    workload, facts = wires.workload(), oracle.facts_of(wires)
    plan = fw.Wiring(workload).solve("packing")
    attached = attached_by(plan)
    access, core = oracle.cost_of(facts, attached)
    said = explain(workload, plan).facts
    assert (said["access"], said["core"]) == pytest.approx((access, core))
    assert sum(line["core"] for line in said["channels"]) == pytest.approx(core)
    assert sum(line["cost"] for line in said["links"]) == pytest.approx(core)
    assert sum(line["access"] for line in said["brokers"]) == pytest.approx(access)
    assert sum(line["load"] for line in said["brokers"]) == pytest.approx(sum(facts.demand))
    cheapest = sum(d * min(row) for d, row in zip(facts.demand, facts.access, strict=True))
    assert said["cheapest_access"] == pytest.approx(cheapest)
    reasons = [reason_by_hand(facts, attached, user) for user in facts.users]
    assert said["reasons"] == {name: reasons.count(name) for name in set(reasons)}
    assert [line["core"] for line in said["channels"]] == sorted(
        (line["core"] for line in said["channels"]), reverse=True
    )
    for line in said["channels"]:
        wanting = {attached[j] for j in facts.users if wires.wants[j][line["channel"]]}
        assert line["brokers"] == len(wanting)


def test_a_sample_of_users_stands_for_many(monkeypatch):
    wires = some_wires(0)
    workload = wires.workload()
    plan = fw.Wiring(workload).solve("packing")
    monkeypatch.setattr(explaining, "MOST_PRICED", 4 * len(wires.core))
    explanation = explain(workload, plan)
    assert explanation.facts["looked_at"] == 4 == sum(explanation.facts["reasons"].values())
    assert any("4 drawn at random" in passage.title for passage in explanation.passages)


def test_overloaded_and_full_brokers_are_named():
    wires = Wires([[2.0], [0.0]], [[0], [1]], [[1.0, 5.0], [1.0, 5.0]], [[0, 1.0], [1.0, 0]],
                  capacity=[3.0, 0.5])  # fmt: skip
    plan = fw.Wiring(wires.workload()).solve("packing")
    said = explain(wires.workload(), plan).facts
    assert said["full"] == 2
    assert said["overloaded"]
    assert not plan.feasible
    free = explain(wires.workload(capacity=None), fw.Wiring(wires.workload(capacity=None)).solve(
        "packing")).facts  # fmt: skip
    assert (free["full"], free["overloaded"]) == (None, [])


def test_nobody_of_that_name():
    workload = some_wires(0).workload()
    plan = fw.Wiring(workload).solve("packing")
    with pytest.raises(InputError, match="did you mean 's1"):
        explain(workload, plan, subscriber="s1x")


@pytest.mark.parametrize("brokers", [0, 2])
def test_an_empty_workload_is_explained(brokers):
    wires = Wires([], [], [], [[0.0] * brokers for _ in range(brokers)])
    workload = wires.workload()
    facts = explain(workload, fw.Wiring(workload).solve("packing")).facts
    assert (facts["users"], facts["cost"], facts["reasons"]) == (0, 0.0, {})
