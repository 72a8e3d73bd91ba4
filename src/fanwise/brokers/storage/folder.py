"""The data folder: what its files are called, and that one process alone uses it."""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from fanwise.errors import FanwiseError


class FolderError(FanwiseError):
    """A data folder that cannot be used."""


@dataclass(frozen=True)
class DataFolder:
    """Names in a data folder.

    Attributes
    ----------
    reserve
        Room on the disk that is kept for what must still be written when it is full.
    """

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def reserve(self) -> Path:
        return self.path / "reserve"

    def segment(self, number: int) -> Path:
        """Return the file of a segment of the log."""
        return self.path / f"{number:010d}.log"

    def snapshot(self, number: int) -> Path:
        """Return the file of the snapshot that segments from a number on follow."""
        return self.path / f"{number:010d}.snapshot"

    def segments(self) -> list[int]:
        """Return the numbers of segments, in order."""
        return self._numbers(".log")

    def snapshots(self) -> list[int]:
        """Return the numbers of snapshots, in order."""
        return self._numbers(".snapshot")

    def make(self) -> None:
        """Make the folder, for its owner alone; one that is there stays as open as it is.

        Raises
        ------
        FolderError
            Where that cannot be.
        """
        try:
            if not self.path.is_dir():
                self.path.mkdir(parents=True)
                self.path.chmod(0o700)
        except OSError as error:
            raise FolderError(f"{self.path}: cannot be made: {error.strerror}.") from None

    def sync(self) -> None:
        """Bring the names of files to disk."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _numbers(self, suffix: str) -> list[int]:
        paths = self.path.glob(f"*{suffix}")
        return sorted(int(path.stem) for path in paths if path.stem.isdecimal())


class FolderLock:
    """Held while a process uses a data folder; the system frees it when the process ends."""

    def __init__(self, folder: DataFolder) -> None:
        """Take the lock.

        Raises
        ------
        FolderError
            Where another process has it; the message says which.
        """
        try:
            self._descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderError(f"{folder.path}: cannot be used: {error.strerror}.") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise FolderError(f"{folder.lock}: no lock: {error.strerror}.") from None
            raise FolderError(
                f"{folder.path}: another process{f' ({owner})' if owner else ''} uses this data "
                "folder; stop it, or give another --data."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Free the lock."""
        os.close(self._descriptor)
