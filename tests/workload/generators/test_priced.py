from __future__ import annotations

import math

import numpy as np
import pytest
from tests.oracles import traffic_oracle

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.workload.content.traffic import measure_traffic
from fanwise.workload.generators.generating_functions import (
    Quadratics,
    cell_means,
    draw_quadratics,
    split_axes,
)
from fanwise.workload.generators.priced import fits_evenly
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse, spread_mean

pytestmark = pytest.mark.kernels

GENERATORS = {"quadratic": quadratic, "sparse": sparse}


def dense_rates(workload):
    rates = np.zeros((workload.num_subscribers, len(workload.channels.lo)))
    rows = np.repeat(np.arange(len(rates)), np.diff(workload.rates.indptr))
    rates[rows, workload.rates.indices] = workload.rates.rate
    return rates


def plain_demand(workload):
    """b_in + b_out of each user from rectangles, channels and rates alone."""
    boxes = [list(zip(*pair, strict=True)) for pair in zip(workload.lo, workload.hi, strict=True)]
    cells = [list(zip(*pair, strict=True)) for pair in zip(*workload.channels, strict=True)]
    wanted = [[traffic_oracle.wants(box, cell) for cell in cells] for box in boxes]
    rates = dense_rates(workload).tolist()
    received = traffic_oracle.inbound(rates, wanted)
    return np.add(received, traffic_oracle.outbound(rates, wanted))


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("dims", [1, 2])
def test_capacity_is_twice_the_demand(name, dims):
    workload = GENERATORS[name](60, brokers=4, channels=12, dims=dims, seed=2)
    demand = plain_demand(workload)
    assert demand.min() > 0
    assert workload.capacity.tolist() == pytest.approx([2 * demand.sum() / 4] * 4)
    assert fits_evenly(demand, workload.capacity)
    assert (workload.event_dims, workload.num_brokers) == (dims, 4)
    assert workload.origin["generator"] == name


def test_brokers_are_a_share_of_the_users():
    assert quadratic(1000, channels=4).num_brokers == 10
    assert quadratic(1000, channels=4, subscribers_per_broker=10).num_brokers == 100
    assert quadratic(5, channels=4).num_brokers == 1
    assert sparse(200, channels=20).num_brokers == 10


def test_channels_cut_the_whole_space():
    workload = quadratic(20, channels=12, dims=2)
    lo, hi = workload.channels
    assert len(lo) == 12
    assert (hi - lo).prod(axis=1).sum() == pytest.approx(1)
    assert [len(np.unique(lo[:, axis])) for axis in range(2)] == [4, 3]


@pytest.mark.parametrize(
    ("cells", "dims", "counts"),
    [(100, 1, [100]), (100, 2, [10, 10]), (7, 2, [7, 1]), (12, 3, [3, 2, 2]), (1, 3, [1, 1, 1])],
)
def test_axes_are_split_evenly(cells, dims, counts):
    assert split_axes(cells, dims).tolist() == counts


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_rates_are_means_of_cut_quadratics(dims):
    """Against a fine midpoint grid of the function itself; exact along one axis."""
    functions = draw_quadratics(12, dims, np.random.default_rng(dims))
    counts = np.array([4, 3, 2][:dims])
    found = cell_means(functions, counts)
    fine = {1: 4000, 2: 60, 3: 16}[dims]
    axes = [-1 + 2 * (np.arange(n * fine) + 0.5) / (n * fine) for n in counts]
    y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    for i, row in enumerate(found):
        value = functions.constant[i] + y @ functions.linear[i]
        value += np.einsum("...k,kl,...l->...", y, functions.square[i], y)
        shape = [size for n in counts for size in (n, fine)]
        cells = np.maximum(value, 0).reshape(shape).mean(axis=tuple(range(1, 2 * dims, 2)))
        assert row == pytest.approx(cells.reshape(-1), abs={1: 1e-5, 2: 0.015, 3: 0.03}[dims])


@pytest.mark.parametrize(
    ("a", "b", "c", "means"),
    [
        (0, 0, 1, [1, 1]),
        (0, 0, -1, [0, 0]),
        (0, 1, 0, [0, 0.5]),
        (0, -1, 0, [0.5, 0]),
        (1, 0, 0, [1 / 3, 1 / 3]),
        (-1, 0, 0, [0, 0]),
        (4, 0, -1, [2 / 3, 2 / 3]),  # roots at -1/2 and 1/2, positive outside
        (-4, 0, 1, [1 / 3, 1 / 3]),  # positive inside
    ],
)
def test_degenerate_functions(a, b, c, means):
    one = Quadratics(np.array([float(c)]), np.array([[float(b)]]), np.array([[[float(a)]]]))
    assert cell_means(one, np.array([2]))[0] == pytest.approx(means)


def test_prices_by_distance_need_no_tables():
    workload = quadratic(50, brokers=5, channels=4)
    assert workload.access_costs is None
    assert workload.broker_costs is None
    dear = quadratic(50, brokers=5, channels=4, core_ratio=3)
    assert dear.broker_positions.tolist() == workload.broker_positions.tolist()
    apart = math.dist(dear.broker_positions[1], dear.broker_positions[3])
    assert dear.broker_costs[1, 3] == pytest.approx(3 * apart)


def test_uniform_prices_keep_the_triangle_inequality():
    workload = quadratic(400, brokers=12, channels=4, cost_law="uniform", core_ratio=4, seed=5)
    costs = workload.broker_costs
    around = (costs[:, :, None] + costs[None]).min(axis=1)
    assert (costs <= around + 1e-12).all()
    between = costs[np.triu_indices(12, 1)].mean()
    assert between / workload.access_costs.mean() == pytest.approx(4, rel=0.1)
    assert workload.network_dims == 0


@pytest.mark.parametrize("dims", [1, 2])
def test_sparse_has_few_subscribers_for_a_broker_and_channel(dims):
    workload = sparse(600, channels=100, audience=3, publishers=0.25, dims=dims, seed=1)
    traffic = measure_traffic(workload)
    per_broker = traffic.num_wanting / workload.num_brokers
    assert per_broker.mean() == pytest.approx(3, rel=0.1)
    assert np.diff(traffic.wanted.indptr).min() >= 1
    assert np.count_nonzero(np.diff(workload.rates.indptr)) <= 150
    between = workload.broker_costs[np.triu_indices(30, 1)].mean()
    assert between == pytest.approx(50 * 0.52, rel=0.2)


def test_mean_lengths_stay_on_their_axes():
    assert spread_mean(9.0, np.array([10, 10])) == pytest.approx([3, 3])
    assert spread_mean(12.0, np.array([10, 2])) == pytest.approx([6, 2])
    assert math.prod(spread_mean(60.0, np.array([5, 4, 3]))) == pytest.approx(60)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_gives_the_same_workload_after_a_file(name, tmp_path):
    one, two, other = (GENERATORS[name](80, brokers=4, channels=10, seed=s) for s in (1, 1, 2))
    assert one.hash == two.hash
    assert one.hash != other.hash
    fw.write_workload(one, tmp_path / "w")
    assert fw.read_workload(tmp_path / "w").hash == one.hash


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("quadratic", {"subscribers": 0}, "subscribers"),
        ("quadratic", {"channels": 0}, "channels"),
        ("quadratic", {"dims": 7}, "dims"),
        ("quadratic", {"brokers": 0}, "brokers"),
        ("quadratic", {"subscribers_per_broker": 0}, "subscribers_per_broker"),
        ("quadratic", {"seed": -1}, "seed"),
        ("quadratic", {"cost_law": "hops"}, "cost_law"),
        ("quadratic", {"core_ratio": math.nan}, "core_ratio"),
        ("quadratic", {"capacity_factor": 0.5}, "capacity_factor"),
        ("quadratic", {"subscribers": 10**5, "brokers": 2000, "channels": 1,
                       "cost_law": "uniform"}, "cost_law"),
        ("sparse", {"publishers": 0}, "publishers"),
        ("sparse", {"audience": 0.01}, r"from 0\.2 to 20"),
        ("sparse", {"audience": 21}, "audience"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(name, options, match):
    with pytest.raises(ParameterError, match=match):
        GENERATORS[name](**options)


def test_users_who_cannot_fit_are_told():
    assert not fits_evenly(np.array([2.0, 2.0, 2.0]), np.array([3.0, 3.0]))
    assert fits_evenly(np.array([1.0, 2.0, 3.0]), np.array([3.0, 3.0]))
    with pytest.raises(InfeasibleError, match="raise it"):
        quadratic(10, brokers=9, channels=5, capacity_factor=1)
