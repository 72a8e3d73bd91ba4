"""Progress from Spark's counters."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from fanwise.pipeline.shared.job_progress import track_jobs, update_tasks
from fanwise.progress import Progress, Step


class Recorder(Progress):
    def __init__(self):
        self.descriptions, self.done, self.totals = [], 0.0, []

    @contextmanager
    def step(self, description, total=None):
        self.descriptions.append(description)
        recorder = self

        class Recording(Step):
            def advance(self, amount=1.0):
                assert amount >= 0
                recorder.done += amount

            def total(self, total):
                recorder.totals.append(total)

        yield Recording()


def test_stages_that_vanish_are_counted_as_finished():
    state = {7: SimpleNamespace(numTasks=4, numCompletedTasks=1)}
    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: [1],
        getJobInfo=lambda job: SimpleNamespace(stageIds=list(state)),
        getStageInfo=lambda stage: state[stage],
    )
    tasks = {}
    update_tasks(tracker, tasks)
    assert tasks == {7: (4, 1)}
    del state[7]
    state[8] = SimpleNamespace(numTasks=2, numCompletedTasks=0)
    update_tasks(tracker, tasks)
    assert tasks == {7: (4, 4), 8: (2, 0)}


@pytest.mark.spark
def test_tasks_of_a_job_are_reported(spark):
    recorder = Recorder()
    with track_jobs(spark, recorder, "counting"):
        # Slow enough to be seen: each task sleeps through a reading.
        spark.range(0, 8, 1, 8).selectExpr(
            "reflect('java.util.concurrent.locks.LockSupport', 'parkNanos', 300000000L + id)"
        ).collect()
    assert recorder.descriptions == ["counting"]
    assert recorder.totals
    assert max(recorder.totals) == 8
    assert 0 <= recorder.done <= 8
