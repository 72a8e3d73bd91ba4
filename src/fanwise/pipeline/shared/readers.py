"""Readers of raw traces: CSV, JSON, Parquet, ORC, Avro and edge lists become DataFrames.

Text formats give columns of text, which the checks turn into values, so that a bad cell costs one
row and never the run. A row that cannot even be taken apart has its raw text in ``_malformed``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from fanwise.errors import InputError
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.csv_lines import common_columns, header_names
from fanwise.pipeline.shared.headers import check_headers
from fanwise.pipeline.shared.json_records import (
    SAMPLE,
    Way,
    is_document,
    json_fields,
    records_of,
)
from fanwise.pipeline.shared.lakes import is_lake_read, read_lake
from fanwise.pipeline.shared.local_files import first_line, refuse_utf16
from fanwise.pipeline.shared.peeking import literally, peek, some_of
from fanwise.pipeline.shared.session import settings, translated_errors
from fanwise.pipeline.shared.store import input_uri, list_files
from fanwise.pipeline.shared.trace import (
    FORMATS,
    Trace,
    charset,
    check_columns,
    chosen_columns,
    file_name,
    format_of,
)

__all__ = ["FORMATS", "READ_SETTINGS", "Opened", "Trace", "open_trace", "read_trace"]

READ_SETTINGS = {
    # Encodings beyond the seven that Spark knows by itself.
    "spark.sql.legacy.javaCharsets": "true",
    # Parquet's nanoseconds, which Spark has no type for, as whole numbers; see _read_parquet.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
"""Settings that must hold while what was opened is read."""
_DOCUMENT = 2**20  # bytes of a JSON array looked at
MOST_LISTED = 1000
"""Files looked for; a trace of more is read as the one path it was given as."""


@dataclass
class Opened:
    """A trace as a DataFrame, and what was found out about it.

    Attributes
    ----------
    frame
        Its rows.
    kind
        Its format.
    files
        Its data files.
    unmatched
        Renames whose old name it does not have.
    """

    frame: DataFrame
    kind: str
    files: list[str]
    unmatched: list[str] = field(default_factory=list)


def read_trace(spark: SparkSession, trace: Trace, known: Sequence[str]) -> DataFrame:
    """Read a trace; see :func:`open_trace`."""
    return open_trace(spark, trace, known).frame


def open_trace(
    spark: SparkSession, trace: Trace, known: Sequence[str], without: Collection[str] = ()
) -> Opened:
    """Open a trace; its rows are read when they are asked for.

    Parameters
    ----------
    spark
        The session; :data:`READ_SETTINGS` must hold in it until the rows are read.
    trace
        Where and how.
    known
        Columns that such a trace can have, which may turn up late in JSON lines.
    without
        Files that are left out.
    """
    uri = input_uri(trace.path)
    with translated_errors(trace.path):
        files = list_files(spark, uri, MOST_LISTED)
        if not files:
            raise InputError(f"{trace.path}: no such file, or an empty folder; check the path.")
        if is_lake_read(spark, trace.path, uri, files):
            frame = read_lake(spark, trace.path, uri, files)
            return _picked(spark, Opened(frame, "lake", []), trace)
        kind = trace.format or format_of(trace.path, files)
        check_columns(trace, kind)
        lost = {_bare(file) for file in without}
        left = [file for file in files if _bare(file) not in lost]
        where = Files(spark, uri, left, is_whole=len(left) == len(files))
        if kind == "csv":
            opened = Opened(_read_csv(where, trace), kind, files)
        elif kind == "json":
            return _read_json(where, trace, known)
        elif kind == "edges":
            opened = Opened(_read_edges(where, trace), kind, files)
        else:
            opened = Opened(_read_typed(where, trace, kind), kind, files)
        return _picked(spark, opened, trace)


def _bare(uri: str) -> str:
    """Return an address without the number of slashes that Hadoop writes or leaves out."""
    return re.sub(r"^(file):/*", r"\1:/", uri)


@dataclass(frozen=True)
class Files:
    """The files of a trace, to be read as the one path they were given as, or some of them."""

    spark: SparkSession
    uri: str
    names: Sequence[str]
    is_whole: bool

    def paths(self, names: Sequence[str] | None = None) -> str | list[str]:
        """Return what Spark is to read for some of the files, all of them without."""
        if names is None or len(names) == len(self.names):
            if self.is_whole:
                return self.uri
            names = self.names
        return [literally(name) for name in names]

    def options(self) -> dict[str, Any]:
        """Return what keeps the columns that folders stand for, where files are named."""
        jvm: Any = self.spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(re.sub(r"\\(.)", r"\1", self.uri))
        fs = path.getFileSystem(self.spark._jsc.hadoopConfiguration())
        is_folder = fs.exists(path) and fs.getFileStatus(path).isDirectory()
        return {"basePath": path.toString()} if is_folder else {}


def _text_options(trace: Trace, kind: str) -> dict[str, Any]:
    if trace.encoding is None:
        return {}
    options = {"encoding": charset(trace.encoding)}
    return options if kind == "csv" else {**options, "lineSep": "\n"}


def _read_csv(where: Files, trace: Trace) -> DataFrame:
    groups = _header_groups(where, trace)
    frames = []
    for (names, separator), files in groups.items():
        options = {
            # Quotes inside quotes are doubled (RFC 4180), and a backslash is a backslash.
            "sep": separator, "escape": '"', "header": trace.columns is None,
            "mode": "PERMISSIVE", "columnNameOfCorruptRecord": S.MALFORMED,
            # Where not all headers were looked at, Spark compares them.
            "enforceSchema": len(some_of(where.names)) == len(where.names),
            **_text_options(trace, "csv"),
            **({} if len(groups) == 1 and where.is_whole else where.options()),
        }  # fmt: skip
        fields = [T.StructField(name, T.StringType()) for name in (*names, S.MALFORMED)]
        reader = where.spark.read.options(**options).schema(T.StructType(fields))
        frames.append(reader.csv(where.paths(files)))
    if len(frames) == 1:
        return frames[0]
    order = [*common_columns([names for names, _ in groups]), S.MALFORMED]
    whole = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    others = [name for name in whole.columns if name not in order]
    return whole.select(*(F.col(f"`{name}`") for name in (*order, *others)))


Header = tuple[tuple[str, ...], str]
"""The names in a header, and what is between them."""


def _header_groups(where: Files, trace: Trace) -> dict[Header, list[str]]:
    """Return the files of each header."""
    if trace.columns is not None:
        first = file_name(where.names[0])
        return {(tuple(trace.columns), trace.separator(first)): list(where.names)}
    some = some_of(where.names)
    groups: dict[Header, list[str]] = {}
    for file in some:
        head = peek(where.spark, file)
        if trace.encoding is None:
            refuse_utf16(file, head)
        line = first_line(head, trace.encoding)
        if line is not None:
            separator = trace.separator(file_name(file))
            groups.setdefault((tuple(header_names(line, separator)), separator), []).append(file)
    if not groups:
        raise InputError(f"{trace.path}: is empty; it needs a header line, or --columns.")
    check_headers({files[0]: names for (names, _), files in groups.items()}, trace.renames)
    if len(some) < len(where.names):
        if len(groups) > 1:
            raise InputError(
                f"{trace.path}: {len(where.names)} files of different headers, too many to look at "
                "each; put those of a header into a folder of their own."
            )
        return {header: list(where.names) for header in groups}
    return groups


def _read_json(where: Files, trace: Trace, known: Sequence[str]) -> Opened:
    documents = [file for file in some_of(where.names) if is_document(peek(where.spark, file))]
    if documents and len(some_of(where.names)) < len(where.names):
        documents = [file for file in where.names if is_document(peek(where.spark, file))]
    if len(where.names) == MOST_LISTED and 0 < len(documents) < len(some_of(where.names)):
        raise InputError(
            f"{trace.path}: has arrays beside lines of records among many files; put each kind "
            "into a folder of its own."
        )
    arrays = set(documents)
    lines = [file for file in where.names if file not in arrays]
    sample: list[Mapping[str, Any]] = []
    for file in documents[:10]:
        sample += records_of(peek(where.spark, file, _DOCUMENT), trace.encoding)
    if lines:
        sample += _sample_lines(where, lines, trace)
    sample = sample[:SAMPLE]
    fields, found = json_fields(sample, trace, known)
    frames = [
        _json_frame(where, trace, files, fields, is_document=is_array)
        for files, is_array in ((lines, False), (documents, True))
        if files
    ]
    frame = reduce(DataFrame.unionByName, frames)
    missing = [old for old in trace.renames if old not in found]
    if missing:  # in a record beyond the sample
        columns = {name for name in frame.columns if name != S.MALFORMED}
        missing = [
            old
            for old in missing
            if trace.renames[old] not in columns
            or frame.where(F.col(f"`{trace.renames[old]}`").isNotNull()).first() is None
        ]
    return Opened(frame, "json", list(where.names), missing)


def _sample_lines(where: Files, files: Sequence[str], trace: Trace) -> list[Mapping[str, Any]]:
    text = where.spark.read.text(where.paths(files))
    found: list[Mapping[str, Any]] = []
    for row in text.limit(SAMPLE).collect():
        try:
            value = json.loads(row["value"])
        except (ValueError, RecursionError):
            continue
        records = value if isinstance(value, list) else [value]
        found += [record for record in records if isinstance(record, dict)]
    return found


def _json_frame(
    where: Files,
    trace: Trace,
    files: Sequence[str],
    fields: Mapping[Way, str],
    *,
    is_document: bool,
) -> DataFrame:
    tree: dict[str, Any] = {}
    for way in sorted(fields, key=len, reverse=True):  # nested ones first: they win
        branch = tree
        for name in way[:-1]:
            branch = branch.setdefault(name, {})
        branch.setdefault(way[-1], None)
    options = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": S.MALFORMED,
        "multiLine": is_document,
        **_text_options(trace, "json"),
    }
    kind = _struct_of(tree)
    kind.add(S.MALFORMED, T.StringType())
    raw = where.spark.read.schema(kind).options(**options).json(where.paths(files))
    taken = [
        (way, new)
        for way, new in fields.items()
        if len(way) > 1 or not isinstance(tree[way[0]], dict)
    ]
    if all(way == (new,) for way, new in taken) and len(taken) == len(tree):
        return raw
    columns = [
        reduce(lambda column, name: column.getField(name), way[1:], F.col(f"`{way[0]}`")).alias(new)
        for way, new in taken
    ]
    return raw.select(*columns, S.MALFORMED)


def _struct_of(tree: Mapping[str, Any]) -> T.StructType:
    return T.StructType(
        [
            T.StructField(name, T.StringType() if inside is None else _struct_of(inside))
            for name, inside in tree.items()
        ]
    )


def _read_edges(where: Files, trace: Trace) -> DataFrame:
    text = where.spark.read.text(where.paths())
    value = F.col("value")
    if trace.encoding is not None:
        value = F.decode(value.cast("binary"), str(charset(trace.encoding)))
    line = F.btrim(value, F.lit(" \t\r\f\v"))
    ends = F.split("line", r"\s*,\s*|\s+")
    is_edge = (
        (F.size("ends") == 2) & (F.get("ends", F.lit(0)) != "") & (F.get("ends", F.lit(1)) != "")
    )
    return (
        text.select(line.alias("line"))
        .where((F.col("line") != "") & ~F.col("line").startswith("#"))
        .select("line", ends.alias("ends"))
        .select(
            F.get("ends", F.lit(0)).alias("subscriber"),
            F.get("ends", F.lit(1)).alias("topic"),
            F.when(~is_edge, F.col("line")).alias(S.MALFORMED),
        )
    )


def _read_typed(where: Files, trace: Trace, kind: str) -> DataFrame:
    # Files written later may have more columns.
    options: dict[str, Any] = {"mergeSchema": len(where.names) > 1}
    if not where.is_whole:
        options |= where.options()
    paths = where.paths()
    if kind == "parquet":
        return _read_parquet(where, options)
    reader = where.spark.read.options(**options)
    if kind == "orc":
        return reader.orc(paths)
    try:
        return reader.format("avro").load(paths)
    except Exception as error:
        if "avro" not in str(error).lower():
            raise
        version = where.spark.version
        raise InputError(
            f"{trace.path}: this Spark has no reader for Avro; pass --conf "
            f"spark.jars.packages=org.apache.spark:spark-avro_2.13:{version}, or write it as "
            "Parquet."
        ) from None


def _read_parquet(where: Files, options: Mapping[str, Any]) -> DataFrame:
    """Read Parquet; nanoseconds, as pandas writes them, become timestamps in microseconds."""
    reader = where.spark.read.options(**options)
    try:
        with settings(where.spark, {"spark.sql.legacy.parquet.nanosAsLong": "false"}):
            return reader.parquet(*_listed(where.paths()))
    except Exception as error:
        if "NANOS" not in str(error):
            raise
    frame = reader.parquet(*_listed(where.paths()))
    columns = {name for file in some_of(where.names) for name in _nano_columns(where.spark, file)}
    numbers = {
        name.name
        for name in frame.schema.fields
        if isinstance(name.dataType, T.LongType) and name.name in columns
    }
    return frame.withColumns(
        {
            name: F.timestamp_micros(
                F.call_function(
                    "div", F.col(f"`{name}`") - F.pmod(F.col(f"`{name}`"), F.lit(1000)), F.lit(1000)
                )
            )
            for name in sorted(numbers)
        }
    )


def _listed(paths: str | list[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else paths


def _nano_columns(spark: SparkSession, file: str) -> list[str]:
    """Return the columns of a Parquet file that are timestamps in nanoseconds."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.parquet.hadoop
    path = jvm.org.apache.hadoop.fs.Path(file)
    source = hadoop.util.HadoopInputFile.fromPath(path, spark._jsc.hadoopConfiguration())
    footer = hadoop.ParquetFileReader.open(source)
    try:
        fields = footer.getFileMetaData().getSchema().getFields()
        return [
            str(one.getName())
            for one in fields
            if "NANOS" in str(one.getLogicalTypeAnnotation() or "")
        ]
    finally:
        footer.close()


def _picked(spark: SparkSession, opened: Opened, trace: Trace) -> Opened:
    """Take the columns that were asked for, and give columns their new names."""
    frame = opened.frame
    if trace.columns is not None and opened.kind not in ("csv", "edges"):
        chosen = chosen_columns(trace)
        missing = [old for old in chosen if _reached(frame, old) is None]
        if missing:
            raise InputError(f"{trace.path}: no column {', '.join(map(repr, missing))}.")
        frame = frame.select(*(_reached(frame, old).alias(new) for old, new in chosen.items()))
        opened.unmatched = [old for old in trace.rename if old not in chosen]
        opened.frame = frame
        return opened
    for old, new in trace.renames.items():
        column = _reached(frame, old)
        if column is None:
            opened.unmatched.append(old)
            continue
        if S.has_column(frame, old):
            if new.lower() != old.lower() and S.has_column(frame, new):
                frame = frame.drop(new)
            frame = frame.withColumnRenamed(old, new)
        else:
            frame = frame.withColumn(new, column)
    opened.frame = frame
    return opened


def _reached(frame: DataFrame, path: str) -> Any:
    """Return a column, or a field inside one; None where there is no such."""
    if S.has_column(frame, path):
        return F.col(f"`{path}`")
    kind: T.DataType = frame.schema
    column: Any = None
    for name in path.split("."):
        fields = {one.name: one for one in kind.fields} if isinstance(kind, T.StructType) else {}
        if name not in fields:
            return None
        column = F.col(f"`{name}`") if column is None else column.getField(name)
        kind = fields[name].dataType
    return column
