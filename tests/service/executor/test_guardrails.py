"""Guardrails: each says why, and quiet hours follow the clocks of their time zone."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.service.decisions import NOON

from fanwise.service.executor.guardrails import Case, find_refusals
from fanwise.service.executor.settings import Execute, Guardrails, MqttOutput, WebhookOutput

CASE = Case(changes=5, value=101.0, gap=0.02, is_first=False, kept=100.0, now=NOON)


@pytest.mark.parametrize(
    ("limits", "case", "says"),
    [
        ({}, CASE, []),
        ({"most_changes": 5}, CASE, []),
        ({"most_changes": 4}, CASE, ["It switches 5 topics, most_changes is 4."]),
        ({"least_improvement": 0.01}, CASE, []),
        (
            {"least_improvement": 0.02},
            CASE,
            ["It improves the value by 1%, least_improvement is 2%."],
        ),
        ({"least_improvement": 9}, replace(CASE, is_first=True, kept=None), []),
        ({"least_improvement": 9}, replace(CASE, kept=0.0), []),
        (
            {"least_improvement": 0.1},
            replace(CASE, kept=0.0, value=0.0),
            ["It improves the value by 0%, least_improvement is 10%."],
        ),
        (
            {"least_improvement": 0},
            replace(CASE, kept=None),
            ["What is in force has no value on this window, so that no improvement is known."],
        ),
        ({"largest_gap": 0.02}, CASE, []),
        (
            {"largest_gap": 0.01},
            CASE,
            ["Its certified gap is 2%, largest_gap is 1%."],
        ),
        (
            {"largest_gap": 0.5},
            replace(CASE, gap=None),
            ["It has no certified gap, largest_gap is 50%."],
        ),
        (
            {"largest_gap": 0.5},
            replace(CASE, gap=math.nan),
            ["It has no certified gap, largest_gap is 50%."],
        ),
        (
            {"quiet_hours": ["22:00-06:00", "12:00-12:30"]},
            CASE,
            ["It is 12:00 in UTC, within quiet_hours 12:00-12:30."],
        ),
        ({"quiet_hours": ["12:00-12:30"], "time_zone": "Asia/Tokyo"}, CASE, []),
        ({"least_improvement": 0.5}, replace(CASE, must_change=True), []),
        (
            {},
            replace(CASE, rolled_back_by="ann"),
            ["ann went back to what is in force; it stays until somebody approves a decision."],
        ),
        (
            {"quiet_hours": ["20:30-06:00"], "time_zone": "Asia/Tokyo"},
            CASE,
            ["It is 21:00 in Asia/Tokyo, within quiet_hours 20:30-06:00."],
        ),
    ],
)
def test_every_guardrail_says_why(limits, case, says):
    assert find_refusals(Guardrails(**limits), case) == says


def test_all_reasons_are_given():
    strict = Guardrails(
        most_changes=0, least_improvement=1, largest_gap=0, quiet_hours=["11:00-13:00"]
    )
    assert len(find_refusals(strict, CASE)) == 4


@given(
    minutes=st.integers(0, 366 * 24 * 60),
    start=st.integers(0, 1439),
    length=st.integers(1, 1439),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"]),
)
def test_quiet_hours_are_those_of_the_clock_on_the_wall(minutes, start, length, zone):
    moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    wall = moment.astimezone(ZoneInfo(zone))
    since_start = (wall.hour * 60 + wall.minute - start) % 1440
    end = (start + length) % 1440
    span = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    guardrails = Guardrails(quiet_hours=[span], time_zone=zone)
    case = replace(CASE, now=int(moment.timestamp()) * 1_000_000)
    assert bool(find_refusals(guardrails, case)) == (since_start < length)


@pytest.mark.parametrize(
    ("section", "entries", "says"),
    [
        (Guardrails, {"quiet_hours": ["22:00"]}, "span of the day"),
        (Guardrails, {"quiet_hours": ["24:00-06:00"]}, "span of the day"),
        (Guardrails, {"quiet_hours": ["06:00-06:00"]}, "span of the day"),
        (Guardrails, {"time_zone": "Mars/Olympus"}, "must be a time zone"),
        (Guardrails, {"time_zone": "../../etc/passwd"}, "must be a time zone"),
        (Guardrails, {"time_zone": "Europe"}, "must be a time zone"),
        (Guardrails, {"time_zone": ""}, "must be a time zone"),
        (WebhookOutput, {"url": "ftp://host/x"}, "must be an address"),
        (WebhookOutput, {"url": "hook"}, "must be an address"),
        (WebhookOutput, {"url": "http://host:port/"}, "must be an address"),
        (WebhookOutput, {"url": "https://me:word@host/"}, "no name or password"),
        (
            WebhookOutput,
            {"url": "https://h/", "secret_file": "x", "secret_variable": "X"},
            "exclude each other",
        ),
        (MqttOutput, {"topic": "a/+/b"}, "without + and #"),
        (MqttOutput, {"topic": "a", "delta_topic": "a"}, "must differ"),
        (Execute, {"file": [{"path": "x"}, {"path": "y"}]}, "two outputs are named 'file'"),
        (Execute, {"file": [{"path": "x", "text_path": "x"}]}, "must differ"),
        (Execute, {"file": [{"path": "x", "name": "A b"}]}, "pattern"),
        (Execute, {"mode": "now"}, "'dry-run', 'approve' or 'auto'"),
    ],
)
def test_mistakes_in_settings_are_explained(section, entries, says):
    with pytest.raises(ValidationError) as caught:
        section(**entries)
    assert says in str(caught.value)


def test_an_empty_delta_topic_is_none():
    assert MqttOutput(delta_topic="").delta_topic is None
