"""The verdicts on rows: fine, outside the period, or bad for a reason. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Mapping

DUPLICATE = -1  # says once more what another row says
FINE = 0
OUTSIDE = 1
FIRST_BAD = 2

TOPIC_REASONS = (
    "malformed row",
    "no topic",
    "no subscriber",
    "no timestamp",
    "timestamp not ISO 8601 or epoch seconds",
    "bytes not a number >= 0",
    "events not a whole number >= 0",
    "since not ISO 8601 or epoch seconds",
    "until not ISO 8601 or epoch seconds",
    "until not after since",
)
CONTENT_REASONS = (
    "no publisher",
    "no value for an attribute",
    "attribute not a number",
    "event outside the space",
    "rectangle side missing",
    "rectangle side not a number",
    "rectangle with lo > hi",
    "another rectangle of the subscriber",
    "no name",
    "coordinate not a number",
    "another position of the name",
    "no position",
)
NOT_UTF8 = "not UTF-8, see --encoding"
UNREADABLE = "unreadable file"
INPUT_REASONS = (
    NOT_UTF8,
    UNREADABLE,
    "no event id",
    "action neither subscribe nor unsubscribe",
)
"""Reasons that only some inputs or options can give."""

ALL_REASONS = (*TOPIC_REASONS, *CONTENT_REASONS, *INPUT_REASONS)
REPLACEMENT = "\ufffd"
"""What bytes that are no UTF-8 become where text is decoded."""


def verdict(reason: str) -> int:
    """Return the code of a reason."""
    return FIRST_BAD + ALL_REASONS.index(reason)


def count_reasons(by_verdict: Mapping[int, int]) -> dict[str, int]:
    """Return the rows of each reason that has any."""
    codes = enumerate(ALL_REASONS, FIRST_BAD)
    return {reason: by_verdict[code] for code, reason in codes if code in by_verdict}
