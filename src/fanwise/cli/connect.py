"""``fanwise connect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli import console, options, problems
from fanwise.cli.solving import (
    Facts,
    Solvable,
    algorithms_help,
    check_algorithm,
    load_workload,
    solve_and_save,
)
from fanwise.planning.families import CONNECT

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("connect")(connect)


def connect(
    workload: options.Workload,
    out: options.Out,
    max_degree: Annotated[
        str | None,
        typer.Option(
            help="Most links of a node, or 'column' for the workload's own.", show_default=False
        ),
    ] = None,
    max_edges: Annotated[
        int | None, typer.Option(help="Most links in all.", show_default=False)
    ] = None,
    avg_degree: Annotated[
        float | None,
        typer.Option(
            help="The same as a mean degree A: A x nodes / 2 links, rounded down.",
            show_default=False,
        ),
    ] = None,
    budget_ratio: Annotated[
        float | None,
        typer.Option(
            help="A share of what minmax-oda needs for the complete overlay: of its links for gpa "
            "and random-average, of its degree for the others.",
            show_default=False,
        ),
    ] = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", "-a", help=f"One of {algorithms_help('connect')}.")
    ] = CONNECT.default,
    topic_weight: Annotated[
        str,
        typer.Option(help="one counts every component alike, rate by its topic's events."),
    ] = "one",
    link_cost: Annotated[
        str | None,
        typer.Option(
            help="distance: links cost the distance of their ends (columns net_*); "
            "chosen by gain per cost.",
            show_default=False,
        ),
    ] = None,
    max_link_cost: Annotated[
        float | None,
        typer.Option(help="Most that all links cost together.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    gap: options.Gap = None,
    no_proof: options.NoProof = False,
    settings: options.Settings = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Link subscribers so that every topic is connected over those who want it.

    Each topic should reach its subscribers over links between them alone. The
    plan lists the links in the order chosen, with how much of that they
    support, a proven bound on the most that any links within the budget do,
    and the gap between the two.

    gpa takes a number of links, gpm, spidercast, random-maximum and gossip a
    degree, gm and minmax-oda no budget; best takes either, both or none.

    Example: [bold]fanwise connect follow/ --max-degree 4 --out plan/[/bold]
    """
    check_algorithm("connect", algorithm)

    def make_problem() -> Solvable:
        from fanwise.connect.problem import Connection

        return Connection(
            load_workload(workload),
            max_degree=problems.parse_degree(max_degree),
            max_edges=max_edges,
            avg_degree=avg_degree,
            budget_ratio=budget_ratio,
            topic_weight=topic_weight,
            link_cost=link_cost,
            max_link_cost=max_link_cost,
        )

    solve_and_save(
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
    )


def describe(plan: Plan) -> Facts:
    """Return what people want to know of an overlay."""
    metrics, parameters = plan.metrics, plan.parameters
    yield ("support", console.percent(metrics["support"]))
    yield (
        "joined components" + (", by rate" if parameters["topic_weight"] == "rate" else ""),
        f"{console.number(plan.objective)} of {console.number(metrics['complete_value'])}",
    )
    yield ("connected topics", f"{metrics['connected_topics']:,} of {metrics['topics']:,}")
    most = parameters["max_edges"]
    useless = metrics["useless_edges"]
    yield (
        "links",
        f"{metrics['edges']:,}"
        + ("" if most is None else f" of {most:,}")
        + (f", {useless:,} of them join nothing" if useless else ""),
    )
    limit = parameters["max_degree"]
    yield (
        "largest degree",
        f"{metrics['max_degree']:,}"
        + ("" if limit is None else f" of {'the column' if limit == 'column' else f'{limit:,}'}")
        + f", {metrics['mean_degree']:.2f} on average",
    )
    if "link_cost" in metrics:
        most_cost = parameters["max_link_cost"]
        yield (
            "link cost",
            console.number(metrics["link_cost"])
            + ("" if most_cost is None else f" of {console.number(most_cost)}"),
        )
    if parameters["budget_ratio"] is not None:
        yield (
            "complete overlay",
            f"{metrics['complete_edges']:,} links, degree {metrics['complete_degree']:,}",
        )
