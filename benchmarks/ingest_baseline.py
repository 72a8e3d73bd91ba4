"""The least that any ingest has to do; frozen, so that ratios to it mean the same for ever.

Both CSV files are read with their full schema, every timestamp and number is parsed (a column that
nobody asks for would not be, so each is asked whether it is there), and events and followers are
counted per topic into Spark's ``noop`` sink, which throws rows away.
"""

from __future__ import annotations

from typing import Any

PUBLICATIONS = "topic STRING, timestamp TIMESTAMP, bytes DOUBLE"
SUBSCRIPTIONS = "subscriber STRING, topic STRING"


def run(spark: Any, publications: str, subscriptions: str) -> None:
    for path, schema in ((publications, PUBLICATIONS), (subscriptions, SUBSCRIPTIONS)):
        columns = [part.split()[0] for part in schema.split(", ")]
        table = spark.read.csv(path, schema=schema, header=True)
        parsed = table.where(" AND ".join(f"{column} IS NOT NULL" for column in columns))
        parsed.groupBy("topic").count().write.format("noop").mode("overwrite").save()
