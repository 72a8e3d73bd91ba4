"""The table of papers, and the way in."""

from __future__ import annotations

from typing import Any

from fanwise.errors import ParameterError
from fanwise.papers.course import Course
from fanwise.papers.page import Reproduction
from fanwise.planning.families import find_family
from fanwise.planning.family import load
from fanwise.progress import SILENT, Progress

PAPERS = {
    family: f"fanwise.papers.{family}.reproduce:reproduce"
    for family in ("select", "provision", "connect", "assign", "wire")
}
"""What repeats the experiments of a family's paper, ``course -> Reproduction``."""


def reproduce(
    family: str, scale: float, *, seed: int = 0, progress: Progress = SILENT, **changes: Any
) -> Reproduction:
    """Run the experiments of a family's paper.

    Parameters
    ----------
    scale
        Share of the paper's size; 1 is its size. Its data file says what else follows from it.
    seed
        Makes workloads and plans repeatable; running times are what they are.
    changes
        Settings of the data file that are to be others.
    """
    if find_family(family).name not in PAPERS:
        known = ", ".join(PAPERS)
        raise ParameterError("family", f"one of {known}: others cannot be repeated yet", family)
    course = Course.of(family, scale, seed=seed, progress=progress, **changes)
    result: Reproduction = load(PAPERS[family])(course)
    return result
