"""Every measured number as a row, and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanwise.assign.reproducing.instances import candidates_table
from fanwise.assign.reproducing.runs import Case
from fanwise.assign.reproducing.settings import (
    PAPER_TABLE_1,
    PAPER_TABLE_2,
    PAPER_TABLE_3,
    SERIES,
)
from fanwise.planning.explanation import Listing
from fanwise.wording import ABSENT, number, percent

QUANTITIES = ("bandwidth", "rms_delay", "load_stdev", "lbf", "late", "overloaded", "seconds")
PAPER_TABLES = {"7": PAPER_TABLE_1, "8": PAPER_TABLE_2, "9": PAPER_TABLE_2}
FACTS = ("fractional", "relaxations", "grown", "repairs")


@dataclass(frozen=True)
class Row:
    """One number; the paper's beside it where it gives one."""

    figure: str
    panel: str
    x: float | None
    series: str
    quantity: str
    run: int
    ours: float
    paper: str = ""


def told(case: Case, name: str) -> float | None:
    """Return what Tables I and II say of an algorithm, or of the fractional value."""
    return PAPER_TABLES.get(case.figure, {}).get(case.panel, {}).get(name)


def case_rows(cases: Sequence[Case]) -> Iterator[Row]:
    """Every run of every case."""
    for case in cases:
        at = (case.figure, case.panel, case.x)
        for quantity in ("lbf", "lbf_max", "max_delay", "alpha"):
            yield Row(*at, "limits", quantity, 0, float(getattr(case.problem, quantity)))
        if case.bound is not None:
            yield Row(*at, "proven bound", "bandwidth", 0, case.bound)
        for name, results in case.results.items():
            paper = told(case, name)
            for run, result in enumerate(results):
                for quantity in QUANTITIES:
                    words = f"{paper:g}" if paper is not None and quantity == "bandwidth" else ""
                    value = float(getattr(result, quantity))
                    yield Row(*at, name, quantity, run, value, words)
                yield Row(*at, name, "feasible", run, float(result.is_feasible))
                for fact in FACTS:
                    if result.facts.get(fact) is not None:
                        paper = told(case, fact)
                        words = "" if paper is None else f"{paper:g}"
                        yield Row(*at, name, fact, run, float(result.facts[fact]), words)


def count_rows(counts: Mapping[str, Mapping[int, int]]) -> Iterator[Row]:
    """Fig. 17."""
    for panel, found in counts.items():
        for multiple, count in found.items():
            yield Row("17", panel, float(multiple), "slp", "candidates", 0, float(count))


def listings(cases: Sequence[Case], counts: Mapping[str, Mapping[int, int]]) -> list[Listing]:
    """Return the tables of the page."""
    sets = [case for case in cases if case.figure in ("7", "8", "9")]
    return [
        _table("Table I: bandwidth, workload set #1, the paper's in brackets",
               [case for case in sets if case.figure == "7"],
               ("fractional", "slp", "gr-star", "gr", "best")),
        _table("Table II: bandwidth, other workload sets, the paper's in brackets",
               [case for case in sets if case.figure != "7"],
               ("fractional", "slp", "gr-star", "gr-no-latency", "best")),
        _candidates_listing(),
        *(_overall(case) for case in sets),
        *(_overall(case) for case in cases if case.figure.startswith("11")),
        _by_x("Fig. 13: bandwidth against alpha", [c for c in cases if c.figure == "13"],
              "alpha", "bandwidth"),
        _by_x("Fig. 14: seconds of SLP in trees", [c for c in cases if c.figure == "14"],
              "subscribers", "seconds"),
        *_knobs(cases, counts),
        _placements([case for case in cases if case.figure == "placement"]),
        _hard([case for case in cases if case.figure == "difficult"]),
    ]  # fmt: skip


def _table(title: str, cases: Sequence[Case], names: Sequence[str]) -> Listing:
    names = [name for name in names if name == "fractional" or name in cases[0].results]
    columns = ["", *(_label(name) for name in names), "proven bound", "deviation of SLP"]
    rows = [
        [
            case.panel,
            *(_beside(case, name) for name in names),
            _short(case.bound),
            percent(case.spread("slp")),
        ]
        for case in cases
    ]
    note = (
        "The fractional value is of a sample of subscribers and of candidate rectangles unless "
        "SLP could take everybody; the bound is proven for the whole instance. Deviation: standard "
        f"deviation over {len(cases[0].results['slp'])} runs."
    )
    return Listing(title, columns, rows, note)


def _label(name: str) -> str:
    return "Fractional" if name == "fractional" else SERIES[name].label


def _beside(case: Case, name: str) -> str:
    ours = case.fractional if name == "fractional" else case.mean(name)
    paper = told(case, name)
    return _short(ours) if paper is None else f"{_short(ours)} ({_short(paper)})"


def _short(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3g}"


def _candidates_listing() -> Listing:
    rows = []
    for brokers, interests in candidates_table(3, 3).items():
        paper = PAPER_TABLE_3.get(brokers, ())
        rows.append([_names("I", interests), _names("B", brokers), _names("I", paper)])
    return Listing(
        "Table III: candidate brokers of the difficult workload, alpha 3, 3 brokers",
        ["interests", "candidate brokers", "the paper's interests"],
        rows,
        "The printed formula contradicts the printed table; ours gives the table.",
    )


def _names(letter: str, ids: Sequence[int]) -> str:
    return ", ".join(f"{letter}{i}" for i in ids)


def _overall(case: Case) -> Listing:
    problem = case.problem
    rows = [
        [
            SERIES[name].label,
            _short(case.mean(name)),
            f"{case.mean(name, 'rms_delay'):.3f}",
            f"{case.mean(name, 'load_stdev'):.4g}",
            f"{case.mean(name, 'lbf'):.3f}",
            number(round(case.mean(name, "late"))),
            number(round(case.mean(name, "overloaded"))),
            f"{case.mean(name, 'seconds'):.3g}",
        ]
        for name in case.results
    ]
    panel = f"{case.panel}, {case.figure[2:]}" if case.figure.startswith("11") else case.panel
    figure = "11" if case.figure.startswith("11") else case.figure
    return Listing(
        f"Fig. {figure}, {panel}: {problem.workload.num_subscribers:,} subscribers, "
        f"{problem.workload.num_brokers:,} brokers, delay {problem.max_delay:g}, load-balance "
        f"factor {problem.lbf:.4g} to {problem.lbf_max:.4g}",
        ["", "bandwidth", "RMS delay", "STDEV of loads", "lbf", "late", "brokers overloaded",
         "seconds"],
        rows,
        f"Least possible load-balance factor: {_short(problem.least[0])}.",
    )  # fmt: skip


def _by_x(title: str, cases: Sequence[Case], x_name: str, quantity: str) -> Listing:
    rows = [
        [SERIES[name].label, *(_short(case.mean(name, quantity)) for case in cases)]
        for name in cases[0].results
    ]
    return Listing(title, ["", *(f"{x_name} {number(case.x)}" for case in cases)], rows)


def _knobs(cases: Sequence[Case], counts: Mapping[str, Mapping[int, int]]) -> Iterator[Listing]:
    shown: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
        ("15", "load-balance factor of SLP against |S_b|", "|S_b| / brokers", ("lbf",)),
        ("16", "SLP against super-subscriptions", "|Xi| / brokers", ("bandwidth",)),
        ("18", "SLP against the threshold gamma", "gamma",
         ("rms_delay", "lbf", "late", "overloaded")),
    )  # fmt: skip
    for figure, title, x_name, quantities in shown:
        own = [case for case in cases if case.figure == figure]
        rows: list[list[Any]] = []
        for panel in dict.fromkeys(case.panel for case in own):
            here = [case for case in own if case.panel == panel]
            rows += (
                [f"{panel}, {quantity}", *(_short(case.mean("slp", quantity)) for case in here)]
                for quantity in quantities
            )
            if figure == "16":
                rows.append(
                    [f"{panel}, candidates (Fig. 17)",
                     *(number(counts[panel][int(c.x or 0)]) for c in here)]
                )  # fmt: skip
        xs = dict.fromkeys(case.x for case in own)
        yield Listing(f"Fig. {figure}: {title}", ["", *(f"{x_name} {x:g}" for x in xs)], rows)


def _placements(cases: Sequence[Case]) -> Listing:
    names = list(cases[0].results)
    rows = [
        [case.panel, number(case.problem.lbf_max),
         *(f"{case.mean(name, 'lbf'):.3f} ({case.mean(name, 'overloaded'):.0f} over)"
           for name in names)]
        for case in cases
    ]  # fmt: skip
    return Listing(
        "Broker distribution: load-balance factors reached, and brokers beyond the maximum",
        ["brokers placed", "maximum", *(SERIES[name].label for name in names)],
        rows,
    )


def _hard(cases: Sequence[Case]) -> Listing:
    names = list(cases[0].results)
    rows = [
        [case.problem.workload.num_brokers, case.problem.alpha,
         case.problem.workload.num_subscribers,
         *(_short(case.mean(name)) + ("" if case.is_feasible(name) else ", breaks limits")
           for name in names),
         _short(case.bound), f"{case.mean('gr-star') / case.mean('slp'):.3g}"]
        for case in cases
    ]  # fmt: skip
    return Listing(
        "The difficult workload: bandwidth",
        ["brokers", "alpha", "subscribers", *(SERIES[name].label for name in names),
         "proven bound", "Gr* / SLP"],
        rows,
        "The page with the paper's numbers for it (Figs. 19 to 21) is missing from our copy.",
    )  # fmt: skip
