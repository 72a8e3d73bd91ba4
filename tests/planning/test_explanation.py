"""What explanations of all families share: names that are found, numbers that are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from fanwise.errors import InputError
from fanwise.planning import explanation as said

NAMES = pa.array(["blue note", "blue moon", "red house"])


def test_names_are_found_or_suggested():
    assert said.find_name(NAMES, "red house", "topic") == 2
    words = r"topic 'blue mon' is not in the workload; did you mean 'blue moon', 'blue note'\?"
    with pytest.raises(InputError, match=words):
        said.find_name(NAMES, "blue mon", "topic")
    with pytest.raises(InputError, match="no name is close to it"):
        said.find_name(NAMES, "xyzzy", "topic")


def test_among_very_many_names_those_that_begin_alike_are_suggested(monkeypatch):
    monkeypatch.setattr(said, "MAX_CANDIDATES", 1)
    with pytest.raises(InputError, match=r"did you mean 'blue note'\?"):
        said.find_name(NAMES, "blue nota", "topic")


def test_facts_are_plain_values():
    @dataclass(frozen=True)
    class Facts:
        name: str
        parts: tuple[int, ...]

    told = said.Explanation.of(Facts("it", (1, 2)), [said.Lines("It", [("is", 1)])])
    assert told.facts == {"name": "it", "parts": (1, 2)}
    assert told.passages[0].title == "It"


def test_the_largest_come_first_and_nothing_is_not_listed():
    assert said.largest(np.array([0.0, 2.0, 5.0, 2.0, -1.0])) == [2, 1, 3]
    assert len(said.largest(np.arange(1.0, 30.0))) == said.MOST_LISTED


def test_numbers_are_written_for_people():
    assert (said.finite(2), said.finite(np.inf), said.finite(np.nan)) == (2.0, None, None)
    assert (said.share(1, 4), said.share(1, 0)) == (0.25, 0.0)
    assert said.with_share(3, 12) == "3 (25%)"
    assert said.out_of(3, 12) == "3 of 12"
    assert said.some_names(["a", "b"], 9) == "9: a, b, …"
    assert said.some_names(["a", "b"], 2) == "2: a, b"
    assert said.first_of(2, 9, "topics") == "The first 2 of 9 topics."
    assert said.first_of(9, 9, "topics") == ""
    assert said.write_box([(0, 1), (2.5, 3)]) == "[0, 1] x [2.5, 3]"
