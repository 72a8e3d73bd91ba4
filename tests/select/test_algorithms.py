"""Fast, naive, exact and best against each other and against plain oracles."""

import json
from math import e as euler

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.select.bounds import tight_proof
from fanwise.select.greedy import greedy
from fanwise.select.greedy import served_by as greedy_start
from fanwise.select.milp import solve_milp
from fanwise.select.relaxing.covers import cover_inequalities, plain_inequalities, separate
from fanwise.select.relaxing.relaxation import Relaxation
from fanwise.select.relaxing.tightening import tighten
from fanwise.workload.generators.spotify import spotify

pytestmark = pytest.mark.kernels


def tau_of(instance):
    return "column" if isinstance(instance.tau, list) else instance.tau


def pose(instance, capacity="35%", metric="binary"):
    return fw.Selection(instance.workload(), tau=tau_of(instance), capacity=capacity, metric=metric)


def optimum(problem, instance):
    return float(
        select_oracle.optimum(
            instance.rates,
            instance.interests,
            instance.tau,
            problem.limit * (1 + 1e-12),
            problem.metric,
            cost=instance.cost,
            weight=instance.weight,
        )
    )


def served_by(plan):
    return plan.tables["topics"].column("served").to_pylist()


def crowd(seed, *, num_topics=150, num_subscribers=120, weighted=False):
    """A workload with heavy subscribers, who follow up to half of all topics."""
    rng = np.random.default_rng(seed)
    rates = np.ceil(rng.pareto(1.1, num_topics) * 4 + 1)
    interests = []
    for _ in range(num_subscribers):
        many = rng.random() < 0.3
        size = rng.integers(num_topics // 8, num_topics // 2) if many else rng.integers(1, 6)
        interests.append(sorted(rng.choice(num_topics, size, replace=False).tolist()))
    weight = rng.integers(0, 4, num_subscribers).astype(float).tolist() if weighted else None
    return Instance(rates.tolist(), interests, tau=0.0, weight=weight)


@pytest.mark.parametrize("tau", [3, 40, 900])
@pytest.mark.parametrize("capacity", ["5%", "30%", "90%"])
@pytest.mark.parametrize("seed", range(6))
def test_fast_and_naive_choose_the_same_among_heavy_subscribers(tau, capacity, seed):
    workload = crowd(seed, weighted=seed % 2 == 1).workload()
    problem = fw.Selection(workload, tau=tau, capacity=capacity)
    fast, naive = problem.solve("greedy"), problem.solve("greedy-naive")
    fast.verify()
    assert served_by(fast) == served_by(naive)


@settings(max_examples=50)
@given(instances(with_cost=True, with_weight=True))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_fast_and_naive_choose_the_same(metric, instance):
    problem = pose(instance, metric=metric)
    assert served_by(problem.solve("greedy")) == served_by(problem.solve("greedy-naive"))


@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_the_trajectory_tells_cost_and_value_after_each_topic(metric):
    workload = crowd(3).workload()
    problem = fw.Selection(workload, tau=60, capacity="40%", metric=metric)
    trajectory = greedy(problem)
    served = np.zeros(workload.num_topics, dtype=bool)
    for topic, used, value in zip(*trajectory, strict=True):
        served[topic] = True
        assert used == pytest.approx(problem.cost[served].sum())
        assert value == pytest.approx(problem.value(served), abs=1e-6)
    assert trajectory.total == pytest.approx(problem.solve("greedy").objective, abs=1e-6)


@settings(max_examples=30)
@given(instances(max_topics=6, with_cost=True, with_weight=True))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_exact_is_the_optimum(metric, instance):
    problem = pose(instance, metric=metric)
    plan = problem.solve("exact")
    plan.verify()
    best = optimum(problem, instance)
    assert plan.objective == pytest.approx(best, abs=1e-6)
    assert plan.bound >= best - 1e-9


@settings(max_examples=30)
@given(instances(max_topics=6, with_cost=True, with_weight=True))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_best_is_never_below_greedy_and_its_bound_holds(metric, instance):
    problem = pose(instance, metric=metric)
    plan = problem.solve("best")
    plan.verify()
    assert plan.objective >= problem.solve("greedy").objective - 1e-9
    assert plan.bound >= optimum(problem, instance) - 1e-9


@settings(max_examples=30)
@given(instances(max_topics=6, with_cost=True, with_weight=True), st.integers(0, 63))
@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_every_iterate_proves_a_bound(metric, instance, fitted):
    problem = pose(instance, metric=metric)
    best = optimum(problem, instance)
    relaxation = Relaxation(problem)
    relaxation.use(plain_inequalities(problem))
    for count in (0, 1, 7):
        relaxation.iterate(count)
        assert relaxation.bound() >= best - 1e-9
    if metric == "binary":  # inequalities fitted to any selection are valid, even a bad one
        served = (fitted >> np.arange(len(instance.rates))) % 2 == 1
        relaxation.use(cover_inequalities(problem, served))
        for count in (0, 1, 7):
            relaxation.iterate(count)
            assert relaxation.bound() >= best - 1e-9
            tighten(relaxation)
            assert relaxation.bound() >= best - 1e-9


@settings(max_examples=50)
@given(instances(max_topics=6))
def test_cover_inequalities_hold_for_every_selection(instance):
    problem = pose(instance)
    num_topics = len(instance.rates)
    indptr, interests = problem.workload.interests
    for fitted in (0, 21, 42, 63):
        served = (fitted >> np.arange(num_topics)) % 2 == 1
        inequalities = cover_inequalities(problem, served)
        if fitted % 2:  # shares that break many of them
            separate(problem, np.linspace(0.9, 0.1, num_topics), inequalities)
        coefficients = inequalities.coefficients
        for other in range(2**num_topics):
            chosen = (other >> np.arange(num_topics)) % 2 == 1
            satisfied = problem.satisfaction(chosen) > 0
            for v in np.flatnonzero(satisfied):
                row = slice(indptr[v], indptr[v + 1])
                assert coefficients[row][chosen[interests[row]]].sum() >= 1


def test_the_bound_closes_the_gap_where_the_papers_does_not():
    problem = fw.Selection(spotify(scale=0.002, seed=2), tau=276, capacity="10%")
    plan = problem.solve("best")
    plan.verify()
    assert plan.bound < plan.metrics["paper_bound"]
    assert plan.objective >= problem.solve("greedy").objective
    assert plan.gap < 0.01


@settings(max_examples=40)
@given(instances(max_topics=6))
def test_fractional_greedy_keeps_its_promise(instance):
    problem = pose(instance, metric="fractional")
    promised = 0.5 * (1 - 1 / euler) * optimum(problem, instance)
    assert problem.solve("greedy").objective >= promised - 1e-9


def test_the_trap_of_ratios():
    # One topic is worth 1 for a cost of 1, the other x for x + 1; only one of them fits.
    for x in (2, 10, 500):
        instance = Instance([1.0, 1.0], [[0]] + [[1]] * x, tau=1, cost=[1.0, x + 1.0])
        problem = pose(instance, capacity=x + 1.0, metric="fractional")
        assert problem.solve("greedy").objective == x
        assert pose(instance, capacity=x + 1.0).solve("greedy").objective == 1
        assert pose(instance, capacity=x + 1.0).solve("best").objective == x


def test_fractional_value_is_submodular_and_binary_is_not():
    rng = np.random.default_rng(5)
    workload = crowd(5, num_topics=30, num_subscribers=40).workload()
    broken = 0
    for _ in range(200):
        small = rng.random(30) < 0.3
        large = small | (rng.random(30) < 0.3)
        topic = int(rng.integers(30))
        gains = {}
        for metric in ("binary", "fractional"):
            problem = fw.Selection(workload, tau=90, capacity=0, metric=metric)
            gains[metric] = []
            for base in (small, large):
                with_topic = base.copy()
                with_topic[topic] = True
                gains[metric].append(problem.value(with_topic) - problem.value(base))
        assert gains["fractional"][0] >= gains["fractional"][1] - 1e-9 or large[topic]
        broken += gains["binary"][0] < gains["binary"][1]
    assert broken > 0


def test_densest_subgraph():
    # Topics are vertices and subscribers edges that need both ends: a 4-clique beats a star.
    clique = [[a, b] for a in range(4) for b in range(a + 1, 4)]
    star = [[4, b] for b in range(5, 10)]
    instance = Instance([1.0] * 10, clique + star, tau=2, cost=[1.0] * 10)
    problem = pose(instance, capacity=4)
    assert problem.solve("exact").objective == 6
    assert problem.solve("best").objective == 6


def test_baselines_take_topics_in_their_order():
    instance = Instance(
        [5.0, 1.0, 9.0], [[0, 1], [0], [0, 1, 2]], tau=1
    )  # costs 15, 2, 9; rate x followers alike
    problem = pose(instance, capacity=15)
    assert served_by(problem.solve("popular")) == [True, False, False]
    assert served_by(problem.solve("cheapest")) == [False, True, True]
    assert served_by(problem.solve("cuckoo")) == [True, False, False]


def test_exact_refuses_what_is_too_large(monkeypatch):
    monkeypatch.setattr("fanwise.select.exact.MAX_PAIRS", 3)
    with pytest.raises(ParameterError, match="best"):
        pose(Instance([1.0, 2.0], [[0, 1], [0, 1]], tau=1)).solve("exact")


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanwise.select.best._search", interrupt)
    problem = fw.Selection(crowd(1).workload(), tau=40, capacity="20%")
    plan = problem.solve("best")
    plan.verify()
    assert plan.is_interrupted
    assert plan.objective == problem.solve("greedy").objective


def test_limits_are_kept_in_the_plan():
    plan = fw.Selection(crowd(1).workload(), tau=40, capacity="20%").solve(
        "best", time_limit=0, gap=0.5
    )
    plan.verify()
    assert plan.parameters["time_limit"] == 0
    assert plan.parameters["gap"] == 0.5


@pytest.mark.data
def test_fractional_vectors(shared_data):
    vectors = json.loads((shared_data / "acceptance" / "select.json").read_text())
    for vector in vectors:
        instance = Instance(vector["rates"], vector["interests"], vector["tau"])
        for metric in ("binary", "fractional"):
            problem = pose(instance, capacity=vector["capacity"], metric=metric)
            expected = vector[metric]
            plan = problem.solve("greedy")
            assert plan.objective == pytest.approx(expected["greedy"], rel=1e-9)
            assert plan.metrics["paper_bound"] == expected["paper_bound"]
            best = problem.solve("best")
            best.verify()
            assert best.objective <= expected["optimum"] * (1 + 1e-9)
            assert best.bound >= expected["optimum"] * (1 - 1e-9)
            exact = problem.solve("exact")
            assert exact.objective == pytest.approx(expected["optimum"], rel=1e-6)


@pytest.mark.parametrize("is_warm", [False, True])
def test_exact_is_not_fooled_by_tight_tolerances(is_warm):
    """With tolerances of 1e-9, HiGHS called 1738.5 the optimum of this workload."""
    workload = spotify(scale=0.0005, seed=1)
    problem = fw.Selection(workload, tau=276, capacity="10%", metric="fractional")
    start = greedy_start(problem, greedy(problem)) if is_warm else None
    answer = solve_milp(problem, start=start)
    value = problem.value(answer.served)
    assert value == pytest.approx(1740.822463768116, rel=1e-6)
    assert value <= answer.bound <= tight_proof(problem).value
