"""The renting of machines, described once: what is asked, by which algorithms, in which words."""

from __future__ import annotations

from fanwise.planning import settings
from fanwise.planning.family import Algorithm, Engine, Family, Metric, Objective
from fanwise.planning.parameter import TAU, Axis, Parameter
from fanwise.planning.values import DURATION, TABLE, TEXT, amount, number, number_above

GROUPING = {"select": ("gsp",), "pack": ("cbp", "most-free", "expensive-first", "group")}
"""What needs no pairs in memory: packing by groups, the others look at pairs."""
ORDERS = ("rate", "volume")
"""What packings take first: topics with most traffic of one copy, or of all their pairs."""
GREEDY = {"select": "gsp", "pack": "cbp"}

DESCRIPTION = Family(
    name="provision",
    question="the cheapest machines and bandwidth that satisfy everybody",
    sense="min",
    objective=Objective("total cost", writes="money", unit="dollars over the horizon"),
    problem="fanwise.provision.problem:Provisioning",
    checks="fanwise.provision.verify:checks",
    proofs="fanwise.provision.verify_proof:proven_bound",
    unchecked={
        "cost_naive": "what the plan of RSP and FFBP costs, which takes making it",
        "packing_is_optimal": "that no packing of these pairs is cheaper is the word of HiGHS",
    },
    plots="fanwise.provision.plots:figures",
    facts="fanwise.provision.facts:describe",
    stages={
        "select": {
            "best": Algorithm(
                "fanwise.provision.pairs.best_pairs:choose_pairs",
                "exact covers that know which topics are carried already",
                is_seeded=True,
            ),
            "gsp": Algorithm(
                "fanwise.provision.pairs.greedy_pairs:choose_pairs",
                "greedy pair selection, per subscriber (the paper's Alg. 2)",
            ),
            "rsp": Algorithm(
                "fanwise.provision.pairs.random_pairs:choose_pairs",
                "random pair selection, per subscriber (the paper's Alg. 6)",
                is_seeded=True,
            ),
            "exact": Algorithm(
                "fanwise.provision.pairs.exact_pairs:choose_pairs",
                "the cheapest cover of each subscriber, proven; with exact packing, the optimum",
            ),
        },
        "pack": {
            "best": Algorithm(
                "fanwise.provision.machines.best_packing:pack",
                "whole topics on the smallest fleets, splitting where it pays; all rungs tried",
            ),
            "exact": Algorithm(
                "fanwise.provision.machines.exact_packing:pack",
                "the cheapest packing of the chosen pairs, proven; tens of topics",
                compared_to=20_000,
                compared_for=10.0,
            ),
            "ffbp": Algorithm(
                "fanwise.provision.machines.first_fit:pack",
                "first-fit bin packing, pair by pair (the paper's Alg. 3)",
            ),
            "group": Algorithm(
                "fanwise.provision.machines.group:pack",
                "the pairs of a topic together (the paper's (b))",
            ),
            "expensive-first": Algorithm(
                "fanwise.provision.machines.group:pack_expensive_first",
                "the same, topics with most traffic first (the paper's (c))",
                settings={"order": settings.one_of(*ORDERS)},
            ),
            "most-free": Algorithm(
                "fanwise.provision.machines.group:pack_most_free",
                "the same, on open machines with most room first (the paper's (d))",
                settings={"order": settings.one_of(*ORDERS)},
            ),
            "cbp": Algorithm(
                "fanwise.provision.machines.group:pack_by_cost",
                "the same, on new machines where that is cheaper (the paper's Alg. 4 and 7)",
                settings={"order": settings.one_of(*ORDERS)},
            ),
        },
    },
    default="best+best",
    algorithm_after="catalogue",
    stage_help={"select": "Stage 1, which pairs", "pack": "Stage 2, on which machines"},
    keys={"vms": ("vm",), "allocation": ("vm", "topic", "subscriber")},
    columns={
        "vms": {
            "vm": "id",
            "instance": "text",
            "usd_per_hour": "number",
            "mbps": "number",
            "capacity_bytes": "number",
            "in_bytes": "number",
            "out_bytes": "number",
        },
        "allocation": {"vm": "id", "topic": "id", "subscriber": "id"},
    },
    parameters=(
        TAU,
        Parameter(
            "instance",
            TEXT,
            "Type of machine to rent, or 'auto' for the cheapest type or mix.",
            default="c3.large",
            label="type of machine",
            axis=Axis(
                "instances", "types of machine to try: c3.large,c3.xlarge,auto.", states=True
            ),
        ),
        Parameter(
            "catalogue",
            TABLE,
            "CSV with the columns instance, usd_per_hour and mbps, and maybe max_topics and "
            "max_connections.",
            says_default="c3.large 0.15/64 and c3.xlarge 0.30/128",
            option="catalog",
            recorded=("catalog",),
        ),
        Parameter(
            "price_gb",
            number(0),
            "Dollars per GB (1e9 bytes) of traffic, in and out.",
            default=0.12,
            sets=("price_gb_in", "price_gb_out"),
            recorded=(),
        ),
        Parameter("price_gb_in", number(0), "The same for incoming traffic alone.", is_own=True),
        Parameter("price_gb_out", number(0), "The same for outgoing traffic alone.", is_own=True),
        Parameter(
            "message_bytes",
            number_above(0),
            "One message size for all topics.",
            says_default="each topic's own",
            label="message size",
            unit="bytes",
            writes="bytes",
            axis=Axis("message-sizes", "bytes of a message to try: 111,200."),
        ),
        Parameter(
            "horizon_seconds",
            DURATION,
            "How long the machines run: 1h30m, 10d.",
            says_default="the workload's period",
            option="horizon",
            label="horizon",
            unit="days",
            per_unit=86_400,
            writes="span",
            axis=Axis("horizons", "how long the machines run, to try: 1d,10d,30d."),
        ),
        Parameter(
            "reserve",
            amount("a machine"),
            "Share of each machine's bandwidth to keep free: 20%.",
            default="0",
        ),
        Parameter(
            "max_cost",
            number(0),
            "Is there a plan for this much money? Exit status 1 unless the answer is yes.",
            is_own=True,
        ),
    ),
    metrics=(
        Metric("vms", "machines"),
        Metric("cost_machines", "cost of machines", writes="money", in_tables=False),
        Metric("cost_bandwidth", "cost of bandwidth", writes="money", in_tables=False),
        Metric("paper_bound", "the paper's bound", writes="money", in_curves=False),
    ),
    engines={
        "stream": Engine("fanwise.provision.streamed.solve:solve_streamed", GROUPING, GREEDY),
        "spark": Engine("fanwise.distributed.provision:solve_on_spark", GROUPING, GREEDY),
    },
    explain="fanwise.provision.explain.explain:explain",
    explains={
        "machine": "what it is full of, and what giving it up would take",
        "topic": "who is served with it and why it is on several machines",
        "subscriber": "its share of the money, and the cheapest choice for it",
        "plan": "where the money goes, how close the fleet is to the least proven, and what one "
        "machine more or less means",
    },
    details="fanwise.provision.facts:fleet_passages",
    comparison_plots="fanwise.provision.plots:comparison_figures",
    sweep_plots={"tau": "fanwise.provision.plots:plot_sweep_of_tau"},
    open_large="fanwise.provision.streamed.open_large:open_if_large",
)
