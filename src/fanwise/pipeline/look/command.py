"""From guesses to the command that ingests what was looked at."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from fanwise.pipeline.look.guesses import (
    EDGES,
    LOG,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    Guess,
    guess,
)
from fanwise.pipeline.look.samples import Sample, take_sample

_OPTIONS = {
    PUBLICATIONS: "--publications",
    SUBSCRIPTIONS: "--subscriptions",
    LOG: "--subscription-log",
    EDGES: "--edges",
}


@dataclass(frozen=True)
class Look:
    """One trace looked at."""

    path: str
    sample: Sample
    guess: Guess


def look_at(paths: Sequence[str]) -> list[Look]:
    """Look at traces; of two that could both be publications, the one with subscribers is not."""
    looks = []
    for path in paths:
        sample = take_sample(path)
        looks.append(Look(path, sample, guess(sample)))
    return looks


def command_of(looks: Sequence[Look]) -> list[str]:
    """Return the words of the command, with a placeholder for a trace that is not there."""
    words = ["fanwise", "ingest"]
    follows = (SUBSCRIPTIONS, LOG, EDGES)
    for roles, missing in (((PUBLICATIONS,), "EVENTS"), (follows, "SUBSCRIPTIONS")):
        one = next((look for look in looks if look.guess.role in roles), None)
        if one is None:
            words += [_OPTIONS[roles[0]], missing]
        else:
            words += _words_of(one)
    return [*words, "--out", "workload/"]


def command_text(looks: Sequence[Look]) -> str:
    """Return the same as one line for a shell."""
    return shlex.join(command_of(looks))


def _words_of(look: Look) -> list[str]:
    role, sample = look.guess.role, look.sample
    own = "publications" if role == PUBLICATIONS else "subscriptions"
    words = [_OPTIONS[role], look.path]
    if role == EDGES:
        return words if sample.encoding is None else [*words, f"--{own}-encoding", sample.encoding]
    if _needs_format(look):
        words += [f"--{own}-format", sample.kind]
    if sample.delimiter is not None:
        words += [f"--{own}-delimiter", "tab" if sample.delimiter == "\t" else sample.delimiter]
    if sample.encoding is not None:
        words += [f"--{own}-encoding", sample.encoding]
    columns = {new: old for new, old in look.guess.columns.items() if new != "event_id"}
    if not sample.has_header:
        new_names = {old: new for new, old in columns.items()}
        names = [new_names.get(name, name) for name in sample.columns]
        words += [f"--{own}-columns", ",".join(names)]
    else:
        for new, old in columns.items():
            if old.lower() != new.lower():
                words += [f"--{own}-rename", f"{old}={new}"]
    ids = look.guess.columns.get("event_id")
    if ids is not None and _has_doubles(sample, ids):
        words += ["--event-id", ids]
    return words


def _has_doubles(sample: Sample, column: str) -> bool:
    cells = [cell for cell in sample.columns[column] if cell]
    return len(set(cells)) < len(cells)


def _needs_format(look: Look) -> bool:
    from fanwise.errors import InputError
    from fanwise.pipeline.shared.trace import format_of

    try:
        return format_of(look.path, look.sample.files) != look.sample.kind
    except InputError:
        return True
