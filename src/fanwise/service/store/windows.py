"""Closed windows in the store: what was counted in each."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, insert, select, tuple_, update

from fanwise.service.records import Window
from fanwise.service.store import tables
from fanwise.service.store.database import Database, note
from fanwise.service.store.packing import read_cursor
from fanwise.service.store.reading import check_limit, make_page
from fanwise.service.store.rows import Page, WindowTotals

_rows = tables.windows
WINDOW = "window"
"""Counts windows by what closed them."""


class Windows(Database):
    """Methods about windows; each is one transaction."""

    def put_window(self, totals: WindowTotals) -> None:
        """Keep what was counted in a window, in place of what was known of it."""
        window = totals.window
        values = {
            "events": int(totals.events),
            "late": int(totals.late),
            "bad": int(totals.bad),
            "closed_by": totals.closed_by,
            "closed_at": int(totals.closed_at),
        }
        with self.writing() as connection:
            is_it = (_rows.c.start == int(window.start)) & (_rows.c.end == int(window.end))
            done = connection.execute(update(_rows).where(is_it).values(values))
            if not done.rowcount:
                start, end = int(window.start), int(window.end)
                connection.execute(insert(_rows).values(start=start, end=end, **values))
                note(connection, WINDOW, totals.closed_by)

    def windows(self, limit: int = 50, cursor: str | None = None) -> Page[WindowTotals]:
        """Return a page of windows, newest first."""
        after = read_cursor(cursor, parts=2)
        query = select(_rows).order_by(_rows.c.start.desc(), _rows.c.end.desc())
        if after is not None:
            query = query.where(tuple_(_rows.c.start, _rows.c.end) < tuple_(*after))
        with self.reading() as connection:
            found = list(connection.execute(query.limit(check_limit(limit) + 1)))
        return make_page(found, limit, ("start", "end"), to_totals)


def to_totals(row: Row[Any]) -> WindowTotals:
    """Return the window of a row."""
    return WindowTotals(
        Window(row.start, row.end), row.events, row.late, row.bad, row.closed_by, row.closed_at
    )
