"""Covers of links are covers, and the least ones where it is said."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import offload_oracle as oracle

from fanwise.offload import covers
from fanwise.offload.covers import cover_links

graphs = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda ends: ends[0] != ends[1]),
    max_size=18,
)


@given(links=graphs)
def test_small_covers_are_the_least(links):
    found = cover_links(links)
    assert found.is_least
    assert all(u in found.nodes or v in found.nodes for u, v in links)
    assert len(found.nodes) == oracle.least_cover(links)


@given(links=graphs)
def test_a_search_that_gives_up_still_covers(links):
    kept, covers.MAX_STEPS = covers.MAX_STEPS, 3
    try:
        found = cover_links(links)
    finally:
        covers.MAX_STEPS = kept
    assert all(u in found.nodes or v in found.nodes for u, v in links)
    if found.is_least:
        assert len(found.nodes) == oracle.least_cover(links)


def test_large_graphs_are_covered_greedily():
    rng = np.random.default_rng(0)
    links = [
        tuple(ends) for ends in rng.integers(0, 3000, (6000, 2)).tolist() if ends[0] != ends[1]
    ]
    found = cover_links(links)
    assert not found.is_least
    assert all(u in found.nodes or v in found.nodes for u, v in links)
    assert len(found.nodes) < len({node for link in links for node in link})
    star = [(0, other) for other in range(1, 500)]
    assert cover_links(star).nodes == {0}
