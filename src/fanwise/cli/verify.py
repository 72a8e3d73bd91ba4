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
    """Check a plan from scratch: every constraint, the objective, the bound and the gap.

    Nothing the plan says is trusted: costs, loads and satisfaction are
    computed anew from the workload. Exit status 0: everything holds; 1:
    something does not.

    Example: [bold]fanwise verify spotify/ plan/[/bold]
    """
    from fanwise.planning.opening import open_both
    from fanwise.planning.verify import checks

    results = []
    with (
        console.progress() as progress,
        open_both(workload, plan, progress) as (loaded, found),
        progress.step("checking") as step,
    ):
        for check in checks(loaded, found):
            results.append(check)
            step.note(f"{check.name} holds" if check.holds else f"{check.name} is broken")
    failed = [check for check in results if not check.holds]
    if as_json:
        console.print_json(
            {
                "ok": not failed,
                "plan": found.id,
                "problem": found.problem,
                "objective": found.objective,
                "checks": [{"name": check.name, "problem": check.problem} for check in results],
            }
        )
    else:
        rows = [(check.name, "holds" if check.holds else f"BROKEN: {check.problem}")
                for check in results]  # fmt: skip
        console.out().print(console.facts(f"{found.problem} by {found.algorithm}", rows))
    if failed:
        console.warn(f"{plan}: verification failed: {failed[0].name}: {failed[0].problem}.")
        raise typer.Exit(1)
    if not as_json:
        console.out().print(f"{plan}: the plan holds what it says.", markup=False)
