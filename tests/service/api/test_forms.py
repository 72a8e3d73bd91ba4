"""Requests made from descriptions: a field for each parameter, with its type, limits and help."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from fanwise.planning import values
from fanwise.planning.families import FAMILIES
from fanwise.planning.parameter import Parameter
from fanwise.service.api.bodies import WhatIf
from fanwise.service.api.forms import make_form, type_of


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_shared_parameter_is_a_field(family):
    described = FAMILIES[family]
    form = make_form("Form", Strict, described, {})
    assert list(form.model_fields) == [one.name for one in described.shared_parameters]
    schema = form.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for one in described.shared_parameters:
        assert one.help in schema["properties"][one.name]["description"]
        if one.default is not None:
            form(**{one.name: one.default})
    assert form().model_dump(exclude_none=True) == {}


def test_a_parameter_that_is_added_can_be_asked_for():
    shade = Parameter("shade", values.number_within(0, 1), "How dark it may be.")
    described = replace(FAMILIES["select"], parameters=(*FAMILIES["select"].parameters, shade))
    form = make_form("Form", Strict, described, {})
    assert form(shade=0.25).shade == 0.25
    for wrong in (-0.1, 1.1, "dark"):
        with pytest.raises(ValidationError):
            form(shade=wrong)


@pytest.mark.parametrize(
    ("kind", "fine", "wrong"),
    [
        (values.number(0), [0, 2.5], [-1, 1e31, float("nan"), "much"]),
        (values.number_above(0), [0.1], [0]),
        (values.whole_number(1), [1], [0, 1.5]),
        (values.whole_number(0, word="column"), [3, "column"], [-1, "row"]),
        (values.one_of("mesh", "tree"), ["mesh", "tree"], ["star", 1]),
        (values.amount("all"), [0, 12.5, "10%", "0.5%", "7"], [-1, "much", "%", "-1%"]),
        (values.NAMES, [[], ["a"]], ["a", [1]]),
        (values.TEXT, ["a"], [""]),
        (values.FLAG, [True], ["dark"]),
    ],
)
def test_types_allow_what_kinds_do(kind, fine, wrong):
    class One(BaseModel):
        it: type_of(kind.schema)

    for value in fine:
        assert value == One(it=value).it
    for value in wrong:
        with pytest.raises(ValidationError):
            One(it=value)


def test_what_is_asked_for_is_told_by_name():
    assert WhatIf(capacity="15%", tau=3).given() == {"capacity": "15%", "tau": 3.0}
    for wrong in ({"tau": "column"}, {"tau": 0}, {"capacity": "x"}, {"metric": "best"}):
        with pytest.raises(ValidationError):
            WhatIf(**wrong)
