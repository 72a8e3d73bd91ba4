"""What commands ask of Spark: jobs, stages, bytes shuffled and sent to the driver, processor time.

Each command runs in a fresh process on two cores, from its start to its files; select and provision
beside the same algorithm in memory. ``FANWISE_BENCH_PAIRS`` sets the pairs (1,000,000).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.measuring import row
from benchmarks.spark_events import Work, run_command, write_table

PAIRS = int(os.environ.get("FANWISE_BENCH_PAIRS", "1000000"))
CONF = {"spark.master": "local[2]"}
MOST_CPU, MOST_JOBS, MOST_RESULTS = 10.0, {"select": 40, "provision": 20}, 20e6
QUESTIONS = {"select": ("--tau", "27", "--capacity", "10%"), "provision": ("--tau", "27")}
LOCAL = {"select": "greedy", "provision": "gsp+cbp"}


def run(pairs: int = PAIRS) -> list[dict]:
    works: dict[str, Work] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        trace, workload = folder / "trace", str(folder / "music")
        sizes = {"topics": pairs // 25, "subscribers": pairs // 5, "events": 4 * pairs}
        asked = [part for name, size in sizes.items() for part in (f"--{name}", str(size))]
        run_command("generate", "music-trace", *asked, "--pairs", str(pairs), "--out", str(trace))
        files = [
            part
            for name in ("publications", "subscriptions")
            for part in (f"--{name}", str(trace / f"{name}.csv"))
        ]
        works["ingest"] = run_command("ingest", *files, "--out", workload, conf=CONF)
        spotify = str(folder / "spotify")
        sizes = {"topics": pairs // 11, "subscribers": 2 * pairs // 5, "pairs": pairs}
        asked = [part for name, size in sizes.items() for part in (f"--{name}", str(size))]
        run_command("generate", "spotify", *asked, "--communities", "0", "--out", spotify)
        for family, question in QUESTIONS.items():
            chosen = _algorithm(family)
            out = ("--out", str(folder / "plan"), "--overwrite")
            run_command(family, spotify, *question, *chosen, *out)  # compiles what it needs
            works[f"{family} here"] = run_command(family, spotify, *question, *chosen, *out)
            engine = ("--engine", "spark")
            works[family] = run_command(family, spotify, *question, *engine, *out, conf=CONF)
    print(write_table(works))
    return [row_of("ingest", works["ingest"]), *(judged(family, works) for family in QUESTIONS)]


def _algorithm(family: str) -> tuple[str, ...]:
    if family == "select":
        return ("--algorithm", LOCAL[family])
    pairs, packing = LOCAL[family].split("+")
    return ("--select", pairs, "--pack", packing, "--engine", "local")


def row_of(name: str, work: Work, bar: str = "", *, met: bool | None = None) -> dict:
    told = (
        f"{work.jobs} jobs, {work.stages} stages, {work.shuffled / max(work.read, 1):.2f} bytes "
        f"shuffled per byte read, {work.results / 1e6:.1f} MB to the driver, {work.cpu:.1f} s CPU"
    )
    return row(name, told, bar, met=met, work=work.__dict__)


def judged(family: str, works: dict[str, Work]) -> dict:
    """Compare an engine with the algorithm in memory."""
    work, here = works[family], works[f"{family} here"]
    times = work.cpu / here.cpu
    most = MOST_JOBS[family]
    is_met = work.jobs <= most
    bar = f"<= {most} jobs"
    if family == "select":
        is_met = is_met and work.results <= MOST_RESULTS and times <= MOST_CPU
        bar += f", {MOST_RESULTS / 1e6:.0f} MB, {MOST_CPU:.0f} x the CPU"
    found = row_of(f"{family} --engine spark, {PAIRS:,} pairs", work, bar, met=is_met)
    return {**found, "measured": f"{found['measured']}, {times:.1f} x that of {LOCAL[family]} here"}
