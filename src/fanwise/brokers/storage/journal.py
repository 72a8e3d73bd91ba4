"""The log of a broker or a directory: segments that only grow, and snapshots that replace them.

Entries are appended to the newest segment and count once they are on disk. A snapshot holds entries
that amount to all segments before its number; once it is whole, they are removed, so that the log
stays within a small multiple of what there is to remember. After a restart, the newest whole
snapshot and the segments from its number on are read. What a kill left half at the very end is cut
off: nobody was told of it.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from fanwise.brokers.storage.folder import DataFolder, FolderError, FolderLock
from fanwise.brokers.storage.records import pack, scan, unpack

log = logging.getLogger(__name__)

FORMAT, VERSION = "fanwise.broker.log", 1
END = "end"
"""The last record of a whole snapshot."""
LEAST_FREE = 16 * 2**20
"""Bytes of the disk that stay free: below, nothing new is taken."""
RESERVE = 2 * 2**20
LEAST_COMPACTED = 4 * 2**20
GROWTH = 2.0
"""The log is replaced when it has grown to so many times the last snapshot."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
CHUNK = 256
"""Entries of a snapshot that are written at once."""


class JournalError(FolderError):
    """A log that cannot be read or written."""


class DiskFullError(Exception):
    """There is no room for entries, and the reserve is used up; nothing was added."""


class Journal:
    """Appends entries, and gives them back after a restart; for one process at a time.

    Parameters
    ----------
    owner
        Who it belongs to, as in ``broker east``: a folder is not mistaken for another's.
    least_free
        Bytes of the disk that stay free.
    limit
        Most bytes of the log: above, nothing new is taken.

    Attributes
    ----------
    cut
        Bytes that were cut off at the end when it was opened.
    """

    def __init__(
        self,
        folder: DataFolder,
        owner: str,
        *,
        least_free: int = LEAST_FREE,
        limit: int = 4 * 10**9,
        least_compacted: int = LEAST_COMPACTED,
        reserve: int = RESERVE,
    ) -> None:
        self.folder, self.owner = folder, owner
        self._least_free, self._limit = least_free, limit
        self._least_compacted, self._reserve = least_compacted, reserve
        self.cut = 0
        self._snapshot_bytes = 0
        self._closed: dict[int, int] = {}  # bytes of segments before the newest
        self._descriptor: int | None = None
        self._number = self._size = self._header_bytes = 0
        folder.make()
        self._lock = FolderLock(folder)
        try:
            self.entries: list[tuple[Any, ...]] | None = self._recover()
            with contextlib.suppress(OSError):  # a full disk: what is there can still be read
                self._keep_reserve()
        except OSError as error:
            self._lock.release()
            raise JournalError(f"{folder.path}: cannot be used: {error.strerror}.") from None
        except FolderError:
            self._lock.release()
            raise

    def take_entries(self) -> list[tuple[Any, ...]]:
        """Return what was recorded before, once; it is not kept."""
        entries, self.entries = self.entries or [], None
        return entries

    @property
    def num_bytes(self) -> int:
        """Bytes of the log and its snapshot."""
        return self._snapshot_bytes + self._log_bytes

    @property
    def _log_bytes(self) -> int:
        return sum(list(self._closed.values())) + self._size

    @property
    def is_due(self) -> bool:
        """Whether a snapshot would make the log shorter."""
        return self._log_bytes > max(self._least_compacted, GROWTH * self._snapshot_bytes)

    def has_room(self) -> bool:
        """Return whether new entries may come; takes back the reserve where it was given up."""
        if self.num_bytes > self._limit:
            return False
        if shutil.disk_usage(self.folder.path).free < self._least_free:
            return False
        try:
            self._keep_reserve()
        except OSError:
            return False
        return True

    def append(self, records: Sequence[bytes]) -> None:
        """Bring packed entries to disk, all together.

        Raises
        ------
        DiskFullError
            Where there is no room, even without the reserve.
        JournalError
            Where the disk does not work.
        """
        data = b"".join(records)
        for _ in range(3):
            try:
                self._write(data)
                return
            except OSError as error:
                self._undo()
                if error.errno == errno.EFBIG and self._size > self._header_bytes:
                    self._try_next_segment()
                elif error.errno in NO_ROOM and self.folder.reserve.exists():
                    log.warning("%s: the disk is full; the reserve is used.", self.folder.path)
                    self.folder.reserve.unlink(missing_ok=True)
                elif error.errno in NO_ROOM | {errno.EFBIG}:
                    raise DiskFullError(f"{self.folder.path}: {error.strerror}") from None
                else:
                    raise JournalError(
                        f"{self.folder.path}: cannot be written: {error.strerror}."
                    ) from None
        raise DiskFullError(f"{self.folder.path}: no room")

    def begin_segment(self) -> int:
        """Let entries from now on go to a new segment; return its number.

        Raises
        ------
        DiskFullError, JournalError
            Where that cannot be: entries go on into the old one.
        """
        return self._begin(self._number + 1)

    def _begin(self, number: int) -> int:
        path = self.folder.segment(number)
        header = pack((FORMAT, VERSION, self.owner, number))
        descriptor = -1
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            write_at(descriptor, header, 0)
            os.fdatasync(descriptor)
            self.folder.sync()
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            if error.errno in NO_ROOM:
                raise DiskFullError(f"{self.folder.path}: {error.strerror}") from None
            raise JournalError(f"{path}: cannot be written: {error.strerror}.") from None
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = descriptor
        if self._number:
            self._closed[self._number] = self._size
        self._number, self._size, self._header_bytes = number, len(header), len(header)
        return number

    def write_snapshot(self, number: int, entries: Iterable[tuple[Any, ...]]) -> None:
        """Keep entries that amount to all segments before a number, and remove those.

        May go on in a thread of its own while entries are appended in another.

        Raises
        ------
        DiskFullError, JournalError
            Where that cannot be: everything stays as it was.
        """
        path = self.folder.snapshot(number)
        half = path.with_suffix(".half")
        try:
            with open(half, "wb", opener=_open_privately) as file:
                size = file.write(pack((FORMAT, VERSION, self.owner, number)))
                chunk: list[bytes] = []
                for entry in entries:
                    chunk.append(pack(entry))
                    if len(chunk) == CHUNK:
                        size += file.write(b"".join(chunk))
                        chunk = []
                size += file.write(b"".join([*chunk, pack((END,))]))
                file.flush()
                os.fsync(file.fileno())
            half.rename(path)
            self.folder.sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                half.unlink(missing_ok=True)
            if error.errno in NO_ROOM | {errno.EFBIG}:
                raise DiskFullError(f"{self.folder.path}: {error.strerror}") from None
            raise JournalError(f"{path}: cannot be written: {error.strerror}.") from None
        self._remove_before(number)
        for one in [one for one in self._closed if one < number]:
            del self._closed[one]
        self._snapshot_bytes = size

    def close(self) -> None:
        """Let go of all files."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._lock.release()

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        write_at(self._descriptor, data, self._size)
        os.fdatasync(self._descriptor)
        self._size += len(data)

    def _undo(self) -> None:
        assert self._descriptor is not None
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._size)

    def _try_next_segment(self) -> None:
        with contextlib.suppress(DiskFullError, JournalError):
            self.begin_segment()

    def _keep_reserve(self) -> None:
        path = self.folder.reserve
        if not self._reserve or (path.exists() and path.stat().st_size >= self._reserve):
            return
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, self._reserve)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def _recover(self) -> list[tuple[Any, ...]]:
        """Read what is there; go on in the newest segment, or begin the first."""
        for half in self.folder.path.glob("*.half"):
            half.unlink()
        entries: list[tuple[Any, ...]] = []
        first = 0
        snapshots = self.folder.snapshots()
        if snapshots:
            first = snapshots[-1]
            entries = self._read_snapshot(first)
            self._remove_before(first)
        segments = [number for number in self.folder.segments() if number >= first]
        last = segments[-1] if segments else first
        for number in range(first or 1, last + 1):
            if number not in segments:
                raise JournalError(f"{self.folder.segment(number)}: is missing; bring it back.")
            entries += self._read_segment(number, is_last=number == last)
        if self._descriptor is None:
            self._begin(last or 1)
        return entries

    def _read_snapshot(self, number: int) -> list[tuple[Any, ...]]:
        path = self.folder.snapshot(number)
        data = path.read_bytes()
        found = [unpack(body) for _, body in scan(data)]
        if len(found) < 2 or found[-1] != (END,):
            raise JournalError(f"{path}: is damaged; bring it back from a copy.")
        self._check_header(path, found[0], number)
        self._snapshot_bytes = len(data)
        return found[1:-1]

    def _read_segment(self, number: int, *, is_last: bool) -> list[tuple[Any, ...]]:
        path = self.folder.segment(number)
        data = path.read_bytes()
        found: list[Any] = []
        end = header = 0
        for stop, body in scan(data):
            found.append(unpack(body))
            header = header or stop
            end = stop
        if end < len(data) and not is_last:
            raise JournalError(f"{path}: is damaged at byte {end}; bring it back from a copy.")
        if found:
            self._check_header(path, found[0], number)
        elif not is_last:
            raise JournalError(f"{path}: is empty; bring it back from a copy.")
        if not is_last:
            self._closed[number] = end
            return found[1:]
        self.cut = len(data) - end
        if self.cut:
            log.warning("%s: %d bytes at its end were not finished; cut off.", path, self.cut)
        if not found:  # the segment itself was not begun wholly: begin it again
            path.unlink()
            return []
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        os.ftruncate(self._descriptor, end)
        os.fsync(self._descriptor)
        self._number, self._size, self._header_bytes = number, end, header
        return found[1:]

    def _check_header(self, path: Any, header: Any, number: int) -> None:
        if type(header) is not tuple or len(header) < 4 or header[0] != FORMAT:
            raise JournalError(f"{path}: is no log of a broker.")
        if header[1] != VERSION:
            raise JournalError(
                f"{path}: has version {header[1]} of the log, this is for {VERSION}; "
                "run the version that wrote it."
            )
        if header[2] != self.owner:
            raise JournalError(f"{path}: belongs to {header[2]}, not to {self.owner}.")
        if header[3] != number:
            raise JournalError(f"{path}: says that it is number {header[3]}; bring its name back.")

    def _remove_before(self, number: int) -> None:
        for one in self.folder.segments():
            if one < number:
                self.folder.segment(one).unlink(missing_ok=True)
        for one in self.folder.snapshots():
            if one < number:
                self.folder.snapshot(one).unlink(missing_ok=True)


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
