"""Both CSRs of 100 million pairs against reading the same pairs from a warm Parquet file.

The pairs are drawn at random: subscribers uniform, topics skewed to popular ones. They are measured
in random order, as Spark may write them, and sorted by subscriber, as fanwise writes them.
"""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import row, time_runs
from fanwise.arrays.csr import build_csr, transpose

PAIRS, SUBSCRIBERS, TOPICS = 100_000_000, 30_000_000, 8_000_000
LIMIT, MEMORY_GB = 3.0, 6.0


def write_pairs(path: Path, *, is_sorted: bool) -> None:
    rng = np.random.default_rng(0)
    subscriber = rng.integers(0, SUBSCRIBERS, PAIRS, dtype=np.int32)
    if is_sorted:
        subscriber.sort()
    topic = (TOPICS * rng.random(PAIRS, dtype=np.float32) ** 3).astype(np.int32)
    np.minimum(topic, TOPICS - 1, out=topic)
    if is_sorted:
        order = np.lexsort((topic, subscriber))
        topic = topic[order]
    pq.write_table(pa.table({"subscriber": subscriber, "topic": topic}), path)


def run() -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for is_sorted in (False, True):
            path = Path(folder) / "pairs.parquet"
            write_pairs(path, is_sorted=is_sorted)
            reading = time_runs(lambda path=path: pq.read_table(path))
            table = pq.read_table(path)
            pairs = [table.column(name).to_numpy() for name in ("subscriber", "topic")]
            del table

            def build(pairs: list[np.ndarray] = pairs) -> None:
                transpose(build_csr(*pairs, SUBSCRIBERS), TOPICS)

            building = time_runs(build)
            del pairs
            ratio = building.median / reading.median
            order = "sorted by subscriber" if is_sorted else "random order"
            rows.append(
                row(
                    f"both CSRs of {PAIRS:,} pairs, {order}",
                    f"{ratio:.2f} x reading: {building} against {reading}",
                    f"<= {LIMIT} x",
                    met=ratio <= LIMIT,
                    building=building._asdict(),
                    reading=reading._asdict(),
                )
            )
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(
        row(
            "peak memory, pairs included",
            f"{gigabytes:.1f} GB",
            f"<= {MEMORY_GB} GB",
            met=gigabytes <= MEMORY_GB,
        )
    )
    return rows
