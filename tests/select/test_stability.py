"""Pins, exclusions, and plans that stay near the one in force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.select.breaks import set_metric, set_parameter
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError, PlanError, VerificationError
from fanwise.planning.families import FAMILIES
from fanwise.select.problem import served_topics
from fanwise.select.relaxing.covers import cover_inequalities, plain_inequalities
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.stability.previous import Previous

ALGORITHMS = tuple(FAMILIES["select"].stages["algorithm"])
WEIGHING = ("best", "greedy", "exact")

SMALL = Instance(
    rates=[13.0, 29.0, 53.0, 101.0, 211.0],
    interests=[[0, 1, 2], [0, 1], [0, 2], [0, 1, 3], [1, 4], [0, 2, 3], [2, 3]],
    tau=60.0,
)


@st.composite
def fixed_topics(draw, num_topics: int):
    """Disjoint pinned and excluded topics, and what was served before."""
    roles = draw(
        st.lists(
            st.sampled_from(["", "", "", "pinned", "excluded"]),
            min_size=num_topics,
            max_size=num_topics,
        )
    )
    flags = st.lists(st.booleans(), min_size=num_topics, max_size=num_topics)
    before = np.array(draw(flags), dtype=bool)
    pinned = [t for t, role in enumerate(roles) if role == "pinned"]
    excluded = [t for t, role in enumerate(roles) if role == "excluded"]
    return pinned, excluded, before


def own_prices(num_topics: int):
    """A price for each topic."""
    price = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.5, 7.0])
    return st.lists(price, min_size=num_topics, max_size=num_topics)


@st.composite
def questions(draw, weighs_changes: bool):
    """A problem with fixed topics, maybe few changes, and the best any plan could do."""
    instance = draw(instances(max_topics=6, max_subscribers=6, with_cost=True, with_weight=True))
    pinned, excluded, before = draw(fixed_topics(len(instance.rates)))
    metric = draw(st.sampled_from(["binary", "fractional"]))
    near: dict = {}
    if weighs_changes:
        near = draw(
            st.one_of(
                st.fixed_dictionaries({"max_changes": st.integers(0, 4)}),
                st.fixed_dictionaries({"change_price": st.sampled_from([0.0, 0.5, 1.0, 2.5])}),
                st.fixed_dictionaries({"change_price": own_prices(len(instance.rates))}),
            )
        )
    workload = instance.workload()
    cost = instance.cost or select_oracle.normal_cost(instance.rates, instance.interests)
    capacity = float(draw(st.integers(0, 100))) / 100 * float(sum(cost))
    best = select_oracle.best_near(
        instance.rates,
        instance.interests,
        instance.tau,
        capacity * (1 + 1e-12),
        metric,
        cost=instance.cost,
        weight=instance.weight,
        pinned=pinned,
        excluded=excluded,
        before=np.flatnonzero(before).tolist(),
        **near,
    )
    options = {
        "tau": "column" if isinstance(instance.tau, list) else instance.tau,
        "capacity": capacity,
        "metric": metric,
        "pin": [f"t{t}" for t in pinned],
        "exclude": [f"t{t}" for t in excluded],
        "previous": Previous("before", before, 0),
        **near,
    }
    return workload, options, best


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=40)
@given(question=questions(weighs_changes=False))
def test_pins_and_exclusions_hold_and_bounds_enclose_the_optimum(algorithm, question):
    workload, options, best = question
    if best is None:
        with pytest.raises(InfeasibleError, match="pinned topics cost"):
            fw.Selection(workload, **options)
        return
    plan = fw.Selection(workload, **options).solve(algorithm)
    plan.verify()
    slack = 1e-9 * max(1.0, float(best))
    assert plan.objective - slack <= float(best) <= plan.bound + slack
    if algorithm == "exact":
        assert plan.objective == pytest.approx(float(best))


@pytest.mark.parametrize("algorithm", WEIGHING)
@settings(max_examples=50, deadline=None)
@given(question=questions(weighs_changes=True))
def test_few_changes_hold_and_bounds_enclose_the_optimum(algorithm, question):
    workload, options, best = question
    if best is None:
        with pytest.raises(InfeasibleError):
            fw.Selection(workload, **options).solve(algorithm)
        return
    problem = fw.Selection(workload, **options)
    plan = problem.solve(algorithm)
    plan.verify()
    served = served_topics(plan.tables["topics"], workload.num_topics)
    net = problem.net_value(served)
    slack = 1e-9 * max(1.0, abs(float(best)))
    assert net <= float(best) + slack
    if algorithm == "exact":
        assert net == pytest.approx(float(best))
    if problem.max_changes is not None:
        assert float(best) <= plan.bound + slack
    elif plan.metrics.get("net_bound") is not None:
        assert float(best) <= plan.metrics["net_bound"] + slack
    assert plan.metrics["given_up"] >= 0
    assert plan.metrics["free_value"] == pytest.approx(plan.objective + plan.metrics["given_up"])


@settings(max_examples=50, deadline=None)
@given(
    question=questions(weighs_changes=True),
    price=st.sampled_from([0.0, 0.3, 1.0, 4.0]),
    iterations=st.integers(0, 12),
)
def test_every_price_of_changes_proves_a_bound(question, price, iterations):
    workload, options, best = question
    assume(best is not None)
    problem = fw.Selection(workload, **options)
    relaxation = Relaxation(problem)
    if problem.max_changes is not None:
        relaxation.change_price = price
    relaxation.use(plain_inequalities(problem))
    relaxation.iterate(iterations)
    assert relaxation.bound() >= float(best) - 1e-9 * max(1.0, abs(float(best)))
    if problem.metric == "binary":
        relaxation.use(cover_inequalities(problem, problem.was_served))
        relaxation.iterate(iterations)
        assert relaxation.bound() >= float(best) - 1e-9 * max(1.0, abs(float(best)))


@settings(max_examples=30, deadline=None)
@given(question=questions(weighs_changes=True))
def test_best_is_never_below_greedy_or_standing_still(question):
    workload, options, best = question
    assume(best is not None)
    problem = fw.Selection(workload, **options)

    def net(algorithm):
        table = problem.solve(algorithm).tables["topics"]
        return problem.net_value(served_topics(table, workload.num_topics))

    reached = net("best")
    assert reached >= net("greedy") - 1e-9
    if problem.admits(problem.was_served):
        assert reached >= problem.net_value(problem.was_served) - 1e-9


@pytest.fixture(scope="module")
def two_weeks():
    """A workload of some size, a plan for it, and the same topics with other rates a week later."""
    random = np.random.default_rng(3)
    num_topics, num_subscribers = 400, 3000
    rates = np.ceil(random.pareto(1.1, num_topics) * 20 + 1)
    degree = random.integers(1, 8, num_subscribers)
    subscriber = np.repeat(np.arange(num_subscribers), degree)
    topic = (num_topics * random.random(len(subscriber)) ** 2).astype(int)
    pairs = np.unique(np.column_stack([subscriber, topic]), axis=0)
    names = [f"n{t:03}" for t in range(num_topics)]
    then = fw.TopicWorkload.from_arrays(
        rates, *pairs.T, num_subscribers=num_subscribers, topic_names=names
    )
    # Ten topics vanish, the others move to other ids, rates drift.
    order = random.permutation(num_topics - 10)
    place = np.full(num_topics, -1)
    place[order] = np.arange(num_topics - 10)
    kept = pairs[place[pairs[:, 1]] >= 0]
    now = fw.TopicWorkload.from_arrays(
        np.ceil(rates[order] * random.lognormal(0, 0.5, num_topics - 10)),
        kept[:, 0],
        place[kept[:, 1]],
        num_subscribers=num_subscribers,
        topic_names=[names[t] for t in order],
    )
    return then, fw.Selection(then, tau=40, capacity="20%").solve("greedy"), now


def test_more_changes_reach_more_up_to_the_free_plan(two_weeks):
    _, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="20%", previous=plan)
    free = problem.solve("greedy")
    reached = []
    for limit in (20, 40, 80, 400):
        near = replace(problem, max_changes=limit).solve("greedy")
        near.verify()
        assert near.metrics["changes"] <= limit
        assert near.metrics["free_changes"] == free.metrics["changes"]
        reached.append(near.objective)
    assert reached == sorted(reached)
    assert reached[0] < reached[1]
    assert reached[-1] >= free.objective


def test_a_limit_on_changes_lowers_the_bound(two_weeks):
    _, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="20%", previous=plan)
    free = problem.solve("greedy")
    near = replace(problem, max_changes=5).solve("best", gap=0.1)
    assert near.bound < free.objective  # what the limit costs is proven, not only measured
    assert near.gap < 0.1


def test_topics_are_matched_by_name(two_weeks):
    then, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="20%", previous=plan)
    served_then = served_topics(plan.tables["topics"], then.num_topics)
    names_then = {then.topic_names[t].as_py() for t in np.flatnonzero(served_then)}
    names_now = now.topic_names.to_pylist()
    assert problem.was_served.tolist() == [name in names_then for name in names_now]
    assert problem.previous.num_vanished == len(names_then - set(names_now))


def test_a_price_of_zero_is_the_free_plan_and_a_huge_one_stands_still(two_weeks):
    _, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="25%", previous=plan)
    free = replace(problem, change_price=0.0).solve("best", gap=0.1)
    assert free.metrics["given_up"] == 0
    still = replace(problem, capacity="90%", change_price=1e6).solve("best", gap=0.1)
    assert still.metrics["changes"] == 0
    assert still.metrics["given_up"] > 0


def test_equal_prices_of_topics_are_one_price(two_weeks):
    _, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="25%", previous=plan)
    one = replace(problem, change_price=1.5).solve("greedy")
    each = replace(problem, change_price=np.full(now.num_topics, 1.5)).solve("greedy")
    assert each.objective == one.objective
    assert each.metrics["net_value"] == one.metrics["net_value"]
    assert each.tables["topics"].column("served") == one.tables["topics"].column("served")
    assert each.id != one.id  # another question, even if the answer is the same


def test_a_topic_too_dear_to_switch_stays_and_others_do_not(two_weeks):
    _, plan, now = two_weeks
    problem = fw.Selection(now, tau=40, capacity="25%", previous=plan)
    free = served_topics(problem.solve("greedy").tables["topics"], now.num_topics)
    switched = np.flatnonzero(free != problem.was_served)
    dear = switched[::2]
    prices = np.zeros(now.num_topics)
    prices[dear] = 1e6
    near = replace(problem, change_price=prices).solve("best", gap=0.1)
    near.verify()
    served = served_topics(near.tables["topics"], now.num_topics)
    assert (served[dear] == problem.was_served[dear]).all()
    assert near.metrics["changes"] > 0


def test_the_column_of_the_workload_says_what_switching_costs(tmp_path):
    prices = [0.0, 5.0, 0.5, 2.0, 0.25]
    workload = SMALL.workload(change_price=prices)
    fw.write_workload(workload, tmp_path / "priced")
    read = fw.read_workload(tmp_path / "priced")
    assert read.hash == workload.hash != SMALL.workload().hash
    before = fw.Selection(read, 60, "30%").solve("greedy")
    problem = fw.Selection(read, 60, "60%", previous=before, change_price="column")
    plan = problem.solve("exact")
    plan.verify()
    assert plan.parameters["change_price"] == "column"
    served = served_topics(plan.tables["topics"], 5)
    paid = sum(
        price
        for price, now, then in zip(prices, served, problem.was_served, strict=True)
        if now != then
    )
    assert plan.metrics["net_value"] == pytest.approx(plan.objective - paid)
    plan.save(tmp_path / "plan")
    fw.read_plan(tmp_path / "plan", read).verify()
    with pytest.raises(ParameterError, match="has no column 'change_price'"):
        fw.Selection(SMALL.workload(), 60, "60%", previous=before, change_price="column")


def test_a_plan_without_its_workload_is_refused(two_weeks):
    _, plan, now = two_weeks
    with pytest.raises(PlanError, match="--previous-workload"):
        fw.Selection(now, tau=40, capacity="20%", previous=replace(plan, source=None))
    with pytest.raises(PlanError, match="not for the previous workload"):
        fw.Selection(now, tau=40, capacity="20%", previous=replace(plan, source=now))
    other = fw.Provisioning(now, tau=1).solve("gsp+ffbp")
    with pytest.raises(PlanError, match="of problem 'select'"):
        fw.Selection(now, tau=40, capacity="20%", previous=other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pin": ["t0"], "exclude": ["t0"]}, "not pinned"),
        ({"pin": ["t9"]}, "'pin' parameter must be names of topics"),
        ({"exclude": [3]}, "names of topics, got 3"),
        ({"max_changes": 3}, "without a previous plan"),
        ({"change_price": 3.0}, "without a previous plan"),
        ({"previous": True, "max_changes": -1}, "whole number >= 0"),
        ({"previous": True, "max_changes": 1.5}, "whole number >= 0"),
        ({"previous": True, "change_price": float("nan")}, "number >= 0"),
        ({"previous": True, "change_price": [1.0, 2.0, float("inf"), 0.0, 0.0]}, "got inf"),
        ({"previous": True, "change_price": [1.0, 2.0]}, "one for each topic"),
        ({"previous": True, "change_price": "dear"}, "'column', got 'dear'"),
        ({"previous": True, "max_changes": 1, "change_price": 1.0}, "left out with max_changes"),
    ],
)
def test_bad_options_are_refused(options, message):
    workload = SMALL.workload()
    if options.get("previous"):
        options = {**options, "previous": fw.Selection(workload, 60, "50%").solve("greedy")}
    with pytest.raises(ParameterError, match=message):
        fw.Selection(workload, tau=60, capacity="50%", **options)


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - set(WEIGHING)))
def test_algorithms_that_cannot_weigh_changes_say_so(algorithm):
    workload = SMALL.workload()
    plan = fw.Selection(workload, 60, "50%").solve("greedy")
    problem = fw.Selection(workload, 60, "50%", previous=plan, max_changes=1)
    with pytest.raises(ParameterError, match="best, greedy or exact"):
        problem.solve(algorithm)


def test_a_topic_in_another_name_order_is_pinned_by_name():
    names = ["e", "d", "c", "b", "a"]
    workload = SMALL.workload(topic_names=names)
    plan = fw.Selection(workload, 60, "60%", pin=["a"], exclude=["e"]).solve("best")
    served = served_topics(plan.tables["topics"], 5)
    assert served[4]
    assert not served[0]
    assert plan.parameters["pin"] == ["a"]
    assert plan.parameters["exclude"] == ["e"]


def _flip_before(plan):
    table = plan.tables["topics"]
    flipped = ~table.column("was_served").to_numpy(zero_copy_only=False)
    place = table.column_names.index("was_served")
    return replace(
        plan, tables={"topics": table.set_column(place, "was_served", pa.array(flipped))}
    )


@pytest.mark.parametrize(
    "spoil",
    [
        set_parameter(pin=["t4"]),
        set_parameter(exclude=["t0"]),
        set_parameter(pin=["nobody"]),
        set_parameter(pin="t0"),
        set_parameter(max_changes=0),
        set_metric(changes=77),
        set_metric(switched_on=77),
        _flip_before,
        lambda plan: replace(plan, tables={"topics": plan.tables["topics"].drop(["was_served"])}),
    ],
)
def test_verify_catches_what_breaks_a_promise(spoil):
    workload = SMALL.workload()
    before = fw.Selection(workload, 60, "20%").solve("greedy")
    plan = fw.Selection(
        workload, 60, "70%", pin=["t0"], exclude=["t4"], previous=before, max_changes=3
    ).solve("best")
    plan.verify()
    assert plan.metrics["changes"] > 0
    with pytest.raises(VerificationError):
        spoil(plan).verify()


def _reprice(price):
    def spoil(plan):
        table = plan.tables["topics"]
        place = table.column_names.index("change_price")
        prices = pa.array(np.full(len(table), price))
        return replace(plan, tables={"topics": table.set_column(place, "change_price", prices)})

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        set_parameter(change_price=1.0),
        set_metric(net_value=1.0),
        set_metric(net_bound=-50.0),
        _reprice(-1.0),
        _reprice(float("nan")),
        _reprice(3.5),
        lambda plan: replace(plan, tables={"topics": plan.tables["topics"].drop(["change_price"])}),
    ],
)
def test_verify_catches_wrong_prices_of_topics(spoil):
    workload = SMALL.workload()
    before = fw.Selection(workload, 60, "20%").solve("greedy")
    prices = [0.1, 0.2, 0.3, 0.4, 0.5]
    plan = fw.Selection(workload, 60, "70%", previous=before, change_price=prices).solve("best")
    plan.verify()
    assert plan.metrics["changes"] > 0
    assert plan.metrics["net_bound"] is not None
    with pytest.raises(VerificationError):
        spoil(plan).verify()
