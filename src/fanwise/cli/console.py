"""What commands share: consoles, progress bars, JSON output, human-readable numbers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fanwise.formatting import looks_numeric, number, percent, printable
from fanwise.progress import Progress, Step

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "err", "facts", "number", "out", "percent", "print_json", "printable", "progress", "table",
    "warn",
]  # fmt: skip


PIPE_WIDTH = 160
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves as it is, and terminals obey."""


def out() -> Console:
    """Return a console on standard output."""
    from rich.console import Console

    # A pipe has no width of its own: room enough that no number is cut.
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def err() -> Console:
    """Return a console on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(result: Any) -> None:
    """Print one JSON object, machine-readable, on standard output."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def warn(message: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"fanwise: {message}\n")


def table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Make a table; numbers align right."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    rows = [
        [printable(cell) if isinstance(cell, str) else number(cell) for cell in row] for row in rows
    ]
    result = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        values = [row[index] for row in rows]
        is_numeric = bool(values) and all(looks_numeric(value) for value in values)
        result.add_column(column, justify="right" if is_numeric else "left")
    for row in rows:
        result.add_row(*(escape(cell) for cell in row))
    return result


def facts(title: str | None, pairs: Iterable[tuple[str, Any]]) -> Table:
    """Make a two-column table of names and values."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    result = Table(
        title=title, box=box.SIMPLE, show_header=False, title_justify="left", title_style="bold"
    )
    result.add_column(style="dim")
    result.add_column(justify="left")
    for name, value in pairs:
        shown = printable(value) if isinstance(value, str) else number(value)
        result.add_row(escape(printable(name)), escape(shown))
    return result


class _RichStep(Step):
    def __init__(self, bars: Any, task: Any) -> None:
        self._bars = bars
        self._task = task

    def advance(self, amount: float = 1.0) -> None:
        self._bars.advance(self._task, amount)

    def total(self, total: float) -> None:
        self._bars.update(self._task, total=total)

    def note(self, text: str) -> None:
        self._bars.update(self._task, note=text)


class _RichProgress(Progress):
    def __init__(self, bars: Any) -> None:
        self._bars = bars

    @contextmanager
    def step(self, description: str, total: float | None = None) -> Iterator[Step]:
        task = self._bars.add_task(description, total=total, note="")
        try:
            yield _RichStep(self._bars, task)
        finally:
            self._bars.remove_task(task)


@contextmanager
def progress() -> Iterator[Progress]:
    """Yield a progress with bars and remaining time on a terminal, a silent one elsewhere."""
    if not sys.stderr.isatty():
        yield Progress()
        return
    from rich.progress import (
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    with Bars(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=err(),
        transient=True,
    ) as bars:
        from fanwise.arrays.jit import announce_compilation

        with announce_compilation(_once(bars.console.print)):
            yield _RichProgress(bars)


def _once(show: Callable[[str], None]) -> Callable[[str], None]:
    said: list[str] = []

    def announce(kernel: str) -> None:
        if not said:
            said.append(kernel)
            show("Compiling kernels; this happens on the first run only.")

    return announce
