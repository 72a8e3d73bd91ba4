"""A directory and brokers as processes on loopback, for benchmarks and tests."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

PATIENCE = 90.0
DIRECTORY = "directory"


@dataclass
class Process:
    """A process that says when it is ready.

    Attributes
    ----------
    told
        What it said then.
    """

    arguments: list[str]
    errors: Path
    told: dict[str, Any] = field(default_factory=dict)
    popen: subprocess.Popen[bytes] | None = None

    def start(self, environment: dict[str, str] | None = None) -> None:
        with self.errors.open("ab") as errors:
            self.popen = subprocess.Popen(
                self.arguments, stdout=subprocess.PIPE, stderr=errors,
                env=None if environment is None else os.environ | environment,
            )  # fmt: skip

    def wait_ready(self) -> dict[str, Any]:
        assert self.popen is not None
        assert self.popen.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.popen.stdout, selectors.EVENT_READ)
            line = b""
            if selector.select(PATIENCE):
                line = self.popen.stdout.readline()
        if not line:
            raise RuntimeError(f"not ready: {self.errors.read_text()[-2000:]}")
        self.told = json.loads(line)
        return self.told

    def signal(self, number: int) -> None:
        assert self.popen is not None
        self.popen.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        assert self.popen is not None
        status = self.popen.wait(seconds)
        if self.popen.stdout is not None:
            self.popen.stdout.close()
        return status

    @property
    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None


@cache
def _compile() -> None:
    """Compile what brokers match with, once, and not in all of them at the same time."""
    from fanwise.brokers.matching.rectangle_index import RectangleIndex

    index = RectangleIndex(2)
    for key in range(100):
        index.add(key, (0.0, 0.0), (1.0, key / 100))
        index.match((0.5, 0.5))
    for key in range(90):
        index.remove(key)
        index.match((0.5, 0.5))


class Network:
    """Starts and ends processes; whatever is left at the end is killed.

    Parameters
    ----------
    options
        Given to each broker.
    """

    def __init__(
        self,
        home: Path,
        options: Sequence[str] = (),
        *,
        shared: Sequence[str] = (),
        program: Sequence[str] = ("-m", "fanwise", "broker", "run"),
    ) -> None:
        self.home, self._options, self._shared = home, list(options), list(shared)
        self._program = list(program)
        self.brokers: dict[str, Process] = {}
        self.directory = Process([], home / "directory.log")
        self._more: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        _compile()
        try:
            self.start_directory()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        running = [one for one in (*self.brokers.values(), self.directory) if one.popen is not None]
        for one in running:
            if one.is_running:
                one.signal(signal.SIGKILL)
        for one in running:
            one.wait()

    @property
    def address(self) -> str:
        """Of the directory."""
        return str(self.directory.told["address"])

    def start_directory(self) -> None:
        listen = self.directory.told.get("address", "127.0.0.1:0")
        self.directory.arguments = [
            sys.executable, "-m", "fanwise", "broker", "directory", "--json",
            "--data", str(self.home / DIRECTORY), "--listen", listen, *self._shared,
        ]  # fmt: skip
        self.directory.start()
        self.directory.wait_ready()

    def start(self, *names: str, options: dict[str, Sequence[str]] | None = None) -> None:
        """Start brokers, or start them again where they were."""
        for name in names:
            former = self.brokers.get(name)
            listen = "127.0.0.1:0" if former is None else former.told["listen"]
            self._more[name] = list((options or {}).get(name, self._more.get(name, ())))
            process = Process(
                [
                    sys.executable, *self._program, "--name", name, "--json",
                    "--data", str(self.home / name), "--listen", listen,
                    "--directory", self.address, "--metrics", "127.0.0.1:0",
                    *self._shared, *self._options, *self._more[name],
                ],
                self.home / f"{name}.log",
            )  # fmt: skip
            process.start()
            self.brokers[name] = process
        for name in names:
            self.brokers[name].wait_ready()

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.brokers[name].signal(signal.SIGKILL)
        self.brokers[name].wait()

    def stop(self, name: str) -> int:
        """SIGTERM; return the exit status."""
        self.brokers[name].signal(signal.SIGTERM)
        return self.brokers[name].wait()

    def metrics(self, name: str) -> dict[str, float]:
        """Return what a broker counts, by metric, with the label in brackets where there is one."""
        url = f"http://{self.brokers[name].told['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            lines = answer.read().decode().splitlines()
        found = {}
        for line in lines:
            if line.startswith("fanwise_"):
                key, value = line.rsplit(" ", 1)
                metric, _, labels = key.removeprefix("fanwise_").partition("{")
                more = [one for one in labels.rstrip("}").split(",") if one[:7] != "broker="]
                more = [one for one in more if one]
                found[metric + (f"[{more[0].split('=', 1)[1].strip(chr(34))}]" if more else "")] = (
                    float(value)
                )
        return found

    def wait_for(self, condition: Any, seconds: float = PATIENCE) -> Any:
        """Return what a condition returns once it holds."""
        end = time.monotonic() + seconds
        while True:
            with suppress(OSError):
                if found := condition():
                    return found
            if time.monotonic() > end:
                raise TimeoutError("it did not come to that")
            time.sleep(0.05)

    def wait_ready(self, *names: str) -> None:
        """Return when brokers know all others' routes, and take publications."""
        chosen = names or tuple(self.brokers)
        self.wait_for(lambda: all(self.metrics(one).get("notes_total[ready]") for one in chosen))

    def said(self, name: str) -> str:
        """Return what a broker wrote to its log for people."""
        return self.brokers[name].errors.read_text()
