"""Runs Spark work in a thread of its own, so that Ctrl-C never lands inside a call to Java.

A signal that interrupts such a call leaves the connection to the JVM broken, and with it every
attempt to stop jobs and clean up. Here the signal reaches the waiting thread instead, which has
Spark cancel its jobs and waits until the work has cleaned up behind itself.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, TypeVar

from fanwise.pipeline.shared.session import active_session, spark_session
from fanwise.progress import SILENT, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

_PATIENCE = 60.0  # seconds for cancelled work to clean up


class Jobs:
    """The Spark jobs of one piece of work, which can be cancelled together."""

    def __init__(self) -> None:
        self._tag = f"fanwise-{uuid.uuid4().hex}"
        self._spark: SparkSession | None = None
        self._is_stopped = False

    def attach(self, spark: SparkSession) -> None:
        """Mark the jobs that the calling thread will start in ``spark``."""
        if self._is_stopped:  # while Spark was starting
            raise CancelledError
        spark.sparkContext.addJobTag(self._tag)
        self._spark = spark

    def detach(self) -> None:
        """Mark no more; called before the session stops."""
        if self._spark is not None:
            self._spark.sparkContext.removeJobTag(self._tag)
            self._spark = None

    def stop(self, thread: threading.Thread) -> None:
        """Cancel jobs until the thread that starts them has ended, with its Spark if it has one."""
        self._is_stopped = True
        waited = 0.0
        while thread.is_alive() and waited < _PATIENCE:
            spark = self._spark
            if spark is not None:
                with suppress(Exception):  # Spark is going down by itself
                    spark.sparkContext.cancelJobsWithTag(self._tag)
            thread.join(0.2)
            waited += 0.2


def run_on_spark(
    work: Callable[[SparkSession], Result],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> Result:
    """Return ``work(spark)``, done in another thread; an interrupt here cancels its jobs first.

    Parameters
    ----------
    work
        Is given the session that runs already, else one that is stopped when the work is done.
    master, conf
        See :func:`~fanwise.pipeline.shared.session.spark_session`.
    progress
        Hears that Spark is starting.
    """
    active = active_session()  # in this thread: the other one has none
    jobs = Jobs()
    future: Future[Result] = Future()

    def run() -> None:
        try:
            with ExitStack() as stack:
                with progress.step("starting Spark"):
                    spark = stack.enter_context(spark_session(master, conf, active))
                jobs.attach(spark)
                stack.callback(jobs.detach)
                result = work(spark)
            future.set_result(result)
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, name="fanwise-spark", daemon=True)
    thread.start()
    try:
        return future.result()
    except BaseException:
        if thread.is_alive():
            jobs.stop(thread)
        raise
