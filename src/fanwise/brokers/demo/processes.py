"""The directory and brokers of the demo, each a process as ``fanwise broker`` runs it."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from fanwise.errors import FanwiseError

START_SECONDS, STOP_SECONDS = 120.0, 15.0


class BrokersError(FanwiseError):
    """A process of the network did not start, or ended."""


class Processes:
    """Processes with their logs in a folder; use it with ``async with``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._running: dict[str, Process] = {}

    async def __aenter__(self) -> Processes:
        return self

    async def __aexit__(self, *_: object) -> None:
        # Brokers first: without the directory they would complain.
        for name in reversed(list(self._running)):
            await self._stop(name)

    async def start(self, name: str, *arguments: str) -> str:
        """Start ``fanwise broker ARGUMENTS``; return the address where it listens."""
        errors = (self._home / f"{name}.log").open("wb")
        with errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "fanwise", "broker", *arguments, "--json"),
                *("--data", str(self._home / name)),
                stdout=PIPE,
                stderr=errors,
            )
        self._running[name] = process
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await process.stdout.readline()
            return str(json.loads(line)["address"])
        except (TimeoutError, ValueError):
            raise BrokersError(f"{name} did not start: {self.said(name)}.") from None

    def check(self) -> None:
        """Raise if a process has ended."""
        for name, process in self._running.items():
            if process.returncode is not None:
                raise BrokersError(f"{name} ended: {self.said(name)}.")

    def said(self, name: str) -> str:
        """Return the last line that a process has written to its log."""
        lines: Sequence[str] = (self._home / f"{name}.log").read_text().strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def _stop(self, name: str) -> None:
        process = self._running.pop(name)
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
