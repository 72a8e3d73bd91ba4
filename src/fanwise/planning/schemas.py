"""JSON Schemas that follow from the descriptions of families.

:func:`parameters_schema` is the form of a question: what may be said, of what kind, with which
default. :func:`plan_schema` is ``schemas/plan.schema.json``, with what plans of each family record;
``python -m fanwise.planning.schemas`` writes that file anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fanwise.planning.families import FAMILIES
from fanwise.planning.family import Family
from fanwise.planning.parameter import Parameter

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAN_SCHEMA = "plan.schema.json"
LINE = 80
"""Characters of a line of JSON, less what may stand in front of it."""


def parameters_schema(family: Family) -> dict[str, Any]:
    """Return the JSON Schema of a family's parameters, by the problem's own names."""
    return {
        "$schema": DIALECT,
        "title": f"parameters of {family.name}",
        "description": f"Decides {family.question}.",
        "type": "object",
        "required": [one.name for one in family.parameters if one.is_required],
        "additionalProperties": False,
        "properties": {
            **{one.name: _form_field(one) for one in family.parameters},
            "algorithm": {
                "type": "string",
                "pattern": "^" + r"\+".join(map(_any_of, family.stages.values())) + "$",
                "description": "; ".join(
                    f"{name}: {algorithm.summary}"
                    for stage in family.stages.values()
                    for name, algorithm in stage.items()
                ),
                "default": family.default,
            },
        },
    }


def _any_of(names: Iterable[str]) -> str:
    return f"({'|'.join(names)})"


def _form_field(parameter: Parameter) -> dict[str, Any]:
    field = {
        **parameter.kind.schema,
        "title": parameter.label,
        "description": parameter.full_help(),
    }
    if parameter.unit and parameter.per_unit == 1:
        field["x-unit"] = parameter.unit
    if parameter.default is not None:
        field["default"] = parameter.default
    if parameter.example is not None:
        field["examples"] = [parameter.example]
    return field


def plan_parameters_schema(family: Family) -> dict[str, Any]:
    """Return the JSON Schema of the parameters that a family's plans record."""
    properties, required = {}, []
    for one in family.parameters:
        for name in one.recorded or ():
            is_percent = name not in one.sets and bool(one.percent_of)
            is_certain = (one.is_required and not is_percent) or one.default is not None
            recorded = one.kind.recorded_schema
            properties[name] = recorded if is_certain else _or_null(recorded)
            if one.is_recorded_always:
                required.append(name)
    return {"required": [*required, "seed"], "properties": properties}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(schema), {"type": "null"}]}


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``plan.json``: what all plans share, then what is a family's."""
    schema: dict[str, Any] = json.loads(_file().read_text(encoding="utf-8"))
    schema["properties"]["problem"] = {"enum": list(FAMILIES)}
    schema["allOf"] = [
        {
            "if": {"properties": {"problem": {"const": family.name}}},
            "then": {
                "properties": {
                    "parameters": plan_parameters_schema(family),
                    "metrics": {"required": [metric.name for metric in family.metrics]},
                }
            },
        }
        for family in FAMILIES.values()
    ]
    return schema


def write_json(value: Any, indent: int = 0) -> str:
    """Return JSON with whatever fits in one line in one line."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= LINE or not isinstance(value, dict | list) or not value:
        return line
    pad = " " * (indent + 2)
    if isinstance(value, list):
        opened, closed = "[", "]"
        parts = [write_json(part, indent + 2) for part in value]
    else:
        opened, closed = "{", "}"
        parts = [f'"{key}": {write_json(part, indent + 2)}' for key, part in value.items()]
    lines = ",\n".join(pad + part for part in parts)
    return f"{opened}\n{lines}\n{' ' * indent}{closed}"


def _file() -> Path:
    return Path(str(files("fanwise") / "schemas" / PLAN_SCHEMA))


if __name__ == "__main__":
    _file().write_text(write_json(plan_schema()) + "\n", encoding="utf-8")
