"""Lengths of time: one way to write them, for every option that takes one."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.durations import LONGEST, UNITS, parse_duration
from fanwise.errors import ParameterError
from fanwise.pipeline.shared import times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("90m", 5400), ("15min", 900), ("1h30m", 5400), ("1 h 30 m", 5400),
     ("1d12h", 129600), ("10d", 864000), ("2w", 1209600), ("1.5h", 5400), (".5h", 1800),
     ("1H", 3600), (" 1h ", 3600), ("3600", 3600), (60, 60), (0.5, Decimal("0.5")),
     ("1w2d3h4m5s", 788645), ("0.1s", Decimal("0.1"))],
)  # fmt: skip
def test_what_is_a_duration(text, seconds):
    assert parse_duration(text, "window") == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "0", "0s", "-1h", "-5", "1y", "h", "1h foo", "1h30", "1h-30m", "1..5h", "nan", "inf",
     "Infinity", "1e300", "1h30m!", "\u0661h", str(LONGEST + 1), "10000000w"],
)  # fmt: skip
def test_what_is_not(text):
    for parse in (parse_duration, times.parse_duration):
        with pytest.raises(ParameterError, match=r"'window' parameter must be a duration > 0"):
            parse(text, "window")


def test_none_at_all_where_that_makes_sense():
    assert parse_duration("0", "time-limit", may_be_zero=True) == 0
    with pytest.raises(ParameterError, match="a duration >= 0"):
        parse_duration("-1", "time-limit", may_be_zero=True)


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(sorted(UNITS))), min_size=1))
def test_parts_add_up(parts):
    seconds = sum(count * UNITS[unit] for count, unit in parts)
    text = "".join(f"{count}{unit}" for count, unit in parts)
    assert parse_duration(text, "window", may_be_zero=True) == seconds


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_refused(text):
    try:
        seconds = parse_duration(text, "window")
    except ParameterError:
        return
    assert seconds > 0


def test_microseconds_are_kept_exactly():
    assert times.parse_duration(str(LONGEST), "window") == LONGEST * 1_000_000
    assert times.parse_duration("0.0000001", "window") == 1
