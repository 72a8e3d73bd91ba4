"""Certified gaps of select on public data: three thresholds, capacity 10%, both metrics."""

from __future__ import annotations

from benchmarks.measuring import row
from benchmarks.public_data import public_workloads
from fanwise.select.problem import Selection

SHARES = (0.01, 0.1, 1.0)
"""Thresholds as shares of the mean rate of a topic."""
SECONDS = 60.0
AIM = 0.03


def run() -> list[dict]:
    rows = [measure(name, workload) for name, workload in public_workloads()]
    return [line for lines in rows for line in lines] or [
        row("public data", "skipped: set FANWISE_DATA to the folder that has data/")
    ]


def measure(name: str, workload) -> list[dict]:
    rows = []
    for metric in ("binary", "fractional"):
        for share in SHARES:
            tau = share * float(workload.rates.mean())
            problem = Selection(workload, tau=tau, capacity="10%", metric=metric)  # type: ignore[arg-type]
            plan = problem.solve("best", time_limit=SECONDS)
            plan.verify()
            rows.append(
                row(
                    f"{name}, {metric}, tau {100 * share:g}% of the mean rate ({tau:,.3g})",
                    f"gap {100 * plan.gap:.3f}%: {plan.objective:,.6g} of {plan.bound:,.6g} "
                    f"in {plan.seconds['solve']:.0f} s",
                    f"aim <= {100 * AIM:g}%",
                    met=plan.gap <= AIM,
                    gap=plan.gap,
                )
            )
    return rows
