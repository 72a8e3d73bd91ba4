"""The tutorial runs as it is written: every command, in one terminal, and what one sees."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from tests.offload.test_page import free_ports
from tests.service.servers import find_program

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- (install|run|see) -->\n```\n(.*?)```", PAGE, re.DOTALL)
PATIENCE = 180.0
OFFERS = 5
"""How often a decision is approved that is superseded before: windows are shorter here."""


class Terminal:
    """A shell that one types into."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._log = folder / "terminal"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [shutil.which("bash") or "bash"],
                cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log,
                env=os.environ | variables, start_new_session=True,
            )  # fmt: skip
        self._typed = 0
        self.type("""trap 'echo "failed: $BASH_COMMAND"' ERR""")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        with contextlib.suppress(ProcessLookupError):  # what a failure has left running
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def type(self, commands: str) -> list[str]:
        """Run commands as they stand; return those that failed."""
        self._typed += 1
        before = len(self.text)
        self.process.stdin.write(f"{commands}\necho typed {self._typed}\n".encode())
        self.process.stdin.flush()
        self.see(f"typed {self._typed}")
        return re.findall(r"^failed: (.*)", self.text[before:], re.MULTILINE)

    def see(self, line: str) -> None:
        """Return when a line was printed; an ellipsis stands for anything."""
        pattern = ".*".join(map(re.escape, line.split("…")))
        end = time.monotonic() + PATIENCE
        while not re.search(f"^{pattern}$", self.text, re.MULTILINE):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < end, f"{line!r} was not seen\n{self.text[-4000:]}"
            time.sleep(0.05)


@pytest.fixture
def terminal(tmp_path):
    find_program("mosquitto")
    find_program("mosquitto_sub")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, arguments in (("fanwise", "-m fanwise "), ("python", "")):
        path = programs / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        path.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with Terminal(home, PATH=path, PYTHONUNBUFFERED="1") as terminal:
        yield terminal


def here(text: str, ports: dict[str, str]) -> str:
    """Change what tests that run side by side cannot share, and the length of windows."""
    for known, ours in ports.items():
        text = text.replace(known, ours)
    text = text.replace("--mosquitto network", f"--mosquitto network --first-port {ports['18830']}")
    serve = "fanwise serve --config fanwise.toml"
    text = text.replace(serve, f"{serve} --port {ports['8731']}")
    return text.replace('length = "1m"', 'length = "10s"')


@pytest.mark.soak
def test_every_command_runs_and_shows_what_it_says(terminal):
    first = free_ports(4)
    ports = {name: str(first + at) for at, name in enumerate(("11883", "11884", "18830", "8731"))}
    terminal.type(f"export FANWISE_URL=http://127.0.0.1:{ports['8731']}")
    for kind, text in BLOCKS:
        if kind == "run":
            commands = here(text, ports)
            failed = terminal.type(commands)
            for _ in range(OFFERS):  # "do the same again"
                if not failed or "approve" not in failed[-1]:
                    break
                failed = terminal.type(commands)
            assert not failed, terminal.text[-4000:]
        elif kind == "see":
            for line in text.splitlines():
                terminal.see(here(line, ports))
    told = re.findall(r"^fay: (\d+) \w+, up to number (\d+)$", terminal.text, re.MULTILINE)
    # Around the switch one may overtake another; afterwards all are there again.
    assert sum(many == newest for many, newest in told) >= len(told) - 1
    assert "Traceback" not in terminal.text
    sides = {
        side: set(re.findall(rf"^{side}: (\w+)$", terminal.text, re.MULTILINE))
        for side in ("back end", "edge")
    }
    assert sides["back end"]
    assert sides["edge"]
    assert not sides["back end"] & sides["edge"], "each topic has one side"


def test_it_installs_what_there_is():
    (installs,) = (text for kind, text in BLOCKS if kind == "install")
    extras = re.search(r"fanwise\[(.*)\]", installs)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])
    python = project["requires-python"].removeprefix(">=")
    assert f"Python {python} or newer" in PAGE
