"""Bad rows: counted by reason, shown as they were, and too many of them stop the run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.bad_rows import too_many_message
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.report import Rows


def count_rows(by_verdict: Mapping[int, int]) -> Rows:
    """Return the rows of a trace from how many there are of each verdict."""
    return Rows(
        rows=sum(by_verdict.values()),
        outside=by_verdict.get(S.OUTSIDE, 0),
        fine=by_verdict.get(S.FINE, 0) + by_verdict.get(S.DUPLICATE, 0),
        bad=S.count_reasons(by_verdict),
    )


def bad_rows(checked: DataFrame, trace: str) -> DataFrame:
    """Return bad rows as ``trace``, ``file``, ``reason`` and ``row``, which is JSON or text."""
    original = [name for name in checked.columns if not name.startswith("_")]
    as_json = F.to_json(F.struct(*(F.col(f"`{name}`") for name in original)))
    text = F.coalesce(F.col(S.MALFORMED), as_json) if S.MALFORMED in checked.columns else as_json
    return checked.where(F.col(S.VERDICT) >= S.FIRST_BAD).select(
        F.lit(trace).alias("trace"),
        (F.col(S.FILE) if S.FILE in checked.columns else F.input_file_name()).alias("file"),
        S.reason_text(F.col(S.VERDICT)).alias("reason"),
        text.alias("row"),
    )


def all_bad_rows(checked: Mapping[str, DataFrame]) -> DataFrame:
    """Return the bad rows of several traces."""
    return reduce(
        DataFrame.unionByName, (bad_rows(frame, trace) for trace, frame in checked.items())
    )


def too_many(limit: Limit, rows: Rows, checked: DataFrame, place: str, num_bad: int) -> InputError:
    """Return the error: how many, the commonest reason, and the first example of it."""
    reason, _ = max(rows.bad.items(), key=lambda item: item[1])
    example = bad_rows(checked, place).where(F.col("reason") == reason).first()
    shown = None if example is None else (unquote(example["file"]), example["row"])
    return too_many_message(str(limit), rows, place, num_bad, shown)
