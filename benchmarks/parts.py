"""Benchmarks in parts, each measured in a process of its own and kept beside the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Parted(NamedTuple):
    """A benchmark in parts.

    Attributes
    ----------
    name
        Of its module and of its file of results.
    measures
        What measures each part at a scale.
    warm_up
        Compiles before the clock starts.
    """

    name: str
    measures: Mapping[str, Callable[[float], list[dict]]]
    warm_up: Callable[[], None]

    def run(self) -> list[dict]:
        """Measure all parts."""
        return [found for part in self.measures for found in self.in_own_process(part)]

    def in_own_process(self, part: str, *options: str) -> list[dict]:
        """Measure one part in a fresh process with one thread for linear algebra."""
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{self.name}", "--rows", part, *options],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads},
        )
        rows: list[dict] = json.loads(done.stdout)
        return [{**found, "part": part} for found in rows]

    def keep(self, part: str, rows: list[dict]) -> None:
        """Put the rows of a part among those that are there."""
        from benchmarks.__main__ import RESULTS, describe_machine

        path = RESULTS / f"{self.name}.json"
        before = json.loads(path.read_text())["rows"] if path.exists() else []
        by_part: dict[str, list[dict]] = {name: [] for name in self.measures}
        kept = [old for old in before if old["part"] in self.measures and old["part"] != part]
        for found in [*kept, *rows]:
            by_part[found["part"]].append(found)
        every = [found for name in self.measures for found in by_part[name]]
        result = {"machine": describe_machine(), "rows": every}
        path.write_text(json.dumps(result, indent=2) + "\n")

    def main(self, arguments: list[str]) -> None:
        """Measure the parts that are named, or all; ``--quick`` at a tenth, and keeps nothing."""
        options = [argument for argument in arguments if argument.startswith("--")]
        named = [argument for argument in arguments if not argument.startswith("--")]
        parts = named or list(self.measures)
        unknown = set(parts) - set(self.measures) or set(options) - {"--quick", "--rows"}
        if unknown:
            known = ", ".join(self.measures)
            sys.exit(f"unknown: {', '.join(sorted(unknown))}; parts are {known}")
        scale = 0.1 if "--quick" in options else 1.0
        if "--rows" in options:
            self.warm_up()
            print(json.dumps([found for part in parts for found in self.measures[part](scale)]))
            return
        for part in parts:
            rows = self.in_own_process(part, *(("--quick",) if scale < 1 else ()))
            for found in rows:
                met = {True: "yes", False: "NO", None: ""}[found["met"]]
                print(f"{found['what']}: {found['measured']} [{found['bar']}] {met}", flush=True)
            if scale == 1:
                self.keep(part, rows)
