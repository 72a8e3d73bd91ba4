import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.disjoint_sets_oracle import Sets

from fanwise.arrays.disjoint_sets import find_root, join_sets, single_sets

pytestmark = pytest.mark.kernels

NUM_ITEMS = 9
items = st.integers(0, NUM_ITEMS - 1)


@given(st.lists(st.tuples(items, items), max_size=20))
def test_joins_are_those_of_sets(joins):
    parent, expected = single_sets(NUM_ITEMS), Sets(NUM_ITEMS)
    for one, other in joins:
        assert join_sets(parent, one, other) == expected.join(one, other)
        for item in range(NUM_ITEMS):
            assert find_root(parent, item) == expected.root(item)
