"""One reproduction on its way: scale, seed and settings, runs of algorithms, what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

from matplotlib.figure import Figure

from fanwise.papers.case import Row
from fanwise.papers.page import Reproduction
from fanwise.papers.paper import Comparison, Paper, Series, read_paper
from fanwise.planning.explanation import Passage
from fanwise.planning.families import find_family
from fanwise.planning.family import resolve_settings
from fanwise.planning.problem import Outcome, Problem, Run
from fanwise.progress import SILENT, Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Course:
    """One reproduction on its way.

    Attributes
    ----------
    settings
        Of the experiments, at this scale.
    scale
        Share of the paper's size; what it is a share of is each paper's own.
    seed
        Makes workloads and plans repeatable; running times are what they are.
    """

    paper: Paper
    settings: SimpleNamespace
    scale: float
    seed: int = 0
    progress: Progress = SILENT

    @classmethod
    def of(cls, family: str, scale: float, *, seed: int = 0, progress: Progress = SILENT,
           **changes: Any) -> Course:  # fmt: skip
        """Return the course of a family's paper, some of its settings changed."""
        paper = read_paper(family)
        return cls(paper, paper.settings(scale, changes), scale, seed, progress)

    @property
    def is_whole(self) -> bool:
        """Whether sizes are the paper's."""
        return self.scale >= 1

    def solve(
        self,
        problem: Problem,
        series: Series,
        *,
        seed: int | None = None,
        time_limit: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
        **knobs: Any,
    ) -> tuple[Outcome, float]:
        """Run a series' algorithm on a problem, and return its outcome and seconds.

        Parameters
        ----------
        seed
            Of this run, by default that of the course.
        clock
            What tells the seconds.
        knobs
            Of the algorithm, beside those of the series.
        """
        (algorithm,) = find_family(self.paper.name).algorithms(series.algorithm)
        settings = resolve_settings((algorithm,), {**series.settings, **knobs})
        run = Run(self.seed if seed is None else seed, time_limit, settings=settings)
        (seconds,), outcome = timed(lambda: algorithm.load()(problem, run), clock=clock)
        return outcome, seconds

    def finish(
        self,
        *,
        notes: Mapping[str, Any],
        rows: Iterable[Row],
        comparisons: Iterable[Comparison],
        tables: Iterable[Passage],
        figures: Mapping[str, tuple[str, Figure]],
    ) -> Reproduction:
        """Return everything that a reproduction made.

        Parameters
        ----------
        notes
            Values for the notes of the data file.
        """
        paper = self.paper
        values = {"scale": self.scale, "is_whole": self.is_whole, **vars(self.settings), **notes}
        return Reproduction(
            title=paper.title,
            source=paper.source,
            notes=paper.notes(**values),
            comparisons=list(comparisons),
            passages=list(tables),
            columns=paper.columns,
            rows=[row.cells(paper.columns) for row in rows],
            figures=figures,
        )

    def drawn(self, figures: Mapping[str, Figure], **values: Any) -> dict[str, tuple[str, Figure]]:
        """Return figures with the captions that the data file has for them."""
        return {name: (self.paper.caption(name, **values), at) for name, at in figures.items()}


def timed(
    work: Callable[[], T], repeats: int = 1, clock: Callable[[], float] = time.perf_counter
) -> tuple[Sequence[float], T]:
    """Do something several times; return the seconds of each time and the last result."""
    seconds = []
    for _ in range(repeats):
        started = clock()
        result = work()
        seconds.append(clock() - started)
    return seconds, result
