"""`make bench`: run every benchmark, print what was measured, keep it under results/.

The yardstick of quality takes hours and options of its own: ``python -m benchmarks quality``.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

BENCHMARKS = (
    "startup",
    "csr",
    "loading",
    "ingest",
    "spark_jobs",
    "stream",
    "select",
    "select_public",
    "select_rivals",
    "select_growth",
    "provision",
    "connect",
    "assign",
    "wire",
    "limits",
    "proofs",
    "serve",
    "serve_input",
    "serve_state",
    "offload",
    "forward",
    "page",
    "brokers_storm",
    "brokers",
)
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> None:
    if names[:1] == ["quality"]:
        import_module("benchmarks.quality").main(names[1:])
        return
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(
            f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    RESULTS.mkdir(exist_ok=True)
    console = Console()
    table = Table("benchmark", "what", "measured", "bar", "met")
    for name in names or BENCHMARKS:
        console.print(f"running {name} …")
        rows = import_module(f"benchmarks.{name}").run()
        result = {"machine": describe_machine(), "rows": rows}
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
        for row in rows:
            met = {True: "yes", False: "NO", None: ""}[row.get("met")]
            table.add_row(name, row["what"], row["measured"], row.get("bar", ""), met)
    console.print(table)


def describe_machine() -> dict[str, str | int]:
    import os

    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
