import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.planning.sweep import Point
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.plots import MAX_BARS, ladder_of, plot_cost_against_tau, plot_ladder
from fanwise.workload.plot_style import encode


def solve(num_subscribers, pairs_per_machine, tau=3.0):
    instance = Instance([3.0], [[0]] * num_subscribers, tau=tau)
    workload = instance.workload(message_bytes=1.0, period_seconds=8.0)
    machine = Machine("m", 1.0, 3 * (pairs_per_machine + 1) / 1e6)
    return fw.Provisioning(workload, tau=tau, instance="m", catalogue=[machine]).solve()


@pytest.mark.parametrize(
    ("num_subscribers", "num_vms"), [(1, 1), (12, 4), (3 * MAX_BARS + 1, MAX_BARS + 1)]
)
def test_machines_are_drawn_to_scale(num_subscribers, num_vms):
    plan = solve(num_subscribers, pairs_per_machine=3)
    assert plan.metrics["vms"] == num_vms
    figures = plan.figures()
    assert list(figures) == ["What the plan costs", "How full the machines are"]
    costs, machines = (figure.axes[0] for figure in figures.values())
    bars = [patch for patch in costs.patches if patch.get_y() < 0.5]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(plan.objective)
    if num_vms <= MAX_BARS:
        heights = sum(bar.get_height() for bar in machines.patches)
        assert heights / num_vms == pytest.approx(100 * plan.metrics["utilisation"])
    else:
        tops = machines.patches[1].get_data().values
        assert tops.mean() == pytest.approx(100 * plan.metrics["utilisation"])
    for figure in figures.values():
        assert encode(figure, "svg").startswith(b"<?xml")


def test_an_empty_plan_says_so():
    for figure in solve(2, 3, tau=0.0).figures().values():
        assert len(figure.axes[0].texts) == 1


def test_a_reserve_is_drawn():
    instance = Instance([3.0], [[0]] * 12, tau=3.0)
    workload = instance.workload(message_bytes=1.0, period_seconds=8.0)
    plan = fw.Provisioning(
        workload, tau=3, instance="m", catalogue=[Machine("m", 1.0, 20 / 1e6)], reserve="25%"
    ).solve()
    axes = plan.figures()["How full the machines are"].axes[0]
    assert [
        line.get_ydata()[0] for line in axes.lines if line.get_label() == "less the reserve"
    ] == [pytest.approx(75.0)]


def ladder():
    instance = Instance([9.0, 6.0, 5.0], [[0], [1], [1, 2], [0, 1], [1, 2]], tau=8.0)
    workload = instance.workload(message_bytes=1.0, period_seconds=8.0)
    problem = fw.Provisioning(
        workload, tau=8, instance="m", catalogue=[Machine("m", 1.0, 30 / 1e6)]
    )
    return [problem.solve(name) for name in ("rsp+ffbp", "gsp+ffbp", "gsp+cbp", "best+best")]


def test_a_ladder_is_drawn_to_scale():
    plans = ladder()
    figure = plot_ladder(plans, plans[-1].bound)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        plan.algorithm for plan in plans
    ]
    for row, plan in enumerate(plans):
        bars = [bar for bar in axes.patches if abs(bar.get_y() + bar.get_height() / 2 - row) < 0.1]
        assert len(bars) == 3
        assert sum(bar.get_width() for bar in bars) == pytest.approx(plan.objective)
    assert encode(figure, "svg").startswith(b"<?xml")
    assert len(plot_ladder([solve(2, 3, tau=0.0)]).axes[0].texts) == 1


def test_the_ladder_goes_from_the_naive_plan_up():
    plans = ladder()
    shuffled = [plans[2], plans[3], plans[0], plans[1]]
    assert ladder_of(shuffled) == plans
    other = solve(2, 3)
    assert ladder_of([]) == []
    assert [plan.algorithm for plan in ladder_of([other])] == ["best+best"]


def test_cost_against_tau_is_drawn_with_the_highest_bound():
    def point(tau, value, bound):
        return Point({"tau": tau}, value, bound, value is not None, True, "x")

    curves = {
        "gsp+cbp": [point(100, 9.0, 5.0), point(1, 4.0, 3.0), point(1000, None, None)],
        "best+best": [point(1, 3.5, 3.2), point(100, 8.0, None)],
        "none": [point(1, None, None)],
    }
    figure = plot_cost_against_tau(curves)
    axes = figure.axes[0]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines == {
        "gsp+cbp": [[1, 4], [100, 9]],
        "best+best": [[1, 3.5], [100, 8]],
        "bound": [[1, 3.2], [100, 5]],
    }
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "100"]
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 9
    assert encode(figure, "png")
    assert len(plot_cost_against_tau({"none": curves["none"]}).axes[0].texts) == 1
