"""The beginnings of files of any store, read through Hadoop on the driver."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from fanwise.pipeline.shared.local_files import HEAD

MOST_FILES = 200
"""Of more files, some are looked at, from the first to the last."""
SOME = 20


def peek(spark: SparkSession, uri: str, size: int = HEAD) -> bytes:
    """Return how a file begins, decompressed where its name says that it is compressed."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    conf = spark._jsc.hadoopConfiguration()
    stream = path.getFileSystem(conf).open(path)
    try:
        codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(conf).getCodec(path)
        inside = stream if codec is None else codec.createInputStream(stream)
        return bytes(inside.readNBytes(size))
    finally:
        stream.close()


def literally(uri: str) -> str:
    """Return a path that Spark takes for itself, even if it looks like a glob."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", uri)


def some_of(files: Sequence[str]) -> Sequence[str]:
    """Return files to look at: all of them unless there are many, always the first and the last."""
    if len(files) <= MOST_FILES:
        return files
    return [files[index * (len(files) - 1) // (SOME - 1)] for index in range(SOME)]


def folders_of(uri: str, files: Sequence[str]) -> list[str]:
    """Return a path, the folders of its files, and a few above: one for each it may be cut by."""
    found: dict[str, None] = {}
    for start in [uri, *dict.fromkeys(file.rsplit("/", 1)[0] for file in files)]:
        folder = start.rstrip("/")
        for _ in range(5):
            if folder in found or folder.endswith((":", ":/")) or "/" not in folder:
                break
            found[folder] = None
            folder = folder.rsplit("/", 1)[0]
    return list(found)


def is_there(spark: SparkSession, pattern: str) -> bool:
    """Whether anything matches an address with globs."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(pattern)
    found = path.getFileSystem(spark._jsc.hadoopConfiguration()).globStatus(path)
    return found is not None and len(found) > 0
