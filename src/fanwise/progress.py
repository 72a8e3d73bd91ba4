"""Progress of long work, silent unless somebody listens.

Long functions take a :class:`Progress` and report steps to it. The base class ignores them; the
command line passes one that draws bars.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Step:
    """One piece of long work; does nothing."""

    def advance(self, amount: float = 1.0) -> None:
        """Say that ``amount`` more of the total is done."""

    def total(self, total: float) -> None:
        """Say how much there is, once it is known."""

    def note(self, text: str) -> None:
        """Show a short text beside the bar: a value, a bound, a gap."""


class Progress:
    """Receives steps; ignores them."""

    @contextmanager
    def step(self, description: str, total: float | None = None) -> Iterator[Step]:
        """Open a step; ``total`` is what :meth:`Step.advance` adds up to, None if unknown."""
        yield Step()


SILENT = Progress()
