"""Bounds at many capacities from one relaxation, against brute force and against single bounds."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.select.bounds import tight_proof
from fanwise.select.problem import METRICS
from fanwise.select.relaxing import capacity_bounds as bounding
from fanwise.select.relaxing.capacity_bounds import (
    capacity_bounds,
    choose_stops,
    fractional_knapsacks,
)
from fanwise.select.relaxing.knapsack import fractional_knapsack
from fanwise.select.sweep import capacity_curve, has_room
from fanwise.workload.generators.spotify import spotify

shares = st.lists(st.floats(0, 1.1), min_size=1, max_size=6)


def pose(instance, metric, **options):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity="100%", metric=metric, **options)


def best_of_all(instance, problem, limit, *, pinned=(), excluded=()):
    """The optimum by trying every set of topics that keeps the pinned and leaves the excluded."""
    cost = (
        select_oracle.normal_cost(instance.rates, instance.interests)
        if instance.cost is None
        else instance.cost
    )
    best = None
    for number in range(2 ** len(instance.rates)):
        served = {topic for topic in range(len(instance.rates)) if number >> topic & 1}
        if not served.issuperset(pinned) or served.intersection(excluded):
            continue
        if sum(cost[topic] for topic in served) <= limit * (1 + 1e-12):
            value = select_oracle.value(
                instance.rates, instance.interests, instance.tau, served, problem.metric,
                instance.weight,
            )  # fmt: skip
            best = value if best is None else max(best, value)
    return None if best is None else float(best)


@settings(max_examples=40)
@given(instances(max_topics=6, with_cost=True, with_weight=True), shares)
@pytest.mark.parametrize("metric", METRICS)
def test_no_selection_exceeds_any_of_the_bounds(metric, instance, at):
    problem = pose(instance, metric)
    limits = [share * problem.limit for share in at]
    bounds, is_interrupted = capacity_bounds(problem, limits)
    assert not is_interrupted
    for limit, bound in zip(limits, bounds, strict=True):
        assert bound >= best_of_all(instance, problem, limit) - 1e-9
    for point in capacity_curve(problem, limits).points:
        assert point.value <= point.bound + 1e-9


@settings(max_examples=30)
@given(instances(max_topics=6, with_cost=True), shares, st.data())
@pytest.mark.parametrize("metric", METRICS)
def test_bounds_and_curve_with_topics_that_must_or_must_not_be_served(metric, instance, at, data):
    topics = range(len(instance.rates))
    roles = [data.draw(st.sampled_from(["free", "free", "pin", "exclude"])) for _ in topics]
    fixed = {role: [t for t in topics if roles[t] == role] for role in ("pin", "exclude")}
    names = instance.workload().topic_names.to_pylist()
    problem = pose(instance, metric, pin=[names[t] for t in fixed["pin"]],
                   exclude=[names[t] for t in fixed["exclude"]])  # fmt: skip
    least = float(problem.cost[fixed["pin"]].sum())
    limits = [least + share * (problem.limit - least) for share in at]
    bounds, _ = capacity_bounds(problem, limits)
    points = capacity_curve(problem, limits).points
    for limit, bound, point in zip(limits, bounds, points, strict=True):
        best = best_of_all(instance, problem, limit, pinned=fixed["pin"], excluded=fixed["exclude"])
        assert bound >= best - 1e-9
        assert point.value <= best + 1e-9
        own = replace(problem, capacity=limit).solve("greedy").objective
        assert point.value <= own + 1e-9
        if point.is_exact:
            assert point.value == pytest.approx(own, abs=1e-9)


def test_an_excluded_topic_leaves_no_room_open():
    instance = Instance([2.0, 3.0], [[0], [1]], tau=1)
    (name, _) = instance.workload().topic_names.to_pylist()
    for exclude, is_exact in (((), False), ((name,), True)):
        problem = pose(instance, "binary", pin=(), exclude=exclude)
        # By ratio topic 0 comes first; at 3 it is served and 1 does not fit; at 2.5 neither does.
        (point,) = capacity_curve(replace(problem, capacity=5), [2.5]).points
        assert (point.value, point.is_exact) == ((0, True) if exclude else (1, True))
        served = problem.is_pinned
        assert has_room(problem, served, 2.5) is not is_exact


def test_a_curve_below_the_cost_of_what_is_pinned_is_refused():
    instance = Instance([2.0, 3.0], [[0], [1]], tau=1)
    names = instance.workload().topic_names.to_pylist()
    with pytest.raises(InfeasibleError, match="pinned"):
        capacity_curve(pose(instance, "binary", pin=[names[1]]), [1, 5])


def test_a_curve_from_one_run_cannot_weigh_changes():
    instance = Instance([2.0, 3.0], [[0], [1]], tau=1)
    problem = pose(instance, "binary")
    near = replace(problem, previous=problem.solve("greedy"), max_changes=1)
    with pytest.raises(ParameterError, match="max_changes"):
        capacity_curve(near, ["50%"])
    bounds, _ = capacity_bounds(near, [2.0, 5.0])
    assert bounds.tolist() == capacity_bounds(problem, [2.0, 5.0])[0].tolist()


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(-3, 40), st.integers(0, 30)), max_size=8),
    st.lists(st.floats(0, 200), min_size=1, max_size=6),
)
def test_many_knapsacks_are_as_many_single_ones(items, limits):
    profit, cost = (np.array([item[i] for item in items], dtype=float) for i in (0, 1))
    found = fractional_knapsacks(profit, cost, np.array(limits))
    assert found.tolist() == pytest.approx(
        [fractional_knapsack(profit, cost, limit) for limit in limits], abs=1e-9
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tau", [27, 276])
def test_they_are_about_as_tight_as_bounds_for_single_capacities(metric, tau):
    problem = fw.Selection(spotify(scale=0.003, seed=2), tau=tau, capacity="100%", metric=metric)
    percents = (1, 3, 10, 30, 60, 90, 100)
    bounds, _ = capacity_bounds(problem, [percent / 100 * problem.limit for percent in percents])
    for percent, bound in zip(percents, bounds, strict=True):
        single = tight_proof(replace(problem, capacity=f"{percent}%")).value
        assert bound <= 1.004 * single
    assert all(less <= more for less, more in pairwise(bounds))


def test_the_walk_stops_at_few_of_many_capacities():
    problem = pose(Instance([5.0, 7.0, 9.0], [[0, 1], [1, 2], [2]], tau=6), "binary")
    limits = np.linspace(0, problem.limit, 100)
    stops = choose_stops(problem, limits)
    assert len(stops) == bounding.MAX_STOPS
    assert (stops[0], stops[-1]) == (limits[1], limits[98])
    down = choose_stops(replace(problem, metric="fractional"), limits)
    assert down.tolist() == stops.tolist()[::-1]
    assert len(choose_stops(problem, np.array([0.0, problem.limit, 2 * problem.limit]))) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_ctrl_c_keeps_what_is_proven(monkeypatch, metric):
    problem = fw.Selection(spotify(scale=0.001, seed=3), tau=27, capacity="50%", metric=metric)
    stay, stops = bounding.Walk.stay, []

    def interrupt(walk, limit):
        stops.append(limit)
        if len(stops) == 2:
            raise KeyboardInterrupt
        stay(walk, limit)

    monkeypatch.setattr(bounding.Walk, "stay", interrupt)
    curve = capacity_curve(problem, ["5%", "10%", "50%"])
    assert curve.is_interrupted
    assert len(curve.points) == 3
    for point in curve.points:
        assert point.value <= point.bound <= problem.workload.num_subscribers
