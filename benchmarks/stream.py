"""Windowed counts on a stream: how long a trigger takes at 5,000 events a second.

A file of a second's events appears every second; windows of ten seconds are counted in append mode
with a trigger of one second, on two cores.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.measuring import row
from fanwise.pipeline import spark_session
from fanwise.pipeline.streaming import windowed_counts

RATE, TOPICS = 5_000, 2_000
SECONDS = int(os.environ.get("FANWISE_BENCH_STREAM", "60"))
WARM = 10  # triggers that do not count


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as place, spark_session("local[2]") as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        folder = Path(place) / "events"
        folder.mkdir()
        stop = threading.Event()
        writer = threading.Thread(target=_write, args=(folder, stop), daemon=True)
        events = spark.readStream.schema("topic string, timestamp string").csv(str(folder))
        counts = windowed_counts(events, window="10s", late="5s")
        query = counts.writeStream.format("noop").trigger(processingTime="1 second").start()
        writer.start()
        found: dict[int, dict] = {}
        try:
            end = time.monotonic() + SECONDS + WARM
            while time.monotonic() < end:
                time.sleep(2)
                found |= {one["batchId"]: one for one in query.recentProgress}
        finally:
            stop.set()
            query.stop()
    batches = [one for number, one in sorted(found.items()) if one["numInputRows"]][WARM:]
    took = [one["durationMs"]["triggerExecution"] / 1000 for one in batches]
    rows = sum(one["numInputRows"] for one in batches)
    median = statistics.median(took)
    return [
        row(
            f"a trigger at {RATE:,} events/s",
            f"median {median:.2f} s, most {max(took):.2f} s, {rows:,} events in {len(took)}",
            seconds=took,
        )
    ]


def _write(folder: Path, stop: threading.Event) -> None:
    draw = random.Random(1)
    number = 0
    while not stop.wait(max(0.0, 1 - time.time() % 1)):
        now = time.time()
        lines = (f"t{draw.randrange(TOPICS)},{now - draw.random():.3f}\n" for _ in range(RATE))
        hidden = folder.parent / "next.csv"
        hidden.write_text("".join(lines))
        hidden.rename(folder / f"{number:06}.csv")
        number += 1


if __name__ == "__main__":
    print(run())
