"""One Mosquitto of this machine: started, looked after, stopped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from fanwise.errors import FanwiseError, MissingDependencyError
from fanwise.offload.network import Node

STOP_SECONDS = 10.0
"""For a broker to write what it keeps and end; then it is killed."""
START_SECONDS = 20.0
LOG = "mosquitto.log"
CONFIGURATION = "mosquitto.conf"
_LOG_TYPES = ("error", "warning", "notice", "information", "subscribe")


def find_mosquitto() -> str:
    """Return the path of Mosquitto, also where Debian hides it."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    found = shutil.which("mosquitto", path=path)
    if found is None:
        raise MissingDependencyError(
            "mosquitto is not installed; on Debian: apt-get install mosquitto."
        )
    return found


class Broker:
    """A broker in a folder of its own, where its configuration, log and kept messages are.

    Parameters
    ----------
    text
        Its configuration.
    """

    def __init__(self, node: Node, text: str, folder: Path) -> None:
        self.node, self.text = node, text
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._read_up_to = 0
        self._rest = b""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def log(self) -> Path:
        return self._folder / LOG

    def start(self) -> None:
        """Start and return; :meth:`wait_until_ready` waits."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._write()
        with self.log.open("ab") as log:
            self._read_up_to, self._rest = log.tell(), b""
            self._process = subprocess.Popen(
                [*_die_with_us(), find_mosquitto(), "-c", CONFIGURATION],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: brokers end in order
            )

    def _write(self) -> None:
        own = [f"log_type {name}" for name in _LOG_TYPES]
        if os.getuid() == 0:
            own.append("user root")  # else it gives up root, and may not write to its folder
        configuration = self._folder / CONFIGURATION
        configuration.touch(mode=0o600)
        # In front: the rest may end with a bridge, whose options these would be.
        lines = "".join(f"{line}\n" for line in own)
        configuration.write_text(lines + self.text, encoding="utf-8", newline="")

    def reload(self, text: str) -> None:
        """Have it read a configuration that differs only in what it reads again while it runs."""
        self.text = text
        self._write()
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGHUP)

    def wait_until_ready(self) -> None:
        """Return when it listens.

        Raises
        ------
        FanwiseError
            If it ends, or takes too long.
        """
        end = time.monotonic() + START_SECONDS
        while True:
            if not self.is_running:
                raise FanwiseError(f"the broker of {self.node.name} ended: {self.last_words()}")
            try:
                socket.create_connection((self.node.host, self.node.port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise FanwiseError(
                        f"the broker of {self.node.name} does not answer on port "
                        f"{self.node.port}: {self.last_words()}"
                    ) from None
                time.sleep(0.01)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """How it ended, None while it runs."""
        return None if self._process is None else self._process.poll()

    def ask_to_stop(self) -> None:
        """Have it write what it keeps and end."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_until_stopped(self) -> None:
        """Return when it has ended, killed if it took too long."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def new_lines(self) -> Iterator[bytes]:
        """Yield whole lines of the log since the last call, or since the last start."""
        try:
            with self.log.open("rb") as log:
                log.seek(self._read_up_to)
                found = log.read()
        except FileNotFoundError:
            return
        self._read_up_to += len(found)
        *lines, self._rest = (self._rest + found).split(b"\n")
        yield from lines

    def last_words(self) -> str:
        """Return the last line of its log."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it said nothing"

    def remove(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _die_with_us() -> list[str]:
    """Return how to start a program that ends with this process, even if that is killed."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "TERM", "--"]
