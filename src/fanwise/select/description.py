"""The selection of topics, described once: what is asked, by which algorithms, in which words."""

from __future__ import annotations

from fanwise.planning.family import Algorithm, Curve, Engine, Family, Metric, Objective
from fanwise.planning.parameter import TAU, Axis, Parameter
from fanwise.planning.values import NAMES, PLAN, amount, number, one_of, whole_number

DESCRIPTION = Family(
    name="select",
    question="which topics to serve under a capacity so that most subscribers are satisfied",
    sense="max",
    objective=Objective(
        "satisfied subscribers",
        otherwise={("metric", "fractional"): "total satisfaction"},
    ),
    problem="fanwise.select.problem:Selection",
    checks="fanwise.select.verify:checks",
    plots="fanwise.select.plots:figures",
    facts="fanwise.select.facts:describe",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.select.best:solve",
                "greedy, linear relaxation, rounding, drop and refill, until the gap closes",
            ),
            "greedy": Algorithm(
                "fanwise.select.greedy:solve",
                "best benefit per cost first (the paper's Alg. 2; Alg. 7 if fractional)",
            ),
            "greedy-naive": Algorithm(
                "fanwise.select.greedy_naive:solve",
                "the same choices, every benefit computed from scratch (the paper's Slow)",
                compared_to=200_000,
            ),
            "popular": Algorithm("fanwise.select.baselines:popular", "most followers first"),
            "cheapest": Algorithm("fanwise.select.baselines:cheapest", "least cost first"),
            "cuckoo": Algorithm(
                "fanwise.select.baselines:cuckoo", "largest rate x followers first"
            ),
            "exact": Algorithm(
                "fanwise.select.exact:solve",
                "mixed-integer programming by HiGHS; small instances",
                compared_to=20_000,
                compared_for=10.0,
            ),
            "random": Algorithm(
                "fanwise.select.baselines:random",
                "topics in random order, as long as they fit",
                is_seeded=True,
            ),
        }
    },
    default="best",
    algorithm_after="metric",
    keys={"topics": ("topic",)},
    columns={
        "topics": {
            "topic": "id",
            "served": "flag",
            "cost": "number",
            "was_served?": "flag",
            "change_price?": "number",
        }
    },
    parameters=(
        TAU,
        Parameter(
            "capacity",
            amount("the cost of serving everything"),
            "Cost units, or a percentage of the cost of serving everything: 10%.",
            example="10%",
            unit="cost units",
            percent_of="serving everything",
            axis=Axis(
                "capacities", "capacities to try: 1%,5%,20%. Default: 1% to 100%.", states=True
            ),
        ),
        Parameter(
            "metric",
            one_of("binary", "fractional"),
            "binary counts satisfied subscribers, fractional adds up shares.",
            default="binary",
        ),
        Parameter(
            "pin",
            NAMES,
            "File with topics that must be served, a name per line.",
            is_own=True,
            is_recorded_always=False,
        ),
        Parameter(
            "exclude",
            NAMES,
            "File with topics that must not be served, a name per line.",
            is_own=True,
            is_recorded_always=False,
        ),
        Parameter(
            "previous",
            PLAN,
            "The plan in force; changes against it are counted.",
            is_own=True,
            is_recorded_always=False,
        ),
        Parameter(
            "max_changes",
            whole_number(0),
            "How many topics may be switched on or off against --previous.",
            is_own=True,
            is_recorded_always=False,
        ),
        Parameter(
            "change_price",
            number(0, word="column"),
            "How much every switch against --previous must gain in the objective, or 'column' for "
            "the column change_price of topics.parquet: a price for each topic.",
            is_own=True,
            is_recorded_always=False,
        ),
    ),
    also_recorded=("engine",),
    metrics=(
        Metric("used", "used"),
        Metric("served", "served topics"),
        Metric("satisfied", "satisfied subscribers", in_tables=False),
        Metric("paper_bound", "the paper's bound", in_curves=False),
    ),
    curve=Curve(
        along="capacity",
        target="fanwise.select.sweep:capacity_curve",
        values=tuple(
            f"{percent}%"
            for percent in (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
        ),
        algorithm="greedy",
        about="against capacity, from one greedy run and one relaxation (a point that is not exact "
        "is a lower bound on greedy; --exact-points makes a plan for each), or with --taus against "
        "tau",
    ),
    proofs="fanwise.select.verify_proof:proven_bound",
    unchecked={
        "vanished": "topics of the previous plan that this workload does not have",
        "rounds": "passes that the search made",
        "free_value": "needs the plan that is free to change, which the proof holds",
        "free_changes": "needs the plan that is free to change, which the proof holds",
        "net_bound": "needs a proof",
    },
    engines={
        "spark": Engine(
            "fanwise.distributed.select:solve_on_spark",
            algorithms={"algorithm": ("greedy",)},
            stands_in={"algorithm": "greedy"},
            takes=("tau", "capacity", "metric"),
        )
    },
    explain="fanwise.select.explain.explain:explain",
    explains={
        "topic": "its cost and benefit, how it ranks among the offloaded topics, and how many "
        "subscribers serving it adds or dropping it loses",
        "plan": "what the next and the last 1% of the capacity are worth, who stays unsatisfied "
        "and by how much, and the topics next in line",
    },
)
