"""``fanwise broker demo``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import broker_options as shared
from fanwise.cli import console, options
from fanwise.errors import FanwiseError

if TYPE_CHECKING:
    from fanwise.brokers.demo.running import Demo, Snapshot

PICTURES = (".png", ".svg", ".pdf")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    seconds: Annotated[
        float, typer.Option(min=1, help="How long clients publish, once all are connected.")
    ] = 120.0,
    brokers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 8,
    clients: Annotated[int, typer.Option(min=2, help="Clients, all in this process.")] = 500,
    rate: Annotated[float, typer.Option(min=0.1, help="Publications a second, of all.")] = 40.0,
    drift: Annotated[
        float,
        typer.Option(min=1, help="Seconds after which a client wants something else, on average."),
    ] = 120.0,
    turn: Annotated[
        float, typer.Option(min=0.5, help="Seconds between two looks at what could move.")
    ] = 3.0,
    seed: options.Seed = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Picture of cost over time: .png, .svg or .pdf.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run a network on this machine whose clients want ever other things, and watch its cost.

    Clients publish, and their interests drift; brokers ask them to move to where
    that lowers the cost. Beside it: what it would cost if nobody had moved, and
    a plan for all at once by the same prices. At the end it is counted whether
    everything that was due has come, once.

    Example: [bold]fanwise broker demo --seconds 60[/bold]
    """  # fmt: skip
    shared.require_extra()
    if out is not None and out.suffix not in PICTURES:
        raise FanwiseError(f"--out {out}: give a name that ends in {', '.join(PICTURES)}.")
    if clients < 2 * brokers:
        raise FanwiseError(f"--clients {clients}: give at least two for each of {brokers} brokers.")
    from fanwise.brokers.demo.running import Demo, DemoSettings

    settings = DemoSettings(brokers, clients, seconds, rate, drift, turn, seed=seed)
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="fanwise-brokers-"))
        show = _shower(stack, as_json=as_json)
        running = Demo(settings, Path(home), show)
        result = asyncio.run(running.run())
    _report(running, result, out, as_json=as_json)
    if result["lost"] or result["doubled"]:
        raise SystemExit(1)


def _shower(stack: ExitStack, *, as_json: bool) -> Any:
    """Return what shows a moment: a live picture on a terminal, else a line for each phase."""
    if as_json:
        return lambda shown: None
    if sys.stdout.isatty():
        from rich.live import Live

        from fanwise.brokers.demo.screen import render

        live = stack.enter_context(Live(console=console.out(), refresh_per_second=2))
        return lambda shown: live.update(render(shown))
    return _Lines()


class _Lines:
    """Writes a line when the phase changes, and one every ten seconds."""

    def __init__(self) -> None:
        self._phase, self._at = "", -10.0

    def __call__(self, shown: Snapshot) -> None:
        phase = shown.phase.split(",")[0]
        seconds = shown.costs[-1].seconds if shown.costs else 0.0
        if phase == self._phase and (not shown.costs or seconds < self._at + 10):
            return
        self._phase, self._at = phase, seconds
        told = phase
        if shown.costs:
            last = shown.costs[-1]
            told += (
                f": {seconds:.0f} s, cost {last.now:,.0f}, without moves {last.never:,.0f}, "
                f"{shown.moves} moves"
            )
        print(told, flush=True)


def _report(running: Demo, result: dict[str, Any], out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        from fanwise.brokers.demo.plots import save_cost_figure

        save_cost_figure(running.costs, out)
    if as_json:
        console.print_json(result)
        return
    last = running.costs[-1]
    pairs = [
        ("brokers, clients", f"{result['brokers']}, {result['clients']}"),
        ("published", result["published"]),
        ("delivered", result["delivered"]),
        ("lost, doubled", f"{result['lost']}, {result['doubled']}"),
        ("moves", result["moves"]),
        ("cost at first", f"{result['cost_first']:,.0f}"),
        ("cost at last", f"{result['cost_last']:,.0f}"),
        ("if nobody had moved", f"{last.never:,.0f}"),
        ("solved centrally", f"{result['cost_central']:,.0f}"),
    ]
    console.out().print(console.facts("Broker network", pairs))
    if out is not None:
        console.out().print(f"Cost over time is in {out}.", markup=False, soft_wrap=True)
