"""The oracle sees each kind of wrong in a trace of a few lines."""

from __future__ import annotations

import pytest
from tests.oracles.broker_oracle import violations

FINE = [
    (0.0, "room", "b0", 1.0),
    (0.0, "room", "b1", 1.0),
    (0.1, "home", "b0", {"client": "c", "epoch": 1, "demand": 1.0}),
    (0.2, "welcome", "c", {"broker": "b0", "epoch": 1}),
    (0.3, "subscribe", "c", "s", (0.0,), (0.5,)),
    (0.4, "settled", "c", {"ids": ("s",), "everywhere": True}),
    (0.5, "publish", "p", 1, (0.2,)),
    (0.6, "published", "p", {"sequence": 1}),
    (0.7, "handed", "c", "p", 1, (0.2,)),
]


def without(what):
    return [row for row in FINE if row[1] != what]


WRONG = {
    "lost": without("handed"),
    "unanswered": without("published"),
    "doubled": [*FINE, (0.8, "handed", "c", "p", 1, (0.2,))],
    "invented": [*FINE, (0.8, "handed", "c", "p", 2, (0.2,))],
    "unwanted": [
        *FINE, (1.0, "unsubscribe", "c", "s"), (1.1, "unregistered", "c", {"id": "s"}),
        (1.2, "publish", "p", 2, (0.2,)), (1.3, "published", "p", {"sequence": 2}),
        (1.4, "handed", "c", "p", 2, (0.2,)),
    ],
    "two homes": [*FINE, (0.8, "home", "b1", {"client": "c", "epoch": 1, "demand": 1.0})],
    "no room": [*FINE, (0.8, "prepared", "b0", {"client": "d", "move": 1, "demand": 1.0})],
    "epoch": [*FINE, (0.8, "welcome", "c", {"broker": "b1", "epoch": 1})],
    "protocol": [*FINE, (0.8, "protocol", "c", {"peer": "b0", "why": "a gap"})],
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_the_oracle_sees(kind):
    found = violations(WRONG[kind])
    assert [what.split(":")[0] for what in found] == [kind]


def test_nothing_is_wrong_with_a_fine_trace():
    assert violations(FINE) == []
    assert violations(FINE, ("c: waits",)) == ["remains: c: waits"]


def test_what_is_not_owed():
    only_linked = [
        (*row[:3], {"ids": ("s",), "everywhere": False}) if row[1] == "settled" else row
        for row in without("handed")
    ]
    assert violations(only_linked) == []
    ended = [*without("handed"), (0.9, "unsubscribe", "c", "s")]
    assert violations(ended) == []
    rejected = [
        (row[0], "rejected", *row[2:]) if row[1] == "published" else row
        for row in without("handed")
    ]
    assert violations(rejected) == []
