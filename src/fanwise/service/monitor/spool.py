"""The spool: input on disk, in segments that appear whole or not at all.

A segment is a file of JSON lines. It is written under a hidden name, brought to disk, and renamed
into the folder that Spark reads. Names never come twice, also after segments were deleted, and
they sort in the order of writing, also where the clock goes back.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl"
LEAST_FREE = 64 * 10**6
"""Bytes of the disk that stay free: for the ledger and the store, which must go on."""


class SpoolFullError(Exception):
    """There is no room for more input: on the disk, or within the limit."""


class UnsyncedError(OSError):
    """A segment is in the folder, and may be read, but its name may not be on disk yet.

    It must not be written again; :meth:`Spool.sync` has to succeed before it can be relied on.
    """


class Spool:
    """Writes segments; one writer at a time."""

    def __init__(self, folder: Path, *, limit: int, least_free: int = LEAST_FREE) -> None:
        """Open or make the folder; what a writer that was killed left half is removed.

        Parameters
        ----------
        limit
            Most bytes that may wait in the folder.
        """
        self.folder, self._limit, self._least_free = folder, limit, least_free
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".*"):
            left.unlink(missing_ok=True)
        self._stamp = max(map(_stamp_of, segments(folder)), default=0)

    def write(self, records: Iterable[Mapping[str, Any]]) -> Path | None:
        """Bring records to disk as one segment; return it, or None if there were none.

        Raises
        ------
        SpoolFullError
            Where there is no room; nothing was written.
        UnsyncedError
            Where all is written and visible, but may not be on disk.
        OSError
            Where the disk fails in another way; nothing is visible.
        """
        lines = "".join(json.dumps(record, ensure_ascii=True) + "\n" for record in records)
        if not lines:
            return None
        data = lines.encode("ascii")
        self._check_room(len(data))
        self._stamp = max(time.time_ns(), self._stamp + 1)
        name = f"{self._stamp:020d}-{os.getpid()}{SUFFIX}"
        hidden, path = self.folder / f".{name}", self.folder / name
        try:
            with open(hidden, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            hidden.unlink(missing_ok=True)
            if error.errno in (28, 122):  # no space, quota
                raise SpoolFullError(f"{self.folder}: {error.strerror}") from None
            raise
        os.rename(hidden, path)
        try:
            self.sync()
        except OSError as error:
            raise UnsyncedError(error.errno, error.strerror, str(self.folder)) from None
        return path

    def sync(self) -> None:
        """Bring the names of segments to disk."""
        sync_folder(self.folder)

    def _check_room(self, needed: int) -> None:
        if bytes_waiting(self.folder) + needed > self._limit:
            raise SpoolFullError(
                f"{self.folder}: {self._limit:,} bytes are waiting, the most allowed"
            )
        if shutil.disk_usage(self.folder).free < needed + self._least_free:
            raise SpoolFullError(f"{self.folder}: the disk is full")


def archive_of(folder: Path) -> Path:
    """Return where segments of a spool go that were counted."""
    return folder.parent / f"{folder.name}-counted"


def segments(folder: Path) -> list[Path]:
    """Return the segments of a spool in the order of writing, also those that were counted."""
    # Names that begin with a dot are hidden: half-written segments.
    found = (*folder.glob(f"[!.]*{SUFFIX}"), *archive_of(folder).rglob(f"[!.]*{SUFFIX}"))
    return sorted(found, key=lambda path: path.name)


def bytes_waiting(folder: Path, counted: Collection[str] = ()) -> int:
    """Return the bytes that wait in a spool.

    Parameters
    ----------
    counted
        Names of segments that wait for nothing but to be moved away.
    """
    waiting = (path for path in folder.glob(f"[!.]*{SUFFIX}") if path.name not in counted)
    return sum(map(_size, waiting))


def prune(folder: Path, seconds: float, now: float | None = None) -> int:
    """Delete segments that were counted longer ago than that; return how many."""
    oldest = (time.time() if now is None else now) - seconds
    count = 0
    for path in folder.rglob(f"*{SUFFIX}"):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
                count += 1
        except FileNotFoundError:
            continue
    return count


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp_of(segment: Path) -> int:
    """Return when a segment was written, in nanoseconds, as its name says."""
    stamp = segment.name.partition("-")[0]
    return int(stamp) if stamp.isdecimal() else 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
