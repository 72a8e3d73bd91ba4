"""Loading a 12-million-pair workload in a fresh process, kernels cached."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measuring import row, time_processes
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.topic.files import write_workload

LIMIT = 3.0


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spotify"
        workload = spotify(seed=1)
        write_workload(workload, path)
        load = f"import fanwise; fanwise.read_workload({str(path)!r})"
        timing = time_processes("-c", load, repeats=3)
    return [
        row(
            f"load {workload.num_pairs:,} pairs, fresh process",
            str(timing),
            f"<= {LIMIT} s",
            met=timing.median <= LIMIT,
            seconds=timing._asdict(),
        )
    ]
