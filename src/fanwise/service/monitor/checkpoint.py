"""Spark's checkpoint, begun anew before it grows large.

The log of Spark's file source remembers the name of every file that it ever saw, whatever their
age, and writes all of them again every few batches. For the segments of a spool, which are moved
away once they are counted, that is of no use: a week of them would be millions of names. So the
stream begins a new checkpoint now and then. The ledger says which one is in use, by the number of
its first batch: numbers in the ledger go on, while Spark's begin at 0 again.

Each step may be the last before a kill. What was counted leaves the spool first: the old checkpoint
may hand over its last batch again, without rows then, but the ledger has that one and looks at none
of it. Then one transaction of the ledger changes over; then the old one goes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from fanwise.service.monitor.ledger import Ledger
from fanwise.service.monitor.spool import archive_of, sync_folder

LARGEST_LOG = 2 * 10**6
"""Bytes of the file source's log from which on a new checkpoint is begun: 20,000 segments or so."""


class Checkpoint:
    """The checkpoint of a stream that reads a spool."""

    def __init__(self, folder: Path, ledger: Ledger, spool: Path | None) -> None:
        """Use the checkpoint that the ledger says is in use; what was before it is removed.

        Parameters
        ----------
        folder
            Holds the first checkpoint, and below it each that follows.
        spool
            Whose segments are read; None for other sources, which keep their first checkpoint.
        """
        self._folder, self._ledger, self._spool = folder, ledger, spool
        self._counted: tuple[int, frozenset[str]] = (-1, frozenset())
        self._remove_others()

    @property
    def first_batch(self) -> int:
        """The ledger's number of Spark's batch 0."""
        return self._ledger.first_batch()

    @property
    def path(self) -> Path:
        """Where Spark keeps it."""
        first = self.first_batch
        return self._folder / f"from-{first}" if first else self._folder

    def is_large(self) -> bool:
        """Whether it is time to begin a new one."""
        if self._spool is None:
            return False
        try:
            with os.scandir(self.path / "sources" / "0") as files:
                return max((one.stat().st_size for one in files), default=0) >= LARGEST_LOG
        except FileNotFoundError:
            return False

    def counted(self, number: int) -> frozenset[str]:
        """Return the names of segments that were counted, if a batch is the last that was.

        Spark leaves segments in the spool until the next batch comes. What its log no longer says,
        because it is just being written anew, is left out.

        Parameters
        ----------
        number
            The ledger's number of the batch.
        """
        batch = number - self.first_batch
        if self._counted[0] != number and batch >= 0:
            try:
                names = frozenset(_files_through(self.path, batch))
            except (OSError, ValueError, LookupError):
                return self._counted[1]
            self._counted = (number, names)
        return self._counted[1]

    def renew(self) -> bool:
        """Begin a new checkpoint, while the stream is stopped; return whether that was possible.

        It is not where Spark has put down a batch that the ledger does not have: that batch has to
        run first.
        """
        last = _last_number(self.path / "offsets")
        if self._spool is None or last is None or not self._ledger.has_batch(self._number(last)):
            return False
        self._put_away(_files_through(self.path, last))
        self._ledger.set_first_batch(self._number(last) + 1)
        self._remove_others()
        return True

    def _number(self, batch: int) -> int:
        return self.first_batch + batch

    def _put_away(self, counted: set[str]) -> None:
        """Move segments that were counted out of the spool, for good."""
        assert self._spool is not None
        archive = archive_of(self._spool)
        archive.mkdir(parents=True, exist_ok=True)
        for path in list(self._spool.iterdir()):
            if path.name in counted:
                try:
                    path.rename(archive / path.name)
                except FileNotFoundError:  # Spark has just moved it
                    continue
        sync_folder(archive)
        sync_folder(self._spool)

    def _remove_others(self) -> None:
        current = self.path
        if current == self._folder or not self._folder.is_dir():
            return
        for other in list(self._folder.iterdir()):
            if other == current:
                continue
            if other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
            else:
                other.unlink(missing_ok=True)


def _last_number(folder: Path) -> int | None:
    if not folder.is_dir():
        return None
    return max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=None)


def _files_through(checkpoint: Path, batch: int) -> set[str]:
    """Return the names of all files that are in a batch or in one before it."""
    # One line for the version, one about the batch, one for each source.
    offset = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()[2]
    through = json.loads(offset)["logOffset"]
    names = set()
    for path in (checkpoint / "sources" / "0").iterdir():
        if not path.name.removesuffix(".compact").isdecimal():
            continue
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            entry = json.loads(line)
            if entry["batchId"] <= through:
                names.add(entry["path"].rsplit("/", 1)[-1])
    return names
