"""``fanwise plot``."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from fanwise.cli import console, options
from fanwise.cli.stating import load_workload
from fanwise.errors import ParameterError
from fanwise.planning.families import find_family


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plot")(plot)


def plot(
    workload: options.Workload,
    plan: options.PlanFolder,
    out: options.Out,
    image_format: Annotated[
        str, typer.Option("--format", help="File format: png, svg or pdf.")
    ] = "png",
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Draw a plan's pictures into a folder.

    Example: [bold]fanwise plot spotify/ plan/ --out pictures/ --format svg[/bold]
    """
    from fanwise.planning.plan import read_plan
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import PICTURES
    from fanwise.workload.plot_style import FORMATS, save_figures

    if image_format not in FORMATS:
        raise ParameterError("format", f"one of {', '.join(FORMATS)}", image_format)
    refuse_existing(out, PICTURES, overwrite=overwrite, inputs=[workload, plan])
    found = read_plan(plan)
    figures = {
        re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"): figure
        for title, figure in found.figures(
            load_workload(workload, find_family(found.problem))
        ).items()
    }
    files = save_figures(figures, out, image_format=image_format, overwrite=overwrite)
    if as_json:
        console.print_json({"out": str(out), "files": files})
    else:
        rows = [(file,) for file in files]
        console.out().print(console.table(f"Written to {out}", ("picture",), rows))
