"""best: never worse than the paper, feasible wherever anybody is, moves that keep all in step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, places, verify_plan
from tests.oracles import assign_oracle as oracle

import fanwise as fw
from fanwise.arrays.flows import max_flow
from fanwise.assign import best
from fanwise.assign.choices import pairs_of
from fanwise.assign.filters import fit_filters
from fanwise.assign.greedy import solve_offline
from fanwise.assign.improving import moves, repairing
from fanwise.assign.improving.annealing import Annealing
from fanwise.assign.improving.move_state import MOVED, TOUCHED, make_state, touch, undo
from fanwise.assign.improving.recreating import recreate
from fanwise.assign.improving.refitting import refit
from fanwise.assign.problem import make_tables, read_tables
from fanwise.assign.subscriber_types import group_into_types
from fanwise.planning.assembling import make_plan
from fanwise.planning.problem import Outcome, Run
from fanwise.workload.generators.difficult import difficult
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import groups
from fanwise.workload.generators.rss import rss

FACTORS = st.sampled_from([(0.5, 0.8), (1.0, 1.0), (1.0, 1.5), (3.0, 4.0)])


def begin(made, lbf=1.0, lbf_max=2.0, alpha=2):
    """Return a problem, its types, and an assignment by Gr* ready for moves."""
    problem = fw.Assignment(made.workload(), alpha=alpha, max_delay=2.0, lbf=lbf, lbf_max=lbf_max)
    brokers, filters = read_tables(problem.arrays, solve_offline(problem, Run()).tables)
    types = group_into_types(problem.arrays, pairs_of(problem))
    state = make_state(types, types.amounts(brokers), filters, problem.limits(lbf_max))
    return problem, types, state


def rectangles(filters, broker):
    return [
        (tuple(filters.lo[broker, r]), tuple(filters.hi[broker, r]))
        for r in range(filters.counts[broker])
    ]


def check_in_step(made, problem, types, state):
    """Compare all that is kept up to date with what it should be, found plainly."""
    arrays, num_brokers = problem.arrays, len(made.parent)
    brokers = types.brokers_of_subscribers(state.amounts).tolist()
    loads = Counter(brokers)
    assert state.loads.tolist() == [loads[b] for b in range(num_brokers)]
    assert (state.loads <= state.limits).all()
    own = [rectangles(state.filters, b) for b in range(num_brokers)]
    choices = pairs_of(problem)
    for j, (broker, box) in enumerate(zip(brokers, made.boxes, strict=True)):
        assert broker in choices.indices[choices.indptr[j] : choices.indptr[j + 1]]
        assert box is None or any(oracle.holds(one, box) for one in own[broker])
    for broker, above in enumerate(made.parent):
        assert len(own[broker]) <= arrays.alpha
        assert state.measures[broker] == pytest.approx(oracle.measure(own[broker], made.cells))
        if above >= 0:
            assert all(any(oracle.holds(one, box) for one in own[above]) for box in own[broker])
    listed = [state.listed[state.first[b] :][: state.size[b]].tolist() for b in range(num_brokers)]
    places_of = [
        np.flatnonzero((brokers_of_pairs(types) == b) & (state.amounts > 0))
        for b in range(num_brokers)
    ]
    assert [sorted(one) for one in listed] == [one.tolist() for one in places_of]
    assert state.counters[MOVED] == state.counters[TOUCHED] == 0
    assert not state.is_touched.any()


def brokers_of_pairs(types):
    return types.arrays.brokers


@settings(max_examples=40)
@given(
    made=places(with_cells=True, with_candidates=True),
    factors=FACTORS,
    alpha=st.integers(1, 3),
    heat=st.sampled_from([0.0, 1.0, 100.0]),
    seed=st.integers(0, 99),
)
def test_moves_keep_everything_in_step(made, factors, alpha, heat, seed):
    problem, types, state = begin(made, *factors, alpha)
    before = state.measures.sum()
    moves.shrink_all(types.arrays, state)
    check_in_step(made, problem, types, state)
    draws = np.random.default_rng(seed).random((60, moves.NUM_DRAWS))
    leaves = problem.arrays.leaves
    moves.try_moves(types.arrays, state, moves.make_workspace(state), leaves, draws, heat)
    check_in_step(made, problem, types, state)
    if heat == 0.0:
        assert state.measures.sum() <= before * (1 + 1e-12)


@settings(max_examples=40)
@given(made=places(with_candidates=True), seed=st.integers(0, 99))
def test_a_move_undone_leaves_no_trace(made, seed):
    problem, types, state = begin(made)
    workspace = moves.make_workspace(state)
    before = state.amounts.copy(), state.loads.copy(), state.filters.copy()
    rng = np.random.default_rng(seed)
    for b in problem.arrays.leaves:
        for r in range(state.filters.counts[b]):
            touch(types.arrays, state, b)
            count = moves.ruin(types.arrays, state, workspace, b, r, rng.random(moves.NUM_DRAWS))
            barred, is_pushing = b if rng.random() < 0.5 else -1, rng.random() < 0.5
            recreate(types.arrays, state, workspace.evicted, count, np.inf, barred, is_pushing)
            undo(types.arrays, state)
    assert (state.amounts == before[0]).all()
    assert (state.loads == before[1]).all()
    for b in range(len(made.parent)):
        assert rectangles(state.filters, b) == rectangles(before[2], b)
    check_in_step(made, problem, types, state)


@settings(max_examples=40)
@given(
    made=places(with_cells=True, with_candidates=True),
    factors=FACTORS,
    max_delay=st.sampled_from([0.0, 0.3, 2.0]),
    alpha=st.integers(1, 3),
)
@pytest.mark.parametrize("limits", [{"effort": 0.05}, {"time_limit": 0}], ids=["work", "no time"])
def test_is_never_worse_than_the_paper_and_feasible_wherever_max_flow_is(
    limits, made, factors, max_delay, alpha
):
    lbf, lbf_max = factors
    problem = fw.Assignment(
        made.workload(), alpha=alpha, max_delay=max_delay, lbf=lbf, lbf_max=lbf_max
    )
    plan = problem.solve("best", **limits)
    verify_plan(plan)
    flow = max_flow(problem.groups, problem.limits(lbf_max))
    assert plan.feasible == (flow.num_left == 0)
    for algorithm in PAPER:
        broken, value = rank(problem, problem.solve(algorithm))
        assert rank(problem, plan) <= (broken, value * (1 + 1e-9))


PAPER = ("gr", "gr-star", "gr-no-latency", "closest", "closest-no-balance", "balance", "slp")


def rank(problem, plan):
    """How many are late or too many for their broker, then bandwidth."""
    loads = Counter(plan.tables["assignment"].column("broker").to_pylist())
    limits = problem.limits(problem.lbf_max).tolist()
    excess = sum(max(load - limits[broker], 0) for broker, load in loads.items())
    return plan.metrics["late"] + excess, plan.objective


@pytest.mark.parametrize("generator", [groups, rss, grid])
def test_what_the_paper_can_do_comes_first_whatever_the_limit(generator):
    problem = fw.Assignment(generator(400, brokers=8, seed=2))
    others = [problem.solve(algorithm, seed=3) for algorithm in PAPER]
    best_of_paper = min(rank(problem, plan) for plan in others)
    for limits in ({"time_limit": 0}, {"gap": 1.0}, {"effort": 0.0}):
        plan = problem.solve("best", seed=3, **limits)
        verify_plan(plan)
        assert rank(problem, plan) == best_of_paper


def on_a_line(points, candidates, brokers):
    """Points on a line, all of them at the same place in the network."""
    return Places(
        at=[[0.0, 0.0]] * len(points),
        boxes=[((x,), (x,)) for x in points],
        brokers=[[0.0, 1.0]] * brokers,
        parent=[-1] * brokers,
        shares=[1 / brokers] * brokers,
        publisher=[0.0, 0.0],
        candidates=candidates,
    )


@pytest.mark.parametrize("copies", [1, 2], ids=["exact", "beyond exact"])
@pytest.mark.parametrize(
    ("points", "candidates", "least"),
    [
        (
            [0.0, 0.02, 0.0, 0.0, 1.0, 1.0, 0.02],
            [[0, 2], [1, 2], [0, 2], [1], [0, 1], [0, 1, 2], [0, 1, 2]],
            0.02,
        ),
        (
            [1.0, 1.02, 1.02, 0.02, 1.0, 0.0, 0.02],
            [[1], [0, 1], [1], [0, 1], [0], [1], [0, 1]],
            1.04,
        ),
    ],
)
def test_candidates_on_a_line_are_no_trap(points, candidates, least, copies):
    """Once brokers have filled up, somebody far away makes one of them span the line."""
    brokers = max(map(max, candidates)) + 1
    made = on_a_line(points * copies, candidates * copies, brokers)
    problem = fw.Assignment(made.workload(), alpha=1, lbf=1.5, lbf_max=1.5)
    plan = problem.solve("best")
    plan.verify()
    assert plan.objective <= least * (1 + 1e-9)
    others = [problem.solve(algorithm) for algorithm in PAPER]
    most = min(other.objective for other in others if other.feasible)
    assert plan.objective <= most * (1 + 1e-9)


def lines(copies):
    """Two of four lines must share a rectangle; only those on one line do so for nothing."""
    four = [
        ((2.0, 0.0), (4.0, 0.0)),
        ((2.0, 3.0), (4.0, 3.0)),
        ((0.0, 3.0), (1.0, 3.0)),
        ((2.0, 0.0), (2.0, 2.0)),
    ]
    return Places(
        at=[[0.0, 0.0]] * (4 * copies),
        boxes=four * copies,
        brokers=[[0.0, 1.0]],
        parent=[-1],
        shares=[1.0],
        publisher=[0.0, 0.0],
    )


@pytest.mark.parametrize("copies", [1, 3], ids=["exact", "beyond exact"])
def test_three_rectangles_hold_four_lines_for_nothing(copies):
    problem = fw.Assignment(lines(copies).workload(), alpha=3)
    assert problem.solve("gr-star").objective > 0
    plan = problem.solve("best")
    plan.verify()
    assert plan.objective == 0
    assert plan.stopped == "exhausted"


def crossed(count=12):
    """Everybody may be anywhere; both brokers are full, and each has half of what is near."""
    boxes = [((x + k / 100, 0.0), (x + k / 100, 1.0)) for k in range(count // 2) for x in (0, 50)]
    return Places(
        at=[[0.0, 0.0]] * count,
        boxes=boxes,
        brokers=[[0.0, 1.0]] * 2,
        parent=[-1] * 2,
        shares=[0.5] * 2,
        publisher=[0.0, 0.0],
        candidates=[[0, 1]] * count,
    )


def test_members_of_full_brokers_change_places():
    """Each broker serves both ends of the line; only an exchange saves anything."""
    made = crossed()
    problem = fw.Assignment(made.workload(), alpha=1, lbf=1, lbf_max=1)
    types = group_into_types(problem.arrays, pairs_of(problem))
    half = len(made.at) // 4
    brokers = np.array([(k // 2 < half) ^ (k % 2) for k in range(len(made.at))], dtype=np.int32)
    filters = fit_filters(problem.arrays, brokers)
    assert problem.arrays.measures(filters).sum() > 100
    search = Annealing(
        types, types.amounts(brokers), filters, problem.limits(1.0), np.random.default_rng(1),
        heat=0.0,
    )  # fmt: skip
    for _ in range(20):
        search.run_batch(0.0)
    assert search.value == pytest.approx(0.1)
    check = types.brokers_of_subscribers(search.amounts)
    assert np.bincount(check).tolist() == [6, 6]


@pytest.mark.parametrize("seed", range(6))
def test_filters_are_fitted_anew_through_all_levels(seed):
    """Refitted filters hold all they must, and the best of them measures no more than before."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, 12, (14, 2))
    boxes = [(tuple(a), tuple(b)) for a, b in zip(lo.tolist(), (lo + 3).tolist(), strict=True)]
    made = Places(
        at=[[0.0, 0.0]] * 14,
        boxes=boxes,
        brokers=[[0.0, 1.0]] * 5,
        parent=[-1, 0, 0, -1, 3],
        shares=[None, 0.3, 0.3, None, 0.4],
        publisher=[0.0, 0.0],
    )
    problem = fw.Assignment(made.workload(), alpha=2 + seed % 2, lbf=2, lbf_max=2)
    brokers = np.array([(1, 2, 4)[k % 3] for k in range(14)], dtype=np.int32)
    fitted = fit_filters(problem.arrays, brokers)
    before = float(problem.arrays.measures(fitted).sum())
    rivals = list(refit(problem.arrays, brokers, fitted, rng))
    values = []
    for filters in rivals:
        outcome = Outcome(make_tables(brokers, filters))
        plan = make_plan(problem, "best", outcome, None, Run())
        verify_plan(plan)
        values.append(plan.objective)
    assert min(values) <= before


def test_says_why_it_stopped():
    problem = fw.Assignment(groups(300, brokers=6, seed=2))
    assert problem.solve("best", time_limit=0).stopped == "limit"
    assert problem.solve("best", gap=1.0).stopped == "gap"
    plan = problem.solve("best", effort=0.01)
    assert plan.stopped == "work"
    assert plan.limits["work"] == 0.01 * (6000 * 300 + 1_000_000)
    tiny = fw.Assignment(lines(1).workload(), alpha=2)
    assert tiny.solve("best").stopped == "exhausted"


def test_a_time_limit_is_used_up():
    """However little work is usual: who gives time wants it used."""
    problem = fw.Assignment(grid(60, brokers=4, seed=1))
    plan = problem.solve("best", time_limit=1.5)
    assert plan.stopped == "limit"
    assert plan.gap > 0.01
    assert problem.solve("best").stopped == "work"


def test_breaks_as_little_as_it_can_where_limits_cannot_be_kept():
    """Five depend on a broker that may serve two; Closest would leave one more of them there."""
    made = replace(chained(), candidates=[[0], [0], [0], [0], [0], [0, 1]])
    problem = fw.Assignment(made.workload(), alpha=1, lbf=1, lbf_max=1)
    for limits in ({}, {"time_limit": 0}):
        plan = problem.solve("best", **limits)
        assert not plan.feasible
        assert rank(problem, plan)[0] == 3
        verify_plan(plan)


def chained(count=6):
    """Gr* fills the broker that the last ones depend on: all but they could go elsewhere."""
    return Places(
        at=[[0.0, 0.0]] * count,
        boxes=[((float(k), 0.0), (k + 1.0, 1.0)) for k in range(count)],
        brokers=[[0.0, 1.0]] * 3,
        parent=[-1] * 3,
        shares=[1 / 3] * 3,
        publisher=[0.0, 0.0],
        candidates=[[0], [0], [0, 1], [0, 1], [1, 2], [1, 2]][:count],
    )


def test_a_repair_moves_no_more_than_it_must():
    made = chained()
    _, types, state = begin(made, alpha=1)
    limits = np.array([2, 2, 2])
    wanted = types.amounts(np.array([0, 0, 0, 1, 1, 2], dtype=np.int32))
    repaired = repairing.relieve_loads(types, wanted, limits)
    brokers = types.brokers_of_subscribers(repaired)
    assert np.bincount(brokers).tolist() == [2, 2, 2]
    assert brokers.tolist()[:2] == [0, 0]
    assert np.count_nonzero(repaired != wanted) == 4  # two on their way, each from and to
    filters = repairing.cover_amounts(types, repaired, state.filters)
    for j, broker in enumerate(brokers):
        assert any(oracle.holds(one, made.boxes[j]) for one in rectangles(filters, broker))
    relieved = repairing.relieve_loads(types, wanted, np.array([1, 2, 3]))
    loads = np.bincount(types.brokers_of_subscribers(relieved), minlength=3)
    assert np.maximum(loads - [1, 2, 3], 0).sum() == 1  # both of the first depend on one broker


def test_beats_greedy_by_far_where_greedy_fails():
    problem = fw.Assignment(difficult(120))
    plan = problem.solve("best", effort=0.1)
    assert plan.feasible
    assert 10 * plan.objective <= problem.solve("gr-star").objective


def test_saves_a_quarter_on_groups_within_the_same_load():
    problem = fw.Assignment(groups(1000, brokers=10, seed=1))
    plan, greedy = problem.solve("best", effort=0.2), problem.solve("gr-star")
    plan.verify()
    assert plan.feasible >= greedy.feasible
    assert plan.objective <= 0.75 * greedy.objective


def test_same_seed_same_plan_and_input_untouched():
    workload = groups(300, brokers=6, seed=2)
    before = workload.hash
    problem = fw.Assignment(workload)
    first, again = (problem.solve("best", seed=5, effort=0.05, time_limit=1e6) for _ in range(2))
    assert first.id == again.id
    assert first.metrics["moves"] > 0
    del workload.__dict__["hash"]
    assert workload.hash == before


def erratic_clock(seed):
    """Return a clock that jumps ahead by anything from nothing to hours."""
    rng, now = np.random.default_rng(seed), [0.0]

    def tell():
        now[0] += float(rng.choice([0.0, 1e-4, 1.0, 1e4]))
        return now[0]

    return tell


@pytest.mark.parametrize(
    ("workload", "alpha"),
    [(groups(300, brokers=6, seed=2), 3), (lines(1).workload(), 2)],
    ids=["moves", "exact"],
)
def test_the_clock_decides_nothing_without_a_time_limit(workload, alpha, monkeypatch):
    plans = []
    for seed in range(3):
        monkeypatch.setattr("time.perf_counter", erratic_clock(seed))
        problem = fw.Assignment(workload, alpha=alpha)
        plans.append(problem.solve("best", seed=5, effort=0.05))
    assert len({plan.id for plan in plans}) == 1
    assert len({plan.stopped for plan in plans}) == 1
    assert len({plan.bound for plan in plans}) == 1
    assert not any("time_limit" in plan.limits for plan in plans)


def test_slp_is_left_out_where_it_would_not_be_in_time(monkeypatch):
    """At this size it should take seconds, and with all the time there is it is a start."""
    problem = fw.Assignment(groups(1000, brokers=20, seed=1))
    hurried = problem.solve("best", time_limit=0)
    assert "slp" not in hurried.seconds
    assert hurried.stopped == "limit"
    verify_plan(hurried)
    monkeypatch.setattr(best, "assign_by_rounding", lambda *_: (solve_offline(*_), None))
    assert "slp" in problem.solve("best", time_limit=1e6, effort=0.001).seconds
    assert "slp" in problem.solve("best", effort=0.001).seconds


def test_gr_star_alone_is_made_where_others_would_not_be_in_time(monkeypatch):
    monkeypatch.setattr(best, "QUICK_PAIRS", 0)
    monkeypatch.setattr(best, "AFTER_STARTS", 1e9)  # as if Gr* had taken that long
    plan = fw.Assignment(groups(300, brokers=6, seed=2)).solve("best", time_limit=0)
    assert "gr-star" in plan.seconds
    assert not {"gr", "closest", "balance"} & set(plan.seconds)
    verify_plan(plan)


def test_stops_at_once_without_time_effort_or_gap():
    problem = fw.Assignment(groups(300, brokers=6, seed=2))
    for limits in ({"time_limit": 0}, {"gap": 1.0}, {"effort": 0.0}):
        assert "moves" not in problem.solve("best", **limits).metrics
    assert problem.solve("best", gap=0.0, effort=0.01).metrics["moves"] > 0


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    problem = fw.Assignment(groups(300, brokers=6, seed=2))
    batches = []

    class Interrupted(Annealing):
        def run_batch(self, fraction, *others):
            batches.append(fraction)
            if len(batches) > 3:
                raise KeyboardInterrupt
            return super().run_batch(fraction, *others)

    monkeypatch.setattr(best, "Annealing", Interrupted)
    plan = problem.solve("best")
    plan.verify()
    assert plan.is_interrupted
    assert plan.stopped == "interrupted"
    assert plan.metrics["moves"] == 3 * 500
    assert plan.objective < problem.solve("gr-star").objective


@pytest.mark.parametrize("seed", range(4))
def test_is_close_to_the_optimum_on_tiny_instances(seed):
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, 12, (6, 2))
    hi = lo + rng.integers(1, 5, (6, 2))
    made = Places(
        at=[[0.0, 0.0]] * 6,
        boxes=list(zip(map(tuple, lo.tolist()), map(tuple, hi.tolist()), strict=True)),
        brokers=[[0.0, 1.0]] * 3,
        parent=[-1] * 3,
        shares=[0.25, 0.25, 0.5],
        publisher=[0.0, 0.0],
        candidates=[[0, 1, 2]] * 6,
    )
    problem = fw.Assignment(made.workload(), alpha=1, lbf=9, lbf_max=9)
    least = oracle.optimum_of_one_rectangle(problem.workload)
    assert problem.solve("best").objective == pytest.approx(least)
