"""Sources as one streaming DataFrame: events and changes of subscriptions, unread as yet.

Columns are ``kind`` (``event``, ``subscribe``, ``unsubscribe``, ``bad``), ``topic``, ``timestamp``,
``bytes``, ``subscriber``, ``reason``, ``came`` and ``raw``, all text. ``came`` tells the order of
changes, where the source knows it; ``raw`` is what a bad row was made of.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fanwise.errors import InputError
from fanwise.pipeline.shared.session import reason
from fanwise.service.configuration.model import FolderSource, MqttSource, Source, SparkSource
from fanwise.service.monitor.files import reading
from fanwise.service.monitor.spool import archive_of
from fanwise.service.monitor.subscriptions import SUBSCRIBE, UNSUBSCRIBE

EVENT, BAD = "event", "bad"
COLUMNS = ("kind", "topic", "timestamp", "bytes", "subscriber", "reason", "came", "raw")
GIVEN = ("topic", "timestamp", "bytes", "subscriber")
"""What whoever writes files and messages may give."""
SCHEMA = ", ".join(f"{name} STRING" for name in COLUMNS)
MALFORMED = "_malformed"
FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
"""What Spark tells of whole files."""
GLOBS = {"jsonl": "*.{jsonl,json}", "csv": "*.csv", "parquet": "*.parquet"}
MOST_FILES = 200
"""Files of one micro-batch: a backlog is worked off in pieces."""


def open_source(spark: SparkSession, source: Source, spool: Path) -> DataFrame:
    """Return the stream of a source.

    Parameters
    ----------
    spool
        Where the receiver of an MQTT source puts its segments.

    Raises
    ------
    InputError
        Where Spark has no such source, in one line.
    """
    if isinstance(source, MqttSource):
        return _spooled(spark, spool)
    if isinstance(source, FolderSource):
        return _folders(spark, source)
    return _any_source(spark, source)


def _spooled(spark: SparkSession, spool: Path) -> DataFrame:
    archive = archive_of(spool)
    archive.mkdir(parents=True, exist_ok=True)
    return (
        spark.readStream.schema(f"{SCHEMA}, {MALFORMED} STRING")
        .option("columnNameOfCorruptRecord", MALFORMED)
        .option("maxFilesPerTrigger", MOST_FILES)
        .option("pathGlobFilter", GLOBS["jsonl"])
        # Were the clock set back, Spark would skip segments that seem old; none may be skipped.
        .option("maxFileAge", "36500d")
        .option("cleanSource", "archive")
        .option("sourceArchiveDir", str(archive))
        .json(str(spool))
        .transform(_set_malformed_aside)
    )


def _folders(spark: SparkSession, source: FolderSource) -> DataFrame:
    events = _folder(spark, source.publications, source.format)
    frame = _as_columns(events, F.lit(EVENT))
    if source.subscriptions is None:
        return frame
    changes = _folder(spark, source.subscriptions, source.format)
    action = F.lower(_column(changes, "action"))
    kind = F.when(action.isin(SUBSCRIBE, UNSUBSCRIBE), action).otherwise(F.lit(BAD))
    return frame.unionByName(_as_columns(changes, kind))


def _folder(spark: SparkSession, folder: str, kind: str) -> DataFrame:
    reader = (
        spark.readStream.option("maxFilesPerTrigger", MOST_FILES)
        .option("pathGlobFilter", GLOBS[kind])
        # Files may be moved in long after they were written; Spark would skip old ones silently.
        .option("maxFileAge", "36500d")
    )
    if kind == "jsonl":
        schema = f"{SCHEMA}, action STRING, {MALFORMED} STRING"
        return reader.schema(schema).option("columnNameOfCorruptRecord", MALFORMED).json(folder)
    # Files of this machine are read where they are, piece by piece; others come with their content.
    names = ("path", "content") if "://" in folder else ("path",)
    columns = (*GIVEN, "action")
    schema = ", ".join(f"{name} STRING" for name in (*columns, MALFORMED))
    files = reader.format("binaryFile").schema(FILES).load(folder).select(*names)
    return files.mapInArrow(reading(kind, columns, MALFORMED), schema)


def _any_source(spark: SparkSession, source: SparkSource) -> DataFrame:
    try:
        frame = spark.readStream.format(source.format).options(**source.options).load()
    except PySparkException as error:
        raise InputError(
            f"source: Spark cannot read {source.format!r} ({reason(error)}); add its package by "
            "conf = { 'spark.jars.packages' = … } under [monitor], or check the options."
        ) from None
    if source.payload == "json":
        text = F.col("value").cast("string")
        schema = f"{SCHEMA}, action STRING, {MALFORMED} STRING"
        fields = F.from_json(text, schema, {"columnNameOfCorruptRecord": MALFORMED})
        frame = frame.select(fields.alias("read"), text.alias("text")).select(
            *(F.col(f"read.{name}") for name in (*GIVEN, "action")),
            # A message without any text is no row either.
            F.when(F.col("read").isNull(), F.coalesce("text", F.lit("")))
            .otherwise(F.col(f"read.{MALFORMED}"))
            .alias(MALFORMED),
        )
    action = F.lower(F.coalesce(_column(frame, "action"), F.lit(EVENT)))
    known = action.isin(EVENT, SUBSCRIBE, UNSUBSCRIBE)
    return _as_columns(frame, F.when(known, action).otherwise(F.lit(BAD)))


def _as_columns(frame: DataFrame, kind: Column) -> DataFrame:
    return frame.select(
        kind.alias("kind"),
        *(_column(frame, name).alias(name) for name in GIVEN),
        # Why a row is bad is ours to say.
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("came"),
        F.lit(None).cast("string").alias("raw"),
        _column(frame, MALFORMED).alias(MALFORMED),
    ).transform(_set_malformed_aside)


def _column(frame: DataFrame, name: str) -> Column:
    """Return a column as text; null where there is none."""
    known = {column.lower() for column in frame.columns}
    return (F.col(name) if name.lower() in known else F.lit(None)).cast("string")


def _set_malformed_aside(frame: DataFrame) -> DataFrame:
    """Mark rows that their reader could not take apart."""
    is_bad = F.col(MALFORMED).isNotNull() | F.col("kind").isNull()
    return frame.withColumns(
        {
            "kind": F.when(is_bad, F.lit(BAD)).otherwise(F.col("kind")),
            "reason": F.when(is_bad, F.lit("malformed row")).otherwise(F.col("reason")),
            "raw": F.when(is_bad, F.col(MALFORMED)).otherwise(F.col("raw")),
        }
    ).drop(MALFORMED)
