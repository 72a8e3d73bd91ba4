"""Facts and tables as small pieces of HTML, as notebooks show them; all text is escaped.

What they show is written as in tables of the terminal. Colours and fonts are left to the notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from fanwise.formatting import looks_numeric, number

MOST_ROWS = 12
"""Rows of a long table that are shown."""


def facts(title: str, pairs: Iterable[tuple[str, Any]]) -> str:
    """Return names with values as a table of two columns."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align: left">{escape(str(name))}</th>{_cell(value)}</tr>'
        for name, value in pairs
    )
    return f"<table>{_caption(title)}<tbody>{rows}</tbody></table>"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return named columns and rows."""
    head = "".join(f'<th scope="col">{escape(str(column))}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{paragraph(note)}"
    )


def paragraph(text: str) -> str:
    """Return a sentence; nothing for none."""
    return f"<p>{escape(text)}</p>" if text else ""


def whole(*parts: str) -> str:
    """Return parts one below the other."""
    return f'<div class="fanwise">{"".join(parts)}</div>'


def _caption(title: str) -> str:
    if not title:
        return ""
    return f'<caption style="text-align: left"><b>{escape(title)}</b></caption>'


def _cell(value: Any) -> str:
    text = number(value)
    side = "right" if looks_numeric(text) else "left"
    return f'<td style="text-align: {side}">{escape(text)}</td>'
