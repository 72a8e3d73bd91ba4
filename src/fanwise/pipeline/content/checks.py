"""Checks of raw content traces: typed columns and a verdict for each row, and none is dropped.

Rows remember their file, because later verdicts come after a shuffle, when Spark no longer knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError
from fanwise.pipeline.content.options import LARGEST_COORDINATE, Space
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared import values
from fanwise.pipeline.shared.checks import bad_timestamps, judge, message_sizes, outside_period
from fanwise.pipeline.shared.doubles import event_ids
from fanwise.pipeline.shared.time_units import AUTO


def check_content_events(
    frame: DataFrame,
    attributes: Sequence[str],
    *,
    start: int | None = None,
    end: int | None = None,
    space: Space | None = None,
    place: str = "publications",
    unit: str = AUTO,
    event_id: str | None = None,
    is_doubted: bool = False,
) -> DataFrame:
    """Check ``publisher``, ``timestamp``, one column per attribute, optional ``bytes``.

    Parameters
    ----------
    frame
        One row per event.
    attributes
        Columns that are the axes of the event space, in this order.
    start, end
        Microseconds since the epoch; events before ``start`` or from ``end`` on are outside.
    space
        Least and greatest value on each axis; events beyond are bad. None: all are let pass.
    place
        How messages name the trace.
    unit
        Of epoch times; see :mod:`~fanwise.pipeline.shared.time_units`.
    event_id
        A column that each event must have a value in; see
        :func:`~fanwise.pipeline.shared.doubles.mark_doubles`.
    is_doubted
        Whether replacement characters tell of another encoding.
    """
    S.require_columns(frame, ("publisher", "timestamp", *attributes), place)
    frame = values.with_whole_number(frame, "timestamp")
    ids, no_ids = event_ids(frame, event_id, place)
    sizes, bad_sizes = message_sizes(frame, place)
    raw, missing = _raw_columns(frame, attributes)
    typed = raw.withColumns(
        {
            S.PUBLISHER: values.identifier(frame, "publisher", place),
            S.INSTANT: values.instant(frame, "timestamp", place, unit),
            S.UNIT: values.instant_form(frame, "timestamp", unit),
            **ids,
            **_numbers(raw, attributes, "_at", place),
            S.BYTES: sizes,
        }
    )
    at = [F.col(f"_at_{axis}") for axis in range(len(attributes))]
    beyond = []
    if space is not None:
        inside = [value.between(*bounds) for value, bounds in zip(at, space, strict=True)]
        beyond.append(("event outside the space", ~reduce(and_, inside)))
    return judge(
        typed,
        (
            ("no publisher", F.col(S.PUBLISHER).isNull()),
            *bad_timestamps(frame),
            ("no value for an attribute", missing),
            ("attribute not a number", _any_null(at)),
            *bad_sizes,
            *no_ids,
            *beyond,
        ),
        outside_period(start, end),
        (S.PUBLISHER,) if is_doubted else (),
    )


def check_rectangles(
    frame: DataFrame,
    attributes: Sequence[str],
    *,
    place: str = "subscriptions",
    is_doubted: bool = False,
) -> DataFrame:
    """Check ``subscriber`` and the sides of its rectangle.

    Sides are ``lo_<attribute>`` and ``hi_<attribute>``, or ``lo_0``, ``hi_0``, … in the order of
    the attributes.
    """
    S.require_columns(frame, ("subscriber",), place)
    sides = side_columns(frame, attributes, place)
    raw, missing = _raw_columns(frame, sides)
    typed = raw.withColumns(
        {
            S.NAME: values.identifier(frame, "subscriber", place),
            **_numbers(raw, sides[0::2], "_lo", place, of=slice(0, None, 2)),
            **_numbers(raw, sides[1::2], "_hi", place, of=slice(1, None, 2)),
        }
    )
    lo, hi = (
        [F.col(f"_{side}_{axis}") for axis in range(len(attributes))] for side in ("lo", "hi")
    )
    return judge(
        typed,
        (
            ("no subscriber", F.col(S.NAME).isNull()),
            ("rectangle side missing", missing),
            ("rectangle side not a number", _any_null([*lo, *hi])),
            (
                "rectangle with lo > hi",
                reduce(or_, (low > high for low, high in zip(lo, hi, strict=True))),
            ),
        ),
        doubted=(S.NAME,) if is_doubted else (),
    )


def check_positions(
    frame: DataFrame, num_axes: int, *, place: str = "positions", is_doubted: bool = False
) -> DataFrame:
    """Check ``name`` (or ``subscriber``) and the coordinates of its point."""
    name = name_column(frame, ("name", "subscriber"), place)
    raw, _ = _raw_columns(frame, [f"net_{axis}" for axis in range(num_axes)])
    typed = raw.withColumns(
        {
            S.NAME: values.identifier(frame, name, place),
            **_numbers(raw, [f"net_{axis}" for axis in range(num_axes)], "_net", place),
        }
    )
    points = [F.col(f"_net_{axis}") for axis in range(num_axes)]
    return judge(
        typed,
        (
            ("no name", F.col(S.NAME).isNull()),
            ("coordinate not a number", _any_null(points)),
        ),
        doubted=(S.NAME,) if is_doubted else (),
    )


def count_axes(frame: DataFrame, place: str) -> int:
    """Return how many coordinates ``net_0``, ``net_1``, … a table has; at least one."""
    count = 0
    while S.has_column(frame, f"net_{count}"):
        count += 1
    if not count:
        S.require_columns(frame, ("net_0",), place)
    return count


def name_column(frame: DataFrame, names: Sequence[str], place: str) -> str:
    """Return the first of ``names`` that a table has."""
    found = next((name for name in names if S.has_column(frame, name)), None)
    if found is None:
        S.require_columns(frame, names[:1], place)
    return str(found)


def side_columns(frame: DataFrame, attributes: Sequence[str], place: str) -> list[str]:
    """Return the columns of lower and upper sides in turn, by attribute or by number."""
    by_name = [f"{side}_{name}" for name in attributes for side in ("lo", "hi")]
    by_number = [f"{side}_{axis}" for axis in range(len(attributes)) for side in ("lo", "hi")]
    for names in (by_name, by_number):
        if all(S.has_column(frame, name) for name in names):
            return names
    present = [column for column in frame.columns if not column.startswith("_")]
    raise InputError(
        f"{place}: the sides of rectangles must be the columns {', '.join(by_name)}, or "
        f"{', '.join(by_number)}; it has {', '.join(map(repr, present))}; see --columns and "
        "--rename."
    )


def _raw_columns(frame: DataFrame, names: Sequence[str]) -> tuple[DataFrame, Column]:
    """Copy columns under plain names, for theirs may hold dots; and tell where one is missing.

    The file of each row is noted with them.
    """
    copied = frame.withColumns(
        {
            S.FILE: F.input_file_name(),
            **{
                f"_raw_{axis}": F.col(f"`{name.replace('`', '``')}`")
                for axis, name in enumerate(names)
            },
        }
    )
    return copied, reduce(
        or_, (values.is_missing(copied, f"_raw_{axis}") for axis in range(len(names)))
    )


def _numbers(
    raw: DataFrame, names: Sequence[str], prefix: str, place: str, of: slice = slice(None)
) -> dict[str, Column]:
    """Return columns ``prefix_0``, … of finite numbers, null where the cell is none."""
    found = [name for name in raw.columns if name.startswith("_raw_")][of]
    columns = {}
    for axis, (name, column) in enumerate(zip(names, found, strict=True)):
        try:
            value = values.number(raw, column, place, mostly_whole=False)
        except InputError as error:
            raise InputError(str(error).replace(repr(column), repr(name))) from None
        columns[f"{prefix}_{axis}"] = F.when(F.abs(value) <= LARGEST_COORDINATE, value)
    return columns


def _any_null(columns: Sequence[Column]) -> Column:
    return reduce(or_, (column.isNull() for column in columns))
