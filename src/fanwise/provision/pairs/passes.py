"""Passes over all subscribers, by pieces on threads, that end early when the time is over."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple, TypeVar

from fanwise.arrays.csr import LongArray
from fanwise.arrays.threads import cut_rows, in_threads

Result = TypeVar("Result")
IsOver = Callable[[], bool]
"""Says whether the time is over."""

MIN_PIECES = 8
PAIRS_EACH = 250_000
"""Pairs of a piece, at most: a few tenths of a second between two looks at the clock."""


def never_over() -> bool:
    """Say that there is time."""
    return False


class Deadlines(NamedTuple):
    """When the passes of a bound end: those that settle subscribers, and the one that prices."""

    settling: IsOver = never_over
    pricing: IsOver = never_over


NO_DEADLINES = Deadlines()


def pass_over(
    indptr: LongArray, work: Callable[[int, int], Result], is_over: IsOver = never_over
) -> tuple[list[Result], int]:
    """Return what ``work`` makes of each piece of the subscribers, and how many subscribers it saw.

    These are all, or where the time is over the first ones, at least one piece of them.
    """
    pieces = cut_rows(indptr, max(MIN_PIECES, int(indptr[-1]) // PAIRS_EACH))

    def work_on(piece: tuple[int, int]) -> Result | None:
        return None if piece != pieces[0] and is_over() else work(*piece)

    done = list(takewhile(lambda result: result is not None, in_threads(work_on, pieces)))
    return done, pieces[len(done) - 1][1]
