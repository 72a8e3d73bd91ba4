"""assign at full size: times, feasibility, bandwidth against Gr*, the relaxation and the optimum.

Parts, each in a process of its own:

- ``set1``, ``set2``, ``set3``: the paper's workloads, 100,000 subscribers and 100 brokers;
- ``difficult``: the instance made against Gr*;
- ``tiny``: `best` against the optimum;
- ``growth``: Gr* and `best` from 10,000 to 1,000,000 subscribers;
- ``million``: SLP on 1,000,000 x 100 in one level;
- ``trees``: SLP on 1,000,000 x 200 in a tree.

``python -m benchmarks assign`` runs all of them. ``python -m benchmarks.assign PART ...`` runs some
and leaves the others' rows in ``results/assign.json`` as they are; ``--quick`` takes a tenth of the
subscribers, and writes nothing. Seconds are the processor's, of all threads and with measuring and
the bound, so that other work on the machine does not count; ``wall_seconds`` of the solve alone are
beside them.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import row
from benchmarks.parts import Parted
from fanwise.assign.problem import Assignment
from fanwise.planning.plan import Plan
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.difficult import difficult
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import groups
from fanwise.workload.generators.rss import rss

SUBSCRIBERS, MILLION = 100_000, 1_000_000
SEED = 1
SETS: dict[str, Callable[[int], ContentWorkload]] = {
    "#1 IS:H BI:L": lambda n: groups(n, seed=SEED),
    "#1 IS:L BI:L": lambda n: groups(n, interest_skew="L", seed=SEED),
    "#1 IS:H BI:H": lambda n: groups(n, broad_interests="H", seed=SEED),
    "#1 IS:L BI:H": lambda n: groups(n, interest_skew="L", broad_interests="H", seed=SEED),
    "#2": lambda n: rss(n, seed=SEED),
    "#3": lambda n: grid(n, seed=SEED),
}
SAVED = {"#1": 0.25, "#2": 0.10, "#3": 0.0}
"""Least share of Gr*'s bandwidth that `best` is to save."""
GR_SECONDS, BEST_SECONDS, SLP_SECONDS = 3.0, 60.0, 300.0
MILLION_GR_SECONDS, MILLION_SLP_SECONDS, TREE_SLP_SECONDS = 40.0, 1200.0, 600.0
FRACTIONAL_RATIO, TINY_RATIO, HARD_RATIO = 2.3, 1.05, 10.0
GROWTH_POWER = 1.2
"""Near-linear: seconds grow with no higher power of the subscribers."""
TINY_INSTANCES = 30
HARD = ((3, 3), (10, 3), (30, 3), (10, 2))
"""Brokers and alpha of the difficult workloads."""


def solve(problem: Assignment, algorithm: str) -> dict[str, Any]:
    """Make one plan and tell of it; caches of the problem are filled before the clock starts."""
    _ = problem.arrays, problem.shortest
    start = time.process_time()
    plan: Plan = problem.solve(algorithm, seed=SEED)
    return {
        "seconds": time.process_time() - start,
        "wall_seconds": plan.seconds["solve"],
        "bandwidth": plan.objective,
        "bound": plan.bound,
        "feasible": plan.feasible,
        "lbf": plan.metrics["lbf"],
        "fractional": plan.metrics["fractional"],
        "repairs": plan.metrics.get("repairs"),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def is_possible(problem: Assignment) -> bool:
    """Whether max-flow finds an assignment within the largest load."""
    least, _ = problem.least
    return least is not None and least <= problem.lbf_max * (1 + 1e-9)


def measure_set(which: str, scale: float) -> list[dict]:
    rows = []
    for name, make in SETS.items():
        if not name.startswith(which):
            continue
        problem = Assignment(make(round(SUBSCRIBERS * scale)))
        found = {algorithm: solve(problem, algorithm) for algorithm in ("gr-star", "slp", "best")}
        possible = is_possible(problem)
        gr, slp, best = found.values()
        rows.append(
            row(f"gr-star, {name}", f"{gr['seconds']:.2f} s, {_limits(gr)}",
                f"<= {GR_SECONDS:g} s", met=gr["seconds"] <= GR_SECONDS, **gr)
        )  # fmt: skip
        rows.append(
            row(f"slp, {name}",
                f"{slp['seconds']:.1f} s, {_limits(slp)}, {slp['repairs']} repairs, "
                f"{slp['bandwidth'] / gr['bandwidth']:.3f} x gr-star",
                f"feasible where possible, <= {SLP_SECONDS:g} s",
                met=slp["feasible"] >= possible and slp["seconds"] <= SLP_SECONDS,
                is_possible=possible, **slp)
        )  # fmt: skip
        rows.append(_best_row(name, gr, best, possible))
        if name == "#2":
            ratio = best["bandwidth"] / slp["fractional"]
            rows.append(
                row("best / fractional value of everybody, #2", f"{ratio:.3f}",
                    f"<= {FRACTIONAL_RATIO:g}", met=ratio <= FRACTIONAL_RATIO,
                    fractional=slp["fractional"], bandwidth=best["bandwidth"])
            )  # fmt: skip
    return rows


def _best_row(
    name: str, gr: dict[str, Any], best: dict[str, Any], possible: bool
) -> dict[str, Any]:
    saved = 1 - best["bandwidth"] / gr["bandwidth"]
    bar = next(share for start, share in SAVED.items() if name.startswith(start))
    kept = best["feasible"] >= possible
    aside = "" if gr["feasible"] else " (gr-star breaks the load limit)"
    return row(
        f"best, {name}",
        f"{100 * saved:.1f}% less than gr-star{aside}, {best['seconds']:.1f} s, {_limits(best)}",
        f">= {100 * bar:g}% less, <= {BEST_SECONDS:g} s",
        met=saved >= bar and kept and best["seconds"] <= BEST_SECONDS,
        gr_star=gr["bandwidth"], gr_star_feasible=gr["feasible"], **best,
    )  # fmt: skip


def _limits(found: dict[str, Any]) -> str:
    return f"lbf {found['lbf']:.3f}" + ("" if found["feasible"] else ", breaks limits")


def measure_difficult(scale: float) -> list[dict]:
    rows = []
    for brokers, alpha in HARD:
        each = max(2, round(100 * scale))
        problem = Assignment(difficult(each * (alpha + 1) * brokers, brokers=brokers, alpha=alpha))
        gr, slp, best = (solve(problem, name) for name in ("gr-star", "slp", "best"))
        worst = max(slp["bandwidth"], best["bandwidth"])
        ratio = gr["bandwidth"] / worst
        rows.append(
            row(f"difficult, {brokers} brokers, alpha {alpha}",
                f"gr-star {ratio:,.0f} x the worse of slp ({slp['bandwidth']:.4g}) and best "
                f"({best['bandwidth']:.4g}); {_limits(slp)}; {_limits(best)}",
                f">= {HARD_RATIO:g} x, feasible",
                met=ratio >= HARD_RATIO and slp["feasible"] and best["feasible"],
                gr_star=gr, slp=slp, best=best)
        )  # fmt: skip
    return rows


def measure_tiny(scale: float) -> list[dict]:
    """Ratios of `best` to the proven optimum on random instances."""
    ratios: list[float] = []
    wanted, seed = max(5, round(TINY_INSTANCES * min(1.0, 3 * scale))), 0
    while len(ratios) < wanted:
        problem = Assignment(tiny_workload(seed), alpha=1 + seed % 2, lbf=1.3, lbf_max=1.6)
        seed += 1
        if not is_possible(problem):
            continue
        optimum = problem.solve("exact", seed=SEED)
        assert optimum.feasible
        best = problem.solve("best", seed=SEED)
        ratios.append(best.objective / optimum.objective)
    mean = float(np.mean(ratios))
    return [
        row(f"best / exact, {len(ratios)} instances of 8 x 3",
            f"mean {mean:.4f}, worst {max(ratios):.3f}, optimal on "
            f"{sum(ratio <= 1 + 1e-9 for ratio in ratios)}",
            f"mean <= {TINY_RATIO:g}", met=mean <= TINY_RATIO, ratios=ratios)
    ]  # fmt: skip


def tiny_workload(seed: int) -> ContentWorkload:
    """Return 8 subscribers with random rectangles and 3 brokers, places in a square."""
    rng = np.random.default_rng(seed)
    lo = rng.random((8, 2)) * 10
    return ContentWorkload.from_arrays(
        lo,
        lo + rng.random((8, 2)) * 4,
        rng.random((8, 2)) * 10,
        rng.random((3, 2)) * 10,
        publisher=[5.0, 5.0],
        parent=[-1, -1, -1],
        share=[0.25, 0.25, 0.5],
    )


def measure_growth(scale: float) -> list[dict]:
    sizes = [round(size * scale) for size in (10_000, SUBSCRIBERS, MILLION)]
    found: dict[str, list[dict[str, Any]]] = {"gr-star": [], "best": []}
    for size in sizes:
        problem = Assignment(groups(size, seed=SEED))
        for algorithm, results in found.items():
            results.append(solve(problem, algorithm))
    rows = []
    for algorithm, results in found.items():
        seconds = [result["seconds"] for result in results]
        power = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
        rows.append(
            row(f"growth of {algorithm}, " + " / ".join(f"{size:,}" for size in sizes),
                " / ".join(f"{second:.2f}" for second in seconds)
                + f" s, the last step with power {power:.2f}, "
                f"{results[-1]['megabytes']:.0f} MB",
                f"near-linear (power <= {GROWTH_POWER:g})", met=power <= GROWTH_POWER,
                sizes=sizes, results=results)
        )  # fmt: skip
    million = found["gr-star"][-1]
    rows.append(
        row(f"gr-star, {sizes[-1]:,} x 100", f"{million['seconds']:.1f} s, {_limits(million)}",
            f"<= {MILLION_GR_SECONDS:g} s", met=million["seconds"] <= MILLION_GR_SECONDS,
            **million)
    )  # fmt: skip
    saved = 1 - found["best"][-1]["bandwidth"] / million["bandwidth"]
    rows.append(row(f"best, {sizes[-1]:,} x 100", f"{100 * saved:.1f}% less than gr-star, "
                    f"{found['best'][-1]['seconds']:.1f} s", **found["best"][-1]))  # fmt: skip
    return rows


def measure_million(scale: float) -> list[dict]:
    problem = Assignment(groups(round(MILLION * scale), seed=SEED))
    return [_slp_row("one level", problem, MILLION_SLP_SECONDS)]


def measure_trees(scale: float) -> list[dict]:
    workload = groups(
        round(MILLION * scale),
        brokers=200,
        out_degree=15,
        broad_interests="H",
        max_delay=1.0,
        lbf=1.3,
        lbf_max=1.5,
        seed=SEED,
    )
    return [_slp_row("tree", Assignment(workload), TREE_SLP_SECONDS)]


def _slp_row(kind: str, problem: Assignment, most: float) -> dict:
    gr, slp = (solve(problem, name) for name in ("gr-star", "slp"))
    workload = problem.workload
    possible = is_possible(problem)
    return row(
        f"slp, {kind}, {workload.num_subscribers:,} x {workload.num_brokers}",
        f"{slp['seconds']:.0f} s, {_limits(slp)}, "
        f"{slp['repairs']} repairs, {slp['bandwidth'] / gr['bandwidth']:.3f} x gr-star, "
        f"{slp['megabytes']:.0f} MB",
        f"feasible where possible, <= {most:g} s",
        met=slp["feasible"] >= possible and slp["seconds"] <= most,
        is_possible=possible, gr_star=gr["bandwidth"], **slp,
    )  # fmt: skip


def warm_up() -> None:
    """Compile before the clock starts."""
    for workload in (groups(300, brokers=6, seed=0), groups(300, brokers=8, out_degree=3, seed=0)):
        for algorithm in ("gr-star", "slp", "best"):
            Assignment(workload).solve(algorithm)
    Assignment(tiny_workload(0), alpha=1, lbf=1.3, lbf_max=3.0).solve("exact")


PARTED = Parted(
    "assign",
    {
        "set1": partial(measure_set, "#1"),
        "set2": partial(measure_set, "#2"),
        "set3": partial(measure_set, "#3"),
        "difficult": measure_difficult,
        "tiny": measure_tiny,
        "growth": measure_growth,
        "million": measure_million,
        "trees": measure_trees,
    },
    warm_up,
)
run = PARTED.run


if __name__ == "__main__":
    PARTED.main(sys.argv[1:])
