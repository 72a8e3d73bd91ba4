"""Workloads of edges, NetworkX graphs and sparse matrices, against definitions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fanwise as fw
from fanwise.errors import InputError, ParameterError, WorkloadError

EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30)
RATES = st.dictionaries(st.integers(0, 12), st.integers(0, 4), max_size=13)


def pairs_of(workload):
    names, people = workload.topic_names.to_pylist(), workload.subscriber_names.to_pylist()
    indptr, indices = workload.interests
    return {
        (people[who], names[topic])
        for who in range(len(people))
        for topic in indices[indptr[who] : indptr[who + 1]]
    }


def expected_pairs(edges, rates, *, mutual):
    both = [*edges, *((b, a) for a, b in edges)] if mutual else edges
    return {(str(a), str(b)) for a, b in both if rates is None or rates.get(b, 0) > 0}


@given(EDGES, st.none() | RATES, st.booleans())
def test_edges_and_graphs_give_those_who_follow(edges, rates, mutual):
    given_rate = 2.0 if rates is None else rates
    of_edges = fw.TopicWorkload.from_edges(edges, rate=given_rate, mutual=mutual)
    graph = (nx.MultiGraph if mutual else nx.MultiDiGraph)(edges)
    of_graph = fw.TopicWorkload.from_networkx(graph, rate=given_rate)
    wanted = expected_pairs(edges, rates, mutual=mutual)
    assert pairs_of(of_edges) == wanted
    assert of_graph.hash == of_edges.hash
    for name, rate in zip(of_edges.topic_names.to_pylist(), of_edges.rates, strict=True):
        assert rate == (2.0 if rates is None else rates[int(name)])
    assert of_edges.topic_names.to_pylist() == sorted({topic for _, topic in wanted})


@pytest.mark.parametrize(
    "edges",
    [
        [("a", "b"), ("c", "b")],
        np.array([["a", "b"], ["c", "b"]]),
        pd.DataFrame({"from": ["a", "c"], "to": ["b", "b"]}),
        {"from": ["a", "c"], "to": ["b", "b"]},
    ],
)
def test_edges_of_any_form_are_the_same(edges):
    assert pairs_of(fw.TopicWorkload.from_edges(edges)) == {("a", "b"), ("c", "b")}


def test_a_graph_with_two_sides_has_topics_on_one():
    graph = nx.Graph([("ann", "rock"), ("jazz", "ann"), ("bob", "jazz")])
    nx.set_node_attributes(graph, {"rock": 30, "jazz": 0.5}, "plays")
    found = fw.TopicWorkload.from_networkx(graph, topics=["rock", "jazz"], rate="plays")
    assert pairs_of(found) == {("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")}
    assert found.rates.tolist() == [0.5, 30]


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (nx.path_graph(3), {"topics": [0]}, "joins two nodes that are no topics"),
        (nx.path_graph(3), {"topics": [9]}, "'9' is no node"),
        (nx.path_graph(3), {"rate": "plays"}, "no node has the attribute 'plays'"),
        (nx.path_graph(3), {"rate": {0: -1}}, "rate of '0' must be a finite number >= 0, got -1"),
        (nx.Graph([(1, "1")]), {}, "the nodes 1 and '1' have the same name"),
        (nx.Graph([((1, 2), 3)]), {}, r"a node is \(1, 2\); names are text or whole numbers"),
    ],
)
def test_graphs_that_say_nothing_clear_are_refused(graph, options, message):
    with pytest.raises(InputError, match=message):
        fw.TopicWorkload.from_networkx(graph, **options)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("a",)], "row 1 is .*; each is a follower and a followee"),
        (["ab"], "row 0 is 'ab'"),
        ([("a", None)], "row 0, column 'followee' has no name"),
        ({"a": [1], "b": [2], "c": [3]}, "3 columns"),
    ],
)
def test_edges_without_two_ends_are_refused(edges, message):
    with pytest.raises(InputError, match=message):
        fw.TopicWorkload.from_edges(edges)


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_matrix_keeps_its_rows_and_columns(num_rows, num_columns, random):
    dense = np.array([[random.choice([0, 0, 1, -2]) for _ in range(num_columns)]
                      for _ in range(num_rows)])  # fmt: skip
    for kind in (sparse.csr_array, sparse.coo_matrix, sparse.lil_array):
        found = fw.TopicWorkload.from_sparse(kind(dense), rates=np.arange(1, num_columns + 1))
        assert found.rates.tolist() == list(range(1, num_columns + 1))
        assert found.num_subscribers == num_rows
        for row in range(num_rows):
            start, end = found.interests.indptr[row : row + 2]
            assert (
                found.interests.indices[start:end].tolist() == np.flatnonzero(dense[row]).tolist()
            )


def test_a_matrix_that_says_nothing_clear_is_refused():
    with pytest.raises(InputError, match="one for each of the 2 columns"):
        fw.TopicWorkload.from_sparse(sparse.csr_array([[1, 1]]), rates=[1, 2, 3])
    with pytest.raises(InputError, match="row 0, column 1 is NaN"):
        fw.TopicWorkload.from_sparse(sparse.csr_array([[1, np.nan]]), rates=1)
    with pytest.raises(ParameterError, match="matrix"):
        fw.TopicWorkload.from_sparse([[1, 0]], rates=1)
    with pytest.raises(WorkloadError, match=r"rate\[1\]: must be > 0"):
        fw.TopicWorkload.from_sparse(sparse.csr_array([[1, 1]]), rates=[1, 0])
