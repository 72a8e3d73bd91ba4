"""The problem itself: settings, limits, filters, yardsticks, bounds, and what is impossible."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.small_places import Places, boxes, places
from tests.oracles import assign_oracle as oracle
from tests.oracles import rectangles_oracle

import fanwise as fw
from fanwise.assign.arrays import depths
from fanwise.assign.description import DESCRIPTION
from fanwise.assign.filters import fit_filters, nest_filters, tighten_filters
from fanwise.assign.problem import make_tables, read_tables
from fanwise.assign.proving.few_places import list_ways
from fanwise.assign.verify_unions import is_inside, measure_union
from fanwise.errors import ParameterError, VerificationError, WorkloadError
from fanwise.planning.compare import compare
from fanwise.planning.diff import diff_plans
from fanwise.planning.export import named_tables
from fanwise.workload.content import Cells

ALGORITHMS = tuple(DESCRIPTION.stages["algorithm"])
PLAIN = Places(
    at=[[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [10.0, 0.0]],
    boxes=[((0.0, 0.0), (2.0, 2.0)), ((1.0, 1.0), (3.0, 3.0)), None, ((8.0, 8.0), (9.0, 9.0))],
    brokers=[[0.0, 1.0], [10.0, 1.0]],
    parent=[-1, -1],
    shares=[0.5, 0.5],
    publisher=[5.0, 0.0],
)


def test_settings_come_from_the_workload_then_from_the_paper():
    plain = fw.Assignment(PLAIN.workload())
    assert plain.parameters() == {
        "alpha": 3, "max_delay": 0.3, "lbf": 1.5, "lbf_max": 1.8, "latency": "path"
    }  # fmt: skip
    meant = {"lbf": 2.3, "lbf_max": 2.5, "max_delay": 0.1, "alpha": 2}
    workload = PLAIN.workload(origin=meant)
    assert fw.Assignment(workload).parameters() == {**meant, "latency": "path"}
    assert fw.Assignment(workload, alpha=5, max_delay=0).parameters()["alpha"] == 5
    assert fw.Assignment(workload, lbf=3).lbf_max == 3
    assert fw.Assignment(workload, lbf_max=2).lbf == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0},
        {"alpha": 1.5},
        {"alpha": True},
        {"max_delay": -0.1},
        {"max_delay": float("nan")},
        {"lbf": "much"},
        {"lbf": 2.0, "lbf_max": 1.5},
        {"lbf_max": float("inf")},
        {"latency": "first-hop"},
    ],
    ids=str,
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong)).split("_")[0]):
        fw.Assignment(PLAIN.workload(), **wrong)


@pytest.mark.parametrize("missing", ["publisher", "parent", "share"])
def test_what_assign_needs_is_named(missing):
    workload = PLAIN.workload()
    parts = {"publisher": workload.publisher, "parent": workload.parent, "share": workload.share}
    parts[missing] = None
    if missing == "parent":
        parts["share"] = None
    partly = fw.ContentWorkload.from_arrays(
        workload.lo, workload.hi, workload.positions, workload.broker_positions, **parts
    )
    with pytest.raises(WorkloadError, match=missing):
        fw.Assignment(partly)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=30)
@given(
    made=places(with_cells=True, with_candidates=True),
    alpha=st.integers(1, 3),
    lbf=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_every_algorithm_tells_the_truth(algorithm, made, alpha, lbf):
    if algorithm == "exact":  # of what it is for
        few = len(made.at) // 2
        rows = made.candidates and made.candidates[:few]
        made = replace(made, at=made.at[:few], boxes=made.boxes[:few], candidates=rows)
        alpha = min(alpha, 2)
    problem = fw.Assignment(made.workload(), alpha=alpha, lbf=lbf, lbf_max=lbf * 1.2)
    plan = problem.solve(algorithm)
    assert plan.feasible == ("trouble" not in plan.metrics)
    if plan.feasible:
        assert plan.verify().is_bound_checked
        assert problem.least[0] <= problem.lbf_max * (1 + 1e-9)
        assert plan.bound <= plan.objective * (1 + 1e-9)
    else:
        with pytest.raises(VerificationError, match=r"load|latency"):
            plan.verify()
    with pytest.raises(VerificationError):
        replace(plan, feasible=not plan.feasible, gap=None).verify()


@settings(max_examples=40)
@given(made=places(max_subscribers=7, with_cells=True), alpha=st.integers(1, 3))
def test_fitted_filters_hold_everything_below(made, alpha):
    """Union containment by the oracle, level by level."""
    problem = fw.Assignment(made.workload(), alpha=alpha)
    arrays = problem.arrays
    assigned = np.resize(arrays.leaves, arrays.num_subscribers).astype(np.int32)
    fitted = fit_filters(arrays, assigned)
    tight = tighten_filters(arrays, assigned, fitted)
    for filters in (fitted, tight):
        held = rectangles_of(filters)
        assert max(map(len, held)) <= alpha
        for box, broker in zip(made.boxes, assigned, strict=True):
            assert box is None or rectangles_oracle.is_covered(box, held[broker])
        for broker, above in enumerate(made.parent):
            if above >= 0:
                for box in held[broker]:
                    assert rectangles_oracle.is_covered(box, held[above])
    assert (arrays.measures(tight) <= arrays.measures(fitted) + 1e-9).all()


def test_fitting_merges_two_to_make_room_for_one_far_away():
    boxes = [((0.0, 0.0), (4.0, 4.0)), ((5.0, 0.0), (8.5, 4.0)), ((100.0, 100.0), (101.0, 101.0))]
    made = replace(PLAIN, at=PLAIN.at[:3], boxes=boxes)
    arrays = fw.Assignment(made.workload(), alpha=2).arrays
    fitted = fit_filters(arrays, np.zeros(3, dtype=np.int32))
    assert rectangles_of(fitted) == [[((0.0, 0.0), (8.5, 4.0)), boxes[2]], []]


def rectangles_of(filters):
    return [
        [(tuple(lo[k].tolist()), tuple(hi[k].tolist())) for k in range(count)]
        for lo, hi, count in zip(*filters, strict=True)
    ]


def test_nesting_is_repaired_whatever_inner_brokers_had():
    made = replace(PLAIN, brokers=[[0, 1], [1, 1], [2, 1]], parent=[-1, 0, 0],
                   shares=[None, 0.5, 0.5])  # fmt: skip
    arrays = fw.Assignment(made.workload(), alpha=2).arrays
    filters = fit_filters(arrays, np.array([1, 1, 2, 2], dtype=np.int32))
    filters.lo[0], filters.hi[0] = 100.0, 101.0
    repaired = nest_filters(arrays, filters)
    inner, *children = rectangles_of(repaired)
    for box in (box for child in children for box in child):
        assert rectangles_oracle.is_covered(box, inner)
    assert max(side for _, hi in inner for side in hi) == 9.0
    assert rectangles_of(repaired)[1:] == rectangles_of(filters)[1:]
    assert filters.lo[0, 0, 0] == 100.0


def test_filters_survive_the_tables():
    arrays = fw.Assignment(PLAIN.workload()).arrays
    assigned = np.array([0, 0, 1, 1], dtype=np.int32)
    filters = fit_filters(arrays, assigned)
    tables = make_tables(assigned, filters)
    order = np.arange(tables["filters"].num_rows)[::-1]
    shuffled = {**tables, "filters": tables["filters"].take(pa.array(order))}
    again, read = read_tables(arrays, shuffled)
    assert again.tolist() == assigned.tolist()
    assert [sorted(some) for some in rectangles_of(read)] == [
        sorted(some) for some in rectangles_of(filters)
    ]


def test_row_order_does_not_change_the_id_and_diffs_work():
    problem = fw.Assignment(PLAIN.workload(), lbf=2, lbf_max=2, max_delay=50)
    plan = problem.solve("gr")
    filters = plan.tables["filters"]
    assert filters.num_rows > 1
    turned = filters.take(pa.array(np.arange(filters.num_rows)[::-1]))
    shuffled = replace(plan, tables={**plan.tables, "filters": turned})
    assert shuffled.compute_id() == plan.id
    assert diff_plans(plan, shuffled).is_empty
    other = problem.solve("closest")
    assert not diff_plans(plan, other).is_empty
    named = named_tables(plan, problem.workload)
    assert set(named["assignment"].column("broker").to_pylist()) <= {"b0", "b1"}


class TestYardsticks:
    def test_closest_fills_up_and_goes_on(self):
        made = replace(PLAIN, at=[[0.0, 0.0]] * 4)
        problem = fw.Assignment(made.workload(), lbf=1, lbf_max=1)
        assert brokers_of(problem.solve("closest")) == [0, 0, 1, 1]
        crowded = problem.solve("closest-no-balance")
        assert brokers_of(crowded) == [0, 0, 0, 0]
        assert not crowded.feasible
        assert crowded.metrics["lbf"] == 2
        assert crowded.metrics["overloaded"] == 1

    def test_leaves_without_a_share_serve_nobody(self):
        made = replace(PLAIN, at=[[0.0, 0.0]] * 4, shares=[0.0, 1.0])
        for algorithm in ALGORITHMS:
            plan = fw.Assignment(made.workload(), max_delay=50).solve(algorithm)
            plan.verify()
            assert brokers_of(plan) == [1] * 4

    @settings(max_examples=40)
    @given(made=places(with_candidates=True))
    def test_balance_reaches_the_least_factor(self, made):
        problem = fw.Assignment(made.workload())
        factor, _ = problem.least
        plan = problem.solve("balance")
        if factor is not None and made.at:
            assert plan.metrics["lbf"] <= factor * (1 + 1e-9)
            assert plan.metrics["late"] == 0


def brokers_of(plan):
    return plan.tables["assignment"].column("broker").to_pylist()


class TestTrouble:
    def test_too_tight_latency_names_who(self):
        made = replace(PLAIN, max_latency=[100.0, 0.5, 100.0, 100.0])
        plan = fw.Assignment(made.workload(), lbf=2, lbf_max=2).solve("gr-star")
        assert not plan.feasible
        with pytest.raises(VerificationError, match="latency: subscriber 1 is late, one of 1"):
            plan.verify()
        assert plan.metrics["late"] == 1
        trouble = plan.metrics["trouble"]
        assert (trouble["unreachable"], trouble["unreachable_names"]) == (1, ["s1"])
        assert trouble["least_lbf"] is None
        assert trouble["says"].startswith("latency is too tight: 1 subscribers")

    def test_too_tight_load_names_brokers_and_the_least_factor(self):
        made = replace(PLAIN, candidates=[[0], [0], [0], [0, 1]])
        plan = fw.Assignment(made.workload(), lbf=1, lbf_max=1).solve("gr-star")
        assert not plan.feasible
        with pytest.raises(VerificationError, match="load: broker 0 serves 3, above its limit"):
            plan.verify()
        trouble = plan.metrics["trouble"]
        assert trouble["bottleneck_brokers"] == ["b0"]
        assert (trouble["bottleneck_subscribers"], trouble["left_over"]) == (3, 1)
        assert trouble["least_lbf"] == 1.5
        assert "1.5" in trouble["says"]
        assert fw.Assignment(made.workload(), lbf=1, lbf_max=1.5).solve("gr-star").feasible


class TestBound:
    def test_many_subscribers_of_one_event_need_many_brokers(self):
        made = Places(
            at=[[0.0, 0.0]] * 6,
            boxes=[((0.0, 0.0), (2.0, 1.0))] * 6,
            brokers=[[0.0, 1.0]] * 3,
            parent=[-1] * 3,
            shares=[0.5, 0.25, 0.25],
            publisher=[0.0, 0.0],
        )
        plan = fw.Assignment(made.workload(), lbf=1, lbf_max=1.4).solve("gr-star")
        # Limits are 4, 2 and 2: six take the first and another.
        assert plan.bound == 4
        assert plan.objective == 6  # ties go to the least load: all three are used
        tight = fw.Assignment(made.workload(), lbf=1, lbf_max=1)  # limits 3, 1 and 1: infeasible
        assert tight.bound() >= 6

    def test_levels_add_up(self):
        made = replace(PLAIN, brokers=[[0, 1], [1, 1], [2, 1]], parent=[-1, 0, 0],
                       shares=[None, 0.5, 0.5])  # fmt: skip
        # The union has 7 + 1, once at the inner broker and once below it.
        assert fw.Assignment(made.workload(), lbf=2, lbf_max=2).bound() == 16

    def test_inner_brokers_serve_what_is_below_them(self):
        made = replace(
            PLAIN,
            boxes=[((0.0, 0.0), (2.0, 2.0))] * 4,
            brokers=[[0.0, 1.0]] * 6,
            parent=[-1, -1, 0, 0, 1, 1],
            shares=[None, None, 0.25, 0.25, 0.25, 0.25],
        )
        bounds = [fw.Assignment(made.workload(), lbf=k, lbf_max=k).bound() for k in (4, 2, 1)]
        # At 4 one leaf may serve all, at 2 two leaves below one broker, at 1 all are needed.
        assert bounds == [4 + 4, 4 + 8, 8 + 16]

    def test_subscribers_confined_to_different_brokers_do_not_share(self):
        made = replace(PLAIN, boxes=[((0.0, 0.0), (2.0, 2.0))] * 4, candidates=[[0], [0], [1], [1]])
        assert fw.Assignment(made.workload(), lbf=4, lbf_max=4).bound() == 8
        loose = replace(made, candidates=[[0, 1]] * 4)
        assert fw.Assignment(loose.workload(), lbf=4, lbf_max=4).bound() == 4

    def test_points_far_apart_need_large_rectangles(self):
        corners = [(0.0, 0.0), (10.0, 10.0), (20.0, 1.0)]
        made = replace(
            PLAIN,
            at=PLAIN.at[:3],
            boxes=[(corner, (corner[0] + 1, corner[1] + 1)) for corner in corners],
            brokers=PLAIN.brokers[:1],
            parent=[-1],
            shares=[1.0],
        )
        one, two, three = (fw.Assignment(made.workload(), alpha=k).bound() for k in (1, 2, 3))
        # Of two rectangles one has to hold two of the squares, the least pair spans 21 x 2.
        assert (one, two, three) == pytest.approx((231, 21 * 2 + 1, 3))
        assert fw.Assignment(made.workload(), alpha=1).solve("gr").objective == 231

    @pytest.mark.parametrize(("points", "rectangles"), [(1, 1), (4, 2), (5, 3), (4, 6)])
    def test_every_way_to_hold_points_is_listed_once(self, points, rectangles):
        """Each point is in one of the rectangles, whose numbers do not matter, or in none."""

        def alike(way):
            boxes = [np.flatnonzero(np.array(way) == box) for box in set(way) - {0}]
            return frozenset(frozenset(some.tolist()) for some in boxes)

        ways = [alike(way) for way in list_ways(points, rectangles).tolist()]
        assert len(ways) == len(set(ways))
        assert set(ways) == set(map(alike, product(range(rectangles + 1), repeat=points)))

    @settings(max_examples=60)
    @given(made=places(max_subscribers=5, with_candidates=True), lbf=st.sampled_from([1.0, 2.0]))
    def test_no_assignment_beats_it(self, made, lbf):
        """One rectangle for each subscriber: filters are exactly what is wanted."""
        problem = fw.Assignment(made.workload(), alpha=6, lbf=lbf, lbf_max=lbf)
        candidates = made.candidates or oracle.candidates_of(made, 0.3)
        limits = oracle.limits_of(lbf, made.shares, len(made.at))
        best = oracle.least_bandwidth(made, candidates, limits)
        if best is not None:
            assert problem.bound() <= best * (1 + 1e-9)


class TestUnionsOfTheCheck:
    @settings(max_examples=60)
    @given(some=st.lists(boxes(), max_size=4), box=boxes())
    def test_containment_and_volume(self, some, box):
        lo = np.array([one[0] for one in some]).reshape(-1, 2)
        hi = np.array([one[1] for one in some]).reshape(-1, 2)
        inside = is_inside(np.array(box[0]), np.array(box[1]), lo, hi)
        assert inside == rectangles_oracle.is_covered(box, some)
        assert measure_union(lo, hi, None) == pytest.approx(rectangles_oracle.union_volume(some))
        cells = [((0.0, 0.0), (5.0, 20.0), 7.0), ((5.0, 0.0), (9.0, 9.0), 3.0)]
        parts = Cells(*(np.array(part) for part in zip(*cells, strict=True)))
        expected = rectangles_oracle.union_mass(some, cells)
        assert measure_union(lo, hi, parts) == pytest.approx(expected, abs=1e-9)


def test_depths():
    assert depths(np.array([-1, 0, 1, 1, -1], dtype=np.int32)).tolist() == [1, 2, 3, 3, 1]


def test_compare_puts_all_side_by_side():
    comparison = compare(fw.Assignment(PLAIN.workload(), max_delay=50, lbf=2, lbf_max=2))
    assert {plan.algorithm for plan in comparison.plans} == set(ALGORITHMS)
