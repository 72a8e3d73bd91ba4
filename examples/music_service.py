"""The main job from end to end, on traces of a small music service that it makes itself.

Raw logs go through Spark to a workload, the workload to plans, the plans through verification into
a report. `make demo` runs this; run it on other sizes by changing the constants below.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import fanwise as fw
from fanwise.pipeline import ingest
from fanwise.report.page import Report
from fanwise.report.plans import overview_section, plan_section
from fanwise.report.workloads import ingest_section, workload_section
from fanwise.workload.generators.music_trace import music_trace

SEED = 7
TOPICS, SUBSCRIBERS, EVENTS, PAIRS = 3_000, 20_000, 600_000, 80_000
BAD_ROWS = 40
TAU = 60  # events in ten days that make a subscriber content
CAPACITY = "10%"
# The service is small: machines this slow show how work is spread over several of them.
CATALOGUE = "instance,usd_per_hour,mbps\ntiny,0.004,0.05\nsmall,0.008,0.1\n"


def main(folder: Path) -> None:
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:5.1f} s] {text}", flush=True)

    say(f"writing the logs of a music service: {EVENTS:,} events, {PAIRS:,} subscriptions")
    music_trace(
        folder / "trace",
        topics=TOPICS,
        subscribers=SUBSCRIBERS,
        events=EVENTS,
        pairs=PAIRS,
        bad_rows=BAD_ROWS,
        seed=SEED,
        overwrite=True,
    )

    say("reading them with Spark, setting bad rows aside")
    ingested = ingest(
        folder / "trace" / "publications.csv",
        folder / "trace" / "subscriptions.csv",
        folder / "workload",
        start="2026-03-02",
        end="2026-03-12",
        max_bad_rows=100,
        overwrite=True,
    )
    workload = fw.read_workload(folder / "workload")
    say(f"{workload}")

    (folder / "catalogue.csv").write_text(CATALOGUE)
    selection = fw.Selection(workload, tau=TAU, capacity=CAPACITY)
    provisioning = fw.Provisioning(
        workload, tau=TAU, instance="small", catalogue=folder / "catalogue.csv"
    )
    plans = []
    for problem, algorithm in (
        (selection, "best"),
        (selection, "greedy"),
        (selection, "random"),
        (provisioning, "gsp+ffbp"),
    ):
        plan = problem.solve(algorithm, seed=SEED, time_limit=15)
        plan.verify()
        plan.save(folder / "plans" / f"{plan.problem}-{algorithm}", overwrite=True)
        say(
            f"{plan.problem} by {algorithm}: {plan.objective:,.2f}, bound {plan.bound:,.2f}, "
            f"certified gap {100 * (plan.gap or 0):.1f}%, verified"
        )
        plans.append(plan)

    say("drawing the report")
    report = Report("A small music service", "What fanwise makes of its logs")
    report.add(
        overview_section(plans),
        ingest_section(ingested.as_dict()),
        workload_section(workload),
        *(plan_section(plan, workload) for plan in plans),
    )
    page = report.save(folder / "report.html", overwrite=True)
    say("done")
    print(f"\nOpen the report: {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
