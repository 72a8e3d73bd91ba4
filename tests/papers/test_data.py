"""The papers' data files: whole, valid, and nothing in them that nobody uses."""

from __future__ import annotations

import string
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import pytest

import fanwise.papers
from fanwise.errors import ParameterError
from fanwise.papers.panels import Axis, colour_of
from fanwise.papers.paper import read_paper
from fanwise.papers.reproduce import PAPERS, reproduce
from fanwise.papers.words import holds
from fanwise.planning.families import find_family

ROOM = Path(fanwise.papers.__file__).parent
CURVES = {"of", "quantity", "series", "axes", "legend"}
TABLES = {"title", "columns", "note", "along", "quantity", "quantities", "format", "series", "rows"}


@pytest.fixture(params=PAPERS)
def paper(request):
    return read_paper(request.param)


def all_words(paper):
    content = paper.content
    yield from content["notes"]
    yield from content.get("phrases", {}).values()
    yield from content["captions"].values()
    for entry in content["comparisons"].values():
        yield from entry[:4]
    for entry in content["tables"].values():
        yield from (entry[key] for key in ("title", "note", "along") if key in entry)
        yield from entry.get("columns", ())
        yield from (cell for row in entry.get("rows", ()) for cell in row)


def templates_of(words):
    """Yield every template within words."""
    if isinstance(words, str):
        yield words
    else:
        for part in [words["say"]] if isinstance(words, dict) else words:
            yield from templates_of(part)


def conditions_of(words):
    """Yield every condition within words."""
    if isinstance(words, dict):
        yield words["when"]
        yield from conditions_of(words["say"])
    elif not isinstance(words, str):
        for part in words:
            yield from conditions_of(part)


def names_in(words):
    for template in templates_of(words):
        yield from (name for _, name, _, _ in string.Formatter().parse(template) if name)


def sources(paper):
    own = sorted((ROOM / paper.name).glob("*.py"))
    assert own
    return "\n".join(path.read_text(encoding="utf-8") for path in (*own, ROOM / "curves.py"))


def test_every_paper_has_a_file_and_every_file_a_paper():
    found = {path.name for path in (files("fanwise.papers") / "data").iterdir()}
    assert found == {f"{name}.toml" for name in PAPERS}


def test_a_file_says_all_and_nothing_unknown(paper):
    content = paper.content
    assert set(content) <= {"title", "source", "columns", "settings", "numbers", "series", "notes",
                            "comparisons", "captions", "curves", "axes", "tables",
                            "phrases"}  # fmt: skip
    assert paper.title.startswith(f"{paper.name}: ")
    assert {"figure", "series", "quantity", "ours", "paper"} <= set(paper.columns)
    for name, (_, _, _, _, *decimals) in content["comparisons"].items():
        assert len(decimals) <= 1, name
        assert all(isinstance(digits, int) for digits in decimals), name
    for name, entry in content.get("curves", {}).items():
        assert {"of", "quantity", "axes"} <= set(entry) <= CURVES, name
        assert name in content["captions"]
    for name, entry in content["tables"].items():
        assert {"title"} <= set(entry) <= TABLES, name
    labels = {label for entry in content.get("curves", {}).values() for label in entry["axes"]}
    for label, axis in content.get("axes", {}).items():
        assert label in labels or f'"{label}"' in sources(paper), label
        assert set(axis) <= {field.name for field in fields(Axis)}


def test_templates_and_conditions_can_be_read(paper):
    for words in all_words(paper):
        list(names_in(words))
        for condition in conditions_of(words):
            with pytest.raises(NameError):  # read, but without values
                holds(condition, {})


def test_every_phrase_is_used(paper):
    used = {name for words in all_words(paper) for name in names_in(words)}
    for name in paper.content.get("phrases", {}):
        assert name in used or f'"{name}"' in sources(paper), name


def test_every_setting_and_number_is_used(paper):
    told = {name for words in paper.content["notes"] for name in names_in(words)}
    told |= {word for words in paper.content["notes"] for condition in conditions_of(words)
             for word in condition.split()}  # fmt: skip
    text = sources(paper)
    settings = dict(paper.content["settings"])
    small, whole = settings.pop("small", {}), settings.pop("paper", {})
    assert set(small) == set(whole)
    for name in (*settings, *small):
        assert name in told or f"settings.{name}" in text or f'"{name}"' in text, name
    for name in paper.numbers:
        assert f'"{name}"' in text, name


def test_series_are_drawn_and_run(paper):
    series = paper.series
    assert all(colour_of(one).startswith("#") for one in series.values())
    if paper.name in ("connect", "assign", "wire"):
        family = find_family(paper.name)
        for one in series.values():
            (algorithm,) = family.algorithms(one.algorithm)
            assert set(one.settings) <= set(algorithm.settings)


def test_lines_are_short(paper):
    text = (files("fanwise.papers") / "data" / f"{paper.name}.toml").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 100


def test_an_unknown_family_is_refused():
    with pytest.raises(ParameterError, match="dance"):
        reproduce("dance", 0.01)
