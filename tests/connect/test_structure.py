"""Components, degrees, hops and the support curve, against plain breadth-first walks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed
from tests.oracles import overlay_structure_oracle as oracle

import fanwise as fw
from fanwise.connect.arrays import as_edges
from fanwise.connect.explain.explain import explain
from fanwise.connect.explain.plan import explain_plan
from fanwise.connect.explain.topic import explain_topic
from fanwise.connect.problem import edges_of
from fanwise.connect.structure import (
    Overlay,
    degree_counts,
    overlay_of,
    spanning_forests,
    support_curve,
    topic_components,
    topic_hops,
)
from fanwise.errors import PlanError

pytestmark = pytest.mark.kernels


@st.composite
def overlays(draw, max_nodes=9, max_topics=4):
    """Interests as lists, edges in any order, and fanwise's overlay of them."""
    num_nodes = draw(st.integers(0, max_nodes))
    num_topics = draw(st.integers(1, max_topics))
    one = st.lists(st.integers(0, num_topics - 1), unique=True).map(sorted)
    interests = draw(st.lists(one, min_size=num_nodes, max_size=num_nodes))
    pairs = [(u, v) for u in range(num_nodes) for v in range(u + 1, num_nodes)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14)) if pairs else []
    rates = [float(2 + t) for t in range(num_topics)]
    weighted = draw(st.booleans())
    posed = Posed(interests, rates, weighted=weighted)
    overlay = Overlay(posed.problem().network, as_edges(edges))
    return interests, edges, overlay, rates if weighted else [1.0] * num_topics


@settings(max_examples=30)
@given(overlays())
def test_components_and_hops_are_those_of_plain_walks(case):
    interests, edges, overlay, weight = case
    found, hops = topic_components(overlay), topic_hops(overlay)
    assert hops.is_exact.all()
    for topic in range(len(weight)):
        neighbours = oracle.sub_overlay(interests, edges, topic)
        pieces = oracle.pieces(neighbours)
        assert found.nodes[topic] == len(neighbours)
        assert found.components[topic] == len(pieces)
        assert found.largest[topic] == max(map(len, pieces), default=0)
        assert found.cut_off[topic] == len(neighbours) - max(map(len, pieces), default=0)
        walks = oracle.all_hops(neighbours)
        assert hops.links[topic] == sum(map(len, neighbours.values())) // 2
        assert hops.diameter[topic] == max(walks, default=0)
        assert hops.pairs[topic] == len(walks)
        assert hops.mean_hops[topic] == pytest.approx(np.mean(walks) if walks else 0.0)


@settings(max_examples=40)
@given(overlays(), st.integers(0, 3))
def test_large_topics_are_walked_from_a_sample(case, seed):
    interests, edges, overlay, weight = case
    sampled = topic_hops(overlay, seed=seed, exact_up_to=3, num_sources=3)
    exact = topic_hops(overlay)
    for topic in range(len(weight)):
        members = overlay.network.nodes[slice(*overlay.network.topic_indptr[topic : topic + 2])]
        assert sampled.is_exact[topic] == (len(members) <= 3)
        assert sampled.diameter[topic] <= exact.diameter[topic]
        if sampled.is_exact[topic]:
            assert sampled.mean_hops[topic] == exact.mean_hops[topic]
            continue
        places = np.random.default_rng([seed, topic]).choice(len(members), 3, replace=False)
        neighbours = oracle.sub_overlay(interests, edges, topic)
        walks = oracle.all_hops(neighbours, members[places].tolist())
        assert sampled.mean_hops[topic] == pytest.approx(np.mean(walks) if walks else 0.0)
        if oracle.is_forest({tuple(sorted((u, v))) for u in neighbours for v in neighbours[u]}):
            farthest = max(walks, default=0)
            assert sampled.diameter[topic] >= farthest
        alone = topic_hops(overlay, np.array([topic]), seed=seed, exact_up_to=3, num_sources=3)
        assert alone.mean_hops[0] == sampled.mean_hops[topic]
        assert alone.diameter[0] == sampled.diameter[topic]


def test_a_second_walk_finds_the_ends_of_a_chain():
    num_nodes = 300
    both = np.repeat([0, 1], num_nodes)
    workload = fw.TopicWorkload.from_arrays([1.0, 1.0], np.tile(np.arange(num_nodes), 2), both)
    chain = as_edges([(v, v + 1) for v in range(num_nodes - 1)])
    found = topic_hops(Overlay(fw.Connection(workload).network, chain), seed=5, num_sources=2)
    assert not found.is_exact.any()
    assert found.diameter.tolist() == [num_nodes - 1] * 2
    for topic in (0, 1):
        sources = np.random.default_rng([5, topic]).choice(num_nodes, 2, replace=False)
        walks = [abs(int(source) - v) for source in sources for v in range(num_nodes)]
        assert found.mean_hops[topic] == pytest.approx(sum(walks) / (2 * (num_nodes - 1)))


@settings(max_examples=30)
@given(overlays())
def test_forests_span_what_can_be_reached_without_loops(case):
    interests, edges, overlay, weight = case
    topic, nearer, farther = (column.tolist() for column in spanning_forests(overlay))
    linked = {frozenset(edge) for edge in edges}
    for t in range(len(weight)):
        links = [(u, v) for at, u, v in zip(topic, nearer, farther, strict=True) if at == t]
        neighbours = oracle.sub_overlay(interests, edges, t)
        assert {frozenset(link) for link in links} <= linked
        assert oracle.is_forest(links)
        assert len(links) == len(neighbours) - len(oracle.pieces(neighbours))
        roots = {u for u, _ in links} - {v for _, v in links}
        for root in roots:
            inside = oracle.distances(neighbours, root)
            tree = oracle.sub_overlay([[t] if v in neighbours else [] for v in
                                       range(len(interests))], links, t)  # fmt: skip
            assert oracle.distances(tree, root) == inside
            assert len(neighbours[root]) == max(len(neighbours[v]) for v in inside)
    assert topic == sorted(topic)


@settings(max_examples=40)
@given(overlays())
def test_the_support_curve_counts_components_link_by_link(case):
    interests, edges, overlay, weight = case
    curve = support_curve(overlay)
    whole = sum(
        weight[t] * max(len(oracle.sub_overlay(interests, [], t)) - 1, 0)
        for t in range(len(weight))
    )
    assert len(curve.support) == len(edges) + 1
    for k in range(len(edges) + 1):
        joined = 0.0
        for t in range(len(weight)):
            neighbours = oracle.sub_overlay(interests, edges[:k], t)
            joined += weight[t] * (len(neighbours) - len(oracle.pieces(neighbours)))
        assert curve.support[k] == pytest.approx(joined / whole if whole else 1.0)
        assert curve.after(k / max(1, len(edges))) == curve.support[k]
    needed = curve.edges_for(0.5)
    if needed is None:
        assert curve.support[-1] < 0.5
    else:
        assert curve.support[needed] >= 0.5 * (1 - 1e-9)
        assert needed == 0 or curve.support[needed - 1] < 0.5
    degrees = [sum(v in edge for edge in edges) for v in range(len(interests))]
    assert degree_counts(overlay).tolist() == [
        degrees.count(k) for k in range(max(degrees, default=0) + 1)
    ]


def test_an_overlay_is_read_from_its_plan_alone():
    workload = Posed([[0], [0, 1], [1], [0, 1]], [3.0, 5.0], max_degree=[1, 2, 1, 0]).workload()
    plan = fw.Connection(workload, max_degree="column", topic_weight="rate").solve("gpm")
    overlay = overlay_of(workload, plan)
    assert overlay.network.value(overlay.edges) == plan.objective
    assert overlay.network.degree_limit.tolist() == [1, 2, 1, 0]
    other = Posed([[0], [0, 1], [1], [0]], [3.0, 5.0]).workload()
    with pytest.raises(PlanError, match="not this one"):
        overlay_of(other, plan)
    selection = fw.Selection(workload, tau=1, capacity="50%").solve("greedy")
    with pytest.raises(PlanError, match="select plan"):
        overlay_of(workload, selection)


@settings(max_examples=25)
@given(overlays(max_nodes=8), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 9)))
def test_explanations_are_of_the_overlay(case, degree, max_edges):
    interests, _, _, weight = case
    rates = [1.0] * len(weight)
    posed = Posed(interests, rates, max_degree=degree, max_edges=max_edges)
    workload = posed.workload()
    plan = posed.problem().solve("gpm")
    edges = edges_of(plan.tables["edges"]).tolist()
    degrees = [sum(v in edge for edge in edges) for v in range(len(interests))]
    whole = explain_plan(workload, plan)
    cut_off_of_node = [0] * len(interests)
    cut_off, hops = 0, []
    for topic in range(len(weight)):
        neighbours = oracle.sub_overlay(interests, edges, topic)
        pieces = sorted(oracle.pieces(neighbours), key=lambda piece: (-len(piece), min(piece)))
        found = explain_topic(workload, plan, workload.topic_names[topic].as_py())
        assert [piece.nodes for piece in found.pieces] == [len(piece) for piece in pieces][:8]
        spare = [sum(degrees[v] < degree for v in piece) for piece in pieces]
        assert [piece.with_spare for piece in found.pieces] == spare[:8]
        room = max(0, sum(count > 0 for count in spare) - 1)
        if max_edges is not None:
            room = min(room, max_edges - len(edges))
        assert found.joinable == room
        names = [workload.subscriber_names[v].as_py() for v in sorted(pieces[0])] if pieces else []
        assert list(found.pieces[0].names if pieces else ()) == names[:8]
        assert (found.nodes, found.components) == (len(neighbours), len(pieces))
        outside = [v for piece in pieces[1:] for v in piece]
        assert found.cut_off == len(outside)
        cut_off += len(outside)
        for v in outside:
            cut_off_of_node[v] += 1
        walks = oracle.all_hops(neighbours)
        if walks:
            hops.append((np.mean(walks), max(walks)))
    assert whole.cut_off == cut_off
    assert whole.alone == degrees.count(0)
    assert whole.full == sum(have >= degree for have in degrees)
    assert [row.cut_off for row in whole.worst_nodes] == [
        count for count in sorted(cut_off_of_node, reverse=True)[:8] if count
    ]
    assert whole.mean_hops == pytest.approx(np.mean([mean for mean, _ in hops]) if hops else 0.0)
    assert whole.diameter == max((most for _, most in hops), default=0)
    assert explain(workload, plan).passages
    for topic in workload.topic_names.to_pylist():
        assert explain(workload, plan, topic).passages[0].title.startswith(topic)
