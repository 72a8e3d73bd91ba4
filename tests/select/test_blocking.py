"""Sets of topics that a subscriber cannot lack, against all sets there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fanwise as fw
from fanwise.select.blocking import MOST_TOPICS, blocking_sets
from fanwise.select.milp import solve_milp


def minimal_blocking(rates, tau):
    """Return the sets without which the others do not reach tau, none within another."""
    need = min(tau, sum(rates))
    found: list[set[int]] = []
    for size in range(1, len(rates) + 1):
        for some in combinations(range(len(rates)), size):
            left = sum(rate for topic, rate in enumerate(rates) if topic not in some)
            if left < need and not any(one <= set(some) for one in found):
                found.append(set(some))
    return found


@settings(max_examples=80)
@given(rates=st.lists(st.integers(1, 9), min_size=1, max_size=MOST_TOPICS), tau=st.integers(1, 30))
def test_they_are_all_the_minimal_sets_that_block(rates, tau):
    workload = fw.TopicWorkload.from_arrays(
        np.array(rates, dtype=float), [0] * len(rates), range(len(rates))
    )
    problem = fw.Selection(workload, tau=tau, capacity="50%")
    sets = blocking_sets(problem, 0)
    assert sets is not None
    found = [set(one.tolist()) for one in sets]
    expected = minimal_blocking(rates, tau)
    assert len(found) == len(expected)
    assert all(one in expected for one in found)


def test_subscribers_with_many_topics_have_none():
    many = MOST_TOPICS + 1
    workload = fw.TopicWorkload.from_arrays([1.0] * many, [0] * many, range(many))
    assert blocking_sets(fw.Selection(workload, tau=3, capacity="50%"), 0) is None


def test_the_program_counts_who_has_enough_with_and_without_them():
    # Two subscribers with few topics, one with too many of them, and an optimum known by hand:
    # the first two need both of theirs, 8 in all; the third has enough with four of its seven.
    rates = [2.0, 2.0, *[1.0] * (MOST_TOPICS + 1)]
    many = MOST_TOPICS + 1
    workload = fw.TopicWorkload.from_arrays(
        rates, [0, 0, 1, 1, *[2] * many], [0, 1, 0, 1, *range(2, 2 + many)]
    )
    for capacity, expected in ((1.5, 0), (2.0, 0), (4.0, 1), (8.0, 2), (12.0, 3)):
        problem = fw.Selection(workload, tau=4, capacity=capacity)
        answer = solve_milp(problem)
        assert answer.served is not None
        assert problem.value(answer.served) == expected
