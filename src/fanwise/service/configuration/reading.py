"""Reading the configuration: every mistake at once, with its line and what to write instead."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fanwise.errors import InputError
from fanwise.service.configuration.hiding import show
from fanwise.service.configuration.model import (
    Configuration,
    FolderSource,
    MqttSource,
    SparkSource,
)

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=")
_SQLITE = re.compile(r"(sqlite(?:\+pysqlite)?:///)(?=[^/:?])")
"""How the address of a database begins whose path is relative."""
_QUOTES = ('"""', "'''")

Path_ = tuple[str | int, ...]
SOURCES: dict[str, type[BaseModel]] = {
    "folder": FolderSource,
    "mqtt": MqttSource,
    "spark": SparkSource,
}
"""Sections of sources by their kind."""
SERVE = "fanwise serve"
Model = TypeVar("Model", bound=BaseModel)


class Mistake(NamedTuple):
    """One thing that is wrong with the file, and where; line 0 is the file as a whole."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


class ConfigurationError(InputError):
    """A configuration with mistakes; all of them."""

    def __init__(self, path: Path, mistakes: Sequence[Mistake], command: str = SERVE) -> None:
        self.path, self.mistakes = path, tuple(sorted(mistakes))
        first, more = self.mistakes[0], len(self.mistakes) - 1
        others = f" ({more} more; {command} --config {path} --check lists all)" if more else ""
        super().__init__(f"{path}: {first}{others}")


def read_configuration(path: Path) -> Configuration:
    """Read and check the file; paths in it are relative to its folder.

    Raises
    ------
    ConfigurationError
        With all mistakes.
    InputError
        Where there is no such file.
    """
    return _resolve_texts(read_as(Configuration, path, SERVE), path.absolute().parent)


def read_as(model: type[Model], path: Path, command: str) -> Model:
    """Read and check the file of a command, as :func:`read_configuration` does."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; {command} --init {path} writes one."
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(path, [Mistake(0, "is not text in UTF-8")], command) from None
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(path, [_syntax_mistake(str(error))], command) from None
    try:
        found = model.model_validate(entries)
    except ValidationError as error:
        lines = find_lines(text)
        raise ConfigurationError(
            path, [_mistake(detail, lines, model) for detail in error.errors()], command
        ) from None
    resolved: Any = _resolve(found, path.absolute().parent)
    return model.model_construct(**resolved.__dict__)


def place_mistakes(path: Path, found: Iterable[tuple[Path_, str]]) -> list[Mistake]:
    """Return mistakes with the lines of the settings that they are about."""
    lines = find_lines(path.read_text(encoding="utf-8-sig"))
    return sorted(Mistake(_line_of(place, lines), text) for place, text in found)


def _syntax_mistake(message: str) -> Mistake:
    found = re.search(r"\(at line (\d+), column \d+\)", message)
    text = re.sub(r"\s*\(at .*\)", "", message)
    return Mistake(int(found[1]) if found else 0, f"is not TOML: {text}")


def find_lines(text: str) -> dict[Path_, int]:
    """Return the line of each table and entry of a TOML file, by the names that lead to it."""
    lines: dict[Path_, int] = {}
    table: Path_ = ()
    counts: dict[Path_, int] = {}
    in_string: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if in_string is not None:
            if in_string in line:
                in_string = None
            continue
        header = _HEADER.match(line)
        if header is not None:
            names: Path_ = tuple(_split(header[2]))
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
                names = (*names, counts[names])
            table = names
            lines.setdefault(table, number)
            continue
        entry = _ENTRY.match(line)
        if entry is not None:
            lines.setdefault((*table, *_split(entry[1])), number)
        for quotes in _QUOTES:
            if line.count(quotes) % 2:
                in_string = quotes
    return lines


def _split(dotted: str) -> Iterator[str]:
    for name in dotted.split("."):
        yield name.strip().strip("\"'")


def _line_of(place: Path_, lines: dict[Path_, int]) -> int:
    """Return the line of an entry, or of the innermost table around it that is in the file."""
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return 0


def _mistake(detail: ErrorDetails, lines: dict[Path_, int], whole: type[BaseModel]) -> Mistake:
    # The kind of a source is not a name in the file.
    place: Path_ = tuple(
        part for index, part in enumerate(detail["loc"]) if not _is_tag(detail["loc"], index)
    )
    name = ".".join(str(part) for part in place)
    line = _line_of(place, lines)
    if detail["type"] == "missing":
        return Mistake(line, f"{name} is missing: {_describe(whole, detail['loc'])}")
    if detail["type"] == "extra_forbidden":
        return Mistake(line, f"{name} is no setting: {_suggest(whole, detail['loc'])}")
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "union_tag_not_found":
        return Mistake(line, f"{name}.kind is missing: write kind = 'folder', 'mqtt' or 'spark'")
    if detail["type"] == "union_tag_invalid":
        return Mistake(line, f"{name}.kind must be 'folder', 'mqtt' or 'spark'")
    if isinstance(detail["input"], dict):
        return Mistake(line, f"{name}: {message}" if name else message)
    if detail["type"] == "string_type" and name == "store.url":
        return Mistake(line, f"{name} must be an address such as postgresql://user@host/database")
    words = message[0].lower() + message[1:]
    words = words.replace("input should be", "must be").replace("Input should be", "must be")
    return Mistake(line, f"{name} {words}, got {show(place, detail['input'])}")


def _is_tag(loc: Sequence[str | int], index: int) -> bool:
    return index == 1 and loc[0] == "source" and loc[1] in SOURCES


def _describe(whole: type[BaseModel], place: Path_) -> str:
    """Say what a missing entry is for."""
    model = _model_at(whole, place[:-1])
    entry = None if model is None else model.model_fields.get(str(place[-1]))
    return "write it" if entry is None or not entry.description else entry.description


def _suggest(whole: type[BaseModel], place: Path_) -> str:
    """Say which setting was probably meant."""
    model = _model_at(whole, place[:-1])
    if model is None:
        return "leave it out"
    known = list(model.model_fields)
    close = difflib.get_close_matches(str(place[-1]), known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _model_at(whole: type[BaseModel], place: Path_) -> type[BaseModel] | None:
    """Return the section that names lead to, the kind of a source among them; None for none."""
    model: type[BaseModel] | None = whole
    for part in place:
        if part in SOURCES and place[0] == "source":
            model = SOURCES[str(part)]
            continue
        if isinstance(part, int) or model is None:
            continue
        entry = model.model_fields.get(part)
        model = None if entry is None else section_of(entry.annotation)
    return model


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section that an annotation names, also as one of a list or optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [section_of(part) for part in getattr(annotation, "__args__", ())]
    sections = [section for section in found if section is not None]
    return sections[0] if len(sections) == 1 else None


def _resolve_texts(resolved: Configuration, folder: Path) -> Configuration:
    """Return the configuration with paths that are texts, or in one, as seen from a folder."""
    source, store = resolved.source, resolved.store
    if isinstance(source, FolderSource):
        changed = {
            name: path if path is None or "://" in path else str(folder / Path(path).expanduser())
            for name, path in (
                ("publications", source.publications),
                ("subscriptions", source.subscriptions),
            )
        }
        resolved = resolved.model_copy(update={"source": source.model_copy(update=changed)})
    if store.url is not None and _SQLITE.match(store.url):
        url = _SQLITE.sub(lambda found: f"{found[1]}{folder}/", store.url, count=1)
        resolved = resolved.model_copy(update={"store": store.model_copy(update={"url": url})})
    return resolved


def _resolve(value: Any, folder: Path) -> Any:
    if isinstance(value, Path):
        return folder / value.expanduser()
    if isinstance(value, BaseModel):
        entries = {name: _resolve(item, folder) for name, item in value.__dict__.items()}
        return type(value).model_construct(**entries)
    if isinstance(value, list):
        return [_resolve(item, folder) for item in value]
    return value
