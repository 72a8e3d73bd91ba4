"""Small tables that the driver holds, as DataFrames; and the names of columns of each axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from fanwise.pipeline.content.brokers import Brokers
from fanwise.pipeline.content.cells import Cells
from fanwise.pipeline.shared.windows import WINDOW


def net_columns(num_axes: int) -> list[str]:
    """Return the names of coordinates in the network space."""
    return [f"net_{axis}" for axis in range(num_axes)]


def side_columns(num_axes: int) -> list[str]:
    """Return the names of the sides of rectangles."""
    return [f"{side}_{axis}" for axis in range(num_axes) for side in ("lo", "hi")]


def cell_table(spark: SparkSession, cells: Cells, name: str) -> DataFrame:
    """Return cells by their number, in a column called ``name``."""
    sides = np.stack([cells.lo, cells.hi], axis=2).reshape(len(cells), -1)
    columns = side_columns(cells.lo.shape[1])
    schema = ", ".join([f"{name} int", *(f"{column} double" for column in columns)])
    rows = [[cell, *row] for cell, row in enumerate(sides.tolist())]
    return spark.createDataFrame(rows, schema).coalesce(1)


def broker_table(spark: SparkSession, brokers: Brokers) -> DataFrame:
    """Return ``brokers.parquet``."""
    columns = brokers.columns()
    kinds = {"broker": "int", "name": "string", "parent": "int"}
    schema = ", ".join(f"{name} {kinds.get(name, 'double')}" for name in columns)
    return spark.createDataFrame(list(zip(*columns.values(), strict=True)), schema).coalesce(1)


def silent_cells(spark: SparkSession, cells: Cells, windows: Sequence[int]) -> DataFrame:
    """Return the density of windows without events: the whole space with rate 0.

    No table at all would mean that events are uniform.
    """
    ends = np.stack([cells.lo.min(axis=0), cells.hi.max(axis=0)], axis=1).reshape(-1).tolist()
    columns = [*side_columns(cells.lo.shape[1]), "rate"]
    schema = ", ".join([f"{WINDOW} bigint", *(f"{column} double" for column in columns)])
    return spark.createDataFrame([[start, *ends, 0.0] for start in windows], schema)
