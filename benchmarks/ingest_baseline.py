"""The least that any ingest has to do; frozen, so that ratios to it mean the same for ever.

Both CSV files are read with their full schema, every timestamp and number is parsed, and events and
followers are counted per topic into Spark's ``noop`` sink, which throws rows away. Spark parses
only the columns that somebody asks for, so each row is asked for a condition on every column that
always holds.
"""

from __future__ import annotations

from typing import Any

PUBLICATIONS = "topic STRING, timestamp TIMESTAMP, bytes DOUBLE"
SUBSCRIPTIONS = "subscriber STRING, topic STRING, since TIMESTAMP, until TIMESTAMP"
ALWAYS = {
    "STRING": "({0} IS NULL OR {0} <> 'no such name')",
    "TIMESTAMP": "({0} IS NULL OR {0} > TIMESTAMP '0002-01-01')",
    "DOUBLE": "({0} IS NULL OR {0} >= 0)",
}


def run(spark: Any, publications: str, subscriptions: str) -> None:
    for path, schema in ((publications, PUBLICATIONS), (subscriptions, SUBSCRIPTIONS)):
        columns = [part.split() for part in schema.split(", ")]
        parsed = " AND ".join(ALWAYS[kind].format(name) for name, kind in columns)
        table = spark.read.csv(path, schema=schema, header=True).where(parsed)
        table.groupBy("topic").count().write.format("noop").mode("overwrite").save()
