"""Copies followed from broker to broker: each destination once, no link twice, at least cost."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.brokers.protocol.ports import Router
from fanwise.brokers.routing.routers import (
    ChannelFinder,
    ChannelRouter,
    CostRouter,
    TreeRouter,
)
from fanwise.brokers.routing.trees import LinkOrder, tree_of_links

NAMES = [f"b{i}" for i in range(8)]


def follow(router, origin, destinations, views, point=(0.5,)):
    """Return the links a publication crosses, and who got it, as the brokers hand it on."""
    links, reached, todo = [], [], [(origin, frozenset(destinations))]
    while todo:
        here, wanted = todo.pop()
        hops = router.next_hops(here, point, wanted, views[here])
        told = list(itertools.chain.from_iterable(hops.values()))
        assert len(told) == len(set(told))
        assert set(told) <= wanted
        for name, behind in hops.items():
            assert name in views[here]
            links.append((here, name))
            assert len(links) < 100
            if name in behind:
                reached.append(name)
            if behind - {name}:
                todo.append((name, behind - {name}))
    return links, reached


def costs_of(seed: int, count: int = len(NAMES), *, is_even: bool = False):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (count, 2)) if is_even else rng.random((count, 2))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)).astype(float)


brokers = st.frozensets(st.sampled_from(NAMES))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 99), st.booleans(), brokers, brokers, brokers, st.data())
def test_each_destination_once_and_no_link_twice(seed, is_even, wanted, planned, down, data):
    links = LinkOrder(NAMES, costs_of(seed, is_even=is_even))
    tree = tree_of_links((NAMES[i], NAMES[(i - 1) // 2]) for i in range(1, 8))
    channels = ChannelFinder(np.zeros((1, 1)), np.ones((1, 1)))
    routers: list[Router] = [
        CostRouter(links),
        TreeRouter(tree),
        ChannelRouter(links, channels, [planned]),
    ]
    alive = sorted(set(NAMES) - down)
    if not alive:
        return
    origin = data.draw(st.sampled_from(alive))
    destinations = (wanted & frozenset(alive)) - {origin}
    views = {name: frozenset(alive) - {name} for name in NAMES}
    for router in routers:
        crossed, reached = follow(router, origin, destinations, views)
        assert sorted(reached) == sorted(destinations)
        assert len({frozenset(link) for link in crossed}) == len(crossed)
    # Whoever is taken for dead by whom: no copy goes round in circles, and none is doubled.
    doubts = {
        name: views[name] - data.draw(st.frozensets(st.sampled_from(NAMES), max_size=3))
        for name in NAMES
    }
    for router in routers:
        crossed, reached = follow(router, origin, destinations, doubts)
        assert len(reached) == len(set(reached))
        assert set(reached) <= destinations


@pytest.mark.parametrize("seed", range(20))
def test_by_costs_alone_is_the_minimum_spanning_tree(seed):
    costs = costs_of(seed)
    rng = np.random.default_rng(seed)
    members = rng.permutation(8)[: rng.integers(2, 9)].tolist()
    graph = nx.Graph()
    for one, other in itertools.combinations(members, 2):
        graph.add_edge(NAMES[one], NAMES[other], weight=costs[one, other])
    expected = {frozenset(link) for link in nx.minimum_spanning_tree(graph).edges}
    origin, *others = (NAMES[i] for i in members)
    views = {name: frozenset(NAMES) - {name} for name in NAMES}
    crossed, _ = follow(CostRouter(LinkOrder(NAMES, costs)), origin, others, views)
    assert {frozenset(link) for link in crossed} == expected


def test_strangers_are_told_directly():
    links = LinkOrder(NAMES[:3], costs_of(1, 3))
    alive = frozenset(NAMES)
    for router in (CostRouter(links), TreeRouter(tree_of_links([("b0", "b1"), ("b1", "b2")]))):
        hops = router.next_hops("b0", (0.5,), frozenset({"b1", "b7"}), alive)
        assert hops == {"b1": frozenset({"b1"}), "b7": frozenset({"b7"})}
        hops = router.next_hops("b7", (0.5,), frozenset({"b1", "b2"}), alive)
        assert hops == {"b1": frozenset({"b1"}), "b2": frozenset({"b2"})}


def test_a_point_on_a_face_is_on_the_channel_above_it():
    finder = ChannelFinder(
        np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]),
        np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]]),
    )
    assert [finder.channel_of(p) for p in [(0.5, 0.2), (0.5, 0.5), (1.0, 1.0), (0.2, 0.5)]] == [
        *(1, 3, 3, 2)
    ]
    assert finder.channel_of((2.0, 0.0)) == -1


def test_a_channel_s_tree_is_the_plan_s_and_branches_that_want_nothing_are_left_out():
    places = np.array([0.0, 1.0, 2.1, 3.3])  # on a line: the tree is the line
    links = LinkOrder(NAMES[:4], np.abs(places[:, None] - places[None]) ** 0.9)
    channels = ChannelFinder(np.zeros((1, 1)), np.ones((1, 1)))
    router = ChannelRouter(links, channels, [frozenset({"b0", "b1", "b3"})])
    alive = frozenset(NAMES[:4])
    assert router.next_hops("b0", (0.5,), frozenset({"b3"}), alive) == {"b1": frozenset({"b3"})}
    assert router.next_hops("b1", (0.5,), frozenset({"b3"}), alive) == {"b3": frozenset({"b3"})}
    # b2 is not in the plan's tree, and joins it where somebody has moved there.
    hops = router.next_hops("b1", (0.5,), frozenset({"b2", "b3"}), alive)
    assert hops == {"b2": frozenset({"b2", "b3"})}
    # Off the channels there is no plan, and without b1 the way leads past it.
    assert router.next_hops("b0", (7.0,), frozenset({"b3"}), alive) == {"b3": frozenset({"b3"})}
    assert router.next_hops("b0", (0.5,), frozenset({"b3"}), alive - {"b1"}) == {
        "b3": frozenset({"b3"})
    }
