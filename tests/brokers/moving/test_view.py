"""The cost of what summaries say, three ways: kernels, `wire`'s own measure, and the definition."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles.moving_oracle import cost

from fanwise.brokers.moving.summaries import BrokerSummary, ClientSummary, Rearrangement
from fanwise.brokers.moving.view import Scene, summaries_of
from fanwise.errors import InputError
from fanwise.wire.problem import Wiring
from fanwise.workload.generators.sparse import sparse


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cost_law", ["euclidean", "uniform"])
def test_cost_of_summaries(seed, cost_law):
    workload = sparse(30, brokers=5, channels=12, seed=seed, publishers=0.6, cost_law=cost_law)
    homes = np.random.default_rng(seed).integers(0, 5, 30).astype(np.int32)
    view = Scene(workload).view(summaries_of(workload, homes))
    assert view.workload.hash != ""
    names, brokers = view.clients, view.brokers
    home_of = {name: brokers[view.broker_of_client[i]] for i, name in enumerate(names)}
    original = workload.subscriber_names.to_pylist()
    assert home_of == {name: brokers[homes[row]] for row, name in enumerate(original)}

    channels = range(12)
    lo, hi = workload.channels
    wants = {
        name: {
            c for c in channels
            if max(lo[c, 0], workload.lo[row, 0]) < min(hi[c, 0], workload.hi[row, 0])
        }
        for row, name in enumerate(original)
    }  # fmt: skip
    indptr, indices, rate = workload.rates
    rates = {
        name: dict(zip(indices[indptr[row] : indptr[row + 1]].tolist(),
                       rate[indptr[row] : indptr[row + 1]].tolist(), strict=True))
        for row, name in enumerate(original)
    }  # fmt: skip
    arrays = Wiring(workload).arrays
    access = {
        (name, broker): arrays.access[row, b]
        for row, name in enumerate(original)
        for b, broker in enumerate(brokers)
    }
    between = {(a, b): arrays.core[i, j] for i, a in enumerate(brokers)
               for j, b in enumerate(brokers)}  # fmt: skip
    expected = cost(home_of, wants, rates, access, between)
    np.testing.assert_allclose(view.state().totals, expected, rtol=1e-9)

    users = pa.array(range(30), pa.int32())
    table = pa.table({"subscriber": users, "broker": pa.array(homes)})
    measured = Wiring(workload).measure({"attachments": table})
    np.testing.assert_allclose(view.state().cost, measured.objective, rtol=1e-9)


def scene():
    return Scene(sparse(6, brokers=2, channels=4, seed=1))


def test_strangers_and_those_who_want_nothing_have_a_place():
    summary = BrokerSummary(
        "b0", 10.0,
        (ClientSummary("new", (), (), (0,), (2.0,)),
         ClientSummary("other", (0.0,), (0.3,), (), (), (0.1, 0.2))),
    )  # fmt: skip
    view = scene().view([summary])
    assert view.clients == ("new", "other")
    assert view.workload.wants_nothing.tolist() == [True, False]
    assert view.demands() == {"new": 2.0, "other": 2.0}
    assert view.workload.capacity.tolist() == [10.0, 0.0]  # nobody has heard of b1
    assert scene().view([]).state().cost == 0


def test_a_client_told_twice_is_at_the_broker_named_last():
    client = ClientSummary("c", (0.0,), (1.0,), (), ())
    told = [BrokerSummary("b1", math.inf, (client,)), BrokerSummary("b0", math.inf, (client,))]
    view = scene().view(told)
    assert view.broker_of_client.tolist() == [view.id_of_broker["b0"]]


def test_refuses_brokers_that_the_workload_lacks():
    with pytest.raises(InputError, match="b9"):
        scene().view([BrokerSummary("b9", 1.0)])


def test_summaries_survive_the_way():
    clients = (ClientSummary("c", (0.0,), (1.0,), (1, 3), (0.5, 2.5), (0.1,)),)
    told = BrokerSummary("b0", 7.0, clients, Rearrangement("b0", 3, (("c", "b1"),)), 9)
    assert BrokerSummary.from_body("b0", 9, told.body()) == told
    for body in ({}, {"capacity": "x", "clients": ()}, {"capacity": 1.0, "clients": ((1, 2),)}):
        with pytest.raises(ValueError, match="a summary of b0"):
            BrokerSummary.from_body("b0", 1, body)
