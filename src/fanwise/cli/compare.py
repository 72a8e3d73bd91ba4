"""``fanwise compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, options
from fanwise.cli.solving import INTERRUPTED
from fanwise.cli.stating import Question, asking, split_list, state_problem
from fanwise.planning.families import find_family
from fanwise.planning.family import load

if TYPE_CHECKING:
    from fanwise.planning.compare import Comparison


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(asking(compare))


def compare(
    question: Question,
    algorithms: Annotated[
        str | None,
        typer.Option(
            help="Names, apart by commas. Default: all that are not too slow for this size.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    time_limit: options.TimeLimitEach = None,
    plots: Annotated[
        Path | None,
        typer.Option(help="Folder to write pictures to; must not exist.", show_default=False),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Solve one problem with all algorithms and put them side by side, best first.

    A bound that one of them proves holds for all plans: each gap is to the
    tightest.

    Example: [bold]fanwise compare select spotify/ --tau 27 --capacity 10%[/bold]
    """
    from fanwise.planning.compare import compare as compare_algorithms
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import PICTURES

    question.require_all()
    names = None if algorithms is None else split_list(algorithms, "algorithms")
    for name in names or ():
        question.family.algorithms(name)  # raises for an unknown one
    if plots is not None:
        refuse_existing(plots, PICTURES, overwrite=overwrite, inputs=[question.workload])
    problem = state_problem(question.family, question.workload, question.given)
    with console.progress() as progress:
        comparison = compare_algorithms(
            problem, names, seed=seed, time_limit=time_limit, keep_tables=False, progress=progress
        )
    files = [] if plots is None else _draw(comparison, plots, overwrite=overwrite)
    if as_json:
        result: dict[str, Any] = {"workload": problem.workload.hash, **comparison.to_dict()}
        if plots is not None:
            result["plots"] = files
        console.print_json(result)
    else:
        _show(comparison)
        if plots is not None:
            written = " and ".join(str(plots / file) for file in files)
            console.out().print(f"Written: {written}", markup=False)
    if comparison.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(plan.feasible for plan in comparison.plans):
        console.warn("every plan breaks a limit (feasible: no).")
        raise typer.Exit(1)


def _show(comparison: Comparison) -> None:
    from fanwise.planning.showing import comparison_cells

    columns, rows = comparison_cells(comparison)
    terminal = console.out()
    terminal.print(console.table(f"{comparison.problem}: best first", columns, rows))
    for name, reason in comparison.skipped.items():
        terminal.print(f"{name}: {reason}", markup=False)


def _draw(comparison: Comparison, folder: Path, *, overwrite: bool) -> list[str]:
    from fanwise.report.comparison_plots import plot_comparison
    from fanwise.workload.plot_style import save_figures

    family = find_family(comparison.problem)
    title = family.objective.title(comparison.parameters)
    figure = plot_comparison(comparison, objective=title, amount=family.objective.write)
    figures = {"comparison": figure}
    if family.comparison_plots is not None:
        figures |= load(family.comparison_plots)(comparison)
    return save_figures(figures, folder, overwrite=overwrite)
