"""The commented file that ``--init`` writes, and the reference page, both made from the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fanwise.service.configuration.model import Configuration
from fanwise.service.configuration.reading import SERVE, SOURCES, section_of
from fanwise.service.forwarding.settings import ForwarderConfiguration

WIDTH = 96
EXAMPLES: dict[tuple[str, ...], Any] = {
    ("source", "kind"): "mqtt",
    ("decide", "tau"): 20,
    ("decide", "capacity"): "30%",
    ("decide", "give_up"): 0.01,
}
"""Values that the file begins with where there is no default, or a better one for a start."""


def write_template(
    model: type[BaseModel] = Configuration,
    what: str = "the fanwise decision service",
    command: str = SERVE,
) -> str:
    """Return a configuration that runs, with every setting and its meaning."""
    intent = (
        f"Check it with: {command} --config FILE --check. Settings behind a # have the value that "
        "is shown as their default. Durations are written 90s, 15m, 1h30m, 10d."
    )
    lines = [
        f"# Configuration of {what}.",
        *_comment(intent),
        "",
        *_entries(model, (), is_top=True),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _entries(model: type[BaseModel], place: tuple[str, ...], *, is_top: bool = False) -> list[str]:
    plain, tables = [], []
    for name, entry in model.model_fields.items():
        at = (*place, name)
        if at == ("source",):
            tables += _source()
        elif _is_list_of_sections(entry):
            tables += _table(_item_of(entry), at, entry, is_array=True)
        elif (section := section_of(entry.annotation)) is not None:
            tables += _table(section, at, entry)
        else:
            plain += _entry(at, entry)
    return [*plain, *([""] if plain and is_top else []), *tables]


def _table(
    section: type[BaseModel], at: tuple[str, ...], entry: FieldInfo, *, is_array: bool = False
) -> list[str]:
    header = f"[[{'.'.join(at)}]]" if is_array else f"[{'.'.join(at)}]"
    is_off = is_array or entry.default is None
    lines = [*_comment(entry.description or section.__doc__ or ""), header]
    body = _entries(section, at)
    if is_off:
        return ["", *lines[:-1], *(f"# {line}" if line else "#" for line in [lines[-1], *body])]
    return ["", *lines, *body]


def _source() -> list[str]:
    lines = ["", "# Where events come from: an MQTT broker here; folder and spark are below."]
    for kind, section in SOURCES.items():
        body = [f'kind = "{kind}"', *_body(section)]
        if kind == EXAMPLES["source", "kind"]:
            lines[2:2] = ["[source]", *body]
        else:
            title = (section.__doc__ or "").rstrip(".")
            lines += ["", f"# {title}:", "# [source]", *(f"# {line}" for line in body)]
    return lines


def _body(section: type[BaseModel]) -> Iterator[str]:
    for name, entry in section.model_fields.items():
        if name != "kind":
            yield from _entry(("source", name), entry)


def _entry(at: tuple[str, ...], entry: FieldInfo) -> list[str]:
    example = EXAMPLES.get(at)
    default = None if entry.is_required() else entry.get_default(call_default_factory=True)
    value = default if example is None else example
    if entry.is_required() and example is None:
        value = f"FILL IN: {at[-1]}"
    assigned = f"{at[-1]} = {write_value(value)}"
    is_set = entry.is_required() or (example is not None and example != default)
    return [*_comment(entry.description or ""), assigned if is_set else f"# {assigned}"]


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, WIDTH)]


def write_value(value: Any) -> str:
    """Write a value as TOML does."""
    if value is None:
        return '""'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {write_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


def _is_list_of_sections(entry: FieldInfo) -> bool:
    return getattr(entry.annotation, "__origin__", None) is list and (
        section_of(entry.annotation) is not None
    )


def _item_of(entry: FieldInfo) -> type[BaseModel]:
    section = section_of(entry.annotation)
    if section is None:
        raise TypeError(f"{entry} is no list of sections")
    return section


def write_reference() -> str:
    """Return the reference page: a table of settings for every section, in Markdown."""
    lines = [
        "# Configuration reference",
        "",
        "Made from the code that checks the file; `fanwise serve --init FILE` writes the same as",
        "a commented file.",
        *_reference(Configuration, ()),
        "",
        "# Configuration of a forwarder",
        "",
        "Of `fanwise serve forward`; `fanwise serve forward --init FILE` writes a commented file.",
        *_reference(ForwarderConfiguration, ()),
    ]
    return "\n".join(lines) + "\n"


def _reference(model: type[BaseModel], place: tuple[str, ...]) -> Iterator[str]:
    rows, sections = [], []
    for name, entry in model.model_fields.items():
        at = (*place, name)
        section = section_of(entry.annotation)
        if at == ("source",):
            sections += [
                (kind, f'source]` with `kind = "{kind}', one) for kind, one in SOURCES.items()
            ]
        elif section is not None:
            sections.append((name, ".".join(at), section))
        else:
            rows.append((name, entry))
    if rows:
        yield from ("", "| setting | default | meaning |", "|---|---|---|")
        for name, entry in rows:
            yield f"| `{name}` | {_default(entry)} | {entry.description or ''} |"
    for _, title, section in sections:
        closing = '"`' if "kind" in title else "]`"
        yield from ("", f"{'#' * 2} `[{title}{closing}", "", (section.__doc__ or "").strip())
        at = tuple(title.split(".")) if "kind" not in title else ("source", "kind")
        yield from _reference(section, at)


def _default(entry: FieldInfo) -> str:
    if entry.is_required():
        return "needed"
    default = entry.get_default(call_default_factory=True)
    return "–" if default is None else f"`{write_value(default)}`"  # noqa: RUF001


if __name__ == "__main__":
    Path("docs/serve/configuration.md").write_text(write_reference(), encoding="utf-8")
