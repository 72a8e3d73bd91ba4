"""Pictures and tables that follow from cases alone: a quantity of every series along a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from fanwise.formatting import ABSENT, number
from fanwise.papers.case import Case, grouped, pick
from fanwise.papers.panels import Curve, Panel, axis_of, curve_of, draw
from fanwise.papers.paper import Paper
from fanwise.planning.explanation import Listing

More = Callable[[str, Sequence[Case]], Iterable[Curve]]
"""Curves of a panel that are no series: bounds, numbers of the paper."""


def curve_figure(
    paper: Paper,
    name: str,
    cases: Iterable[Case],
    *,
    more: More | None = None,
    titles: Mapping[str, str] | None = None,
    levels: Callable[[Case, str], Sequence[float]] | None = None,
) -> Figure:
    """Draw one of the ``curves``: a panel for each setting, a curve for each series.

    Parameters
    ----------
    cases
        All of them: the entry says ``of`` which figure they are, what ``quantity`` they show or
        several of them, which ``series`` (by default all), and what the ``axes`` are: the first is
        what the figure varies. A setting is what cases have in the table's second column.
    titles
        Of panels, where they are not what is in the column.
    levels
        Values to mark in a panel, by its first case and the quantity.
    """
    entry = paper.entry("curves", name)
    quantities = entry["quantity"]
    if isinstance(quantities, str):
        quantities = [quantities]
    x, *ys = (axis_of(paper, label) for label in entry["axes"])
    panels = []
    for setting, own in grouped(pick(cases, entry["of"]), paper.columns[1]).items():
        at = [case.x for case in own]
        for quantity, y in zip(quantities, ys, strict=True):
            curves = [
                curve_of(paper.series[one], at, [case.mean(one, quantity) for case in own])
                for one in own[0].results
                if one in entry.get("series", paper.series)
            ]
            curves += more(setting, own) if more else ()
            marked = levels(own[0], quantity) if levels else ()
            panels.append(Panel(curves, x, y, (titles or {}).get(setting, setting), marked))
    return draw(panels, columns=entry.get("legend", 4))


def listing_along(
    paper: Paper,
    name: str,
    cases: Sequence[Case],
    more: Sequence[Sequence[Any]] = (),
    **values: Any,
) -> Listing:
    """Return a table of one quantity: a row for each series, a column for each case.

    The entry says which ``quantity`` in which ``format``, along which column, and what its values
    are called; ``more`` are rows below.
    """
    entry = paper.entry("tables", name)
    series = [one for one in cases[0].results if one in entry.get("series", paper.series)]
    rows = [
        [paper.series[one].label, *(_cell(case, one, entry) for case in cases)] for one in series
    ]
    columns = [paper.say(entry["along"], x=number(case.x), **values) for case in cases]
    return paper.table(name, [*rows, *more], "", *columns, **values)


def _cell(case: Case, series: str, entry: Mapping[str, Any]) -> str:
    if series not in case.results:
        return ABSENT
    return format(case.mean(series, entry["quantity"]), entry["format"])
