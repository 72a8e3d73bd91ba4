"""The description for other programs: every schema and parameter has an example that is valid."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator


@pytest.fixture
def described(clients):
    return clients.of().get("/openapi.json").json()


def is_valid(described, schema, example):
    """Whether an example is of a schema, whose references are those of the description."""
    return Draft202012Validator({**schema, "components": described["components"]}).is_valid(example)


def test_every_schema_has_an_example_that_is_valid(described):
    schemas = described["components"]["schemas"]
    assert len(schemas) > 20
    for name, schema in schemas.items():
        assert schema.get("examples"), name
        for example in schema["examples"]:
            assert is_valid(described, schema, example), (name, example)


def test_every_parameter_has_an_example_that_is_valid(described):
    found = [
        (path, parameter)
        for path, methods in described["paths"].items()
        for method in methods.values()
        for parameter in method.get("parameters", ())
    ]
    assert {parameter["name"] for _, parameter in found} >= {"hash", "limit", "cursor", "topic"}
    for path, parameter in found:
        example = parameter.get("example")
        assert example is not None, (path, parameter["name"])
        assert is_valid(described, parameter["schema"], example), (path, parameter)


def test_examples_of_bodies_are_what_is_answered(clients, described):
    """Names of an example are those of a real answer."""
    schemas = described["components"]["schemas"]
    status = clients.of("read").get("/api/v1/status").json()
    assert set(schemas["StatusBody"]["examples"][0]) == set(status)
    hash = clients.service.store.newest().hash
    decision = clients.of("read").get(f"/api/v1/decisions/{hash}").json()
    assert set(schemas["DecisionBody"]["examples"][0]) == set(decision)
