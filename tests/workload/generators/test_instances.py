from __future__ import annotations

import gzip
import math
from itertools import pairwise

import numpy as np
import pytest
from tests.oracles import flow_oracle

import fanwise as fw
from fanwise.errors import InfeasibleError, InputError, ParameterError
from fanwise.workload.content.latency import allowed_brokers, path_latencies
from fanwise.workload.generators.difficult import difficult
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import (
    Topics,
    diffuse,
    draw_popularity,
    draw_topics,
    generalise,
    groups,
)
from fanwise.workload.generators.networks import build_tree, read_coordinates
from fanwise.workload.generators.rss import rss

GENERATORS = {"groups": groups, "rss": rss, "grid": grid}
SIZES = {"subscribers": 400, "brokers": 12}


def allowed_by_definition(workload, max_delay):
    """Leaf brokers within the delay, from plain distances along the tree."""
    parents = workload.parent.tolist()
    leaves = [b for b in range(len(parents)) if b not in parents]

    def path(broker):
        above = parents[broker]
        at = workload.publisher if above < 0 else workload.broker_positions[above]
        hop = math.dist(at, workload.broker_positions[broker])
        return hop if above < 0 else hop + path(above)

    paths = {leaf: path(leaf) for leaf in leaves}
    lists = []
    for place in workload.positions:
        latency = {b: paths[b] + math.dist(place, workload.broker_positions[b]) for b in leaves}
        limit = (1 + max_delay) * min(latency.values()) * (1 + 1e-9)
        lists.append([b for b in leaves if latency[b] <= limit])
    return lists


def check_feasible(workload):
    """The instance holds at its own settings, by an independent flow."""
    settings = workload.settings
    assert set(settings) == {"lbf", "lbf_max", "max_delay", "alpha"}
    assert 1 <= settings["lbf"] <= settings["lbf_max"]
    lists = allowed_by_definition(workload, settings["max_delay"])
    total = workload.num_subscribers
    limits = [math.floor(settings["lbf_max"] * s * total * (1 + 1e-9)) for s in workload.share]
    assert flow_oracle.most_served(lists, limits) == total
    found = allowed_brokers(workload, settings["max_delay"])
    starts = found.indptr.tolist()
    assert [found.indices[a:b].tolist() for a, b in pairwise(starts)] == lists


@pytest.mark.parametrize("name", GENERATORS)
def test_instances_are_feasible_at_their_settings(name):
    workload = GENERATORS[name](**SIZES, seed=3)
    assert (workload.num_subscribers, workload.num_brokers) == (400, 12)
    assert (workload.parent == -1).all()
    assert workload.share.tolist() == [1 / 12] * 12
    assert workload.network_dims == 5
    assert workload.event_dims == 2
    assert workload.origin["generator"] == name
    check_feasible(workload)


@pytest.mark.parametrize("placement", ["uniform", "publisher"])
def test_other_placements_are_feasible_too(placement):
    workload = groups(300, brokers=10, placement=placement, network_dims=2, seed=1)
    assert workload.origin["placement"] == placement
    check_feasible(workload)
    like = groups(300, brokers=10, network_dims=2, seed=1)
    assert np.array_equal(workload.positions, like.positions)
    assert not np.array_equal(workload.broker_positions, like.broker_positions)
    is_place = (like.broker_positions[:, None] == like.positions[None]).all(axis=2).any(axis=1)
    assert is_place.all()


def test_multi_level_trees_have_bounded_degree():
    workload = groups(300, brokers=40, out_degree=5, max_delay=0.2, seed=2)
    degrees = np.bincount(workload.parent + 1, minlength=41)
    assert degrees.max() <= 5
    assert len(workload.leaves) == (degrees[1:] == 0).sum() < 40
    assert np.isclose(workload.share.sum(), 1)
    assert (workload.share[degrees[1:] > 0] == 0).all()
    check_feasible(workload)


@pytest.mark.parametrize(
    ("count", "degree"), [(1, 2), (2, 2), (7, 2), (9, 3), (200, 15), (241, 15)]
)
def test_trees_reach_every_broker_over_few_levels(count, degree):
    places = np.random.default_rng(0).random((count, 3))
    parent = build_tree(places, np.zeros(3), degree)
    assert np.bincount(parent + 1).max() <= degree
    depth = np.zeros(count, dtype=int)
    for broker in range(count):
        at = broker
        while at >= 0:
            depth[broker] += 1
            at = parent[at]
            assert depth[broker] <= count
    least = next(h for h in range(1, 20) if sum(degree**k for k in range(1, h + 1)) >= count)
    assert depth.max() <= least + 1
    path = path_latencies(np.zeros(3), places, parent)
    shortest = np.sqrt((places**2).sum(axis=1))
    assert (path >= shortest - 1e-12).all()


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_workload(name):
    make = GENERATORS[name]
    assert make(**SIZES, seed=5).hash == make(**SIZES, seed=5).hash
    assert make(**SIZES, seed=5).hash != make(**SIZES, seed=6).hash


def test_knobs_of_groups_do_what_the_paper_says():
    def spread(**knobs):
        workload = groups(3000, brokers=20, seed=1, **knobs)
        volume = (workload.hi - workload.lo).prod(axis=1)
        return len(np.unique(workload.lo, axis=0)), volume.mean()

    skewed, narrow = spread(interest_skew="H", broad_interests="L")
    even, _ = spread(interest_skew="L", broad_interests="L")
    _, broad = spread(interest_skew="H", broad_interests="H")
    assert even > 1.2 * skewed
    assert broad > 1.4 * narrow


def test_regions_have_their_shares():
    workload = groups(900, brokers=20, seed=1)
    asia = np.linalg.norm(workload.positions[:, :2] - [-37.5, 145.2], axis=1)
    america = np.linalg.norm(workload.positions[:, :2], axis=1)
    europe = np.linalg.norm(workload.positions[:, :2] - [100, 0], axis=1)
    nearest = np.bincount(np.argmin([asia, america, europe], axis=0)) / 900
    assert nearest == pytest.approx([4 / 9, 1 / 9, 4 / 9], abs=0.08)


def test_topics_nest_and_siblings_do_not_overlap():
    topics = draw_topics(3, 4, 100.0, np.random.default_rng(0))
    assert len(topics.parent) == 1 + 4 + 16 + 64
    above = topics.parent[1:]
    assert (topics.lo[1:] >= topics.lo[above]).all()
    assert (topics.hi[1:] <= topics.hi[above]).all()
    for first in range(1, len(topics.parent), 4):
        for i in range(first, first + 4):
            for j in range(i + 1, first + 4):
                overlap = np.minimum(topics.hi[i], topics.hi[j])
                overlap = overlap - np.maximum(topics.lo[i], topics.lo[j])
                assert (overlap <= 0).any()


def test_popularity_by_hand():
    """A root with two topics that have two subtopics each."""
    box = np.zeros((7, 2))
    topics = Topics(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 2, 2]), box, box)
    before = np.array([0, 0, 0, 0.6, 0.2, 0.2, 0.0])
    lifted = generalise(topics, before, 0.1)
    assert lifted == pytest.approx([0, 0.08, 0.02, 0.54, 0.18, 0.18, 0.0])
    even = diffuse(topics, before, 0.75)  # deviations halve; the empty subtopic stays empty
    assert even == pytest.approx([0, 0, 0, 0.65 * 0.625, 0.65 * 0.375, 0.35, 0.0])
    drawn = draw_popularity(
        draw_topics(2, 3, 1.0, np.random.default_rng(0)), 3, 1.0, 2, np.random.default_rng(1)
    )
    assert drawn.sum() == pytest.approx(1)
    assert (drawn > 0).sum() == 7
    roots = 1 + 2**-0.5 + 3**-0.5  # the exponent is 1 at the first level, 1/2 at the second
    above, below = (6 / 11, 3 / 11, 2 / 11), (1 / roots, 2**-0.5 / roots, 3**-0.5 / roots)
    nine = sorted((a * b for a in above for b in below), reverse=True)
    assert np.sort(drawn)[::-1][:7] == pytest.approx(np.array(nine[2:]) / sum(nine[2:]))


def test_interests_and_places_of_rss():
    workload = rss(2000, brokers=15, interests=8, locations=3, extent=50.0, seed=1)
    kinds, which = np.unique(workload.lo, axis=0, return_inverse=True)
    assert len(kinds) == 8
    assert np.allclose(workload.hi - workload.lo, 1)
    assert kinds.min() >= 0
    assert kinds.max() <= 49
    counts = np.sort(np.bincount(which))[::-1]
    weights = np.arange(1, 9) ** -0.5
    assert counts / 2000 == pytest.approx(weights / weights.sum(), abs=2e-3)
    for kind in range(8):
        assert len(np.unique(workload.positions[which == kind], axis=0)) == 3


def test_cells_and_widths_of_grid():
    workload = grid(
        2000, brokers=10, cells_per_side=4, extent=8.0, widths=[1.0, 0.5, 3.0], event_dims=3,
        locations=30, seed=1,
    )  # fmt: skip
    centres = (workload.lo + workload.hi) / 2
    assert set(np.unique(np.round(centres, 9))) == {1.0, 3.0, 5.0, 7.0}
    weights = np.arange(1, 4) ** -0.5
    for axis in range(3):
        found, counts = np.unique((workload.hi - workload.lo)[:, axis].round(9), return_counts=True)
        assert found.tolist() == [0.5, 1.0, 3.0]
        shares = weights / weights.sum()
        assert counts / 2000 == pytest.approx([shares[1], shares[0], shares[2]], abs=2e-3)
    assert len(np.unique(workload.positions, axis=0)) == 30


def test_difficult_candidates_are_those_of_the_papers_table():
    workload = difficult(24, brokers=3, alpha=3)
    assert workload.num_subscribers == 24
    starts = workload.candidates.indptr
    lists = [
        [int(b) + 1 for b in workload.candidates.indices[starts[j] : starts[j + 1]]]
        for j in range(0, 24, 2)
    ]
    table = {i: [1, 2] for i in (1, 2, 4, 5, 7, 8)} | {3: [1, 3], 9: [1, 3], 6: [2, 3]}
    assert lists == [table[i] for i in range(1, 10)] + [[1, 2, 3]] * 3
    order = np.argsort(workload.lo[::2, 0]).tolist()
    assert order == [*range(9), 11, 10, 9]  # the last interests come in descending order
    gaps = np.diff(np.sort(np.unique(workload.lo[:, 0])))
    assert gaps.tolist() == [10.0 ** (i % 3 + 1) for i in range(1, 12)]
    assert np.array_equal(workload.lo[:, 0], workload.lo[:, 1])
    assert workload.settings == {"lbf": 1.0, "lbf_max": 1.0, "max_delay": 0.3, "alpha": 3}


@pytest.mark.parametrize(("brokers", "alpha"), [(2, 1), (5, 2), (4, 4), (11, 3)])
def test_difficult_is_just_feasible(brokers, alpha):
    workload = difficult(2 * (alpha + 1) * brokers + 1, brokers=brokers, alpha=alpha)
    starts = workload.candidates.indptr.tolist()
    indices = workload.candidates.indices.tolist()
    lists = [indices[a:b] for a, b in pairwise(starts)]
    assert workload.num_subscribers == 2 * (alpha + 1) * brokers
    assert flow_oracle.most_served(lists, [2 * (alpha + 1)] * brokers) == len(lists)


def test_a_factor_that_cannot_hold_is_refused_with_the_least_one():
    with pytest.raises(InfeasibleError, match=r"least in 5 tries is .*; raise lbf_max"):
        rss(500, brokers=20, lbf_max=1.0, max_delay=0.0, seed=1)
    raised = rss(500, brokers=20, max_delay=0.0, seed=1)
    assert raised.settings["lbf_max"] > 2.5
    assert raised.settings["lbf"] <= raised.settings["lbf_max"]
    check_feasible(raised)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (groups, {"interest_skew": "M"}, "'interest_skew' parameter must be L or H"),
        (groups, {"depth": 0}, "depth"),
        (groups, {"branching": 1}, "branching"),
        (groups, {"removed": 7**5}, "removed"),
        (groups, {"extent": 0.0}, "extent"),
        (rss, {"subscribers": 0}, "subscribers"),
        (rss, {"interests": 0}, "interests"),
        (rss, {"exponent": -1.0}, "exponent"),
        (rss, {"extent": 0.5}, "extent"),
        (grid, {"widths": []}, "widths"),
        (grid, {"locations": 0}, "locations"),
        (grid, {"brokers": 0}, "brokers"),
        (grid, {"placement": "near"}, "placement"),
        (grid, {"out_degree": 1}, "out_degree"),
        (grid, {"lbf": 2.0, "lbf_max": 1.5}, "at least lbf = 2"),
        (grid, {"lbf_max": 0.9}, ">= 1"),
        (grid, {"max_delay": -0.1}, "max_delay"),
        (grid, {"network_dims": 99}, "network_dims"),
        (difficult, {"subscribers": 5}, "at least 12"),
        (difficult, {"brokers": 1}, "brokers"),
        (difficult, {"alpha": 9}, "alpha"),
    ],
)
def test_bad_parameters_are_named(make, arguments, message):
    with pytest.raises(ParameterError, match=message):
        make(**{"subscribers": 20, **arguments})


def write_nodes(path, header, rows):
    text = "\n".join([header, *(",".join(map(str, row)) for row in rows)])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", GENERATORS)
def test_places_from_measured_coordinates(tmp_path, name):
    nodes = np.random.default_rng(2).normal(size=(40, 3)).round(3)
    file = write_nodes(
        tmp_path / "nodes.csv.gz", "node,x0,x1,x2", [(i, *row) for i, row in enumerate(nodes)]
    )
    workload = GENERATORS[name](**SIZES, coordinates=file, seed=1)
    assert workload.network_dims == 3
    assert workload.origin["coordinates"] == "nodes.csv.gz"
    known = {tuple(row) for row in nodes.tolist()}
    for places in (workload.positions, workload.broker_positions, workload.publisher[None]):
        assert {tuple(row) for row in places.tolist()} <= known
    check_feasible(workload)
    with pytest.raises(ParameterError, match="left out, or 3"):
        GENERATORS[name](**SIZES, coordinates=file, network_dims=2)


def test_coordinates_of_other_shapes_and_bad_ones(tmp_path):
    plane = write_nodes(tmp_path / "a.csv", "node,x,y,isroot", [(0, 1.5, 2, 1), (1, 3, 4, 0)])
    assert read_coordinates(plane).tolist() == [[1.5, 2.0], [3.0, 4.0]]
    for rows, message in (
        ([(0, "a", 1, 0)], "line 2: needs 2 finite"),
        ([(0, 1, 2, 0), (1, "nan", 2, 0)], "line 3"),
        ([(0,)], "line 2"),
        ([], "no coordinates"),
    ):
        bad = write_nodes(tmp_path / "bad.csv", "node,x,y,isroot", rows)
        with pytest.raises(InputError, match=message) as caught:
            read_coordinates(bad)
        assert "bad.csv" in str(caught.value)
    with pytest.raises(InputError, match="no columns x0"):
        read_coordinates(write_nodes(tmp_path / "c.csv", "node,lat", [(0, 1)]))
    with pytest.raises(InputError, match="No such file"):
        read_coordinates(tmp_path / "none.csv")


@pytest.mark.data
def test_public_coordinates(shared_data):
    for name, count, dims in (
        ("planetlab_coords5d", 490, 5),
        ("seattle_coords5d", 99, 5),
        ("oversim_skitter2d_15000", 15000, 2),
    ):
        nodes = read_coordinates(shared_data / "data" / "latency" / f"{name}.csv.gz")
        assert nodes.shape == (count, dims)
    file = shared_data / "data" / "latency" / "planetlab_coords5d.csv.gz"
    check_feasible(groups(500, brokers=20, coordinates=file, seed=1))


def test_written_and_read_again(tmp_path):
    for make in (groups, difficult):
        workload = make(**SIZES, seed=1)
        fw.write_workload(workload, tmp_path / make.__name__)
        again = fw.read_workload(tmp_path / make.__name__)
        assert again.hash == workload.hash
        assert again.settings == workload.settings
