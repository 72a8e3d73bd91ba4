"""Expo, Zipf, Unif and the follow graph: the laws their docstrings promise."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fanwise.errors import ParameterError
from fanwise.workload.generators.activity import draw_positions, draw_rates, draw_regions
from fanwise.workload.generators.follow import follow
from fanwise.workload.generators.overlays import draw_different, expo, unif, zipf

pytestmark = pytest.mark.kernels

GENERATORS = {"expo": expo, "zipf": zipf, "unif": unif}


def sizes_of(workload):
    return np.diff(workload.interests.indptr)


def hill(values, top):
    values = np.sort(np.asarray(values, dtype=float))[::-1]
    return 1 / np.mean(np.log(values[:top] / values[top]))


@pytest.fixture(scope="module")
def workloads():
    return {name: generator(2000, 800, seed=1) for name, generator in GENERATORS.items()}


@pytest.mark.parametrize("name", GENERATORS)
def test_sizes_follow_a_truncated_power_law(workloads, name):
    workload = workloads[name]
    assert (workload.num_topics, workload.num_subscribers) == (800, 2000)
    sizes = sizes_of(workload)
    values = np.arange(20, 601)
    share = values**-2.0 / np.sum(values**-2.0)
    assert sizes.min() == 20
    assert 500 < sizes.max() <= 600
    assert sizes.mean() == pytest.approx(values @ share, rel=0.01)
    for border in (25, 40, 100, 300):
        assert np.mean(sizes <= border) == pytest.approx(share[values <= border].sum(), abs=0.002)


def test_uniform_sizes_between_limits_of_ones_own():
    sizes = sizes_of(unif(2000, 300, size_law="uniform", min_size=10, max_size=90, seed=2))
    assert (sizes.min(), sizes.max()) == (10, 90)
    counts = np.bincount(sizes, minlength=91)[10:]
    assert abs(counts - 2000 / 81).max() <= 3  # drawn in strata: hardly any luck in them


def test_sizes_come_in_no_order(workloads):
    sizes = sizes_of(workloads["unif"])
    assert abs(np.corrcoef(np.arange(2000), sizes)[0, 1]) < 0.1


def test_limits_shrink_to_the_number_of_topics():
    assert set(sizes_of(zipf(50, 7))) == {7}
    assert sizes_of(expo(50, 100)).max() <= 100


def test_popularity_follows_its_law():
    """With one topic a node, followers are in proportion to q(t)."""
    nodes, topics = 40_000, 40
    ranks = np.arange(topics)
    laws = {
        "expo": (expo(nodes, topics, decay=3, min_size=1, max_size=1), np.exp(-3 * ranks / topics)),
        "zipf": (zipf(nodes, topics, min_size=1, max_size=1), (ranks + 1.0) ** -2),
        "unif": (unif(nodes, topics, min_size=1, max_size=1), np.ones(topics)),
    }
    for name, (workload, weights) in laws.items():
        share = weights / weights.sum()
        spread = np.sqrt(nodes * share * (1 - share))
        deviation = (workload.num_followers - nodes * share) / spread
        assert np.abs(deviation).max() < 4.5, name
        assert np.mean(deviation**2) < 2, name


def test_topics_are_drawn_one_after_the_other_without_repeats():
    """Sets of two and three topics have the probabilities of draws without replacement."""
    weights = np.array([8.0, 4.0, 2.0, 1.0])
    for size in (2, 3):
        count = 40_000
        chosen = draw_different(
            np.full(count, size), np.log(weights), np.random.default_rng(size)
        ).reshape(count, size)
        found: dict[tuple[int, ...], int] = {}
        for row in np.sort(chosen, axis=1).tolist():
            found[tuple(row)] = found.get(tuple(row), 0) + 1
        expected: dict[tuple[int, ...], float] = {}
        for order in permutations(range(4), size):
            chance, left = 1.0, weights.sum()
            for topic in order:
                chance *= weights[topic] / left
                left -= weights[topic]
            key = tuple(sorted(order))
            expected[key] = expected.get(key, 0.0) + chance
        assert found.keys() == expected.keys()
        for key, chance in expected.items():
            spread = np.sqrt(count * chance * (1 - chance))
            assert abs(found[key] - count * chance) < 4.5 * spread


def test_chunks_do_not_show(monkeypatch):
    whole = zipf(100, 50, seed=3)
    monkeypatch.setattr("fanwise.workload.generators.overlays._CELLS_AT_ONCE", 333)
    assert zipf(100, 50, seed=3).hash == whole.hash


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_workload(name):
    first, again, other = (GENERATORS[name](60, 40, seed=seed) for seed in (3, 3, 4))
    assert first.hash == again.hash != other.hash
    assert first.origin.items() >= {"generator": name, "seed": 3, "size_law": "power"}.items()


def test_positions_change_nothing_else():
    plain, placed = expo(60, 40, seed=3), expo(60, 40, seed=3, net_dims=3)
    assert plain.positions is None
    assert placed.positions.shape == (60, 3)
    assert np.array_equal(plain.interests.indices, placed.interests.indices)
    assert np.array_equal(plain.rates, placed.rates)


def test_nodes_stand_close_to_those_of_their_region():
    rng = np.random.default_rng(1)
    regions = draw_regions(3000, rng)
    positions = draw_positions(regions, 2, rng)
    share = np.bincount(regions) / 3000
    assert share[0] > share[3] > share[11] > 0
    middles = np.array([positions[regions == region].mean(axis=0) for region in range(12)])
    assert np.abs(positions - middles[regions]).mean() == pytest.approx(0.03 * 0.8, rel=0.1)
    assert np.abs(positions - 0.5).mean() > 0.1


def test_rates_are_whole_heavy_tailed_and_rise_with_followers():
    followers = np.random.default_rng(1).integers(0, 500, 5000)
    rates = draw_rates(followers, np.random.default_rng(2))
    assert np.array_equal(rates, np.round(rates))
    assert rates.min() >= 1
    assert rates.mean() == pytest.approx(20, rel=0.05)
    assert hill(rates, 100) == pytest.approx(2.5, rel=0.1)
    assert 0.1 < np.corrcoef(np.log(rates), np.log1p(followers))[0, 1] < 0.6


@pytest.mark.parametrize(
    ("generator", "parameters", "message"),
    [
        (expo, {"decay": 0.0}, "'decay' parameter must be a number > 0"),
        (expo, {"decay": float("nan")}, "'decay' parameter"),
        (zipf, {"alpha": 4.0}, "'alpha' parameter must be a number > 0 and <= 3"),
        (unif, {"nodes": 0}, "'nodes' parameter must be from 1"),
        (unif, {"topics": 0}, "'topics' parameter must be from 1"),
        (unif, {"size_law": "normal"}, "'size_law' parameter must be one of power, uniform"),
        (unif, {"size_exponent": -1.0}, "'size_exponent' parameter"),
        (unif, {"max_size": 1001}, "'max_size' parameter must be from 0 to 1000"),
        (unif, {"min_size": 9, "max_size": 8}, "'min_size' parameter must be from 0 to 8"),
        (unif, {"min_size": 0}, "'min_size' parameter must be at least 1 for the power law"),
        (unif, {"net_dims": 17}, "'net_dims' parameter must be a whole number from 0 to 16"),
        (unif, {"message_bytes": -1.0}, "message_bytes"),
        (follow, {"nodes": 0}, "'nodes' parameter"),
        (
            follow,
            {"nodes": 5, "mean_followings": 4.5},
            "'mean_followings' parameter must be from 0",
        ),
        (follow, {"clustering": 1.5}, "'clustering' parameter must be a share"),
        (follow, {"reciprocity": -0.1}, "'reciprocity' parameter must be a share"),
        (follow, {"mutual": True, "reciprocity": 0.5}, "left out where links are mutual"),
    ],
)
def test_parameters_out_of_range(generator, parameters, message):
    with pytest.raises(ParameterError, match=message):
        generator(**parameters)


def pairs_of(workload):
    follower = np.repeat(np.arange(workload.num_subscribers), sizes_of(workload))
    return set(zip(follower.tolist(), workload.interests.indices.tolist(), strict=True))


@pytest.fixture(scope="module", params=[False, True], ids=["follow", "mutual"])
def graph(request):
    return follow(4000, mutual=request.param, seed=1)


def test_users_are_topics_and_subscribers_and_never_follow_themselves(graph):
    assert graph.num_topics == graph.num_subscribers == 4000
    assert graph.topic_names.equals(graph.subscriber_names)
    assert not any(follower == followee for follower, followee in pairs_of(graph))
    assert graph.num_pairs / 4000 == pytest.approx(20, rel=0.03)


def test_links_are_mutual_or_returned_in_part(graph):
    pairs = pairs_of(graph)
    returned = sum((followee, follower) in pairs for follower, followee in pairs)
    if graph.origin["mutual"]:
        assert returned == len(pairs)
    else:
        linked = len(pairs) - returned / 2
        assert returned / 2 / linked == pytest.approx(0.22, abs=0.02)


def test_followers_and_followings_are_heavy_tailed(graph):
    followings, followers = sizes_of(graph), graph.num_followers
    for counts in (followings, followers):
        assert 1.3 < hill(counts, 40) < 4
        assert counts.max() > 10 * counts.mean()
        assert counts.max() < 0.3 * 4000
        assert np.median(counts) < counts.mean()
    if not graph.origin["mutual"]:
        assert hill(followers, 40) < hill(followings, 40)  # celebrities


def clustering_of(workload):
    """Mean share of linked pairs among the neighbours of a user, whichever way links go."""
    neighbours = [set() for _ in range(workload.num_subscribers)]
    for follower, followee in pairs_of(workload):
        neighbours[follower].add(followee)
        neighbours[followee].add(follower)
    shares = []
    for around in neighbours[:400]:
        some = sorted(around)[:40]
        if len(some) > 1:
            linked = sum(b in neighbours[a] for i, a in enumerate(some) for b in some[:i])
            shares.append(linked / (len(some) * (len(some) - 1) / 2))
    return np.mean(shares)


def test_friends_of_friends_are_often_friends(graph):
    mutual = graph.origin["mutual"]
    apart = clustering_of(follow(4000, mutual=mutual, clustering=0.0, seed=1))
    assert clustering_of(graph) > 0.15
    assert clustering_of(graph) > 3 * apart


def test_ids_tell_nothing_about_popularity(graph):
    assert abs(np.corrcoef(np.arange(4000), graph.num_followers)[0, 1]) < 0.05


def test_same_seed_same_graph(monkeypatch):
    first, again, other = (follow(300, seed=seed) for seed in (3, 3, 4))
    assert first.hash == again.hash != other.hash
    monkeypatch.setattr("fanwise.workload.generators.follow._CHANCES_AT_ONCE", 50)
    assert follow(300, seed=3).hash == first.hash


def test_neighbours_live_near_each_other():
    workload = follow(2000, mutual=True, net_dims=2, seed=1)
    pairs = np.array(sorted(pairs_of(workload)))
    near = np.linalg.norm(np.diff(workload.positions[pairs], axis=1)[:, 0], axis=1)
    others = np.random.default_rng(1).integers(0, 2000, pairs.shape)
    far = np.linalg.norm(np.diff(workload.positions[others], axis=1)[:, 0], axis=1)
    assert near.mean() < 0.95 * far.mean()


@pytest.mark.parametrize("reciprocity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_small_and_dense_graphs(nodes, reciprocity):
    most = (nodes - 1) * (1 + reciprocity) / 2
    for mean in (0.0, most / 2, most):
        workload = follow(nodes, mean_followings=mean, reciprocity=reciprocity)
        assert workload.num_subscribers == nodes
        if mean == 0:
            assert workload.num_pairs == 0
        elif reciprocity == 1:
            pairs = pairs_of(workload)
            assert pairs == {pair[::-1] for pair in pairs}
            assert 0.6 * mean * nodes - 1 <= len(pairs) <= mean * nodes + 1
    with pytest.raises(ParameterError, match="'mean_followings' parameter must be from 0 to"):
        follow(nodes, mean_followings=most + 0.01, reciprocity=reciprocity)
