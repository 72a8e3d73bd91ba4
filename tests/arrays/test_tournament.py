import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.tournament_oracle import Numbers

from fanwise.arrays.tournament import first_at_least, first_largest, mend_tree, set_leaf

pytestmark = pytest.mark.kernels

numbers = st.integers(-3, 5).map(float)


@st.composite
def tournaments(draw):
    leaves = draw(st.sampled_from([1, 2, 4, 8]))
    start = draw(st.lists(numbers, min_size=leaves, max_size=leaves))
    changes = draw(st.lists(st.tuples(st.integers(0, leaves - 1), numbers), max_size=12))
    return start, changes


@given(tournaments())
def test_it_is_a_list_that_knows_its_largest(tournament):
    start, changes = tournament
    tree = np.array(start * 2)
    mend_tree(tree)
    expected = Numbers(start)
    for place, number in [*changes, (0, start[0])]:
        set_leaf(tree, place, number)
        expected.set(place, number)
        assert tree[len(tree) // 2 :].tolist() == expected.numbers
        assert tree[1] == max(expected.numbers)
        assert first_largest(tree) == expected.first_largest()
        for wanted in {*expected.numbers, -9.0}:
            assert first_at_least(tree, wanted) == expected.first_at_least(wanted)
