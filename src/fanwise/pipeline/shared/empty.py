"""Results with nothing in them: an error that says why, unless they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.errors import InputError
from fanwise.pipeline.shared.report import Rows
from fanwise.pipeline.shared.trace import Trace

ASK = "or pass --allow-empty"


def refuse_no_events(rows: Rows, place: str) -> None:
    """Raise if no row of the publications counts."""
    if rows.fine:
        return
    if not rows.rows:
        raise InputError(f"{place}: has no rows, a header at most; check the path, {ASK}.")
    if rows.outside:
        raise InputError(
            f"{place}: none of {rows.rows} rows counts: {rows.outside} are outside --from and --to"
            f"{f', {rows.num_bad} bad' if rows.num_bad else ''}; check the two, {ASK}."
        )
    raise InputError(f"{place}: none of {rows.rows} rows counts, all are bad; repair them, {ASK}.")


def refuse_no_subscriptions(rows: Rows, place: str) -> None:
    """Raise if no row of the subscriptions counts."""
    if rows.fine:
        return
    if not rows.rows:
        raise InputError(f"{place}: has no rows, a header at most; check the path, {ASK}.")
    raise InputError(
        f"{place}: none of {rows.rows} rows counts: {rows.outside} do not overlap the period, "
        f"{rows.num_bad} bad; check --from and --to, {ASK}."
    )


def refuse_no_pairs(published: int, followed: int, place: str, others: str) -> None:
    """Raise because nobody follows any topic that has events."""
    raise InputError(
        f"{others}: no pairs are left: none of the {followed} topics followed is among the "
        f"{published} that have events in {place}; are they named alike, in the same encoding and "
        f"the same columns? Check --rename and --encoding, {ASK}."
    )


def _refuse_unmatched(names: list[str], places: str) -> None:
    """Raise because renames name columns that are not there."""
    shown = ", ".join(map(repr, names))
    raise InputError(
        f"{places}: --rename of {shown} matches no column; fanwise ingest --look shows what the "
        f"columns are called, {ASK}."
    )


def refuse_renames(traces: Sequence[Trace], unmatched: Sequence[Sequence[str]]) -> None:
    """Raise if a rename matches no column of its trace, or a shared one none of any."""
    for trace, names in zip(traces, unmatched, strict=True):
        own = [name for name in names if name in trace.rename]
        if own:
            _refuse_unmatched(own, trace.path)
    shared = dict.fromkeys(name for trace in traces for name in trace.shared_rename)
    lost = [name for name in shared if all(name in names for names in unmatched)]
    if lost:
        _refuse_unmatched(lost, " and ".join(trace.path for trace in traces))
