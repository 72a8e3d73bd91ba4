"""Files and folders of any kind that Spark can reach, through Hadoop's own interface."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from fanwise.errors import OutputExistsError

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")  # two letters at least: C: is a drive


def is_local(path: str | Path) -> bool:
    """Whether a path is on this machine: no scheme, or ``file:``."""
    return isinstance(path, Path) or not _SCHEME.match(path) or path.startswith("file:")


def local_uri(path: str | Path) -> str:
    """Return the address of a local path in the form Hadoop takes literally."""
    return "file://" + os.path.abspath(path)


def input_uri(path: str) -> str:
    """Return what Spark should read for ``path``: an address, a local path or a local glob.

    A local file that exists is meant literally, even if its name looks like a glob; everything else
    is left to Spark.
    """
    if _SCHEME.match(path) and not os.path.exists(path):
        return path
    if os.path.exists(path):
        return re.sub(r"([\[\]{}*?\\])", r"\\\1", local_uri(path))
    if glob.glob(path):
        return local_uri(path)
    return path


class Store:
    """A folder that may be anywhere."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._jvm: Any = spark._jvm
        self._spark = spark
        self._root = self._jvm.org.apache.hadoop.fs.Path(uri)
        self._conf = spark._jsc.hadoopConfiguration()
        self._fs = self._root.getFileSystem(self._conf)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name) if name else self._root

    def uri(self, name: str = "") -> str:
        """Return the full address of something inside."""
        return str(self._path(name).toString())

    def exists(self, name: str = "") -> bool:
        return bool(self._fs.exists(self._path(name)))

    def is_folder(self) -> bool:
        """Whether this is a folder and no file."""
        return bool(self._fs.getFileStatus(self._root).isDirectory())

    def beside(self, mark: str) -> Store:
        """Return another folder of the same parent, hidden, named after this one."""
        parent = self._root.getParent()
        if parent is None:
            raise OutputExistsError(f"{self.uri()}: is the root of a store; choose another name.")
        name = f".{self._root.getName()}.{mark}"
        return Store(self._spark, str(self._jvm.org.apache.hadoop.fs.Path(parent, name).toString()))

    def move_to(self, other: Store) -> None:
        """Give this folder another name, which is free."""
        self._move(self._root, other._root)

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of all files and folders inside, folders with a slash at the end."""
        found: list[str] = []
        waiting = [("", self._root)]
        while waiting:
            folder, path = waiting.pop()
            for status in sorted(self._fs.listStatus(path), key=_name):
                name = folder + _name(status) + "/" * status.isDirectory()
                found.append(name)
                if status.isDirectory():
                    waiting.append((name, status.getPath()))
        return tuple(found)

    @property
    def odd(self) -> str | None:
        """Nothing: stores have files and folders alone."""
        return None

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        stream = self._fs.open(self._path(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def delete(self, name: str = "") -> None:
        self._fs.delete(self._path(name), True)

    def make_folder(self, name: str) -> None:
        self._fs.mkdirs(self._path(name))

    def move(self, name: str, to: str) -> None:
        self._move(self._path(name), self._path(to))

    def _rename(self, path: Any, to: Any) -> bool:
        """Rename; say whether the store does so."""
        try:
            return bool(self._fs.rename(path, to))
        except Exception:  # some say no by an exception
            return False

    def _move(self, path: Any, to: Any) -> None:
        """Rename, or copy and delete where the store does not rename."""
        if self._rename(path, to):
            return
        util = self._jvm.org.apache.hadoop.fs.FileUtil
        if not util.copy(self._fs, path, self._fs, to, True, self._conf):
            raise OSError(f"{path.toString()} cannot be moved to {to.toString()}")

    def copy(self, name: str, to: str) -> None:
        util = self._jvm.org.apache.hadoop.fs.FileUtil
        util.copy(self._fs, self._path(name), self._fs, self._path(to), False, self._conf)

    def write_text(self, name: str, text: str) -> None:
        stream = self._fs.create(self._path(name), True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()


def list_files(spark: SparkSession, uri: str, limit: int = 1000) -> list[str]:
    """Return names of data files that a path, folder or glob stands for, the first ``limit``.

    Like Spark, files and folders whose names start with a dot or underscore are not looked at.
    """
    jvm: Any = spark._jvm
    root = jvm.org.apache.hadoop.fs.Path(uri)
    fs = root.getFileSystem(spark._jsc.hadoopConfiguration())
    waiting = list(fs.globStatus(root) or ())
    found: list[str] = []
    while waiting and len(found) < limit:
        status = waiting.pop(0)
        if status.isDirectory():
            inside = sorted(fs.listStatus(status.getPath()), key=_name)
            waiting = [entry for entry in inside if _name(entry)[0] not in "._"] + waiting
        else:
            found.append(str(status.getPath().toString()))
    return found


def _name(status: Any) -> str:
    return str(status.getPath().getName())


def file_name(uri: str) -> str:
    """Return the last part of an address."""
    return urlparse(uri).path.rstrip("/").rsplit("/", 1)[-1]
