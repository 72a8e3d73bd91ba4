import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.plots import MAX_BARS
from fanwise.workload.look import encode


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
