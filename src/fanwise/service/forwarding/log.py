"""The durable log of a forwarder: segments that only grow, each record on disk before it counts.

A segment is named by its first sequence. Its first record says which log it belongs to and how far
the numbers of publishers had been taken when it began, so that a restart reads the newest segment
alone. What a kill left half at the end is cut off: it was never acknowledged.
"""

from __future__ import annotations

import bisect
import errno
import fcntl
import json
import logging
import os
import secrets
import shutil
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from fanwise.errors import FanwiseError
from fanwise.service.forwarding.records import (
    FRAME,
    LARGEST,
    Record,
    decode,
    encode,
    frame,
    peek,
    scan,
)

log = logging.getLogger(__name__)

FORMAT, VERSION = "fanwise.forwarder.log", 1
SUFFIX = ".log"
LEAST_FREE = 16 * 10**6
"""Bytes of the disk that stay free."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORGET_SECONDS = 7 * 86_400
"""After so long without a message, a publisher is forgotten."""


class LogFullError(Exception):
    """There is no room for more messages: on the disk, or within the limit."""


class LogError(FanwiseError):
    """A log that cannot be used."""


class Segment:
    """A file of the log.

    Attributes
    ----------
    first
        Sequence of its first message; ``first + len(offsets)`` is that of the next.
    size
        Bytes that count; what is behind them was not finished.
    """

    def __init__(self, path: Path, first: int) -> None:
        self.path, self.first = path, first
        self.size = 0
        self.header: dict[str, object] = {}
        self._offsets: array[int] | None = None
        self._topics: array[int] | None = None
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The open file."""
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._descriptor

    def index(self, topics: Topics) -> tuple[array[int], array[int]]:
        """Return offsets and topics of its messages; read on first use."""
        if self._offsets is None or self._topics is None:
            self._read(topics)
        assert self._offsets is not None
        assert self._topics is not None
        return self._offsets, self._topics

    def read_header(self) -> bool:
        """Read what it says of itself; return whether that is whole."""
        data = os.pread(self.descriptor, FRAME.size, 0)
        if len(data) < FRAME.size:
            return False
        length = min(FRAME.unpack(data)[0], LARGEST)
        found = list(scan(os.pread(self.descriptor, FRAME.size + length, 0)))
        if not found:
            return False
        self.header = json.loads(found[0][1])
        return True

    def begin(self, header: dict[str, object]) -> None:
        """Write the first record of a new segment."""
        data = frame(json.dumps(header).encode())
        self.header = header
        self._offsets, self._topics = array("Q"), array("I")
        _write_at(self.descriptor, data, 0)
        os.fsync(self.descriptor)
        self.size = len(data)

    def note(self, offset: int, topic: int) -> None:
        """Know one more message."""
        assert self._offsets is not None
        assert self._topics is not None
        self._offsets.append(offset)
        self._topics.append(topic)

    def body_at(self, offset: int) -> bytes:
        """Return the content of a record; empty where the file is damaged."""
        length = FRAME.unpack(os.pread(self.descriptor, FRAME.size, offset))[0]
        data = os.pread(self.descriptor, FRAME.size + min(length, LARGEST), offset)
        return next((body for _, body in scan(data)), b"")

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _read(self, topics: Topics) -> None:
        offsets, found = array("Q"), array("I")
        size = os.fstat(self.descriptor).st_size
        data = os.pread(self.descriptor, size, 0)
        end = 0
        for offset, body in scan(data):
            end = offset + FRAME.size + len(body)
            if offset == 0:
                continue
            sequence, topic = peek(body)
            if sequence != self.first + len(offsets):
                end = offset
                break
            offsets.append(offset)
            found.append(topics.number(topic.decode()))
        self.size = end
        if end < size:
            log.warning("%s: %d bytes at its end are not whole.", self.path, size - end)
        self._offsets, self._topics = offsets, found


class Topics:
    """Numbers topics as they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int:
        """Return the number of a topic, a new one if need be."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self.names)
            self.names.append(name)
        return found

    def find(self, name: str) -> int | None:
        """Return the number of a topic; None if it never came."""
        return self._numbers.get(name)


class Log:
    """Appends messages and reads them again; one process at a time.

    Parameters
    ----------
    segment_bytes
        Above, the next segment begins.
    limit
        Most bytes of all segments.

    Attributes
    ----------
    name
        8 hexadecimal digits, made once for a log.
    position
        Sequence of the newest message on disk, 0 for none.
    numbers
        How far the messages of each publisher are on disk: number, and when in microseconds.
    """

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = 16 * 10**6,
        limit: int = 4 * 10**9,
        least_free: int = LEAST_FREE,
    ) -> None:
        self.folder = folder
        self._segment_bytes, self._limit, self._least_free = segment_bytes, limit, least_free
        self.topics = Topics()
        self.numbers: dict[str, tuple[int, int]] = {}
        self.position = 0
        self.cut = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder / "lock")
        self._segments = self._find()
        if not self._segments:
            self.name = secrets.token_hex(4)
            self._segments = [self._new_segment(1)]
        else:
            self.name = str(self._segments[-1].header["log"])
            self._recover()

    @property
    def first(self) -> int:
        """Sequence of the oldest message that is kept."""
        return self._segments[0].first

    @property
    def num_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    def append(self, records: Sequence[Record]) -> None:
        """Bring messages to disk; they follow the newest one.

        Raises
        ------
        LogFullError
            Where there is no room; nothing was added.
        """
        if not records:
            return
        if self._segments[-1].size >= self._segment_bytes:
            self._roll()
        segment = self._segments[-1]
        pieces = [encode(record) for record in records]
        data = b"".join(pieces)
        self._check_room(len(data))
        try:
            _write_at(segment.descriptor, data, segment.size)
            os.fdatasync(segment.descriptor)
        except OSError as error:
            os.ftruncate(segment.descriptor, segment.size)
            if error.errno in NO_ROOM:
                raise LogFullError(f"{self.folder}: {error.strerror}") from None
            raise LogError(f"{segment.path}: cannot be written: {error.strerror}") from None
        for record, piece in zip(records, pieces, strict=True):
            segment.note(segment.size, self.topics.number(record.topic))
            segment.size += len(piece)
            if record.number:
                self.numbers[record.publisher] = record.number, record.at
        self.position = records[-1].sequence

    def get(self, sequence: int) -> Record | None:
        """Return a message; None if it is not kept."""
        return next(self.read(sequence, sequence), None)

    def read(self, start: int, stop: int | None = None) -> Iterator[Record]:
        """Return messages from one sequence to another, both included, as far as they are kept."""
        stop = self.position if stop is None else min(stop, self.position)
        for segment in self._segments_from(start):
            if segment.first > stop:
                return
            offsets, _ = segment.index(self.topics)
            last = segment.first + len(offsets) - 1
            for sequence in range(max(start, segment.first), min(stop, last) + 1):
                body = segment.body_at(offsets[sequence - segment.first])
                if body:
                    yield decode(body)

    def index(self, start: int) -> Iterator[tuple[int, array[int]]]:
        """Return for each segment from a sequence on its first sequence and its topics."""
        for segment in self._segments_from(start):
            yield segment.first, segment.index(self.topics)[1]

    def remove_old(self, acknowledged: int, seconds: float, now: float | None = None) -> int:
        """Remove segments that all sides have acknowledged and that are older; return how many.

        Never while messages are being appended.
        """
        oldest = (time.time() if now is None else now) - seconds
        count = 0
        for segment, after in zip(self._segments, self._segments[1:], strict=False):
            if after.first > acknowledged + 1 or segment.path.stat().st_mtime > oldest:
                break
            count += 1
        for segment in self._segments[:count]:
            segment.close()
            segment.path.unlink(missing_ok=True)
        self._segments = self._segments[count:]
        return count

    def close(self) -> None:
        """Let go of all files."""
        for segment in self._segments:
            segment.close()
        os.close(self._lock)

    def _segments_from(self, start: int) -> list[Segment]:
        at = bisect.bisect_right(self._segments, start, key=lambda segment: segment.first)
        return self._segments[max(0, at - 1) :]

    def _find(self) -> list[Segment]:
        """Return the segments of the folder; one that was not begun wholly is removed."""
        names = sorted(path for path in self.folder.glob(f"*{SUFFIX}") if path.stem.isdecimal())
        segments = [Segment(path, int(path.stem)) for path in names]
        for segment in segments[:-1]:
            if not segment.read_header():
                raise LogError(f"{segment.path}: is damaged; move it away to go on without it.")
        if segments and not segments[-1].read_header():
            log.warning("%s was not begun wholly and is removed.", segments[-1].path)
            segments[-1].close()
            segments.pop().path.unlink()
        for segment in segments:
            if segment.header.get("format") != FORMAT or segment.header.get("version") != VERSION:
                raise LogError(f"{segment.path}: is no segment of a log that this version reads.")
            segment.size = segment.path.stat().st_size
        return segments

    def _recover(self) -> None:
        """Cut off what was not finished, and know what the newest segment says."""
        segment = self._segments[-1]
        before = segment.path.stat().st_size
        offsets, _ = segment.index(self.topics)
        self.cut = before - segment.size
        if self.cut:
            os.ftruncate(segment.descriptor, segment.size)
        os.fsync(segment.descriptor)
        self.position = segment.first + len(offsets) - 1
        found = segment.header.get("publishers")
        if isinstance(found, dict):
            self.numbers = {name: (int(number), int(at)) for name, (number, at) in found.items()}
        for record in self.read(segment.first):
            if record.number:
                self.numbers[record.publisher] = record.number, record.at

    def _roll(self) -> None:
        oldest = (time.time() - FORGET_SECONDS) * 1e6
        self.numbers = {name: one for name, one in self.numbers.items() if one[1] >= oldest}
        self._segments.append(self._new_segment(self.position + 1))

    def _new_segment(self, first: int) -> Segment:
        segment = Segment(self.folder / f"{first:012d}{SUFFIX}", first)
        header: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "log": self.name,
            "first": first,
            "publishers": {name: list(one) for name, one in self.numbers.items()},
        }
        try:
            segment.begin(header)
            _sync_folder(self.folder)
        except OSError as error:
            segment.close()
            segment.path.unlink(missing_ok=True)
            if error.errno in NO_ROOM:
                raise LogFullError(f"{self.folder}: {error.strerror}") from None
            raise LogError(f"{segment.path}: cannot be written: {error.strerror}") from None
        return segment

    def _check_room(self, needed: int) -> None:
        if self.num_bytes + needed > self._limit:
            raise LogFullError(
                f"{self.folder}: the log has {self.num_bytes:,} bytes, limit is {self._limit:,}"
            )
        if shutil.disk_usage(self.folder).free < needed + self._least_free:
            raise LogFullError(f"{self.folder}: the disk is full")


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count


def _lock(path: Path) -> int:
    """Keep others out."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise LogError(f"{path.parent}: another forwarder uses this log; stop it first.") from None
    return descriptor


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
