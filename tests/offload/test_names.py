"""Names of topics that Mosquitto takes, and names of files for nodes that are called anything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import odd_names

from fanwise.errors import InputError
from fanwise.offload.names import check_topics, find_topic_flaw, name_files

REFUSED = {
    "": "is empty",
    "a/+": "wildcard",
    "#": "wildcard",
    "a b": "space",
    " a": "space",
    "a\tb": "control character",
    "a\x00": "control character",
    "a\r": "control character",
    "a\nb": "control character",
    "a\x7f": "control character",
    "a\x85b": "control character",
    "a\ufffeb": "no character",
    "a\ufdd0b": "no character",
    "a\U0010ffff": "no character",
    '""': "means no topic",
    "$SYS/x": "begins with \\$",
    "$share/g/t": "begins with \\$",
    "$": "begins with \\$",
    "fanwise/decision": "kept for control",
    "l" * 65_536: "65535 bytes",
    "ü" * 32_768: "65535 bytes",
    "/" * 201: "200 slashes",
}
TAKEN = [
    "a",
    "a/b",
    "/",
    "ü深🦜",
    '"a"',
    "a$b",
    "a\u00a0b",
    "a\u2028b",
    "l" * 65_535,
    "/" * 200,
    "%",
]


@pytest.mark.parametrize("name", REFUSED, ids=lambda name: ascii(name[:9]))
def test_what_mosquitto_cannot_bridge_is_refused_in_one_line(name):
    with pytest.raises(InputError, match=REFUSED[name]) as error:
        check_topics(["fine", name])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("name", TAKEN, ids=lambda name: ascii(name[:9]))
def test_what_it_takes_is_not(name):
    assert find_topic_flaw(name) is None


@given(nodes=st.lists(odd_names, unique=True, max_size=12), old=st.data())
def test_names_of_files_are_safe_different_and_stay(nodes, old):
    names = name_files(nodes, {})
    assert list(names) == nodes
    assert len({name.casefold() for name in names.values()}) == len(nodes)
    for name in names.values():
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,70}", name)
        assert not re.fullmatch(r"(con|nul|aux|prn|com\d|lpt\d)(\..*)?", name, re.IGNORECASE)
    more = old.draw(st.lists(odd_names, unique=True, max_size=6))
    everybody = list(dict.fromkeys([*more, *nodes]))
    later = name_files(everybody, names)
    assert {node: later[node] for node in nodes} == names
    assert len({name.casefold() for name in later.values()}) == len(everybody)


def test_plain_names_are_themselves():
    assert name_files(["edge-1", "b_2.x", "Edge-1"], {}) == {
        "edge-1": "edge-1", "b_2.x": "b_2.x", "Edge-1": "Edge-1-2",
    }  # fmt: skip
