"""Knobs of algorithms: what ``--set`` takes, and what is refused."""

from __future__ import annotations

import pytest

from fanwise.errors import ParameterError
from fanwise.planning import settings
from fanwise.planning.families import FAMILIES
from fanwise.planning.family import Algorithm, resolve_settings

KNOBS = {
    "rounds": settings.whole_number(5, least=1),
    "share": settings.number(0.5, 0, 1),
    "thorough": settings.flag(default=False),
    "order": settings.one_of("up", "down"),
}
FIRST = Algorithm("fanwise.nowhere:first", "first", settings=KNOBS)
SECOND = Algorithm("fanwise.nowhere:second", "second", settings={"depth": settings.number(1, 1, 9)})


def test_defaults_fill_in_what_is_not_given():
    assert resolve_settings((FIRST, SECOND), {"depth": 2}) == {
        "rounds": 5, "share": 0.5, "thorough": False, "order": "up", "depth": 2,
    }  # fmt: skip


def test_texts_are_read_as_what_the_knob_is():
    given = {"rounds": "7", "share": "0.25", "thorough": "true", "order": "down"}
    read = {"rounds": 7, "share": 0.25, "thorough": True, "order": "down"}
    assert resolve_settings((FIRST,), given) == read


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speed": 1}, r"a known knob \(rounds, share, thorough, order\), got 'speed'"),
        ({"rounds": 0}, "a whole number >= 1, got 0"),
        ({"rounds": "2.5"}, "a whole number >= 1, got '2.5'"),
        ({"share": 2}, "a number from 0 to 1, got 2"),
        ({"thorough": 1}, "true or false, got 1"),
        ({"order": "sideways"}, "one of up, down, got 'sideways'"),
    ],
)
def test_other_knobs_and_values_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        resolve_settings((FIRST,), given)


def test_without_knobs_none_is_taken():
    with pytest.raises(ParameterError, match="none for this algorithm"):
        resolve_settings((Algorithm("fanwise.nowhere:plain", "plain"),), {"rounds": 1})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_default_is_allowed(family):
    for stage in FAMILIES[family].stages.values():
        for algorithm in stage.values():
            for knob in algorithm.settings.values():
                assert knob.kind.allows(knob.default)
