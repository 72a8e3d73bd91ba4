from datetime import UTC, datetime, timedelta, timezone

import pytest

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline.shared import times
from fanwise.pipeline.shared.period import Scope, settle

S = times.SECOND


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("1704067200", 1704067200),
        (" 1704067200.5 ", 1704067200.5),
        (1704067200, 1704067200),
        ("2024-01-01T00:00:00Z", 1704067200),
        ("2024-01-01 02:00:00+02:00", 1704067200),
        ("2024-01-01", 1704067200),
        ("20240101T000000Z", 1704067200),
        ("1969-12-31T23:59:59.5Z", -0.5),
        (datetime(2024, 1, 1, tzinfo=UTC), 1704067200),
        (datetime(2024, 1, 1, 3, tzinfo=timezone(timedelta(hours=3))), 1704067200),
    ],
)
def test_instants(text, seconds):
    assert times.parse_instant(text, "from") == seconds * S


@pytest.mark.parametrize("text", ["", "yesterday", "nan", "inf", "1e30", "2024-13-01"])
def test_instants_refused(text):
    with pytest.raises(ParameterError, match="'from' parameter must be an instant"):
        times.parse_instant(text, "from")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("30min", 1800), ("1h", 3600), ("1h30m", 5400), ("1 h 30 m", 5400),
     ("10d", 864000), ("2w", 1209600), ("1.5h", 5400), ("3600", 3600), (60, 60), (0.5, 0.5)],
)  # fmt: skip
def test_durations(text, seconds):
    assert times.parse_duration(text, "window") == seconds * S


@pytest.mark.parametrize("text", ["", "0", "-1h", "1y", "h", "1h foo", "nan", "inf", "1e300"])
def test_durations_refused(text):
    with pytest.raises(ParameterError, match="'window' parameter must be a duration > 0"):
        times.parse_duration(text, "window")


def test_how_instants_are_written():
    assert times.iso(1704067200 * S) == "2024-01-01T00:00:00Z"
    assert times.iso(1704067200 * S + 1) == "2024-01-01T00:00:00.000001Z"
    assert times.folder_name(1704067200 * S) == "20240101T000000Z"
    assert times.folder_name(times.FIRST_INSTANT) == "00010101T000000Z"
    assert times.iso(times.LAST_INSTANT) == "9999-12-31T23:59:59.999999Z"


def test_windows_are_aligned_to_the_epoch_also_before_it():
    assert times.floor_to(-1, 3600 * S) == -3600 * S
    assert times.floor_to(-3600 * S, 3600 * S) == -3600 * S
    assert times.floor_to(3599 * S, 3600 * S) == 0


def test_period_is_that_of_the_events_unless_said_otherwise():
    assert settle(Scope(), 10 * S, 70 * S, "p").seconds == 60
    assert settle(Scope(), 10 * S, 10 * S, "p").seconds == 1
    assert settle(Scope(start=0), 10 * S, 70 * S, "p").seconds == 70
    assert settle(Scope(end=80 * S), 10 * S, 70 * S, "p").seconds == 70
    assert settle(Scope(start=0, end=80 * S), None, None, "p").seconds == 80
    assert settle(Scope(period=5 * S), None, None, "p").covered == (None, None)
    assert settle(Scope(period=5 * S), 10 * S, 70 * S, "p").covered == (10 * S, 70 * S + 1)


def test_windows_of_a_period():
    period = settle(Scope(window=60 * S), 59 * S, 120 * S, "p")
    assert list(period.window_starts) == [0, 60 * S, 120 * S]
    assert period.covered == (0, 180 * S)
    period = settle(Scope(end=120 * S, window=60 * S), 59 * S, 119 * S, "p")
    assert list(period.window_starts) == [0, 60 * S]
    with pytest.raises(InputError, match="no events to make windows from"):
        settle(Scope(window=60 * S), None, None, "p")


def test_scopes_refused():
    with pytest.raises(ParameterError, match="later than --from"):
        Scope(start=5, end=5)
    with pytest.raises(ParameterError, match="whole number of seconds"):
        Scope(window=S // 2)
    with pytest.raises(ParameterError, match="left out with --window"):
        Scope(window=S, period=S)
