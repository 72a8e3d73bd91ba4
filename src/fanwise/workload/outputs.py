"""What is ours: how each kind of output is told from everything else.

Only what is recognised here may ever be replaced. A folder is of a kind if the file that names the
kind is in it (``plan.json``, ``workload.json``, …) and nothing stands beside it that does not
belong there; a file is of a kind if it says inside who wrote it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from fanwise.workload.headers import CONTENT_FORMAT, TOPIC_FORMAT

PROGRAM = "fanwise"
"""How files that can hold a remark name who wrote them."""
SPARK_FILES = r"_SUCCESS|_metadata|_common_metadata|\.[^/]+\.crc"
"""What Spark and Hadoop put beside the files that they write."""
TOPIC_TABLES = ("topics", "subscribers", "interests")
CONTENT_TABLES = (
    "subscribers",
    "brokers",
    "candidates",
    "density",
    "channels",
    "rates",
    "access_costs",
    "broker_costs",
)
MAX_HEADER_BYTES = 2**26
"""A JSON file larger than this is none of ours."""


class Contents(Protocol):
    """What is in a folder, here or elsewhere."""

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of all files and folders inside, folders with a slash at the end."""

    @property
    def odd(self) -> str | None:
        """The first thing inside that is neither a file nor a folder of the same disk."""

    def read(self, name: str) -> bytes:
        """Return what is in a file."""


class LocalContents:
    """What is in a folder on this machine; links are not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _found(self) -> tuple[tuple[str, ...], str | None]:
        device = os.lstat(self._folder).st_dev
        names: list[str] = []
        waiting = [""]
        while waiting:
            below = waiting.pop()
            with os.scandir(self._folder / below) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    status = entry.stat(follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    if status.st_dev != device or not (is_folder or stat.S_ISREG(status.st_mode)):
                        return tuple(names), below + entry.name
                    names.append(below + entry.name + "/" * is_folder)
                    if is_folder:
                        waiting.append(f"{below}{entry.name}/")
        return tuple(names), None

    @property
    def names(self) -> tuple[str, ...]:
        return self._found[0]

    @property
    def odd(self) -> str | None:
        return self._found[1]

    def read(self, name: str) -> bytes:
        with open(self._folder / name, "rb") as file:
            return file.read(MAX_HEADER_BYTES)


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that we write.

    Attributes
    ----------
    what
        What it is, with its article: ``"a plan"``.
    missing
        What a folder of another kind lacks, for people: ``"no plan.json that says so"``.
    belongs
        Returns whether a file or folder inside, by its path, is part of it; None where the
        folder as a whole is not of this kind.
    """

    what: str
    missing: str
    belongs: Callable[[Contents], Callable[[str], bool] | None]

    def find_flaw(self, contents: Contents) -> str | None:
        """Say in words why a folder is not of this kind, with nothing else in it.

        An empty folder has no flaw: there is nothing in it to lose.
        """
        if not contents.names and contents.odd is None:
            return None
        if contents.odd is not None:
            return f"has {contents.odd} in it, which is not part of {self.what}"
        belongs = self.belongs(contents)
        if belongs is None:
            return f"is not {self.what} ({self.missing})"
        for name in contents.names:
            if not belongs(name):
                return f"has {name} in it, which is not part of {self.what}"
        return None


@dataclass(frozen=True)
class FileKind:
    """A kind of file that we write; ``is_ours`` looks for the remark that says so."""

    what: str
    is_ours: Callable[[Path], bool]

    def find_flaw(self, path: Path) -> str | None:
        """Say in words why a file is not of this kind."""
        return None if self.is_ours(path) else f"is not {self.what} that {PROGRAM} wrote"


OutputKind = FolderKind | FileKind


def read_object(contents: Contents, name: str) -> Any:
    """Return what a JSON file says, None where it is not there or says nothing."""
    if name not in contents.names:
        return None
    try:
        return json.loads(contents.read(name))
    except (ValueError, RecursionError):
        return None


def tables_pattern(names: Iterable[str]) -> str:
    """Return the pattern of the files behind ``x.parquet``: itself, or a folder of part files."""
    inside = rf"(?:[^/]+/)*(?:[^/]+\.parquet|{SPARK_FILES})?"
    return rf"(?:{'|'.join(map(re.escape, names))})\.parquet(?:/{inside})?"


def matching(pattern: str) -> Callable[[str], bool]:
    """Return a test of whole names."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


@dataclass(frozen=True)
class Head:
    """How a file begins, and the remark soon after that says who wrote it."""

    start: bytes
    remark: bytes = b""
    size: int = 4096

    def begins(self, text: bytes) -> bool:
        return text.startswith(self.start) and self.remark in text[: self.size]

    def is_of(self, path: Path) -> bool:
        with open(path, "rb") as file:
            return self.begins(file.read(self.size))


QUARANTINE = rf"quarantine/(?:part-[^/]*\.json|{SPARK_FILES})?"
_WORKLOAD_FILES: Mapping[str, str] = {
    format_name: rf"workload\.json|{tables_pattern(tables)}"
    for format_name, tables in ((TOPIC_FORMAT, TOPIC_TABLES), (CONTENT_FORMAT, CONTENT_TABLES))
}


def _in_workload(contents: Contents) -> Callable[[str], bool] | None:
    header = read_object(contents, "workload.json")
    found = header.get("format") if isinstance(header, dict) else None
    if not isinstance(found, str) or found not in _WORKLOAD_FILES:
        return None
    return matching(f"{_WORKLOAD_FILES[found]}|{QUARANTINE}")


def _in_windows(contents: Contents) -> Callable[[str], bool] | None:
    windows = read_object(contents, "windows.json")
    if not isinstance(windows, list) or not all(isinstance(window, dict) for window in windows):
        return None
    folders = [window.get("folder") for window in windows]
    if not all(isinstance(name, str) and re.fullmatch(r"\d{8}T\d{6}Z", name) for name in folders):
        return None
    patterns = [r"windows\.json", QUARANTINE]
    if folders:
        in_window = "|".join(_WORKLOAD_FILES.values())
        patterns.append(rf"(?:{'|'.join(folders)})/(?:{in_window})?")
    return matching("|".join(patterns))


def _in_trace(contents: Contents) -> Callable[[str], bool] | None:
    summary = read_object(contents, "trace.json")
    if not isinstance(summary, dict) or summary.get("generator") != "music-trace":
        return None
    return matching(r"trace\.json|(?:publications|subscriptions)\.(?:csv|parquet)")


def is_picture(contents: Contents, name: str) -> bool:
    """Whether a file is a picture that says that we drew it."""
    suffix = name.rpartition(".")[2]
    if suffix not in _PICTURES:
        return False
    start, remark = _PICTURES[suffix]
    image = contents.read(name)
    return image.startswith(start) and remark in image


_PICTURES: Mapping[str, tuple[bytes, bytes]] = {
    "png": (b"\x89PNG\r\n\x1a\n", b"tEXtSoftware\0" + PROGRAM.encode()),
    "svg": (b"<?xml", f"<dc:title>{PROGRAM}</dc:title>".encode()),
    "pdf": (b"%PDF-", f"/Creator ({PROGRAM})".encode()),
}
"""How a picture of each format begins, and the remark in it that says who drew it."""


def _in_pictures(contents: Contents) -> Callable[[str], bool] | None:
    if not any(is_picture(contents, name) for name in contents.names):
        return None
    return lambda name: is_picture(contents, name)


WORKLOAD = FolderKind("a workload", "no workload.json that says so", _in_workload)
WINDOWS = FolderKind("a folder of windows", "no windows.json that lists them", _in_windows)
TRACE = FolderKind("a generated trace", "no trace.json that says so", _in_trace)
PICTURES = FolderKind("a folder of pictures", f"none that {PROGRAM} drew", _in_pictures)
