"""``fanwise provision``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, engines, options, provision_engines
from fanwise.cli.solving import (
    Facts,
    Solvable,
    algorithms_help,
    check_algorithm,
    load_workload,
    parse_duration,
    resolve_tau,
    solve_and_save,
)
from fanwise.errors import ParameterError
from fanwise.planning.families import PROVISION
from fanwise.progress import SILENT, Progress
from fanwise.wording import money, size, span

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan

DECISIONS = {
    "yes": "yes: this one",
    "no": "no: the bound is higher",
    "unknown": "unknown: between the bound and this plan",
}
DEFAULT_SELECT, DEFAULT_PACK = PROVISION.default.split("+")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("provision")(provision)


def provision(
    workload: options.Workload,
    out: options.Out,
    tau: Annotated[
        str | None,
        typer.Option(
            help="Events per period that satisfy a subscriber, or 'column'. "
            "Default: the workload's column tau.",
            show_default=False,
        ),
    ] = None,
    instance: Annotated[
        str,
        typer.Option(help="Type of machine to rent, or 'auto' for the cheapest type or mix."),
    ] = "c3.large",
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="CSV with instance,usd_per_hour,mbps and maybe max_topics,max_connections. "
            "Default: c3.large 0.15/64 and c3.xlarge 0.30/128.",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        str,
        typer.Option(help=f"Stage 1, which pairs: {algorithms_help('provision', 'select')}."),
    ] = DEFAULT_SELECT,
    pack: Annotated[
        str,
        typer.Option(help=f"Stage 2, on which machines: {algorithms_help('provision', 'pack')}."),
    ] = DEFAULT_PACK,
    price_gb: Annotated[float, typer.Option(help="Dollars per GB (1e9 bytes) of traffic.")] = 0.12,
    price_gb_in: Annotated[
        float | None,
        typer.Option(help="The same for incoming traffic alone.", show_default=False),
    ] = None,
    price_gb_out: Annotated[
        float | None,
        typer.Option(help="The same for outgoing traffic alone.", show_default=False),
    ] = None,
    message_bytes: Annotated[
        float | None,
        typer.Option(
            help="One message size for all topics. Default: each topic's own.", show_default=False
        ),
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option(
            help="How long the machines run: 12h, 10d. Default: the workload's period.",
            show_default=False,
        ),
    ] = None,
    reserve: Annotated[
        str, typer.Option(help="Share of each machine's bandwidth to keep free: 20%.")
    ] = "0",
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="Is there a plan for this much money? Exit status 1 unless the answer is yes.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option("--baseline", help="Also say what is saved against the naive plan, RSP+FFBP."),
    ] = False,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    settings: options.Settings = None,
    engine: provision_engines.Engine = None,
    master: engines.Master = None,
    conf: engines.Conf = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Rent the cheapest machines and bandwidth that satisfy every subscriber.

    Stage 1 chooses (topic, subscriber) pairs that reach everybody's
    threshold, stage 2 packs them on machines. The plan lists the machines and
    what runs on each, with its cost, a proven bound on the least possible
    cost, and the gap between the two.

    Pairs that do not fit in memory stay on disk (--engine stream) or on
    Spark (--engine spark).

    Example: [bold]fanwise provision spotify/ --tau 100 --horizon 10d --out plan/[/bold]
    """
    from fanwise.provision.catalogue import resolve_catalogue
    from fanwise.provision.problem import Provisioning

    algorithms = (
        check_algorithm("provision", select, "select"),
        check_algorithm("provision", pack, "pack"),
    )
    engine, algorithm = provision_engines.choose_engine(engine, workload, algorithms, master, conf)
    if baseline and engine != provision_engines.LOCAL:
        raise ParameterError("baseline", f"left out with --engine {engine}", baseline)
    horizon_seconds = None if horizon is None else parse_duration(horizon, "horizon")
    asked: list[_Asked] = []

    def make_problem() -> _Asked:
        parameters: dict[str, Any] = {
            "instance": instance,
            "catalogue": resolve_catalogue(catalog),
            "price_gb_in": price_gb if price_gb_in is None else price_gb_in,
            "price_gb_out": price_gb if price_gb_out is None else price_gb_out,
            "message_bytes": message_bytes,
            "horizon_seconds": horizon_seconds,
            "reserve": reserve,
            "max_cost": max_cost,
        }
        if engine != provision_engines.LOCAL:
            elsewhere = provision_engines.Elsewhere(
                engine, workload, out, tau, master, conf, **parameters
            )
            asked.append(_Asked(elsewhere))
        else:
            loaded = load_workload(workload)
            problem = Provisioning(loaded, tau=resolve_tau(tau, loaded), **parameters)
            asked.append(_Asked(problem, problem.naive_cost if baseline else None))
        return asked[0]

    solve_and_save(
        make_problem,
        algorithm,
        out=out,
        overwrite=overwrite,
        as_json=as_json,
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        settings=settings,
        describe=describe,
        amount=money,
    )
    if asked[0].decision not in (None, "yes"):
        raise typer.Exit(1)


class _Asked:
    """A problem that remembers the answer to the decision question, and adds the baseline."""

    def __init__(self, problem: Solvable, naive_cost: Callable[[int], float] | None = None) -> None:
        self.problem = problem
        self.naive_cost = naive_cost
        self.decision: str | None = None

    def solve(
        self,
        algorithm: str | None = None,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float | None = None,
        progress: Progress = SILENT,
        **settings: Any,
    ) -> Plan:
        """Make a plan."""
        plan = self.problem.solve(
            algorithm, seed=seed, time_limit=time_limit, gap=gap, progress=progress, **settings
        )
        self.decision = plan.metrics.get("decision")
        if self.naive_cost is not None:
            with progress.step("the naive plan"):
                naive = self.naive_cost(seed)
            saved = {"cost_naive": naive, "savings": naive - plan.objective}
            plan = replace(plan, metrics={**plan.metrics, **saved})
        return plan


def describe(plan: Plan) -> Facts:
    """Return what people want to know of a provisioning."""
    metrics, total = plan.metrics, plan.objective

    def cost(name: str, of_what: str) -> str:
        share = console.percent(metrics[name] / total) if total else console.percent(0.0)
        return f"{money(metrics[name])} ({share}): {of_what}"

    split = f"{metrics['split_topics']:,} of {metrics['topics']:,} topics"
    facts = [
        ("total cost", f"{money(total)} for {span(plan.parameters['horizon_seconds'])}"),
        ("machines", cost("cost_machines", _name_machines(plan))),
        ("incoming", cost("cost_incoming", f"{size(metrics['in_bytes'])} per period")),
        ("outgoing", cost("cost_outgoing", f"{size(metrics['out_bytes'])} per period")),
        ("utilisation", console.percent(metrics["utilisation"])),
        ("satisfied subscribers", f"{metrics['subscribers']:,} by {metrics['pairs']:,} pairs"),
        (
            "on several machines",
            f"{split}, {size(metrics['split_bytes'])} more to take in "
            f"({money(metrics['cost_splits'])})",
        ),
    ]
    if "savings" in metrics:
        share = metrics["savings"] / metrics["cost_naive"] if metrics["cost_naive"] else 0.0
        saved = f"{money(metrics['savings'])} ({console.percent(share)})"
        facts.append(("saved", f"{saved} of the naive plan's {money(metrics['cost_naive'])}"))
    if "decision" in metrics:
        limit = money(plan.parameters["max_cost"])
        facts.append((f"a plan for {limit}", DECISIONS[metrics["decision"]]))
    return [
        *facts,
        ("above the bound", money(metrics["cost_above_bound"])),
        ("the paper's bound", money(metrics["paper_bound"])),
    ]


def _name_machines(plan: Plan) -> str:
    """Count the machines by type: ``2 x c3.xlarge + 1 x c3.large``."""
    names = Counter(plan.tables["vms"].column("instance").to_pylist())
    if not names:
        return "none"
    return " + ".join(f"{count:,} x {name}" for name, count in names.most_common())
