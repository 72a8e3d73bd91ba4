"""Windows of event time: which belong together, and when they close.

Windows are half-open and aligned to the epoch. They end at multiples of the slide, and events are
counted in panes of that length, so that each event is counted once however many windows overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fanwise.service.records import Window

MICROSECONDS = 10**6


@dataclass(frozen=True)
class WindowRule:
    """How event time is cut.

    Attributes
    ----------
    length, slide
        Of a window, and between two of them, in microseconds; the slide divides the length.
    lateness
        How long a window waits for events after its end, in microseconds of event time.
    """

    length: int
    slide: int
    lateness: int

    @classmethod
    def from_seconds(cls, length: float, slide: float | None, lateness: float) -> WindowRule:
        """Return the rule for lengths in seconds; without a slide windows do not overlap."""
        whole = round(length * MICROSECONDS)
        step = whole if slide is None else round(slide * MICROSECONDS)
        return cls(whole, step, round(lateness * MICROSECONDS))

    def pane_of(self, instant: int) -> int:
        """Return the start of the pane that an instant is in."""
        return instant // self.slide * self.slide

    def window_ending(self, end: int) -> Window:
        """Return the window with an end."""
        return Window(end - self.length, end)

    def panes_in(self, window: Window) -> range:
        """Return the starts of a window's panes."""
        return range(window.start, window.end, self.slide)

    def ends_over(self, pane: int) -> range:
        """Return the ends of the windows that hold a pane."""
        return range(pane + self.slide, pane + self.length + 1, self.slide)

    def closed_by_watermark(self, last: int) -> int:
        """Return up to which end windows are closed once an event of an instant was seen."""
        return (last - self.lateness) // self.slide * self.slide

    def closed_by_silence(self, last_pane: int) -> int:
        """Return up to which end windows are closed when nothing follows a pane for long."""
        return last_pane + self.length

    def closing(self, panes: Iterable[int], before: int, through: int) -> list[Window]:
        """Return the windows that close when the end up to which they are closed moves.

        Parameters
        ----------
        panes
            Those that have events: windows without any are never opened, and need no closing.
        before, through
            Ends up to which windows were closed, and are closed now.
        """
        ends = {end for pane in panes for end in self.ends_over(pane) if before < end <= through}
        return [self.window_ending(end) for end in sorted(ends)]
