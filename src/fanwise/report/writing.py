"""A workload and its plans, put on one page and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fanwise.errors import VerificationError
from fanwise.planning.plan import Plan
from fanwise.progress import SILENT, Progress
from fanwise.report.page import Report
from fanwise.report.plans import overview_section, plan_section
from fanwise.report.workloads import content_section, workload_section
from fanwise.workload.content import ContentWorkload
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.statistics import workload_statistics


def write_report(
    workload: TopicWorkload | Any,
    plans: Sequence[Plan],
    path: str | Path,
    *,
    title: str,
    subtitle: str = "",
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> None:
    """Write a page about a workload and plans for it.

    Raises
    ------
    VerificationError
        Where a plan does not hold what it says; the page is written all the same and tells.
    """
    page = build_report(workload, plans, title=title, subtitle=subtitle, progress=progress)
    page.save(Path(path), overwrite=overwrite)
    refuse_failures(page, Path(path))


def build_report(
    workload: TopicWorkload | Any,
    plans: Sequence[Plan],
    *,
    title: str,
    subtitle: str = "",
    progress: Progress = SILENT,
) -> Report:
    """Return the page: the workload, plans side by side where there are several, and each."""
    page = Report(title, subtitle=subtitle)
    if isinstance(workload, ContentWorkload):
        with progress.step("Statistics"):
            page.add(content_section(workload))
    else:
        page.add(workload_section(workload, workload_statistics(workload, progress=progress)))
    if len(plans) > 1:
        page.add(overview_section(plans))
    with progress.step("Verifying and drawing plans", total=len(plans)) as step:
        for plan in plans:
            page.add(plan_section(plan, workload))
            step.advance()
    return page


def refuse_failures(page: Report, path: Path) -> None:
    """Raise where something on a page does not hold."""
    if page.failures:
        raise VerificationError(f"{path}: {len(page.failures)} failed; {page.failures[0]}")
