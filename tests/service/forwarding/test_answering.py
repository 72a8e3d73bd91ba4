"""Answers from the log: exactly the messages that the filters of a client mean."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.client.asking import read_answer, write_question
from fanwise.client.filters import is_filter, matches, overlap
from fanwise.service.forwarding.answering import Answers, QuestionError, read_question
from fanwise.service.forwarding.log import Log
from fanwise.service.forwarding.records import Record

LEVELS = st.sampled_from(["a", "b", ""])
TOPICS = st.lists(LEVELS, min_size=1, max_size=3).map("/".join).filter(bool)
FILTERS = (
    st.tuples(st.lists(st.sampled_from(["a", "b", "", "+"]), max_size=3), st.booleans())
    .map(lambda parts: "/".join([*parts[0], *(["#"] if parts[1] else [])]))
    .filter(bool)
)


def means(filter, topic):
    """A plain twin: what a filter matches, by its definition, level by level."""
    wanted, levels = filter.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted = wanted[:-1]
        if len(levels) < len(wanted):
            return False
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(
        one in ("+", other) for one, other in zip(wanted, levels, strict=True)
    )


@given(FILTERS, TOPICS)
def test_filters_match_as_they_are_defined(filter, topic):
    assert is_filter(filter)
    assert matches(filter, topic) == means(filter, topic)


@given(FILTERS, FILTERS, TOPICS)
def test_filters_that_mean_one_topic_overlap(one, other, topic):
    assert overlap(one, one)
    assert overlap(one, other) == overlap(other, one)
    if matches(one, topic) and matches(other, topic):
        assert overlap(one, other)


def test_filters_that_do_not_overlap():
    assert not overlap("a/+", "b/+")
    assert not overlap("a", "a/b")
    assert overlap("a/#", "a")
    assert not is_filter("a#")
    assert not is_filter("#/a")


@settings(max_examples=30)
@given(
    st.lists(TOPICS, max_size=20),
    st.lists(st.tuples(FILTERS, st.integers(0, 20)), min_size=1, max_size=4),
)
def test_an_answer_has_all_messages_that_filters_mean(topics, filters):
    folder = Path(tempfile.mkdtemp())
    try:
        log = Log(folder / "log", segment_bytes=400)
        for sequence, topic in enumerate(topics, 1):
            log.append([Record(sequence, 0, 0, (), topic, b"x" * 30)])
        answers = Answers("main", log)
        for _ in range(2):  # the second time, patterns are remembered
            question = read_question(write_question("ann", 3, log.name, filters))
            answer = read_answer(answers.answer(question))
            wanted = [
                sequence for sequence, topic in enumerate(topics, 1)
                if any(sequence > after and means(one, topic) for one, after in filters)
            ]  # fmt: skip
            assert list(answer.sequences()) == wanted
            assert (answer.position, answer.through, answer.first) == (len(topics),) * 2 + (1,)
        log.close()
        again = Log(folder / "log", segment_bytes=400)
        answer = read_answer(Answers("main", again).answer(question))
        assert list(answer.sequences()) == wanted, "the index is read again"
        again.close()
    finally:
        shutil.rmtree(folder)


def test_questions_that_are_none(tmp_path):
    for body in (
        b"",
        b"[]",
        b"{}",
        json.dumps({"client": "a/b", "number": 1, "filters": []}).encode(),
        json.dumps({"client": "ann", "number": 1, "filters": [["a#", 1]]}).encode(),
    ):
        with pytest.raises(QuestionError):
            read_question(body)
