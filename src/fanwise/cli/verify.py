"""``fanwise verify``."""

from __future__ import annotations

import typer

from fanwise.cli import console, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    workload: options.Workload,
    plan: options.PlanFolder,
    as_json: options.Json = False,
) -> None:
    """Check a plan from scratch: every limit, the objective, the metrics, the bound.

    Nothing the plan says is trusted: costs, loads and satisfaction are
    computed anew from the workload, and the bound is derived again from the
    certificate in the plan's folder proof/. A plan without a certificate, or
    with a bound that rests on a solver's word, can still hold; then the bound
    is said not to be checked. Exit status 0: everything that was checked
    holds; 1: something does not.

    Example: [bold]fanwise verify spotify/ plan/[/bold]
    """
    from fanwise.planning.inputs import open_both
    from fanwise.planning.verify import Check, examine

    with (
        console.progress() as progress,
        open_both(workload, plan, progress) as (loaded, found),
        progress.step("checking") as step,
    ):

        def show(check: Check) -> None:
            step.note(f"{check.name} holds" if check.holds else f"{check.name} is broken")

        result = examine(loaded, found, show)
    if as_json:
        console.print_json(
            {
                "verified": result.holds,
                "bound_checked": result.is_bound_checked,
                "first": result.first,
                "ok": result.holds,
                "plan": found.id,
                "problem": found.problem,
                "objective": found.objective,
                "bound": found.bound,
                "remarks": result.remarks,
                "checks": [
                    {"name": check.name, "problem": check.problem} for check in result.checks
                ],
            }
        )
    else:
        rows = [
            (check.name, "holds" if check.holds else f"BROKEN: {check.problem}")
            for check in result.checks
        ]
        console.out().print(console.facts(f"{found.problem} by {found.algorithm}", rows))
        for remark in result.remarks:
            console.out().print(remark, markup=False, highlight=False)
    if not result.holds:
        console.warn(f"{plan}: verification failed: {result.first}.")
        raise typer.Exit(1)
    if not as_json:
        bound = "" if result.is_bound_checked else "; its bound was not checked"
        console.out().print(f"{plan}: the plan holds what it says{bound}.", markup=False)
