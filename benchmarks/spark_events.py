"""What commands ask of Spark, from the event log that Spark writes itself.

A command runs in a process of its own, with its event log in a folder of ours and all its
descendants, the JVM and Python's workers among them, waited for: so their processor time counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RUN = """
import ctypes, json, os, resource, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans become ours
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall = time.perf_counter() - start
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime}))
"""


@dataclass(frozen=True)
class Work:
    """What a command took.

    Attributes
    ----------
    cpu, wall
        Seconds, of the command and all its descendants.
    jobs, stages, tasks
        That ran; skipped stages do not count.
    single_task_bytes
        The most input, read and shuffled, that a stage with a single task had.
    read, shuffled, results
        Bytes read from files, written to shuffles, and sent to the driver.
    """

    cpu: float
    wall: float
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    read: int = 0
    shuffled: int = 0
    results: int = 0
    single_task_bytes: int = 0


def run_command(*arguments: str, conf: dict[str, str] | None = None) -> Work:
    """Run ``fanwise`` with arguments; without ``conf`` it is taken to use no Spark."""
    command = [sys.executable, "-m", "fanwise", *arguments]
    with tempfile.TemporaryDirectory() as logs:
        if conf is not None:
            logged = {
                "spark.eventLog.enabled": "true",
                "spark.eventLog.compress": "false",
                "spark.eventLog.rolling.enabled": "false",
                "spark.eventLog.dir": f"file://{logs}",
            }
            for key, value in {**logged, **conf}.items():
                command += ["--conf", f"{key}={value}"]
        done = subprocess.run(
            [sys.executable, "-c", _RUN, *command], check=True, capture_output=True, text=True
        )
        took = json.loads(done.stdout.splitlines()[-1])
        if took.pop("status"):
            raise RuntimeError(f"fanwise {' '.join(arguments)}: {done.stderr}")
        found: dict[str, int] = {}
        for log in Path(logs).iterdir():
            found = read_log(log)
    return Work(**took, **found)


def read_log(path: Path) -> dict[str, int]:
    """Return the counts of :class:`Work` that an event log tells."""
    found = dict.fromkeys(
        ("jobs", "stages", "tasks", "read", "shuffled", "results", "single_task_bytes"), 0
    )
    for event in _events(path):
        kind = event["Event"]
        if kind == "SparkListenerJobStart":
            found["jobs"] += 1
        elif kind == "SparkListenerStageCompleted":
            _add_stage(found, event["Stage Info"])
    return found


def list_jobs(path: Path) -> list[tuple[int, int, str]]:
    """Return number, stages and place in the code of each job: for people who look for more."""
    return [
        (event["Job ID"], len(event["Stage IDs"]), event["Stage Infos"][0]["Stage Name"])
        for event in _events(path)
        if event["Event"] == "SparkListenerJobStart"
    ]


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _add_stage(found: dict[str, int], stage: dict[str, Any]) -> None:
    amounts = {one["Name"]: one.get("Value") for one in stage["Accumulables"]}

    def total(*names: str) -> int:
        return sum(int(amounts.get(f"internal.metrics.{name}") or 0) for name in names)

    fetched = total("shuffle.read.localBytesRead", "shuffle.read.remoteBytesRead")
    found["stages"] += 1
    found["tasks"] += stage["Number of Tasks"]
    found["read"] += total("input.bytesRead")
    found["shuffled"] += total("shuffle.write.bytesWritten")
    found["results"] += total("resultSize")
    if stage["Number of Tasks"] == 1:
        most = fetched + total("input.bytesRead")
        found["single_task_bytes"] = max(found["single_task_bytes"], most)


def write_table(works: dict[str, Work]) -> str:
    """Write works as a table for people."""
    lines = ["| command | jobs | stages | tasks | read | shuffled | to driver | one task | CPU |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, work in works.items():
        lines.append(
            f"| {name} | {work.jobs} | {work.stages} | {work.tasks} | {work.read / 1e6:.1f} MB | "
            f"{work.shuffled / 1e6:.1f} MB | {work.results / 1e6:.1f} MB | "
            f"{work.single_task_bytes / 1e6:.1f} MB | {work.cpu:.1f} s |"
        )
    return "\n".join(lines)


def ratio(works: Sequence[Work]) -> float:
    """Return how many times the processor time of the second the first took."""
    return works[0].cpu / works[1].cpu
