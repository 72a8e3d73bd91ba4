"""The experiments of Yu, Agarwal and Yang (ICDE 2011), Sec. VI, done again.

Tables I to III and Figs. 6 to 18: bandwidth, delays and loads of all algorithms on three sets of
workloads, in one level and in trees, the knobs of SLP, and the workload made against Gr*.
"""

from __future__ import annotations

import math

from fanwise.papers.assign.comparisons import compare, least_factor, told
from fanwise.papers.assign.instances import TIGHT
from fanwise.papers.assign.pictures import fixed_of, pictures
from fanwise.papers.assign.runs import FACTS, run_all, warm_up
from fanwise.papers.assign.tables import tables
from fanwise.papers.case import Case, pick, rows_of
from fanwise.papers.course import Course
from fanwise.papers.page import Reproduction


def reproduce(course: Course) -> Reproduction:
    """Run everything."""
    settings = course.settings
    with course.progress.step("compiling"):
        warm_up(course)
    cases = run_all(course)
    fixed_alpha, fixed_brokers = fixed_of(pick(cases, "difficult"))

    def beside(case: Case, series: str, quantity: str) -> str:
        by_paper = None
        if quantity == "bandwidth":
            by_paper = told(course, case, series)
        elif quantity in FACTS:
            by_paper = told(course, case, quantity)
        return "" if by_paper is None else f"{by_paper:g}"

    return course.finish(
        notes={
            "brokers_share": math.sqrt(course.scale),
            "least": least_factor(pick(cases, f"11{TIGHT}")),
        },
        rows=rows_of(cases, beside),
        comparisons=compare(course, cases),
        tables=tables(course, cases),
        figures=course.drawn(
            pictures(course, cases),
            closer_look=settings.closer_look,
            loads_of=settings.loads_of,
            fixed_alpha=fixed_alpha,
            fixed_brokers=fixed_brokers,
        ),
    )
