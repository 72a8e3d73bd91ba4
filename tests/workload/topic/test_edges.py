"""Workloads made of edges, against sets of pairs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.errors import InputError
from fanwise.workload.topic.edges import workload_of_edges

EDGES = st.lists(st.tuples(st.integers(-3, 15), st.integers(-3, 15)), max_size=30)


@settings(max_examples=40)
@given(EDGES, st.booleans())
def test_pairs_are_those_of_a_set(edges, mutual):
    workload = workload_of_edges([a for a, _ in edges], [b for _, b in edges], mutual=mutual)
    pairs = {(str(a), str(b)) for a, b in edges}
    if mutual:
        pairs |= {(b, a) for a, b in pairs}
    topics, subscribers = workload.topic_names.to_pylist(), workload.subscriber_names.to_pylist()
    assert topics == sorted({b for _, b in pairs})
    assert subscribers == sorted({a for a, _ in pairs})
    indptr, indices = workload.interests
    assert pairs == {
        (subscribers[row], topics[topic])
        for row in range(len(subscribers))
        for topic in indices[indptr[row] : indptr[row + 1]]
    }
    assert workload.num_pairs == len(pairs)


def test_edges_come_in_any_kind_of_array():
    plain = workload_of_edges(["10", "9"], ["9", "2"])
    for kind in (np.array, pa.array, lambda ends: pa.chunked_array([ends[:1], ends[1:]])):
        assert workload_of_edges(kind([10, 9]), kind([9, 2])).hash == plain.hash
    assert workload_of_edges(np.array([10, 9], np.int64), ["9", "2"]).hash == plain.hash
    made = workload_of_edges(
        [1], [2], rate=3, message_bytes=4, period_seconds=5, origin={"graph": "by hand"}
    )
    assert (made.rates[0], made.message_bytes[0], made.period_seconds) == (3, 4, 5)
    assert made.origin == {"graph": "by hand"}


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (([1], [1, 2]), "1 followers and 2 followees"),
        (([1.5], [2.5]), "ends of type double where integers or strings are needed"),
        ((["a", None], ["b", "c"]), "an end is null"),
    ],
)
def test_what_is_no_edge_is_refused(ends, message):
    with pytest.raises(InputError, match=message):
        workload_of_edges(*ends)
