"""Requests whose fields are the parameters of a family, made from its description."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from fanwise.planning.family import Family
from fanwise.planning.schemas import parameters_schema
from fanwise.workload.validation import LARGEST

NOTES = ("title", "description", "examples")
"""What a field says of itself beside what it must be."""


def make_form(
    name: str, base: type[BaseModel], family: Family, narrowed: Mapping[str, Mapping[str, Any]]
) -> type[BaseModel]:
    """Return a request with a field for every parameter that families' questions share.

    All may be left out. Types, limits and help are those of the description.

    Parameters
    ----------
    narrowed
        JSON Schemas of parameters that may be less here than the family allows, by name.
    """
    described = parameters_schema(family)["properties"]
    fields: dict[str, Any] = {}
    for one in family.shared_parameters:
        schema = narrowed.get(one.name, described[one.name])
        notes = {key: schema[key] for key in NOTES if key in schema}
        notes.setdefault("description", one.help)
        fields[one.name] = (type_of(schema) | None, Field(None, **notes))
    return create_model(name, __base__=base, **fields)


def type_of(schema: Mapping[str, Any]) -> Any:
    """Return the type whose values a JSON Schema allows; the schemas of kinds are all it knows."""
    if "anyOf" in schema:
        return reduce(or_, map(type_of, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        words = tuple(schema.get("enum", (schema.get("const"),)))
        return Literal[words]
    if schema["type"] == "integer":
        return Annotated[int, Field(strict=True, ge=schema.get("minimum"), lt=2**63)]
    if schema["type"] == "number":
        low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
        high = schema.get("maximum", LARGEST)
        # Neither true nor a text with digits is a number.
        return Annotated[float, Field(strict=True, ge=low, gt=above, le=high, allow_inf_nan=False)]
    if schema["type"] == "string":
        length, pattern = schema.get("minLength"), schema.get("pattern")
        return Annotated[str, Field(min_length=length, pattern=pattern)]
    if schema["type"] == "array":
        return list[type_of(schema["items"])]  # type: ignore[misc]
    return bool
