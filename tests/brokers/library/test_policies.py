"""Policies: when a client agrees to move."""

from __future__ import annotations

import pytest

from fanwise.brokers.library import (
    all_of,
    always,
    at_most_every,
    gain_above,
    never,
    parse_policy,
    sticky,
)
from fanwise.brokers.library.policies import LEAVING
from fanwise.brokers.messages import RequestToMove
from fanwise.brokers.protocol import joining
from fanwise.errors import ParameterError


def request(gain: float = 1.0, reason: str = "cheaper") -> RequestToMove:
    return RequestToMove(1, "west", "there:1", reason, gain)


def test_each_says_yes_or_why_not():
    assert always(0.0, request()) == ""
    assert never(0.0, request(reason=LEAVING)) == "never"
    assert (sticky(0.0, request()), sticky(0.0, request(reason=LEAVING))) == ("sticky", "")
    above = gain_above(5.0)
    assert above(0.0, request(5.0)) == "gain is not above 5"
    assert above(0.0, request(5.1)) == ""
    assert above(0.0, request(0.0, LEAVING)) == ""


def test_the_reason_of_a_broker_that_leaves_is_what_it_says():
    from pathlib import Path

    assert f'"{LEAVING}"' in Path(joining.__file__).read_text()


def test_at_most_once_an_hour():
    hourly = at_most_every()
    assert hourly(10.0, request()) == ""
    assert hourly(3_609.0, request()) == "moved less than 3600 s ago"
    assert hourly(3_610.0, request()) == ""
    assert hourly(3_611.0, request(reason=LEAVING)) == ""
    assert at_most_every()(3_612.0, request()) == ""  # another client's own


def test_all_must_agree():
    both = all_of(gain_above(1.0), at_most_every(60.0))
    assert both(0.0, request(0.5)) == "gain is not above 1"
    assert both(1.0, request(2.0)) == ""
    assert both(2.0, request(2.0)) == "moved less than 60 s ago"


def test_policies_are_read_from_texts():
    assert parse_policy("always") is always
    assert parse_policy("never") is never
    assert parse_policy("sticky") is sticky
    both = parse_policy("gain>0.5, every 1h")
    assert both(0.0, request(0.4)) == "gain is not above 0.5"
    assert both(0.0, request(0.6)) == ""
    assert both(3_599.0, request(0.6)) == "moved less than 3600 s ago"


@pytest.mark.parametrize("text", ["", "sometimes", "gain>", "gain>nan", "every", "every soon", ","])
def test_what_is_no_policy_is_refused(text):
    with pytest.raises(ParameterError, match="always, never, sticky"):
        parse_policy(text)


def test_parameters_are_checked():
    with pytest.raises(ParameterError):
        at_most_every(0.0)
    with pytest.raises(ParameterError):
        gain_above(float("nan"))
