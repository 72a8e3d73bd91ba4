"""Files of this machine, looked at without Spark: which there are, how they begin, what they are.

Spark is slow to start: what can be said of a missing file, a folder of a lake, or a header without
the columns that are needed is said before.
"""

from __future__ import annotations

import bz2
import gzip
import os
import stat
from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import IO

import pyarrow as pa

from fanwise.errors import InputError

HEAD = 65536
"""Bytes looked at to see how a file begins."""
_LAKES = {
    "_delta_log": ("a Delta table", "delta", "io.delta:delta-spark"),
    ".hoodie": ("a Hudi table", "hudi", "org.apache.hudi:hudi-spark"),
}
_ICEBERG = ("an Iceberg table", "iceberg", "org.apache.iceberg:iceberg-spark-runtime")


def local_name(path: str) -> str:
    """Return a path of this machine without the ``file:`` that may be before it."""
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    return path


def find_files(path: str) -> list[str]:
    """Return the data files that a local path, folder or glob stands for.

    Like Spark, files and folders whose names start with a dot or underscore are not looked at; and
    what exists is meant literally, even if its name looks like a glob.
    """
    name = local_name(path)
    roots = [name] if os.path.exists(name) else sorted(glob(name)) if has_magic(name) else []
    found: list[str] = []
    for root in roots:
        if not os.path.isdir(root):
            found.append(root)
            continue
        for folder, inside, files in os.walk(root):
            inside[:] = sorted(sub for sub in inside if sub[0] not in "._")
            found += [os.path.join(folder, file) for file in sorted(files) if file[0] not in "._"]
    return found


def require_files(path: str) -> list[str]:
    """Return the same; raise if there are none, or one that cannot be read."""
    try:
        files = find_files(path)
    except PermissionError as error:
        raise InputError(f"{path}: {error.strerror}; ask for the right to read it.") from None
    if not files:
        raise InputError(f"{path}: no such file, or an empty folder; check the path.")
    for file in files:
        if not os.access(file, os.R_OK):
            raise InputError(f"{file}: must not be read by you; ask for the right to read it.")
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise InputError(f"{file}: is neither a file nor a folder; write it to a file first.")
    return files


def find_lake(path: str, files: Sequence[str]) -> tuple[str, str, str] | None:
    """Return what kind of table a path is part of or holds, where files alone are not its rows.

    Deleted rows stay in such a table's files until somebody cleans up: what counts is its log.

    Returns
    -------
    kind, format, package
        As in ``("a Delta table", "delta", "io.delta:delta-spark")``.
    """
    folders: dict[Path, None] = {}
    for file in [local_name(path), *files]:
        start = Path(os.path.abspath(file))
        for folder in (start, *start.parents):
            if folder in folders:
                break
            folders[folder] = None
    for folder in folders:
        if folder.is_dir():
            found = lake_of(folder)
            if found is not None:
                return found
    return None


def lake_of(folder: Path) -> tuple[str, str, str] | None:
    """Return the same for one folder."""
    for mark, lake in _LAKES.items():
        if (folder / mark).is_dir():
            return lake
    metadata = folder / "metadata"
    if metadata.is_dir() and any(metadata.glob("*.metadata.json")):
        return _ICEBERG
    return None


def partition_folders(path: str, files: Sequence[str]) -> bool:
    """Whether there are folders whose names are the value of a column, as in ``day=1``."""
    root = local_name(path)
    return any("=" in os.path.relpath(os.path.dirname(file), root) for file in files) and (
        os.path.isdir(root)
    )


def lake_refused(path: str, lake: tuple[str, str, str]) -> InputError:
    """Return the error: why bare files are not read, and what reads the table."""
    kind, name, package = lake
    return InputError(
        f"{path}: is (part of) {kind}, whose files also hold rows that were deleted or replaced: "
        f"they are not read as bare files; let Spark read the table with --conf "
        f"spark.jars.packages={package}… (the version of your Spark) and the settings that {name} "
        "asks for, or export it to Parquet."
    )


def open_text(file: str) -> IO[bytes]:
    """Open a file, decompressed where its name says that it is compressed.

    Raises
    ------
    NotImplementedError
        Compressed in a way that only Spark reads.
    """
    ending = file.lower().rsplit(".", 1)[-1]
    if ending == "gz":
        return gzip.open(file, "rb")  # type: ignore[return-value]  # it reads like any file
    if ending == "bz2":
        return bz2.open(file, "rb")
    if ending == "zst":
        stream: IO[bytes] = pa.CompressedInputStream(pa.OSFile(file), "zstd")
        return stream
    if ending in ("lz4", "snappy", "deflate"):
        raise NotImplementedError(ending)
    return open(file, "rb")


def head_of(file: str) -> bytes:
    """Return how a file begins, decompressed; nothing where that cannot be told."""
    try:
        with open_text(file) as stream:
            return stream.read(HEAD)
    except (OSError, EOFError, NotImplementedError, ValueError):
        return b""


def refuse_utf16(file: str, head: bytes) -> None:
    """Raise if a file begins as UTF-16 does, which is not read line by line."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{file}: is UTF-16; write it as UTF-8 first: iconv -f utf-16 -t utf-8.")


def first_line(head: bytes, encoding: str | None) -> str | None:
    """Return the first line with something on it, None where there is none."""
    for line in lines_of(head.removeprefix(b"\xef\xbb\xbf")):
        text = line.decode(encoding or "utf-8", errors="replace")
        if text.strip():
            return text
    return None


def lines_of(data: bytes) -> Iterable[bytes]:
    """Return lines as Hadoop tells them apart: by line feeds, carriage returns, or both."""
    return data.splitlines()
