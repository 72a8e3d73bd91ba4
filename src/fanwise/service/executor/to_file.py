"""A file as output: there is always a whole one, the old or the new."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fanwise.service.executor.announcing import FORMAT, write_whole
from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import FileOutput, digest
from fanwise.service.store.rows import Announcement
from fanwise.workload.folders import forget, remember, remove_leftovers, staging_path
from fanwise.workload.outputs import Head

_OURS = Head(f'{{"format": "{FORMAT}"'.encode())
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})


class ToFile:
    """Writes decisions to a file, and the names of topics to a second one if wanted.

    Where nothing is in force any more, the files are removed.
    """

    def __init__(self, settings: FileOutput) -> None:
        self._settings = settings
        self.name = settings.name
        self.target = digest(settings)

    def deliver(self, announcement: Announcement) -> None:
        """Replace the files; what another program wrote under that name stays."""
        path, text_path = self._settings.path, self._settings.text_path
        try:
            _refuse_foreign(path)
            if announcement.hash is None:
                for old in (path, text_path):
                    if old is not None:
                        _remove(old)
                return
            if text_path is not None:
                replace_file(text_path, write_names(announcement.served))
            replace_file(path, write_whole(announcement))
        except OSError as error:
            place = error.filename2 or error.filename or path
            reason = error.strerror or type(error).__name__
            raise OutputError(f"{place} cannot be written: {reason}") from None


def write_names(names: tuple[str, ...]) -> bytes:
    r"""Return names as lines; a backslash is written ``\\``, line breaks ``\n`` and ``\r``."""
    lines = "".join(f"{name.translate(_ESCAPES)}\n" for name in names)
    return lines.encode(errors="replace")


def replace_file(path: Path, content: bytes) -> None:
    """Put a new file in the place of an old one, on disk before it is seen."""
    path = path.parent.resolve() / path.name
    remove_leftovers(path)
    staging = staging_path(path)
    remember(staging)
    try:
        with open(staging, "xb") as file:
            _keep_mode(path, file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(staging, path)
        _sync_folder(path.parent)
    finally:
        staging.unlink(missing_ok=True)
        forget(staging)


def _keep_mode(path: Path, descriptor: int) -> None:
    """Give a new file the permissions of the old one."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISREG(found.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        _sync_folder(path.parent)


def _refuse_foreign(path: Path) -> None:
    if path.is_file() and path.stat().st_size and not _OURS.is_of(path):
        raise OutputError(
            f"{path} holds something else; choose another path", may_pass=False, kind="refused"
        )
