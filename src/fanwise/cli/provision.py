"""``fanwise provision``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    resolve_tau,
    solve_and_save,
)
from fanwise.durations import parse_duration
from fanwise.errors import ParameterError
from fanwise.planning.families import PROVISION
from fanwise.progress import Progress
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
    tau: options.Tau = None,
    instance: Annotated[
        str,
        typer.Option(help="Type of machine to rent, or 'auto' for the cheapest type or mix."),
    ] = "c3.large",
    catalog: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns instance, usd_per_hour and mbps, and maybe max_topics and "
            "max_connections. Default: c3.large 0.15/64 and c3.xlarge 0.30/128.",
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
            help="How long the machines run: 1h30m, 10d. Default: the workload's period.",
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
    no_proof: options.NoProof = False,
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
    horizon_seconds = None if horizon is None else float(parse_duration(horizon, "horizon"))
    problems: list[Provisioning] = []

    def make_problem() -> Solvable:
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
            return provision_engines.Elsewhere(
                engine, workload, out, tau, master, conf, **parameters
            )
        loaded = load_workload(workload)
        problems.append(Provisioning(loaded, tau=resolve_tau(tau, loaded), **parameters))
        return problems[0]

    def compare_with_naive(plan: Plan, progress: Progress) -> Plan:
        with progress.step("the naive plan"):
            naive = problems[0].naive_cost(seed)
        saved = {"cost_naive": naive, "savings": naive - plan.objective}
        return replace(plan, metrics={**plan.metrics, **saved})

    plan = solve_and_save(
        make_problem,
        algorithm,
        out=out,
        overwrite=overwrite,
        inputs=[workload],
        as_json=as_json,
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        no_proof=no_proof,
        settings=settings,
        describe=describe,
        amount=money,
        amend=compare_with_naive if baseline else None,
    )
    if plan.metrics.get("decision") not in (None, "yes"):
        raise typer.Exit(1)


def describe(plan: Plan) -> Facts:
    """Return what people want to know of a provisioning."""
    metrics, total = plan.metrics, plan.objective

    def cost(name: str, of_what: str) -> str:
        share = console.percent(metrics[name] / total) if total else console.percent(0.0)
        return f"{money(metrics[name])} ({share}): {of_what}"

    facts = [
        ("total cost", f"{money(total)} for {span(plan.parameters['horizon_seconds'])}"),
        ("machines", cost("cost_machines", _name_machines(plan))),
        ("incoming", cost("cost_incoming", f"{size(metrics['in_bytes'])} per period")),
        ("outgoing", cost("cost_outgoing", f"{size(metrics['out_bytes'])} per period")),
        ("utilisation", console.percent(metrics["utilisation"])),
        ("satisfied subscribers", f"{metrics['subscribers']:,} by {metrics['pairs']:,} pairs"),
        ("on several machines", _describe_splits(metrics)),
    ]
    if "savings" in metrics:
        share = metrics["savings"] / metrics["cost_naive"] if metrics["cost_naive"] else 0.0
        saved = f"{money(metrics['savings'])} ({console.percent(share)})"
        facts.append(("saved", f"{saved} of the naive plan's {money(metrics['cost_naive'])}"))
    if "decision" in metrics:
        limit = plan.parameters["max_cost"]
        asked = money(limit) if limit == round(limit, 2) else f"${limit:,}"
        facts.append((f"a plan for {asked}", DECISIONS[metrics["decision"]]))
    return [
        *facts,
        ("above the bound", _describe_distance(metrics["cost_above_bound"])),
        ("the paper's bound", money(metrics["paper_bound"])),
    ]


def _describe_splits(metrics: Mapping[str, Any]) -> str:
    topics = f"{metrics['topics']:,} topics"
    if not metrics["split_topics"]:
        return f"none of {topics}"
    more = f"{size(metrics['split_bytes'])} more to take in ({money(metrics['cost_splits'])})"
    return f"{metrics['split_topics']:,} of {topics}, {more}"


def _describe_distance(above: float | None) -> str:
    return "less than a cent" if above is not None and 0 < above < 0.01 else money(above)


def _name_machines(plan: Plan) -> str:
    """Count the machines by type: ``2 x c3.xlarge + 1 x c3.large``."""
    names = Counter(plan.tables["vms"].column("instance").to_pylist())
    if not names:
        return "none"
    return " + ".join(f"{count:,} x {name}" for name, count in names.most_common())
