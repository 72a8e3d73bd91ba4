"""How select grows with the pairs, and the memory it takes; each size in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.measuring import row

SCALES = {1: 1 / 12, 10: 10 / 12, 100: 100 / 12}
"""Millions of pairs, and the scale of the generator that makes them."""
MEMORY_LIMIT = 2e9


def run() -> list[dict]:
    rows, per_pair = [], {}
    for millions, scale in SCALES.items():
        found = json.loads(child("grow", str(scale)))
        per_pair[millions] = found["greedy"] / found["pairs"]
        rows.append(
            row(
                f"select, {found['pairs']:,} pairs, tau 276, capacity 10%",
                f"greedy {found['greedy']:.2f} s ({1e9 * per_pair[millions]:.0f} ns a pair, "
                f"{found['greedy'] / found['pass']:.1f} passes), bound {found['bound']:.1f} s "
                f"(gap {100 * found['gap']:.3f}%), peak {found['peak'] / 1e9:.1f} GB",
                "near-linear in the pairs: reported",
                **found,
            )
        )
    found = json.loads(child("remember", "1.0"))
    rows.append(
        row(
            "best at 12M pairs, memory",
            f"{found['peak'] / 1e9:.2f} GB peak, of which {found['loaded'] / 1e9:.2f} GB before "
            f"the solve",
            f"<= {MEMORY_LIMIT / 1e9:g} GB for the solve",
            met=found["peak"] - found["loaded"] <= MEMORY_LIMIT,
            **found,
        )
    )
    return rows


def child(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.select_growth", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def grow(scale: float) -> dict:
    import time

    from benchmarks.select import time_pass
    from fanwise.planning.plan import certified_gap
    from fanwise.select.greedy import greedy, served_by
    from fanwise.select.problem import Selection
    from fanwise.workload.generators.spotify import spotify

    small = Selection(spotify(scale=0.001, seed=1), tau=276, capacity="10%")
    greedy(small)  # compiled before the clock starts
    small.bound()
    problem = Selection(spotify(scale=scale, seed=1), tau=276, capacity="10%")
    _ = problem.cost, problem.weight, problem.workload.followers
    start = time.perf_counter()
    served = served_by(problem, greedy(problem))
    middle = time.perf_counter()
    bound = problem.bound()
    end = time.perf_counter()
    return {
        "pairs": problem.workload.num_pairs,
        "pass": time_pass(problem.workload),
        "greedy": middle - start,
        "bound": end - middle,
        "gap": certified_gap(problem.value(served), bound, is_feasible=True),
        "peak": peak_bytes(),
    }


def remember(scale: float) -> dict:
    from fanwise.select.problem import Selection
    from fanwise.workload.generators.spotify import spotify

    problem = Selection(spotify(scale=scale, seed=1), tau=276, capacity="10%")
    _ = problem.cost, problem.weight, problem.workload.followers
    loaded = resident_bytes()
    problem.solve("best", time_limit=30)
    return {"loaded": loaded, "peak": peak_bytes()}


def resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    print(json.dumps({"grow": grow, "remember": remember}[sys.argv[1]](float(sys.argv[2]))))
