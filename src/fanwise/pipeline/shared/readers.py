"""Readers of raw traces: CSV, JSON lines, Parquet and edge lists become DataFrames.

Text formats give columns of text, which the checks turn into values, so that a bad cell costs one
row and never the run. A row that cannot even be taken apart has its raw text in ``_malformed``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.session import translated_errors
from fanwise.pipeline.shared.store import file_name, input_uri, list_files

FORMATS = ("csv", "json", "parquet", "edges")

_EXTENSIONS = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "edges": "edges",
    "edgelist": "edges",
}
_COMPRESSIONS = ("gz", "bz2", "zst", "lz4", "snappy", "deflate")
_SAMPLE = 1000  # JSON records looked at to see which columns there are


@dataclass(frozen=True)
class Trace:
    """Where a trace is and how it is written.

    Attributes
    ----------
    path
        A file, folder, glob or address that Spark reads.
    format
        One of ``csv``, ``json``, ``parquet``, ``edges``; by default what file names end in.
    columns
        Names of the columns of a CSV file without a header.
    delimiter
        Between the columns of a CSV file; by default a comma, a tab in ``.tsv``.
    rename
        New names of columns.
    """

    path: str
    format: str | None = None
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError("format", f"one of {', '.join(FORMATS)}", self.format)
        if self.columns is not None and len(set(self.columns)) != len(self.columns):
            raise ParameterError("columns", "a list of different names", ",".join(self.columns))


def read_trace(spark: SparkSession, trace: Trace, known: Sequence[str]) -> DataFrame:
    """Read a trace.

    Parameters
    ----------
    spark
        The session.
    trace
        Where and how.
    known
        Columns that such a trace can have, which may turn up late in JSON lines.
    """
    uri = input_uri(trace.path)
    with translated_errors(trace.path):
        files = list_files(spark, uri)
        if not files:
            raise InputError(f"{trace.path}: no such file, or an empty folder; check the path.")
        kind = trace.format or _format_of(trace.path, files)
        if trace.columns is not None and kind != "csv":
            raise ParameterError("columns", "left out: only CSV files lack names", kind)
        if kind == "csv":
            frame = _read_csv(spark, uri, trace, files)
        elif kind == "json":
            frame = _read_json(spark, uri, trace, known)
        elif kind == "edges":
            frame = _read_edges(spark, uri)
        else:
            frame = spark.read.parquet(uri)
        return _renamed(frame, trace)


def _format_of(path: str, files: Sequence[str]) -> str:
    names = [file_name(path), *map(file_name, files)]
    found = [kind for kind in (_EXTENSIONS.get(_extension(name)) for name in names) if kind]
    if not found:
        raise InputError(
            f"{path}: its name does not end in .csv, .tsv, .json, .jsonl, .ndjson or .parquet "
            f"(.gz may follow); say which it is with --publications-format or "
            f"--subscriptions-format: {', '.join(FORMATS)}."
        )
    others = sorted(set(found))
    if len(others) > 1:
        raise InputError(f"{path}: holds files of several formats ({', '.join(others)}); take one.")
    return found[0]


def _extension(name: str) -> str:
    parts = name.lower().split(".")[1:]
    while parts and parts[-1] in _COMPRESSIONS:
        parts.pop()
    return parts[-1] if parts else ""


def _read_csv(spark: SparkSession, uri: str, trace: Trace, files: Sequence[str]) -> DataFrame:
    separator = trace.delimiter
    if separator is None:
        separator = "\t" if _extension(file_name(files[0])) == "tsv" else ","
    # Quotes inside quotes are doubled (RFC 4180), and a backslash is a backslash.
    options = {"sep": separator, "escape": '"', "header": trace.columns is None}
    names = trace.columns
    if names is None:
        names = spark.read.options(**options).csv(uri).columns
        if not names:
            raise InputError(f"{trace.path}: is empty; it needs a header line, or --columns.")
    fields = [T.StructField(name, T.StringType()) for name in (*names, S.MALFORMED)]
    return (
        spark.read.options(**options)
        # Every file of a folder must have the same header in the same order.
        .options(enforceSchema=False, mode="PERMISSIVE", columnNameOfCorruptRecord=S.MALFORMED)
        .schema(T.StructType(fields))
        .csv(uri)
    )


def _read_json(spark: SparkSession, uri: str, trace: Trace, known: Sequence[str]) -> DataFrame:
    present: dict[str, None] = {}
    for row in spark.read.text(uri).limit(_SAMPLE).collect():
        try:
            record = json.loads(row["value"])
        except ValueError:
            continue
        if isinstance(record, dict):
            present |= dict.fromkeys(record)
    new_names = {trace.rename.get(name, name) for name in present}
    # Beyond the sample any known column may turn up; but 'events' beside 'timestamp', or the other
    # way round, would change what a row means.
    settled = {"timestamp", "events"} if {"timestamp", "events"} & new_names else set()
    old_names = {new: old for old, new in trace.rename.items()}
    others = [old_names.get(name, name) for name in known if name not in settled]
    names = dict.fromkeys([*present, *(others if present else ())])
    fields = [T.StructField(name, T.StringType()) for name in (*names, S.MALFORMED)]
    return (
        spark.read.schema(T.StructType(fields))
        .options(mode="PERMISSIVE", columnNameOfCorruptRecord=S.MALFORMED)
        .json(uri)
    )


def _read_edges(spark: SparkSession, uri: str) -> DataFrame:
    line = F.btrim("value", F.lit(" \t\r\f\v"))
    ends = F.split("line", r"\s*,\s*|\s+")
    is_edge = (
        (F.size("ends") == 2) & (F.get("ends", F.lit(0)) != "") & (F.get("ends", F.lit(1)) != "")
    )
    return (
        spark.read.text(uri)
        .select(line.alias("line"))
        .where((F.col("line") != "") & ~F.col("line").startswith("#"))
        .select("line", ends.alias("ends"))
        .select(
            F.get("ends", F.lit(0)).alias("subscriber"),
            F.get("ends", F.lit(1)).alias("topic"),
            F.when(~is_edge, F.col("line")).alias(S.MALFORMED),
        )
    )


def _renamed(frame: DataFrame, trace: Trace) -> DataFrame:
    for old, new in trace.rename.items():
        if S.has_column(frame, old):
            if S.has_column(frame, new):
                frame = frame.drop(new)
            frame = frame.withColumnRenamed(old, new)
    return frame
