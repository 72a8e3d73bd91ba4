"""A standalone Spark cluster on loopback: a master and two workers, each a process of its own.

Executors find a ``fanwise`` that cannot be imported, as if it were not installed there: what they
run has to come with the job.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pyspark

from fanwise.pipeline.shared.java import find_java

HOME = Path(pyspark.__file__).parent
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for seconds."""


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Cluster:
    """A master and its workers; ``kill_worker`` ends one with its executors, without a word."""

    def __init__(self, folder: Path, num_workers: int = 2) -> None:
        broken = folder / "not-installed" / "fanwise"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text("raise ImportError('not installed here')\n")
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": BRIEF,
            "PYTHONPATH": str(broken.parent),
        }
        port, web = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self.web = f"http://127.0.0.1:{web}/json/"
        self.processes = [
            self._start("master.Master", "--port", str(port), "--webui-port", str(web))
        ]
        try:
            self._wait_for(0)
            for number in range(num_workers):
                options = ["--webui-port", "0", "--cores", "1", "--memory", "600m"]
                work = ["--work-dir", str(folder / f"work-{number}")]
                self.processes.append(self._start("worker.Worker", *options, *work, self.master))
            self._wait_for(num_workers)
        except BaseException:
            self.stop()
            raise

    def _start(self, name: str, *arguments: str) -> subprocess.Popen:
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        with (self.folder / f"{name}-{time.monotonic_ns()}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, "--host", "127.0.0.1", *arguments],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # executors belong to the group of their worker
            )

    def _wait_for(self, num_workers: int) -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                with urllib.request.urlopen(self.web, timeout=5) as answer:
                    found = json.load(answer)
                if found["aliveworkers"] >= num_workers:
                    return
            time.sleep(0.2)
        logs = "\n".join(log.read_text()[-2000:] for log in self.folder.glob("*.log"))
        raise AssertionError(f"the cluster does not start: {logs}")

    def submit(self, script: Path, *arguments: str, log: Path) -> subprocess.Popen:
        """Start a script by spark-submit; only the driver can import fanwise as it is here."""
        confs = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "600m",
            "spark.driver.extraJavaOptions": f"-Xss8m {BRIEF}",
            "spark.executor.memory": "500m",
            "spark.executor.extraJavaOptions": BRIEF,
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.codegen.wholeStage": "false",
            "spark.ui.enabled": "false",
        }
        options = [part for key, value in confs.items() for part in ("--conf", f"{key}={value}")]
        command = [str(HOME / "bin" / "spark-submit"), "--master", self.master, *options]
        source = Path(sys.modules["fanwise"].__file__).parents[1]
        environment = {
            **self.environment,
            "PYTHONPATH": os.pathsep.join([str(source), str(Path(__file__).parents[2])]),
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("wb") as output:
            return subprocess.Popen(
                [*command, str(script), *arguments],
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill_worker(self) -> None:
        """Kill the last worker and its executors."""
        kill(self.processes.pop())

    def stop(self) -> None:
        while self.processes:
            kill(self.processes.pop())


def kill(process: subprocess.Popen) -> None:
    """Kill a process and everything in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
