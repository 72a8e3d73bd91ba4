"""The wiring of brokers, described once: what is asked, by which algorithms, in which words."""

from __future__ import annotations

from fanwise.planning import settings
from fanwise.planning.family import Algorithm, Family, Metric, Objective
from fanwise.planning.parameter import Axis, Parameter
from fanwise.planning.values import number, one_of

DESCRIPTION = Family(
    name="wire",
    question="which broker each user is attached to, so that carrying all traffic costs least",
    sense="min",
    objective=Objective("total cost"),
    problem="fanwise.wire.problem:Wiring",
    checks="fanwise.wire.verify:checks",
    plots="fanwise.wire.plots:figures",
    facts="fanwise.wire.facts:describe",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.wire.best:solve",
                "the cheapest start, improved by moves, swaps, and ruin and recreate",
                is_seeded=True,
                settings={"effort": settings.number(1.0, 0.0, 1000.0)},
            ),
            "migration": Algorithm(
                "fanwise.wire.migration:solve",
                "users move one by one to wherever that lowers the cost, until none does",
                is_seeded=True,
                settings={
                    "start": settings.one_of("packing", "random", "clustering", "steiner-mixing")
                },
            ),
            "packing": Algorithm(
                "fanwise.wire.packing:solve",
                "the cheapest broker with room (the paper's Alg. 1)",
            ),
            "clustering": Algorithm(
                "fanwise.wire.clustering:solve",
                "users with much traffic between them together (the paper's Alg. 2)",
            ),
            "steiner-mixing": Algorithm(
                "fanwise.wire.steiner_mixing:solve",
                "a tree for each channel, then a draw by traffic (the paper's Alg. 3)",
                is_seeded=True,
                settings={"per_publisher": settings.flag(False)},
            ),
            "random": Algorithm(
                "fanwise.wire.random_wiring:solve",
                "every user on a random broker",
                is_seeded=True,
            ),
            "exact": Algorithm(
                "fanwise.wire.exact:solve",
                "the optimum, proven; very small instances",
                compared_to=160,
                compared_for=10.0,
            ),
        }
    },
    default="best",
    keys={"attachments": ("subscriber",), "links": ("broker", "other")},
    columns={
        "attachments": {"subscriber": "id", "broker": "id"},
        "links": {"broker": "id", "other": "id", "traffic": "number"},
    },
    parameters=(
        Parameter(
            "topology",
            one_of("mesh", "tree"),
            "mesh, a tree for each flow, or tree, one for all of them.",
            default="mesh",
        ),
        Parameter(
            "core_factor",
            number(0),
            "What if costs between brokers were so many times theirs.",
            default=1.0,
            unit="times the costs between brokers",
            axis=Axis(
                "core-factors", "costs between brokers, times these: 0.1,1,10.", is_wide=True
            ),
        ),
        Parameter(
            "capacity_factor",
            number(0),
            "What if capacities were so many times theirs.",
            default=1.0,
            unit="times the capacities",
            axis=Axis("capacity-factors", "capacities, times these: 0.5,1,2."),
        ),
    ),
    metrics=(
        Metric("access", "access"),
        Metric("core", "core"),
        Metric("overloaded", "overloaded"),
        Metric("core_steiner", "core with Steiner trees", in_curves=False),
    ),
    proofs="fanwise.wire.verify_proof:proven_bound",
    leaves=("tree",),
    solver="its own search, whose cases are too many to keep",
    unchecked={
        "core_steiner": "what a heuristic for Steiner trees came to; it lies within half of core "
        "and core, as it must",
        **dict.fromkeys(
            ("moves", "swaps", "exchanges", "changes", "rounds", "branched"),
            "a count of what the search did",
        ),
    },
    explain="fanwise.wire.explain.explain:explain",
    explains={
        "subscriber": "why it is on its broker, and how access and core would change on each other "
        "one",
        "plan": "which channels, links and brokers cost most, and what keeps users where they are",
    },
    reads="content",
)
