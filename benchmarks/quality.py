"""The public yardstick: how good plans are on every real data set at hand, against the last time.

``python -m benchmarks quality`` asks every family about all data sets of FANWISE_DATA and about the
workload folders given with ``--folder``, at settings spread over what can be asked rather than
where we look good, and keeps value, bound, gap and seconds. Each family has a module,
``quality_FAMILY.py``, with a function ``cases``.

It takes hours, so it is done in slices: a case that the round has measured already is not measured
again, and ``--family``, ``--data`` and ``--setting`` choose some. What was measured in the round
before stands beside, as ``before``. A round is a name: the commit by default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from fanwise.planning.families import find_family
from fanwise.planning.problem import Problem

FAMILIES = ("select", "provision", "connect", "assign", "wire")
FILE = Path(__file__).parent / "results" / "quality.json"
SECONDS = 60.0


class Case(NamedTuple):
    """A question on a data set.

    Attributes
    ----------
    data, setting
        What is asked about, and what is asked.
    pose
        Makes the question.
    """

    data: str
    setting: str
    pose: Callable[[], Problem]


class Choice(NamedTuple):
    """What a call of the yardstick measures."""

    families: tuple[str, ...]
    data: tuple[str, ...]
    settings: tuple[str, ...]
    folders: tuple[Path, ...]

    def cases(self, family: str) -> Iterator[Case]:
        if find_spec(f"benchmarks.quality_{family}") is None:
            return
        for case in import_module(f"benchmarks.quality_{family}").cases(self.folders):
            is_meant = not self.data or any(part in case.data for part in self.data)
            if is_meant and (not self.settings or any(s in case.setting for s in self.settings)):
                yield case


def main(arguments: list[str]) -> None:
    options = _parser().parse_args(arguments)
    choice = Choice(
        tuple(options.family or FAMILIES),
        tuple(options.data),
        tuple(options.setting),
        tuple(map(Path, options.folder)),
    )
    console, rows = Console(), Rows(options.out, options.round or _commit())
    for family in choice.families:
        for case in choice.cases(family):
            key = f"{family} | {case.data} | {case.setting} | {options.limit:g} s"
            if options.print_only or rows.has(key):
                continue
            console.print(f"{key} …")
            rows.add(key, measure(case, options.algorithm, options.limit, options.seed))
    console.print(rows.table())
    for line in rows.summary():
        console.print(line)


def measure(case: Case, algorithm: str | None, limit: float, seed: int) -> dict:
    """Solve a case and check the plan; seconds are those of the clock and of all cores."""
    problem = case.pose()
    algorithm = algorithm or find_family(problem.family).default
    begun, worked = time.perf_counter(), time.process_time()
    plan = problem.solve(algorithm, time_limit=limit, seed=seed)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    plan.verify()
    return {
        "value": plan.objective,
        "bound": plan.bound,
        "gap": plan.gap,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(worked, 2),
        "stopped": plan.stopped,
        "proof": plan.proof.kind if plan.proof else None,
    }


class Rows:
    """What was measured, by case; kept on disk after every case."""

    def __init__(self, file: Path, name: str) -> None:
        self._file, self._round = file, name
        self._rows: dict[str, dict] = {}
        if file.exists():
            self._rows = json.loads(file.read_text())["rows"]

    def has(self, key: str) -> bool:
        return self._rows.get(key, {}).get("round") == self._round

    def add(self, key: str, measured: dict) -> None:
        before = self._rows.get(key)
        row = {"round": self._round, **measured}
        if before is not None:
            row["before"] = {name: before[name] for name in before if name != "before"}
        self._rows[key] = row
        from benchmarks.__main__ import describe_machine

        lines = [f"{json.dumps(k)}: {json.dumps(self._rows[k])}" for k in sorted(self._rows)]
        machine = json.dumps(describe_machine())
        body = ",\n".join(lines)
        self._file.write_text(f'{{"machine": {machine}, "rows": {{\n{body}\n}}}}\n')

    def table(self) -> Table:
        table = Table("case", "value", "bound", "gap", "seconds", "value, was", "gap, was")
        for key, row in sorted(self._rows.items()):
            was = row.get("before", {})
            table.add_row(
                key,
                f"{row['value']:,.6g}",
                _number(row["bound"]),
                _percent(row["gap"]),
                f"{row['seconds']:.0f}",
                _number(was.get("value")),
                _percent(was.get("gap")),
            )
        return table

    def summary(self) -> Iterator[str]:
        """Say for each family and data set how gaps spread, and how they were before."""
        groups: dict[str, list[dict]] = {}
        for key, row in self._rows.items():
            family, data, _, limit = key.split(" | ")
            groups.setdefault(f"{family}, {data}, {limit}", []).append(row)
            groups.setdefault(f"{family}, all data, {limit}", []).append(row)
        for name, rows in sorted(groups.items()):
            line = f"{name}: gap {_spread(row['gap'] for row in rows)}"
            old = [row for row in rows if row.get("before")]
            if old:
                line += f"; was {_spread(row['before']['gap'] for row in old)}"
                ratios = [r["value"] / r["before"]["value"] for r in old if r["before"]["value"]]
                if ratios:
                    line += f"; value {statistics.mean(ratios):.4f} of what it was"
                    line += f" ({min(ratios):.4f} to {max(ratios):.4f})"
            yield line


def _spread(gaps: Iterable[float | None]) -> str:
    known = sorted(gap for gap in gaps if gap is not None)
    if not known:
        return "unknown"
    quarters = [known[round(share * (len(known) - 1))] for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    listed = " / ".join(f"{100 * gap:.2f}" for gap in quarters)
    return f"mean {100 * statistics.mean(known):.2f}%, quartiles {listed}% of {len(known)}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.3f}%"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    return found.stdout.strip() or "unknown"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality", description=__doc__)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--data", action="append", default=[], help="part of a data set's name")
    parser.add_argument("--setting", action="append", default=[], help="part of a setting's name")
    parser.add_argument("--folder", action="append", default=[], help="a workload folder, too")
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds for each question")
    parser.add_argument("--algorithm", help="the family's default if none is named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", help="the name of this round; the commit by default")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--print-only", action="store_true", help="show what is known already")
    return parser
