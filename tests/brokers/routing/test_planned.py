"""Routes by plans: what the links carry is what the plan says they do."""

from __future__ import annotations

import numpy as np
import pytest
from tests.brokers.routing.test_routers import follow

from fanwise.assign.problem import Assignment
from fanwise.brokers.protocol.ports import DirectRouter
from fanwise.brokers.routing.planned import read_routing
from fanwise.errors import ParameterError, PlanError
from fanwise.wire.problem import Wiring
from fanwise.workload.content.files import write_content_workload
from fanwise.workload.content.traffic import measure_traffic, overlapped_channels
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.sparse import sparse


@pytest.mark.parametrize("topology", ["mesh", "tree"])
def test_links_carry_what_the_plan_says(tmp_path, topology):
    workload = sparse(40, brokers=6, channels=10, seed=3)
    plan = Wiring(workload, topology=topology).solve("packing")
    write_content_workload(workload, tmp_path / "w")
    plan.save(tmp_path / "p")
    names = workload.broker_names.to_pylist()
    router, covers = read_routing(tmp_path / "w", tmp_path / "p", None, names[0])
    assert covers == ()
    broker_of_user = plan.tables["attachments"]["broker"].to_numpy()
    wanted = overlapped_channels(workload.lo, workload.hi, *workload.channels)
    traffic, rates = measure_traffic(workload), workload.rates
    carried = np.zeros((6, 6))
    views = {name: frozenset(names) - {name} for name in names}
    for user in range(40):
        for entry in range(rates.indptr[user], rates.indptr[user + 1]):
            channel = rates.indices[entry]
            others = [
                names[broker_of_user[other]]
                for other in range(40)
                if other != user
                and channel in wanted.indices[wanted.indptr[other] : wanted.indptr[other + 1]]
            ]
            middle = (workload.channels.lo[channel] + workload.channels.hi[channel]) / 2
            origin = names[broker_of_user[user]]
            destinations = set(others) - {origin}
            crossed, _ = follow(router, origin, destinations, views, tuple(middle))
            for one, other in crossed:
                low, high = sorted((names.index(one), names.index(other)))
                carried[low, high] += traffic.rate[entry]
    links = plan.tables["links"].to_pydict()
    planned = np.zeros((6, 6))
    planned[links["broker"], links["other"]] = links["traffic"]
    np.testing.assert_allclose(carried, planned, rtol=1e-9, atol=1e-9)


def test_covers_hold_the_subscriptions_of_leaves(tmp_path):
    workload = grid(60, brokers=6, out_degree=2, seed=1)
    plan = Assignment(workload).solve("gr")
    write_content_workload(workload, tmp_path / "w")
    plan.save(tmp_path / "p")
    names = workload.broker_names.to_pylist()
    broker_of_user = plan.tables["assignment"]["broker"].to_numpy()
    num_covered = 0
    for broker, name in enumerate(names):
        router, covers = read_routing(tmp_path / "w", None, tmp_path / "p", name)
        assert (len(covers) > 0) == (broker in broker_of_user)
        for user in np.flatnonzero(broker_of_user == broker):
            lo, hi = workload.lo[user], workload.hi[user]
            num_covered += any((low <= lo).all() and (hi <= high).all() for low, high in covers)
    assert num_covered == 60
    views = {name: frozenset(names) - {name} for name in names}
    leaves = {names[leaf] for leaf in workload.leaves}
    origin = min(leaves)
    crossed, reached = follow(router, origin, leaves - {origin}, views)
    assert set(reached) == leaves - {origin}
    parents = {
        frozenset((name, names[parent]))
        for name, parent in zip(names, workload.parent, strict=True)
        if parent >= 0
    }
    roots = {names[i] for i in np.flatnonzero(workload.parent < 0)}
    assert all(frozenset(link) in parents or set(link) <= roots for link in crossed)


def test_says_what_does_not_fit(tmp_path):
    workload, other = sparse(20, brokers=3, seed=1), sparse(20, brokers=3, seed=2)
    write_content_workload(workload, tmp_path / "w")
    write_content_workload(other, tmp_path / "other")
    Wiring(workload).solve("packing").save(tmp_path / "p")
    name = workload.broker_names[0].as_py()
    assert isinstance(read_routing(None, None, None, name)[0], DirectRouter)
    with pytest.raises(ParameterError, match="workload"):
        read_routing(None, tmp_path / "p", None, name)
    with pytest.raises(ParameterError, match="wire plan"):
        read_routing(tmp_path / "w", tmp_path / "p", tmp_path / "p", name)
    with pytest.raises(ParameterError, match="brokers of"):
        read_routing(tmp_path / "w", None, None, "nobody")
    with pytest.raises(PlanError, match="another workload"):
        read_routing(tmp_path / "other", tmp_path / "p", None, name)
    with pytest.raises(PlanError, match="fanwise assign"):
        read_routing(tmp_path / "w", None, tmp_path / "p", name)
