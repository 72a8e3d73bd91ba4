"""What a client keeps account of, against a plain model."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fanwise.client.asking import read_answer, read_taken
from fanwise.client.gaps import Gaps
from fanwise.client.naming import Identity, read_identity


@given(st.randoms(use_true_random=False), st.integers(0, 5), st.integers(1, 40))
def test_each_message_once_and_complete_in_the_end(rng: random.Random, start, many):
    """Messages come in any order, some twice, some never; answers come in between."""
    gaps = Gaps()
    meant = [one for one in range(start + 1, start + many + 1) if rng.random() < 0.7]
    arriving = [one for one in meant for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    rng.shuffle(arriving)
    gaps.begin(start)
    got: list[int] = []
    position = start
    for one in arriving:
        if gaps.take(one):
            got.append(one)
        if rng.random() < 0.3:
            position = min(start + many, position + rng.randint(0, 10))
            told = [other for other in meant if gaps.known < other <= position]
            gaps.learn(told, position, 1, 0.0)
            below = {other for other in meant if other <= gaps.through}
            assert below <= set(got)
    gaps.learn([one for one in meant if one > gaps.known], start + many, 1, 0.0)
    missing = gaps.missing(1.0, 0.5)
    assert missing == sorted(set(meant) - set(got))
    assert gaps.missing(0.1, 0.5) == []
    got += [one for one in missing if gaps.take(one)]
    assert sorted(got) == meant
    assert len(got) == len(set(got))
    assert gaps.through == start + many
    assert not any(gaps.take(one) for one in meant)


def test_what_is_no_longer_kept_is_lost_and_said():
    gaps = Gaps()
    gaps.begin(0)
    gaps.learn([1, 2, 3, 4], 4, 1, 0.0)
    assert gaps.take(4)
    assert gaps.through == 0
    gaps.learn([], 4, 3, 1.0)
    assert (gaps.lost, gaps.missing(9.0, 1.0), gaps.through) == (2, [3], 2)
    gaps.learn([50], 50, 20, 2.0)
    assert gaps.lost == 4, "3, and what nobody knows of"


def test_without_a_forwarder_doubles_are_dropped_all_the_same():
    gaps = Gaps()
    assert [gaps.take(one) for one in (5, 6, 5, 7, 6)] == [True, True, False, True, False]
    assert gaps.through is None


def test_what_was_on_its_way_at_the_start_is_handed_over_once():
    gaps = Gaps()
    gaps.begin(10)
    gaps.learn([], 20, 1, 0.0)
    assert [gaps.take(one) for one in (9, 9, 15)] == [True, False, False]


def test_ids_are_read_as_they_are_written():
    one = Identity("00ff00ff", 17)
    assert str(one) == "00ff00ff-000000000017"
    assert read_identity(str(one)) == one
    for text in ("", "xyz", "00ff00ff-17", "00FF00FF-000000000017"):
        assert read_identity(text) is None


def test_what_is_no_answer_is_none():
    for body in (b"", b"[]", b"{}", b'{"log": 1, "number": "x", "taken": 1}'):
        assert read_answer(body) is None
        assert read_taken(body) is None
