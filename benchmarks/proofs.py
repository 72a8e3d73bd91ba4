"""What it costs to check a certificate: verify with it against verify without it, 12M pairs.

A plan and its workload are written once; each verification runs in a fresh process as a user would
run it. The baseline is the same verification of the same plan without its certificate. Memory is
the peak of the process that verifies, with the certificate.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import fanwise as fw
from benchmarks.measuring import row

MOST_TIMES, MOST_BYTES = 3.0, 2e9
REPEATS = 3
QUESTIONS = {
    "select binary": ("select", {"tau": 27, "capacity": "10%"}, "best"),
    "select fractional": (
        "select", {"tau": 276, "capacity": "10%", "metric": "fractional"}, "best"
    ),
    "provision": ("provision", {"tau": 100}, "best+best"),
}  # fmt: skip


def run() -> list[dict]:
    from fanwise.workload.generators.spotify import spotify

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        workload = spotify(seed=1)
        fw.write_workload(workload, folder / "workload")
        for name, (family, options, algorithm) in QUESTIONS.items():
            kind = {"select": fw.Selection, "provision": fw.Provisioning}[family]
            plan = kind(workload, **options).solve(algorithm, seed=1)
            plan.save(folder / "with", overwrite=True)
            replace(plan, proof=None).save(folder / "without", overwrite=True)
            rows += measure(name, workload, plan, folder)
    return rows


def measure(name: str, workload: fw.TopicWorkload, plan: fw.Plan, folder: Path) -> list[dict]:
    checked = [verify_apart(folder / "workload", folder / "with") for _ in range(REPEATS)]
    plain = [verify_apart(folder / "workload", folder / "without") for _ in range(REPEATS)]
    times = {
        part: median(one[part] for one in checked) / median(one[part] for one in plain)
        for part in ("seconds", "command")
    }
    peak = max(one["peak"] for one in checked)
    tables = sum(file.stat().st_size for file in (folder / "with").glob("*.parquet"))
    proof = sum(file.stat().st_size for file in (folder / "with" / "proof").glob("*"))
    allowed = tables / 10 + 16 * (workload.num_subscribers + workload.num_topics)
    about = f"{name}, {workload.num_pairs:,} pairs, gap {100 * (plan.gap or 0):.4f}%"
    return [
        row(
            f"{about}: verify with certificate / without, in memory",
            f"{times['seconds']:.2f}x ({spread(checked)} against {spread(plain)})",
            f"<= {MOST_TIMES:g}x",
            met=times["seconds"] <= MOST_TIMES,
            with_certificate=checked,
            without=plain,
        ),
        row(
            f"{about}: the whole command, with / without",
            f"{times['command']:.2f}x",
            f"<= {MOST_TIMES:g}x",
            met=times["command"] <= MOST_TIMES,
        ),
        row(
            f"{about}: peak memory of verify",
            f"{peak / 1e9:.2f} GB",
            f"<= {MOST_BYTES / 1e9:g} GB",
            met=peak <= MOST_BYTES,
        ),
        row(
            f"{about}: size of the certificate",
            f"{proof / 1e6:.1f} MB beside {tables / 1e6:.1f} MB",
            f"<= {allowed / 1e6:.1f} MB",
            met=proof <= allowed,
        ),
    ]


def spread(runs: list[dict]) -> str:
    seconds = [one["seconds"] for one in runs]
    return f"{median(seconds):.2f} s, {min(seconds):.2f} to {max(seconds):.2f}"


def verify_apart(workload: Path, plan: Path) -> dict:
    """Verify in a fresh process; return seconds of the check, of the command, and peak memory."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.proofs", str(workload), str(plan)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return {**json.loads(done.stdout), "command": time.perf_counter() - start}


def verify_here(workload: str, plan: str) -> None:
    loaded = fw.read_workload(workload)
    found = fw.read_plan(plan)
    _ = loaded.hash  # known once a workload is read; not what is measured
    start = time.perf_counter()
    result = found.verify(loaded)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"seconds": seconds, "peak": peak, "bound_checked": result.is_bound_checked}
    print(json.dumps(told))


if __name__ == "__main__":
    verify_here(*sys.argv[1:])
