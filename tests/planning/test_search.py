"""The best answer and bound so far, and why a search ends."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.planning.family import Sense
from fanwise.planning.problem import Bound, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step

NUMBERS = st.floats(-100, 100)


class Heard(Step):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def begin(sense: Sense = "max", run: Run | None = None, **limits: float) -> Search[str]:
    run = run or Run()
    return Search(run, Heard(), sense, limits_of(run, **limits))


@given(
    sense=st.sampled_from(["max", "min"]),
    offers=st.lists(st.tuples(st.integers(0, 2), NUMBERS, NUMBERS), min_size=1),
)
def test_the_best_offer_is_kept(sense: Sense, offers: list[tuple[int, float, float]]) -> None:
    search: Search[int] = Search(Run(), Step(), sense, limits_of(Run()))
    for index, (broken, value, cost) in enumerate(offers):
        search.offer(index, value, broken=broken, cost=cost)
    sign = -1 if sense == "max" else 1
    ranks = [(broken, sign * value, cost) for broken, value, cost in offers]
    assert search.answer == ranks.index(min(ranks))
    assert search.value == offers[search.answer][1]
    assert search.is_feasible == (min(broken for broken, *_ in offers) == 0)


@given(sense=st.sampled_from(["max", "min"]), value=NUMBERS, bounds=st.lists(NUMBERS, min_size=1))
def test_the_tightest_bound_is_kept(sense: Sense, value: float, bounds: list[float]) -> None:
    search = begin(sense)
    search.offer("a", value)
    assert search.gap is None
    for bound in bounds:
        search.prove(Bound(bound))
    assert search.bound is not None
    tightest = min(bounds) if sense == "max" else max(bounds)
    assert search.bound.value == tightest
    outer = max(tightest, value) if sense == "max" else min(tightest, value)
    largest = max(abs(outer), abs(value))
    assert search.gap == pytest.approx(abs(outer - value) / largest if largest else 0.0)


def test_offers_say_whether_they_were_taken() -> None:
    search = begin("min")
    assert not search.has_answer
    assert search.offer("a", 5.0, broken=2.0)
    assert search.offer("b", 9.0), "a plan within its limits is better than a cheap one outside"
    assert not search.offer("c", 9.0)
    assert search.offer("d", 9.0, cost=-1.0)
    assert search.answer == "d"


def test_an_answer_must_be_there_to_be_read() -> None:
    with pytest.raises(RuntimeError):
        _ = begin().answer


def test_work_and_idle_work_end_a_search() -> None:
    search = begin(work=10.0)
    search.offer("a", 1.0)
    search.spend(9.0)
    assert not search.is_over()
    assert search.share_used() == 0.9
    search.spend(1.0)
    assert search.is_over()
    assert search.stopped == "work"

    search = begin(idle=4.0)
    search.spend(3.0)
    search.offer("a", 1.0)
    search.spend(3.0)
    assert not search.is_over()
    search.prove(Bound(2.0))
    search.spend(3.0)
    assert not search.is_over()
    assert not search.prove(Bound(2.0 - 1e-9)), "a hair is no progress"
    search.spend(1.0)
    assert search.is_over()


def test_the_gap_ends_a_search_within_limits_alone() -> None:
    search = begin("max", gap=0.25)
    search.prove(Bound(4.0))
    search.offer("a", 3.5, broken=1.0)
    assert not search.is_over()
    search.offer("b", 3.0)
    assert search.is_over()
    assert search.stopped == "gap"


def test_time_ends_a_search() -> None:
    search = begin(run=Run(time_limit=0.0))
    assert search.is_over()
    search.offer("a", 1.0)
    assert search.stopped == "limit"


def test_a_bound_is_looked_for_once_and_only_to_judge_a_gap_asked_for() -> None:
    asked = []

    def find() -> Bound:
        asked.append(1)
        return Bound(2.0)

    for run, times in ((Run(), 0), (Run(gap=0.1), 1)):
        asked.clear()
        search: Search[str] = Search(run, Step(), "max", limits_of(run), find_bound=find)
        search.is_over()
        assert not asked, "without an answer there is no gap"
        search.offer("a", 1.0)
        search.is_over()
        search.is_over()
        assert len(asked) == times


def test_settled_and_interrupted_searches_say_so() -> None:
    search = begin(work=10.0)
    with pytest.raises(KeyboardInterrupt), search.until_interrupted():
        raise KeyboardInterrupt
    search.offer("a", 1.0)
    assert search.stopped == "exhausted"
    search.is_settled = True
    assert search.is_over()
    with search.until_interrupted():
        raise KeyboardInterrupt
    assert search.stopped == "interrupted"


def test_a_solver_says_why_it_ended() -> None:
    search = begin(work=10.0)
    search.offer("a", 1.0)
    search.end("work")
    assert search.is_over()
    assert search.stopped == "work"
    search.end("interrupted")
    assert search.is_interrupted
    assert search.outcome({}).stopped == "interrupted"


def test_steps_that_do_not_fit_are_left_out_for_want_of_time() -> None:
    assert begin().has_time_for(1e9)
    search = begin(run=Run(time_limit=100.0))
    assert search.has_time_for(1.0)
    assert search.stopped == "exhausted"
    assert not search.has_time_for(1000.0)
    assert not search.is_over(), "shorter steps may fit"
    assert search.stopped == "limit"


def test_what_is_told_and_returned() -> None:
    search = begin()
    search.prove(Bound(4.0))
    search.offer("a", 3.0)
    search.count("moves", 2)
    search.count("moves")
    assert isinstance(search.step, Heard)
    assert search.step.notes == ["value 3  bound 4  gap 25.000%"]
    outcome = search.outcome({"topics": pa.table({})})
    assert (outcome.bound, outcome.metrics, outcome.stopped) == (4.0, {"moves": 3}, "exhausted")
    assert search.outcome({}, Bound(3.5)).bound == 3.5
