from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as matrices
from scipy.optimize import linprog
from tests.oracles import wiring_search_oracle as oracle

from fanwise.planning.problem import Run
from fanwise.wire.arrays import rank_links
from fanwise.wire.bounds import bound_parts, brokers_needed
from fanwise.wire.problem import Wiring
from fanwise.wire.proving.access_prices import price_brokers, priced_access
from fanwise.wire.proving.gathering_bound import ascend
from fanwise.wire.proving.tree_bounds import rooted_trees
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

pytestmark = pytest.mark.kernels


def transport(arrays):
    """The least cost of access where users may be split, by linear programming."""
    users, brokers = arrays.access.shape
    once = matrices.kron(matrices.eye(users), np.ones((1, brokers)))
    loads = matrices.kron(arrays.demand[None], matrices.eye(brokers))
    costs = (arrays.demand[:, None] * arrays.access).reshape(-1)
    limits = {"A_ub": loads, "b_ub": arrays.capacity, "A_eq": once, "b_eq": np.ones(users)}
    return linprog(costs, **limits).fun


@pytest.mark.parametrize(
    ("factor", "law"), [(2.0, "euclidean"), (1.1, "euclidean"), (1.1, "uniform")]
)
def test_prices_come_close_to_the_relaxation(factor, law):
    workload = quadratic(400, brokers=8, channels=8, capacity_factor=factor, cost_law=law, seed=3)
    arrays = Wiring(workload).arrays
    best = transport(arrays)
    bound, prices = price_brokers(arrays.demand, arrays.access, arrays.capacity)
    assert 0.998 * best <= bound <= best * (1 + 1e-9)
    assert (prices >= 0).all()
    free = priced_access(arrays.demand, arrays.access, arrays.capacity, np.zeros(8))
    assert bound >= free
    assert factor == 2.0 or bound > free


def test_unlimited_brokers_are_free():
    demand, access = np.array([2.0, 1.0]), np.array([[1.0, 4.0], [2.0, 3.0]])
    bound, prices = price_brokers(demand, access, np.array([np.inf, np.inf]))
    assert (bound, prices.tolist()) == (4.0, [0.0, 0.0])
    bound, prices = price_brokers(demand, access, np.array([1.0, np.inf]))
    assert bound == pytest.approx(1 * 1 + 1 * 4 + 1 * 3)  # the first user is split
    assert prices.tolist() == [3.0, 0.0]


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([1, 3, 100]))
def test_no_tree_costs_less_than_its_bound(count, seed, steps):
    """Costs on a coarse grid have ties and free links."""
    drawn = np.random.default_rng(seed).integers(0, steps + 1, (count, count)) / steps
    core = np.array(oracle.closure((np.triu(drawn, 1) + np.triu(drawn, 1).T).tolist()))
    found, _ = rooted_trees(core, rank_links(core), count)
    for b in range(count):
        for size in range(1, count + 1):
            least = oracle.least_tree(core.tolist(), b, size)
            assert found[b, size] <= least * (1 + 1e-9)
        assert found[b, count] == pytest.approx(
            oracle.tree_cost(core.tolist(), range(count), False)
        )


def test_trees_far_from_cheap_links_cost_more():
    """Two neighbours far away are no help to a tree that starts here."""
    places = np.array([0.0, 0.1, 10.0, 13.0])
    core = abs(places[:, None] - places)
    found, _ = rooted_trees(core, rank_links(core), 2)
    assert found[0, 2] == pytest.approx(0.1)
    assert 2.5 <= found[3, 2] <= 3.0


def least_stars(access, core):
    owed = np.empty(len(core))
    ascend(access.copy(), core.copy(), owed)
    return owed


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([0, 1, 50]))
def test_no_star_costs_less_than_its_bound(users, brokers, seed, ratio):
    rng = np.random.default_rng(seed)
    drawn = np.triu(rng.integers(0, 5, (brokers, brokers)) * float(ratio), 1)
    core = np.array(oracle.closure((drawn + drawn.T).tolist()))
    access = rng.integers(0, 8, (users, brokers)) / 2
    bounds = least_stars(access, core)
    for b in range(brokers):
        assert bounds[b] <= oracle.least_star(core.tolist(), access.tolist(), b) * (1 + 1e-9)
    assert bounds.min() >= access.min(axis=1).sum() * (1 - 1e-9)


def test_users_gather_where_the_core_is_expensive():
    places, brokers = np.random.default_rng(4).random((2, 40, 2))
    brokers = brokers[:10]
    access = np.sqrt(((places[:, None] - brokers) ** 2).sum(axis=2))
    core = 1000 * np.sqrt(((brokers[:, None] - brokers) ** 2).sum(axis=2))
    assert least_stars(access, core).min() == pytest.approx(access.sum(axis=0).min())
    arrays = Wiring(sparse(60, brokers=6, channels=12, core_ratio=200, seed=1)).arrays
    parts = bound_parts(arrays, Run())
    assert parts.together > 1.15 * (parts.access + parts.core)


def test_subscribers_fill_brokers():
    arrays = Wiring(quadratic(300, brokers=10, channels=6, seed=1)).arrays
    needed = brokers_needed(arrays)
    for channel in range(6):
        users = [
            u for u in range(300)
            if channel in arrays.channels[arrays.indptr[u]:arrays.indptr[u + 1]][
                arrays.wants[arrays.indptr[u]:arrays.indptr[u + 1]]
            ]
        ]  # fmt: skip
        total = arrays.demand[users].sum()
        assert (needed[channel] - 1) * arrays.capacity[0] < total * (1 + 1e-6)
        assert needed[channel] * arrays.capacity[0] >= total * (1 - 1e-6)


def test_nobody_and_nothing():
    empty = quadratic(5, brokers=2, channels=2)
    arrays = Wiring(empty).arrays._replace(demand=np.zeros(5))
    assert bound_parts(arrays, Run()).access == 0.0
