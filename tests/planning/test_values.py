"""Kinds of values: how they are read from text, what they allow, and how JSON Schemas say so."""

from __future__ import annotations

import jsonschema
import pytest

from fanwise.errors import ParameterError
from fanwise.planning import values


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (values.number(0), "1.5", 1.5),
        (values.number(0, word="column"), "column", "column"),
        (values.number(0, word="column"), "3", 3.0),
        (values.whole_number(1), "3", 3),
        (values.DURATION, "1h30m", 5400.0),
        (values.FLAG, "True", True),
        (values.amount("all"), "10%", "10%"),
        (values.number_within(0, 1), "0.5", 0.5),
        (values.one_of("low", "high"), "low", "low"),
    ],
)
def test_values_are_read_from_text(kind, text, value):
    assert kind.read("it", text) == value
    jsonschema.validate(value, kind.schema)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (values.number(0), "much", "a number >= 0, got 'much'"),
        (values.number_above(0), "much", "a number > 0, got 'much'"),
        (values.whole_number(0, word="column"), "1.5", "a whole number >= 0 or 'column', got"),
        (values.DURATION, "soon", "a duration > 0, in seconds"),
        (values.FLAG, "maybe", "true or false, got"),
    ],
)
def test_other_texts_are_refused(kind, text, words):
    with pytest.raises(ParameterError, match=f"'it' parameter must be {words}"):
        kind.read("it", text)


def test_lists_of_numbers_say_that_they_are():
    with pytest.raises(ParameterError, match="must be whole numbers >= 1 apart by commas, got"):
        values.whole_number(1).read("alphas", "few", is_listed=True)


@pytest.mark.parametrize(
    ("kind", "allowed", "refused"),
    [
        (values.whole_number(1), [1, 10**9], [0, 1.0, True, "1"]),
        (values.whole_number(1, word="all"), [1, "all"], [0, "none"]),
        (values.number(0), [0, 0.5, 3], [-1e-9, False, "1"]),
        (values.number_above(0), [1e-9, 2], [0, -1.0, True]),
        (values.number_within(0, 1), [0, 0.5, 1], [-0.1, 1.1]),
        (values.one_of("low", "high"), ["low"], ["medium", 1]),
        (values.FLAG, [True, False], [1, "true"]),
    ],
    ids=lambda one: getattr(one, "constraint", ""),
)
def test_limits_hold_as_the_schema_says(kind, allowed, refused):
    for value in allowed:
        assert kind.allows(value)
        jsonschema.validate(value, kind.schema)
    for value in refused:
        assert not kind.allows(value)
        if not isinstance(value, float) or value != int(value):  # JSON's 1.0 is a whole number
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(value, kind.schema)


def test_plans_may_record_something_else_than_was_typed():
    amount = values.amount("all traffic")
    jsonschema.validate("10%", amount.schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate("10%", amount.recorded_schema)
    jsonschema.validate(12.5, amount.recorded_schema)
    assert values.TEXT.recorded_schema is values.TEXT.schema
