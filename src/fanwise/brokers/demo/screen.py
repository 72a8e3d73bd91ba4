"""The demo on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fanwise.brokers.demo.costs import Costs
from fanwise.brokers.demo.running import Snapshot

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 40
BAR = 24


def render(shown: Snapshot) -> RenderableType:
    """Return what to show of a moment."""
    title = f"fanwise broker demo: {shown.phase}"
    if not shown.costs:
        return Panel(Text("the network is starting"), title=title)
    return Panel(Group(_costs(shown.costs), Text(), _brokers(shown), _counts(shown)), title=title)


def _costs(costs: tuple[Costs, ...]) -> Table:
    """Return cost over time, beside what it would be."""
    table = Table.grid(padding=(0, 2))
    last = costs[-1]
    central = [one for one in costs if one.central is not None]
    most = max(max(one.now, one.never) for one in costs) or 1.0
    rows = [
        ("now", [one.now for one in costs], last.now),
        ("if nobody had moved", [one.never for one in costs], last.never),
    ]
    for label, values, value in rows:
        table.add_row(label, Text(_sparkline(values, most)), f"{value:,.0f}")
    if central:
        solved = central[-1]
        assert solved.central is not None
        told = f"{solved.central:,.0f}"
        if solved.central > 0:
            told += f", {solved.now / solved.central:.2f} times that at {solved.seconds:.0f} s"
        table.add_row("solved centrally", "", told)
    return table


def _sparkline(values: list[float], most: float) -> str:
    """Return bars for values, the last ones where there are too many for the width."""
    step = max(1, -(-len(values) // WIDTH))
    shown = values[::-1][::step][::-1]
    return "".join(BLOCKS[round((len(BLOCKS) - 1) * min(value / most, 1.0))] for value in shown)


def _brokers(shown: Snapshot) -> Table:
    table = Table("broker", "clients", "load", box=None)
    for broker, (clients, load, capacity) in enumerate(
        zip(shown.clients, shown.load, shown.capacity, strict=True)
    ):
        share = load / capacity if capacity > 0 else 0.0
        filled = round(BAR * min(share, 1.0))
        bar = "█" * filled + "·" * (BAR - filled)
        table.add_row(f"b{broker}", str(clients), f"{bar} {share:.0%}")
    return table


def _counts(shown: Snapshot) -> Text:
    return Text(
        f"{shown.published:,} published, {shown.received:,} received, {shown.moves:,} moves, "
        f"{shown.costs[-1].seconds:.0f} s"
    )
