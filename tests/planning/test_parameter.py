"""Parameters: what follows from the one line in which each is described."""

from __future__ import annotations

import pytest

from fanwise.planning import values
from fanwise.planning.parameter import TAU, Axis, Parameter, flag


def test_a_name_is_enough_for_all_others():
    one = Parameter("max_delay", values.number(0), "How late it may be.")
    assert (one.option, one.sets, one.label) == ("max_delay", ("max_delay",), "max delay")
    assert (one.flag, one.title, one.recorded) == ("--max-delay", "max delay", ("max_delay",))
    assert not one.is_required
    assert one.full_help() == "How late it may be."


def test_what_is_said_is_kept():
    one = Parameter(
        "limit", values.number(0), "The most.", option="most", sets=("low", "high"),
        label="the limit", unit="events", recorded=("high",), example="5",
    )  # fmt: skip
    assert (one.option, one.sets, one.recorded) == ("most", ("low", "high"), ("high",))
    assert (one.flag, one.title) == ("--most", "the limit (events)")
    assert one.is_required


def test_percentages_are_recorded_beside_the_amount():
    one = Parameter("capacity", values.amount("all"), "The most.", percent_of="all")
    assert one.recorded == ("capacity", "capacity_percent")


@pytest.mark.parametrize(
    ("default", "told", "ends"),
    [
        (0.25, "", " Default: 0.25."),
        (3, "", " Default: 3."),
        (None, "the column", " Default: the column."),
        (None, "", ""),
    ],
)
def test_help_tells_the_default(default, told, ends):
    one = Parameter("it", values.number(0), "It.", default=default, says_default=told)
    assert one.full_help() == f"It.{ends}"


def test_values_are_written_for_people():
    plain = Parameter("tau", values.number(0), "")
    assert (plain.write(27.0), plain.say(27.0)) == ("27", "tau 27")
    assert plain.say("column") == "column"
    size = Parameter("size", values.number(0), "", writes="bytes")
    assert size.write(200.0) == size.say(200.0) == "200 bytes"
    length = Parameter("period", values.DURATION, "", writes="span")
    assert length.say(864000.0) == "10 days"


def test_the_threshold_is_an_axis_of_numbers_alone():
    assert isinstance(TAU.axis, Axis)
    assert TAU.kind.read("tau", "column") == "column"
    assert TAU.axis.kind is not None
    assert not TAU.axis.kind.allows("column")
    assert flag(TAU.axis.option) == "--taus"
