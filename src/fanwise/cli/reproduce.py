"""``fanwise reproduce``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.errors import ParameterError

SCALES = {"small": 0.01, "paper": 1.0}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    out: options.Out,
    family: Annotated[
        str,
        typer.Argument(
            metavar="[FAMILY]", help="Whose paper: select, provision, connect, assign or wire."
        ),
    ] = "select",
    scale: Annotated[
        str,
        typer.Option(
            help="small (up to a minute), paper (its size), or a share of the paper's size."
        ),
    ] = "small",
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Repeat a paper's experiments and put our numbers next to its own.

    Writes a folder with report.html, the figures as PNG and every measured
    number in table.csv. The traces of the papers are not public: workloads are
    synthetic, with the statistics that the paper tells. For connect they are
    samples of public graphs where FANWISE_DATA names the folder that has them.

    Example: [bold]fanwise reproduce select --scale small --out reproduction/[/bold]
    """
    from fanwise.papers.page import REPRODUCTION, save_reproduction
    from fanwise.papers.reproduce import reproduce as run_paper
    from fanwise.workload.folders import refuse_existing

    refuse_existing(out, REPRODUCTION, overwrite=overwrite)
    share = parse_scale(scale)
    with console.progress() as progress:
        result = run_paper(family, share, seed=seed, progress=progress)
        with progress.step("writing the report"):
            files = save_reproduction(result, out, overwrite=overwrite)
    if as_json:
        console.print_json(
            {
                "out": str(out),
                "files": files,
                "scale": share,
                "comparisons": [asdict(comparison) for comparison in result.comparisons],
            }
        )
        return
    rows = [(at.figure, at.quantity, at.ours, at.paper) for at in result.comparisons]
    terminal = console.out()
    terminal.print(console.table(result.title, ("figure", "quantity", "ours", "paper"), rows))
    terminal.print(
        f"Report, {len(files) - 2} pictures and table.csv written to {out}", markup=False
    )


def parse_scale(text: str) -> float:
    """Return the share of the paper's size."""
    if text in SCALES:
        return SCALES[text]
    constraint = "small, paper, or a number > 0 and <= 1"
    try:
        share = float(text)
    except ValueError:
        raise ParameterError("scale", constraint, text) from None
    if not 0 < share <= 1:
        raise ParameterError("scale", constraint, text)
    return share
