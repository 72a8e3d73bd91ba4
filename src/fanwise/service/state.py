"""The state folder: what is where, and that one service alone uses it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from fanwise.errors import FanwiseError


class StateInUseError(FanwiseError):
    """Another service runs on the same state folder."""


@dataclass(frozen=True)
class StateFolder:
    """Names in the state folder.

    Attributes
    ----------
    spool
        Input that is not counted yet; what is counted stays beside it for a while.
    ledger, checkpoint
        What was counted, and what Spark remembers of it: they belong together.
    store
        Decisions and history, where they are not in PostgreSQL.
    aside
        Rows that could not be read, with the reason; what was there before is beside it.
    sessions
        Digests of the sessions of people who signed in on the page.
    plans, workloads
        Plans that were decided, and windows that they were made for.
    """

    path: Path

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def ledger(self) -> Path:
        return self.path / "stream.sqlite"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def store(self) -> Path:
        return self.path / "store.sqlite"

    @property
    def aside(self) -> Path:
        return self.path / "bad.jsonl"

    @property
    def sessions(self) -> Path:
        return self.path / "sessions.json"

    @property
    def plans(self) -> Path:
        return self.path / "plans"

    @property
    def workloads(self) -> Path:
        return self.path / "workloads"

    def make(self) -> None:
        """Make the folder, for its owner alone; one that is there stays as open as it is."""
        if not self.path.is_dir():
            self.path.mkdir(parents=True)
            os.chmod(self.path, 0o700)
        for folder in (self.spool, self.plans, self.workloads):
            folder.mkdir(mode=0o700, exist_ok=True)

    def protect_store(self) -> None:
        """Have the store readable for its owner alone: it holds digests of tokens."""
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.store, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


class StateLock:
    """Held as long as a service uses a state folder; the system frees it when the process ends."""

    def __init__(self, folder: StateFolder) -> None:
        """Take the lock.

        Raises
        ------
        StateInUseError
            Where another process has it; the message says which.
        """
        path = folder.path / "lock"
        self._file = open(path, "a+", encoding="ascii")  # noqa: SIM115
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            owner = self._file.read().strip()
            self._file.close()
            raise StateInUseError(
                f"{folder.path}: a service runs on this state folder already"
                f"{f' (process {owner})' if owner else ''}; stop it, or give another --state."
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Free the lock."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()
