import csv
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.compare import best_bound, compare, default_algorithms
from fanwise.planning.families import FAMILIES
from fanwise.planning.sweep import Point, sweep, write_points
from fanwise.report.comparison_plots import plot_comparison, plot_sweep
from fanwise.select.greedy import greedy, greedy_fractional
from fanwise.select.problem import METRICS
from fanwise.select.sweep import capacity_curve, greedy_runs, tighten_bounds

SMALL = Instance(
    [30.0, 20.0, 50.0, 7.0], [[0, 1], [1, 2], [2], [0, 3], [3], [1, 3]], tau=25.0
).workload()


def tau_of(instance):
    return "column" if isinstance(instance.tau, list) else instance.tau


def selection(workload=SMALL, capacity="40%", **options):
    return fw.Selection(workload, tau=options.pop("tau", 25), capacity=capacity, **options)


# compare


@pytest.mark.parametrize(
    "problem", [selection(), selection(metric="fractional"), fw.Provisioning(SMALL, tau=25)]
)
def test_every_algorithm_is_there_best_first(problem):
    comparison = compare(problem, seed=3)
    names, skipped = default_algorithms(problem)
    assert sorted(plan.algorithm for plan in comparison.plans) == sorted(names)
    assert skipped == {}
    values = [plan.objective for plan in comparison.plans]
    assert values == sorted(values, reverse=comparison.sense == "max")
    for plan in comparison.plans:
        plan.verify()
        limit = 10.0 if plan.algorithm.endswith("exact") else None
        again = problem.solve(plan.algorithm, seed=3, time_limit=limit)
        assert (again.id, again.objective) == (plan.id, plan.objective)
        gap = abs(plan.objective - comparison.bound) / max(plan.objective, comparison.bound)
        assert comparison.gap(plan) == pytest.approx(gap)
        assert comparison.gap(plan) <= plan.gap + 1e-12


def test_the_tightest_bound_counts_for_all():
    comparison = compare(selection(), ["random", "exact", "popular", "exact"])
    assert {plan.algorithm for plan in comparison.plans} == {"random", "exact", "popular"}
    assert len(comparison.plans) == 3
    bounds = [plan.bound for plan in comparison.plans]
    assert comparison.bound == min(bounds) == best_bound(comparison.plans, "max")
    assert best_bound(comparison.plans, "min") == max(bounds)
    assert best_bound([], "max") is None


def test_infeasible_plans_come_last_and_have_no_gap(monkeypatch):
    problem = selection(capacity=0)
    solve = fw.Selection.solve

    def break_limit(self, algorithm, **options):
        plan = solve(self, algorithm, **options)
        if algorithm == "popular":
            return replace(plan, objective=99.0, feasible=False)
        return plan

    monkeypatch.setattr(fw.Selection, "solve", break_limit)
    comparison = compare(problem, ["popular", "greedy"])
    assert [plan.algorithm for plan in comparison.plans] == ["greedy", "popular"]
    assert comparison.gap(comparison.plans[1]) is None


def compare_up_to(monkeypatch, stage, name, num_pairs):
    monkeypatch.setitem(stage, name, replace(stage[name], compared_to=num_pairs))


def test_slow_algorithms_are_left_out_of_large_instances(monkeypatch):
    compare_up_to(monkeypatch, FAMILIES["select"].stages["algorithm"], "exact", 3)
    comparison = compare(selection())
    assert list(comparison.skipped) == ["exact"]
    assert "3 pairs" in comparison.skipped["exact"]
    names = [plan.algorithm for plan in comparison.plans]
    assert "exact" not in names
    assert "greedy-naive" in names
    assert [plan.algorithm for plan in compare(selection(), ["exact"]).plans] == ["exact"]


def test_each_stage_says_how_large_instances_may_be(monkeypatch):
    compare_up_to(monkeypatch, FAMILIES["provision"].stages["pack"], "exact", 3)
    names, skipped = default_algorithms(fw.Provisioning(SMALL, tau=25))
    assert {name.split("+")[1] for name in skipped} == {"exact"}
    assert {"exact+cbp", "exact+best"} < set(names)


def test_what_refuses_a_problem_is_skipped_unless_it_was_asked_for():
    instance = Instance(rates=[13.0, 29.0, 53.0], interests=[[0, 1], [1, 2], [0]], tau=30.0)
    workload = instance.workload()
    before = fw.Selection(workload, 30.0, "45%").solve("greedy")
    problem = fw.Selection(workload, 30.0, "45%", previous=before, max_changes=1)
    comparison = compare(problem)
    assert {plan.algorithm for plan in comparison.plans} == {"best", "greedy", "exact"}
    assert "best, greedy or exact" in comparison.skipped["popular"]
    with pytest.raises(ParameterError):
        compare(problem, ["popular"])


def test_unknown_algorithms_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(fw.Selection, "solve", lambda *_, **__: pytest.fail("it worked"))
    for names in (["greedy", "quantum"], []):
        with pytest.raises(ParameterError, match="algorithm"):
            compare(selection(), names)


def test_without_tables_everything_else_stays():
    light = compare(selection(), keep_tables=False)
    whole = compare(selection())
    assert all(not plan.tables for plan in light.plans)
    assert [plan.id for plan in light.plans] == [plan.id for plan in whole.plans]


def test_ctrl_c_keeps_the_plans_made_so_far(monkeypatch):
    solve = fw.Selection.solve

    def interrupt(self, algorithm, **options):
        if algorithm == "popular":
            raise KeyboardInterrupt
        return solve(self, algorithm, **options)

    monkeypatch.setattr(fw.Selection, "solve", interrupt)
    comparison = compare(selection(), ["greedy", "popular", "random"])
    assert comparison.is_interrupted
    assert [plan.algorithm for plan in comparison.plans] == ["greedy"]
    with pytest.raises(KeyboardInterrupt):
        compare(selection(), ["popular"])


def test_a_problem_without_any_plan_cannot_be_compared():
    with pytest.raises(InfeasibleError):
        compare(too_large())


def too_large(**options):
    workload = fw.TopicWorkload.from_arrays([1e9, 1.0], [0, 1], [0, 1], message_bytes=1e6)
    return fw.Provisioning(workload, tau=options.pop("tau", 1e9), **options)


# the curve from one run

capacities = st.lists(
    st.one_of(st.integers(0, 120).map(lambda percent: f"{percent}%"), st.floats(0, 3000)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=30)
@given(instances(with_cost=True, with_weight=True), capacities)
@pytest.mark.parametrize("metric", METRICS)
def test_the_curve_against_greedy_run_anew(metric, instance, at):
    problem = selection(instance.workload(), tau=tau_of(instance), metric=metric)
    points = capacity_curve(problem, at).points
    assert len(points) == len(at)
    for point, capacity in zip(points, at, strict=True):
        own = replace(problem, capacity=capacity)
        plan = own.solve("greedy")
        assert point.parameters["capacity"] == own.limit
        assert point.value <= plan.objective + 1e-9
        assert plan.objective <= point.bound + 1e-9
        assert own.fits(point.metrics["used"])
        if point.is_exact:
            assert point.value == pytest.approx(plan.objective, abs=1e-9)
    by_capacity = sorted(points, key=lambda point: point.parameters["capacity"])
    for less, more in pairwise(by_capacity):
        assert less.value <= more.value + 1e-9
        assert less.bound <= more.bound


@settings(max_examples=40)
@given(instances(with_weight=True))
def test_it_is_exact_at_every_capacity_the_run_passed_through(instance):
    """Before the first topic that does not fit, less capacity changes no choice."""
    problem = selection(instance.workload(), tau=tau_of(instance), capacity="100%")
    (run,) = greedy_runs(problem)
    points = capacity_curve(problem, [*run.used.tolist(), "100%"]).points
    for point, value in zip(points, [*run.value, run.total], strict=True):
        assert point.is_exact
        assert point.value == pytest.approx(value, abs=1e-9)
        own = replace(problem, capacity=point.parameters["capacity"])
        assert greedy(own).total == pytest.approx(value, abs=1e-9)


def test_beyond_a_topic_that_does_not_fit_the_curve_is_below_greedy():
    # By ratio: topic 0, then the large topic 1, then 2. At 12 topic 1 does not fit, 2 does.
    interests = [[0], [0], *[[1]] * 10, [2]]
    workload = Instance([1.0, 1.0, 1.0], interests, tau=1, cost=[1.0, 20.0, 5.0]).workload()
    problem = selection(workload, tau=1)
    few, some, all_but_one, everything = capacity_curve(problem, [1, 12, 21, 26]).points
    assert (few.value, few.is_exact) == (2, True)
    assert (some.value, some.is_exact, some.metrics["used"]) == (2, False, 1)
    assert replace(problem, capacity=12).solve("greedy").objective == 3
    assert (all_but_one.value, all_but_one.is_exact) == (12, True)
    assert (everything.value, everything.is_exact) == (13, True)


def test_the_fractional_curve_takes_the_larger_of_both_runs():
    """The trap of Section V: per cost, a cheap topic bars the way to the one that counts."""
    workload = Instance([1.0, 50.0], [[0], *[[1]] * 50], tau=50, cost=[1.0, 100.0]).workload()
    problem = selection(workload, tau=1, capacity=100, metric="fractional")
    small, trap, both = capacity_curve(problem, [1, 100, 101]).points
    assert [small.value, trap.value, both.value] == [1, 50, 51]
    by_cost = greedy_fractional(problem, by_cost=True)
    assert by_cost.total == 1
    assert trap.metrics["used"] == 100


def test_a_curve_of_no_capacity_is_empty_and_a_bad_one_refused():
    assert capacity_curve(selection(), []).points == ()
    with pytest.raises(ParameterError, match="capacity"):
        capacity_curve(selection(), ["10%", "lots"])


def test_bounds_are_lowered_to_those_of_larger_capacities():
    def point(capacity, bound):
        return Point({"capacity": capacity}, 1.0, bound, True, True, "greedy")

    points = tighten_bounds([point(2, 9.0), point(1, 12.0), point(3, 10.0), point(4, None)])
    assert [entry.bound for entry in points] == [9.0, 9.0, 10.0, None]


# one run per point


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        (selection(), [{"tau": 7}, {"tau": 60.0}, {"tau": 7, "capacity": "90%"}]),
        (fw.Provisioning(SMALL, tau=25), [{"tau": 7}, {"tau": 60, "instance": "c3.xlarge"}]),
    ],
)
def test_each_point_is_a_plan(problem, changes):
    points = sweep(problem, changes, seed=1).points
    for point, change in zip(points, changes, strict=True):
        plan = replace(problem, **change).solve(seed=1)
        assert (point.value, point.bound, point.gap) == (plan.objective, plan.bound, plan.gap)
        assert point.is_exact
        assert {name: point.parameters[name] for name in change if name != "capacity"} == {
            name: value for name, value in change.items() if name != "capacity"
        }
        assert ("capacity_percent" in point.parameters) == ("capacity" in change)
        for name, value in point.metrics.items():
            assert value == plan.metrics[name]


def test_a_point_without_a_plan_is_kept():
    points = sweep(too_large(tau=1.0), [{"tau": 1e9}], "gsp+ffbp").points
    assert [(p.value, p.bound, p.gap, p.feasible) for p in points] == [(None, None, None, False)]


def test_a_bad_change_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(fw.Selection, "solve", lambda *_, **__: pytest.fail("it worked"))
    with pytest.raises(ParameterError, match="tau"):
        sweep(selection(), [{"tau": 1}, {"tau": -1}])


def test_ctrl_c_keeps_the_points_made_so_far(monkeypatch):
    solve = fw.Selection.solve

    def interrupt(self, *names, **options):
        if self.tau == 2:
            raise KeyboardInterrupt
        return solve(self, *names, **options)

    monkeypatch.setattr(fw.Selection, "solve", interrupt)
    done = sweep(selection(), [{"tau": 1}, {"tau": 2}, {"tau": 3}])
    assert done.is_interrupted
    assert [point.parameters["tau"] for point in done.points] == [1]


def test_points_as_csv(tmp_path):
    points = sweep(selection(), [{"tau": 7}, {"tau": 60}], "greedy").points
    write_points(points, tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["tau"]) for row in rows] == [7, 60]
    assert [float(row["value"]) for row in rows] == [point.value for point in points]


# pictures


def varied(family, *names):
    return [FAMILIES[family].parameter(name) for name in names]


def test_the_picture_of_a_comparison_shows_values_and_bound():
    comparison = compare(selection(), ["greedy", "random", "exact"])
    (axes,) = plot_comparison(comparison, objective="satisfied").axes
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == [plan.objective for plan in comparison.plans]
    assert np.unique(axes.lines[0].get_xdata()).tolist() == [comparison.bound]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [plan.algorithm for plan in comparison.plans]


def test_the_picture_of_a_sweep_shows_values_bounds_and_what_is_exact():
    points = capacity_curve(selection(), ["50%", "10%", "100%"]).points
    (axes,) = plot_sweep(points, varied("select", "capacity"), objective="satisfied").axes
    bound, value, *dots = axes.lines
    by_capacity = sorted(points, key=lambda point: point.parameters["capacity"])
    assert list(value.get_xdata()) == [10, 50, 100]
    assert list(value.get_ydata()) == [point.value for point in by_capacity]
    assert list(bound.get_ydata()) == [point.bound for point in by_capacity]
    hollow = [dot.get_markerfacecolor() == "white" for dot in dots]
    assert hollow == [not point.is_exact for point in by_capacity]


def test_the_picture_of_a_sweep_has_a_curve_for_each_machine():
    changes = [
        {"tau": tau, "instance": name} for tau in (7, 60) for name in ("c3.large", "c3.xlarge")
    ]
    points = sweep(fw.Provisioning(SMALL, tau=1), changes).points
    (axes,) = plot_sweep(points, varied("provision", "tau", "instance"), objective="dollars").axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "c3.large: bound", "c3.large: value", "c3.xlarge: bound", "c3.xlarge: value",
    ]  # fmt: skip
    assert axes.get_xlabel().startswith("tau")
    (axes,) = plot_sweep(points[:2], varied("provision", "instance"), objective="dollars").axes
    assert axes.get_xlabel() == "type of machine"
    for name, values, along, curves in (
        ("message_bytes", (111.0, 200.0), "horizon (days)", ["111 bytes", "200 bytes"]),
        ("tau", (7.0, 60.0), "horizon (days)", ["tau 7", "tau 60"]),
    ):
        changes = [{name: value, "horizon_seconds": days * 86400.0}
                   for value in values for days in (1, 30)]  # fmt: skip
        points = sweep(fw.Provisioning(SMALL, tau=25), changes).points
        (axes,) = plot_sweep(
            points, varied("provision", name, "horizon_seconds"), objective="dollars"
        ).axes
        assert axes.get_xlabel() == along
        assert list(axes.lines[1].get_xdata()) == [1, 30]
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels[1::2] == [f"{curve}: value" for curve in curves]
    far = sweep(fw.Provisioning(SMALL, tau=25), [{"tau": 1}, {"tau": 60}]).points
    (axes,) = plot_sweep(far, varied("provision", "tau"), objective="dollars").axes
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "60"]
    (axes,) = plot_sweep([], varied("provision", "tau"), objective="dollars").axes
    assert "no point" in axes.texts[0].get_text()
