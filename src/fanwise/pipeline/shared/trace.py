"""Where a trace is and how it is written; nothing here needs Spark."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlparse

from fanwise.errors import InputError, ParameterError

FORMATS = ("csv", "json", "parquet", "edges", "orc", "avro")
TEXT_FORMATS = ("csv", "json", "edges")
"""Formats of text, whose cells are read as text and turned into values by the checks."""

_EXTENSIONS = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "edges": "edges",
    "edgelist": "edges",
    "orc": "orc",
    "avro": "avro",
}
COMPRESSIONS = ("gz", "bz2", "zst", "lz4", "snappy", "deflate")


@dataclass(frozen=True)
class Trace:
    """Where a trace is and how it is written.

    Attributes
    ----------
    path
        A file, folder, glob or address that Spark reads.
    format
        One of ``csv``, ``json``, ``parquet``, ``edges``, ``orc``, ``avro``; by default what file
        names end in.
    columns
        Names of the columns of a CSV file without a header. Of formats whose columns have names:
        those to take, where ``event.topic`` is the field ``topic`` inside ``event``, and is called
        ``topic`` unless ``rename`` says otherwise.
    delimiter
        Between the columns of a CSV file; by default a comma, a tab in ``.tsv``.
    rename
        New names of columns; each must be there. Dotted names reach into nested fields.
    encoding
        Of text formats, as in ``latin-1``. By default UTF-8, and names that are none are bad rows;
        where it is given, nothing is doubted.
    shared_rename
        Renames that several traces share: they may be for another one.
    """

    path: str
    format: str | None = None
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    shared_rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError("format", f"one of {', '.join(FORMATS)}", self.format)
        if self.columns is not None and len(set(self.columns)) != len(self.columns):
            raise ParameterError("columns", "a list of different names", ",".join(self.columns))
        if self.encoding is not None and charset(self.encoding) is None:
            wanted = "one of utf-8, utf-16, latin-1, cp1252 or another that Python and Java know"
            raise ParameterError("encoding", wanted, self.encoding)

    @property
    def renames(self) -> dict[str, str]:
        """All renames: the trace's own, and those it shares unless its own say otherwise."""
        return {**self.shared_rename, **self.rename}

    def separator(self, name: str) -> str:
        """Return what is between the columns of a CSV file of this name."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if extension(name) == "tsv" else ","

    def doubts_text(self, kind: str) -> bool:
        """Whether names that hold replacement characters are taken for another encoding."""
        return kind in TEXT_FORMATS and self.encoding is None


def charset(encoding: str) -> str | None:
    """Return the name of an encoding as Java knows it, null for one that Python has not."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return None
    return {"cp1252": "windows-1252", "iso8859-15": "ISO-8859-15"}.get(name, name.upper())


def format_of(path: str, files: Sequence[str]) -> str:
    """Return the format that the names of a path and its files end in."""
    names = [file_name(path), *map(file_name, files)]
    found = [kind for kind in (_EXTENSIONS.get(extension(name)) for name in names) if kind]
    if not found:
        raise InputError(
            f"{path}: its name does not end in .csv, .tsv, .json, .jsonl, .ndjson, .parquet, .orc "
            f"or .avro (.gz may follow); say which it is with --publications-format or "
            f"--subscriptions-format: {', '.join(FORMATS)}."
        )
    others = sorted(set(found))
    if len(others) > 1:
        raise InputError(f"{path}: holds files of several formats ({', '.join(others)}); take one.")
    return found[0]


def extension(name: str) -> str:
    """Return what a file's name ends in, without what says that it is compressed."""
    parts = name.lower().split(".")[1:]
    while parts and parts[-1] in COMPRESSIONS:
        parts.pop()
    return parts[-1] if parts else ""


def file_name(uri: str) -> str:
    """Return the last part of an address, as people write it."""
    return unquote(urlparse(uri).path.rstrip("/").rsplit("/", 1)[-1])


def check_columns(trace: Trace, kind: str) -> None:
    """Refuse names of columns where the format has names of its own and none of them is nested."""
    if trace.columns is None or kind == "csv":
        return
    if kind == "edges" or not any("." in name for name in trace.columns):
        wanted = "left out: only CSV files lack names (dotted names take nested fields of others)"
        raise ParameterError("columns", wanted, f"{','.join(trace.columns)} of {kind}")


def chosen_columns(trace: Trace) -> dict[str, str]:
    """Return which fields of a format with names to take, with what each is called."""
    result: dict[str, str] = {}
    for name in trace.columns or ():
        new = trace.renames.get(name) or name.rsplit(".", 1)[-1]
        if new in result.values():
            raise ParameterError("columns", f"names of which one is {new!r}; rename", name)
        result[name] = new
    return result
