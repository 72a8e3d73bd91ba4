"""What clients ask: which messages there were for their filters, and to have some sent again."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.client.filters import is_filter, is_pattern, matches
from fanwise.service.forwarding.log import Log

MOST_TOLD = 5_000
"""Sequences in one answer."""
MOST_LOOKED_AT = 200_000
"""Messages that one answer looks at."""
MOST_RESENT = 500
"""Messages that are sent again for one question."""
MOST_FILTERS = 1_000
MOST_PATTERNS = 1_000
"""Patterns whose topics are remembered."""


class QuestionError(Exception):
    """A question that makes no sense."""


@dataclass(frozen=True)
class Question:
    """What a client wants to know.

    Attributes
    ----------
    asker
        Names the topic of the answer.
    number
        Given back in the answer.
    filters
        Each with the sequence after which it counts; None: from now on.
    resend
        Sequences to send again.
    """

    asker: str
    number: int
    log: str | None
    filters: tuple[tuple[str, int | None], ...]
    resend: tuple[int, ...]


def read_question(body: bytes) -> Question:
    """Return a question.

    Raises
    ------
    QuestionError
        If it is none.
    """
    try:
        found: dict[str, Any] = json.loads(body)
        filters = tuple((str(one), None if at is None else int(at)) for one, at in found["filters"])
        question = Question(
            str(found["client"]),
            int(found["number"]),
            None if found.get("log") is None else str(found["log"]),
            filters,
            tuple(int(one) for one in found.get("resend", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise QuestionError("not a question in JSON") from None
    is_name = question.asker and not set("+#/\0") & set(question.asker)
    if not is_name or len(filters) > MOST_FILTERS or not all(is_filter(one) for one, _ in filters):
        raise QuestionError("no name of a client, too many filters, or one that is none")
    return question


class Answers:
    """Answers questions from the log."""

    def __init__(self, forwarder: str, log: Log) -> None:
        self._forwarder, self._log = forwarder, log
        self._patterns: OrderedDict[str, np.ndarray[Any, np.dtype[np.bool_]]] = OrderedDict()

    def answer(self, question: Question) -> bytes:
        """Return which messages there were, as JSON.

        ``position`` is the newest message on disk, ``through`` how far this answer looked,
        ``first`` the oldest message that is kept, ``ids`` the sequences as runs: first, how many,
        first, how many, ….
        """
        log = self._log
        position = log.position
        is_ours = question.log in (None, log.name)
        counted = [(one, at) for one, at in question.filters if at is not None] if is_ours else []
        sequences, through = self._find(counted, position)
        return json.dumps(
            {
                "forwarder": self._forwarder,
                "log": log.name,
                "number": question.number,
                "position": position,
                "through": through,
                "first": log.first,
                "ids": _runs(sequences),
            }
        ).encode()

    def _find(self, filters: Sequence[tuple[str, int]], position: int) -> tuple[list[int], int]:
        """Return sequences of messages that filters mean, and how far was looked."""
        if not filters:
            return [], position
        start = max(min(at for _, at in filters) + 1, self._log.first)
        end = min(position, start + MOST_LOOKED_AT - 1)
        found: list[int] = []
        for first, topics in self._log.index(start):
            if first > end:
                break
            low = max(start, first)
            numbers = np.array(topics[low - first : end - first + 1], dtype=np.int64)
            is_meant = np.zeros(len(numbers), dtype=bool)
            for at in {at for _, at in filters}:
                wanted = self._wanted([one for one, after in filters if after == at])
                skipped = max(0, at + 1 - low)
                is_meant[skipped:] |= wanted[numbers[skipped:]]
            found += (np.flatnonzero(is_meant) + low).tolist()
            if len(found) > MOST_TOLD:
                found = found[:MOST_TOLD]
                return found, found[-1]
        return found, end

    def _wanted(self, filters: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for each topic that ever came whether a filter means it."""
        topics = self._log.topics
        wanted = np.zeros(len(topics), dtype=bool)
        for one in filters:
            if is_pattern(one):
                known = self._pattern(one)
                wanted[: len(known)] |= known[: len(wanted)]
            elif (number := topics.find(one)) is not None and number < len(wanted):
                wanted[number] = True
        return wanted

    def _pattern(self, pattern: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        known = self._patterns.get(pattern, np.zeros(0, dtype=bool))
        names = self._log.topics.names
        if len(known) < len(names):
            more = [matches(pattern, name) for name in names[len(known) :]]
            known = np.concatenate([known, np.array(more, dtype=bool)])
        self._patterns[pattern] = known
        self._patterns.move_to_end(pattern)
        if len(self._patterns) > MOST_PATTERNS:
            self._patterns.popitem(last=False)
        return known


def _runs(sequences: Sequence[int]) -> list[int]:
    """Return sequences as runs: first, how many, first, how many, …."""
    runs: list[int] = []
    for one in sequences:
        if runs and one == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += [one, 1]
    return runs
