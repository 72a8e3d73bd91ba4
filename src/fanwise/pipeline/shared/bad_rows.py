"""What is said when more rows are bad than may be."""

from __future__ import annotations

from fanwise.errors import InputError
from fanwise.pipeline.shared.reasons import NOT_UTF8, UNREADABLE
from fanwise.pipeline.shared.report import Rows

_LONGEST = 200


def too_many_message(
    limit: str, rows: Rows, place: str, num_bad: int, example: tuple[str, str] | None
) -> InputError:
    """Return the error: how many, the commonest reason, and the first example of it.

    Parameters
    ----------
    limit
        What ``--max-bad-rows`` says.
    rows
        How the rows of the trace were judged.
    place
        The trace.
    num_bad
        Bad rows that are too many.
    example
        A file and the text of a row in it that is bad for the commonest reason.
    """
    reason, count = max(rows.bad.items(), key=lambda item: item[1])
    path, text = example or ("", "?")
    file = path.rsplit("/", 1)[-1]
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    inside = f" in {file}" if file and not place.endswith(file) else ""
    what_to_do = "repair them, or allow more and find them in quarantine/."
    if reason == NOT_UTF8:
        what_to_do = (
            "the text is in another encoding: name it with --encoding, as in --encoding latin-1 "
            "(--encoding utf-8 takes it as it stands)."
        )
    elif reason == UNREADABLE:
        what_to_do = "copy it anew, or allow more and find what was left out in quarantine/."
    return InputError(
        f"{place}: {num_bad} bad row{'s' if num_bad > 1 else ''}, more than --max-bad-rows "
        f"{limit}; most often {reason!r} ({count}), as in {shown}{inside}; {what_to_do}"
    )
