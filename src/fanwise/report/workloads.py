"""Sections about a workload: where it came from, and what it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.report.page import Facts, Item, Picture, Section, Table
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.plots import content_figures
from fanwise.workload.content.statistics import (
    content_counts,
    content_statistics,
    content_statistics_tables,
)
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.plots import figures
from fanwise.workload.topic.statistics import Statistics, workload_statistics
from fanwise.workload.topic.tables import counts, tables


def content_section(workload: ContentWorkload, *, title: str = "Workload") -> Section:
    """Describe a content workload by counts, pictures and tables."""
    statistics = content_statistics(workload)
    items: list[Item] = [Facts(content_counts(statistics), is_prominent=True)]
    drawn = content_figures(statistics)
    items += [Picture(_words(name).capitalize(), figure) for name, figure in drawn.items()]
    found = content_statistics_tables(statistics)
    items += [Table(table.columns, table.rows, title=table.title) for table in found]
    return Section(title, items)


def workload_section(
    workload: TopicWorkload, statistics: Statistics | None = None, *, title: str = "Workload"
) -> Section:
    """Describe a workload by counts, pictures and tables; measures it unless that is done."""
    statistics = statistics or workload_statistics(workload)
    items: list[Item] = [Facts(counts(statistics), is_prominent=True)]
    items += [Picture(caption, figure) for caption, figure in figures(statistics).items()]
    items += [Table(table.columns, table.rows, title=table.title) for table in tables(statistics)]
    return Section(title, items)


def ingest_section(report: Mapping[str, Any], *, title: str = "Ingested") -> Section:
    """Show what a pipeline read, dropped and kept.

    Parameters
    ----------
    report
        Counts by name. A nested mapping (the rows of a trace, with the bad ones by reason) becomes
        a table of its own, and a mapping of mappings (counts for each input) one with a row for
        each.
    """
    plain = [(_words(name), value) for name, value in report.items() if not _is_nested(value)]
    items: list[Item] = [Facts(plain)] if plain else []
    items += [
        _nested_table(_words(name).capitalize(), value)
        for name, value in report.items()
        if _is_nested(value)
    ]
    return Section(title, items)


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0


def _nested_table(title: str, nested: Mapping[str, Any]) -> Table:
    inner = [value for value in nested.values() if isinstance(value, Mapping)]
    if len(inner) < len(nested):
        return Table(["", "count"], _flat_rows(nested), title)
    columns = list(dict.fromkeys(column for value in inner for column in value))
    rows = [
        [_words(name), *(value.get(column) for column in columns)] for name, value in nested.items()
    ]
    return Table(["", *map(_words, columns)], rows, title)


def _flat_rows(nested: Mapping[str, Any], prefix: str = "") -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, value in nested.items():
        if not isinstance(value, Mapping):
            rows.append([prefix + _words(name), value])
        elif value:
            rows += _flat_rows(value, f"{prefix}{_words(name)}: ")
        else:
            rows.append([prefix + _words(name), 0])
    return rows


def _words(name: object) -> str:
    return str(name).replace("_", " ")
