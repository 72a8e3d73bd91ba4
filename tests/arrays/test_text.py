import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.arrays import text
from fanwise.arrays.text import find_repeat, flat_text

pytestmark = pytest.mark.kernels

strings = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=3), max_size=30)


def expected_repeat(values):
    seen = {}
    for row, value in enumerate(values):
        if value in seen:
            return seen[value], row
        seen[value] = row
    return None


@given(strings, st.sampled_from([pa.string(), pa.large_string()]), st.integers(0, 3))
def test_find_repeat(values, kind, skipped):
    array = pa.array(["a"] * skipped + values, type=kind).slice(skipped)
    assert find_repeat(array) == expected_repeat(values)


@given(strings)
def test_flat_text_is_the_text(values):
    offsets, characters = flat_text(pa.array(values, type=pa.string()))
    found = [bytes(characters[a:b]).decode() for a, b in itertools.pairwise(offsets)]
    assert found == values


@pytest.mark.parametrize("values", [["a", "b"], ["a", "b", "a"]])
def test_colliding_hashes_are_not_repeats(values, monkeypatch):
    import numpy as np

    monkeypatch.setattr(text, "hash_strings", lambda o, c: np.zeros(len(o) - 1, np.uint64))
    assert find_repeat(pa.array(values)) == expected_repeat(values)
