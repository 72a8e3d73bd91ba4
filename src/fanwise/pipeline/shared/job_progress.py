"""Progress of Spark's jobs, from its own counters of stages and tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from fanwise.progress import Progress, Step

_INTERVAL = 0.25  # seconds between two readings of the counters


@contextmanager
def track_jobs(spark: SparkSession, progress: Progress, description: str) -> Iterator[None]:
    """Report the tasks of all jobs that run inside the block as one step."""
    if type(progress) is Progress:  # nobody listens
        yield
        return
    with progress.step(description) as step:
        stop = threading.Event()
        tracker = spark.sparkContext.statusTracker()
        thread = threading.Thread(target=_poll, args=(tracker, step, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(timeout=5)


def _poll(tracker: Any, step: Step, stop: threading.Event) -> None:
    tasks: dict[int, tuple[int, int]] = {}
    shown = 0
    while not stop.wait(_INTERVAL):
        try:
            update_tasks(tracker, tasks)
        except Exception:  # Spark is going down; whoever waits for the job hears of it
            return
        total = sum(count for count, _ in tasks.values())
        done = sum(completed for _, completed in tasks.values())
        if total:
            step.total(total)
            step.advance(done - shown)
            shown = done


def update_tasks(tracker: Any, tasks: dict[int, tuple[int, int]]) -> None:
    """Update ``{stage: (tasks, completed tasks)}`` of the stages that run now."""
    running = set()
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            state = tracker.getStageInfo(stage)
            if state is not None:
                running.add(stage)
                tasks[stage] = (state.numTasks, state.numCompletedTasks)
    for stage in tasks.keys() - running:  # gone since the last reading: finished
        count, _ = tasks[stage]
        tasks[stage] = (count, count)
