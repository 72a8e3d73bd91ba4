"""Pictures of assignments on one level and on trees, their places in reports, and sweeps."""

from __future__ import annotations

import numpy as np
import pytest

import fanwise as fw
from fanwise.assign import plots
from fanwise.assign.description import DESCRIPTION
from fanwise.planning.sweep import sweep
from fanwise.report.comparison_plots import plot_sweep
from fanwise.report.workloads import content_section
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.groups import groups
from fanwise.workload.plot_style import encode

TITLES = [
    "Filters in the event space",
    "Assignments in the network",
    "Delay against the quickest way",
    "Loads of the brokers",
]


@pytest.fixture(scope="module", params=[None, 3], ids=["one level", "tree"])
def workload(request):
    return groups(200, depth=2, branching=4, removed=1, brokers=8, out_degree=request.param, seed=2)


def test_every_picture_can_be_drawn(workload):
    plan = fw.Assignment(workload).solve("gr-star")
    figures = plan.figures()
    assert list(figures) == TITLES
    for figure in figures.values():
        assert encode(figure, "png", dpi=30).startswith(b"\x89PNG")
    assert encode(plan.plot(), "svg")


def labels(figure):
    return {text.get_text() for text in figure.axes[0].get_legend().get_texts()}


def test_trees_show_inner_brokers(workload):
    plan = fw.Assignment(workload).solve("gr-star")
    filters, assignments, *_ = plan.figures().values()
    is_tree = bool((workload.parent >= 0).any())
    assert ("filters of inner brokers" in labels(filters)) == is_tree
    assert ("tree" in labels(assignments)) == is_tree
    assert {"subscribers", "brokers", "publisher"} <= labels(assignments)


def test_the_widest_filter_is_named(workload):
    problem = fw.Assignment(workload)
    plan = problem.solve("gr-star")
    _, filters = plots.read_tables(problem.arrays, plan.tables)
    measures = problem.arrays.measures(filters)
    leaf = max(workload.leaves, key=lambda broker: measures[broker])
    name = workload.broker_names[int(leaf)].as_py()
    assert f"the widest, {name}" in labels(plan.plot())


def test_many_subscribers_are_thinned_out(workload, monkeypatch):
    monkeypatch.setattr(plots, "MAX_MARKS", 50)
    plan = fw.Assignment(workload).solve("closest")
    _, assignments, delays, _ = plan.figures().values()
    drawn = next(line for line in assignments.axes[0].lines if line.get_label() == "subscribers")
    assert len(drawn.get_xdata()) == 50
    assert len(delays.axes[0].lines[0].get_xdata()) <= 50


def test_odd_workloads_have_pictures_too():
    nothing = ContentWorkload.from_arrays(
        [[np.nan]], [[np.nan]], [[0.0]], [[1.0]], publisher=[0.0], parent=[-1], share=[1.0]
    )
    line = ContentWorkload.from_arrays(
        [[0.0], [3.0]], [[1.0], [3.0]], [[0.0], [2.0]], [[1.0]], publisher=[0.0], parent=[-1],
        share=[1.0],
    )  # fmt: skip
    for workload in (nothing, line):
        plan = fw.Assignment(workload, lbf=1.0, lbf_max=1.0).solve("gr-star")
        for figure in plan.figures().values():
            assert encode(figure, "png", dpi=30)


def test_a_report_tells_of_a_content_workload(workload):
    section = content_section(workload)
    facts, *rest = section.items
    assert ("subscribers", 200) in list(facts.pairs)
    assert {type(item).__name__ for item in rest} == {"Picture", "Table"}


def test_a_sweep_goes_below_the_desired_load(workload):
    problem = fw.Assignment(workload)
    low, high = 1.0, problem.lbf_max
    found = sweep(problem, [{"lbf_max": low}, {"lbf_max": high}], "gr-star").points
    assert [point.parameters["lbf_max"] for point in found] == [low, high]
    assert found[1].feasible
    figure = plot_sweep(found, [DESCRIPTION.parameter("lbf_max")], objective="bandwidth")
    assert figure.axes[0].get_xlabel() == "load limit (load-balance factor)"
    assert ("breaks a limit" in labels(figure)) == (not found[0].feasible)
    given = problem.changed({"lbf_max": 2.5, "lbf": 2.0})
    assert (given.lbf, given.lbf_max) == (2.0, 2.5)
    assert problem.changed({"lbf_max": low}).lbf == low
    assert problem.changed({"lbf_max": 9.0}).lbf == problem.lbf
