"""Ingest of a 20-million-event, 5-million-pair CSV trace against the least that Spark has to do.

Both run in one warm session on two cores, in turns, so that whatever else the machine does hits
both. The trace is that of a music service: daily rhythm, heavy tails, a tenth of the subscriptions
beginning or ending inside the span.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import ingest_baseline
from benchmarks.measuring import Timing, row
from fanwise.pipeline import ingest, spark_session
from fanwise.workload.generators.music_trace import music_trace

EVENTS, PAIRS, TOPICS, SUBSCRIBERS = 20_000_000, 5_000_000, 200_000, 1_000_000
LIMIT, MEMORY_GB = 4.0, 4.0
REPEATS = 3


def run(scale: float = 1.0) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        music_trace(
            trace,
            topics=int(TOPICS * scale),
            subscribers=int(SUBSCRIBERS * scale),
            events=int(EVENTS * scale),
            pairs=int(PAIRS * scale),
            seed=1,
        )
        files = [str(trace / f"{name}.csv") for name in ("publications", "subscriptions")]
        with spark_session("local[2]") as spark:
            base, ours = time_in_turns(
                lambda: ingest_baseline.run(spark, *files),
                lambda: ingest(*files, Path(folder) / "out", overwrite=True),
            )
            heap = spark.conf.get("spark.driver.memory")
            gigabytes = peak_memory(spark)
    ratio = ours.median / base.median
    return [
        row(
            f"ingest {int(EVENTS * scale):,} events and {int(PAIRS * scale):,} pairs",
            f"{ratio:.2f} x baseline: {ours} against {base}",
            f"<= {LIMIT} x",
            met=ratio <= LIMIT,
            ingest=ours._asdict(),
            baseline=base._asdict(),
        ),
        row(
            f"peak memory of the driver, heap {heap}",
            f"{gigabytes:.1f} GB",
            f"<= {MEMORY_GB} GB",
            met=gigabytes <= MEMORY_GB,
        ),
    ]


def time_in_turns(*functions: Callable[[], Any]) -> list[Timing]:
    """Time functions in turns, after each has run once."""
    seconds: list[list[float]] = [[] for _ in functions]
    for turn in range(REPEATS + 1):
        for found, function in zip(seconds, functions, strict=True):
            start = time.perf_counter()
            function()
            if turn:
                found.append(time.perf_counter() - start)
    return [Timing(statistics.median(found), min(found), max(found)) for found in seconds]


def peak_memory(spark: Any) -> float:
    """Return the most memory that the driver's JVM ever had, in GB."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9
    raise RuntimeError("this system does not tell the memory of a process")
