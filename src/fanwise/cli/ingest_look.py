"""``fanwise ingest --look``: what is in files, and the command that ingests them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanwise.cli import console
from fanwise.errors import ParameterError

SHOWN = 10


def run(files: Sequence[str] | None, given: Mapping[str, Any], *, as_json: bool) -> None:
    """Look at files and print what was found.

    Parameters
    ----------
    files
        Paths; where there are none, those that the options name.
    given
        All options of the command.
    as_json
        Print one JSON object.
    """
    named = ("publications", "subscriptions", "subscription_log", "edges")
    paths = [*(files or ()), *(given[name] for name in named if given[name] is not None)]
    if not paths:
        raise ParameterError("look", "followed by files: fanwise ingest --look FILE…", None)
    from fanwise.pipeline.look.command import command_of, command_text, look_at

    looks = look_at(paths)
    if as_json:
        console.print_json(
            {"files": [_as_dict(look) for look in looks], "command": command_of(looks)}
        )
        return
    out = console.out()
    for look in looks:
        for part in _shown(look):
            out.print(part)
    out.print("Then:")
    out.print(command_text(looks), markup=False, soft_wrap=True)


def _as_dict(look: Any) -> dict[str, Any]:
    sample, guess = look.sample, look.guess
    return {
        "file": look.path,
        "format": sample.kind,
        "delimiter": sample.delimiter,
        "encoding": sample.encoding or "utf-8",
        "header": sample.has_header,
        "role": guess.role,
        "columns": guess.columns,
        "times": guess.times,
        "fields": {
            name: {"type": sample.types.get(name), "example": _example(cells)}
            for name, cells in sample.columns.items()
        },
        "rows": [
            {name: cells[row] for name, cells in sample.columns.items()}
            for row in range(min(SHOWN, sample.num_rows))
        ],
        "problems": guess.problems,
    }


def _shown(look: Any) -> list[Any]:
    sample, guess = look.sample, look.guess
    role = {"log": "a log of subscriptions", "edges": "an edge list"}.get(guess.role, guess.role)
    between = {None: "", "\t": ", between columns a tab"}.get(
        sample.delimiter, f", between columns {sample.delimiter!r}"
    )
    header = "" if sample.has_header else ", without a header"
    times = f", times in {' and '.join(guess.times)}" if guess.times else ""
    title = f"{look.path}: {sample.kind}{between}{header}{times}: {role}"
    taken = {old: new for new, old in guess.columns.items()}
    parts = [
        console.table(
            title,
            ("column", "taken for", "type", "empty", "example"),
            [
                (
                    name,
                    taken.get(name, "—"),
                    sample.types.get(name, "text"),
                    f"{sum(cell is None for cell in cells)} of {len(cells)}",
                    _example(cells) or "",
                )
                for name, cells in sample.columns.items()
            ],
        )
    ]
    if sample.num_rows:
        parts.append(
            console.table(
                f"The first {min(SHOWN, sample.num_rows)} rows",
                tuple(sample.columns),
                [
                    tuple((cells[row] or "")[:40] for cells in sample.columns.values())
                    for row in range(min(SHOWN, sample.num_rows))
                ],
            )
        )
    if guess.problems:
        parts.append(console.facts("To look at", [("!", problem) for problem in guess.problems]))
    return parts


def _example(cells: Sequence[str | None]) -> str | None:
    found = next((cell for cell in cells if cell), None)
    return found if found is None or len(found) <= 60 else found[:60] + "…"
