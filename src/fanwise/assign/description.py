"""The assignment to brokers, described once: what is asked, by which algorithms, in which words."""

from __future__ import annotations

from fanwise.planning import settings
from fanwise.planning.family import Algorithm, Family, Metric, Objective
from fanwise.planning.parameter import Axis, Parameter
from fanwise.planning.values import number, one_of, whole_number

DESCRIPTION = Family(
    name="assign",
    question="which broker serves whom, so that the least travels between brokers",
    sense="min",
    objective=Objective("total bandwidth"),
    problem="fanwise.assign.problem:Assignment",
    checks="fanwise.assign.verify:checks",
    plots="fanwise.assign.plots:figures",
    facts="fanwise.assign.facts:describe",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.assign.best:solve",
                "the best of the paper's, improved by ruin and recreate on sides of rectangles",
                is_seeded=True,
                settings={"effort": settings.number(1.0, 0.0, 1000.0)},
            ),
            "gr-star": Algorithm(
                "fanwise.assign.greedy:solve_offline",
                "whoever has the fewest brokers with room first, where filters grow least (Gr*)",
            ),
            "gr": Algorithm(
                "fanwise.assign.greedy:solve_online",
                "one after the other, where filters grow least (Gr)",
                is_seeded=True,
                settings={"evict": settings.one_of("none", "next", "later")},
            ),
            "slp": Algorithm(
                "fanwise.assign.slp:solve",
                "filters by linear programming on samples, rounded, then max-flow (SLP)",
                is_seeded=True,
                settings={
                    "epsilon": settings.number(0.1, 0, 1),
                    "gamma": settings.number(0.5, 0, 1),
                    "accuracy": settings.number(0.02, 0, 1),
                    "whole": settings.whole_number(600, 0),
                    "balance": settings.whole_number(10, 1),
                    "seconds": settings.number(90.0, 0.001, 1e6),
                    "clusters": settings.whole_number(5, 1),
                    "rounds": settings.whole_number(3, 1),
                },
            ),
            "gr-no-latency": Algorithm(
                "fanwise.assign.greedy:solve_without_latency",
                "the same without looking at latency",
            ),
            "closest": Algorithm(
                "fanwise.assign.baselines:solve_closest", "the nearest broker that is not full"
            ),
            "closest-no-balance": Algorithm(
                "fanwise.assign.baselines:solve_closest_without_balance", "the nearest broker"
            ),
            "balance": Algorithm(
                "fanwise.assign.baselines:solve_balance", "the most even load, by max-flow"
            ),
            "exact": Algorithm(
                "fanwise.assign.exact:solve",
                "the optimum, proven; up to 10 subscribers",
                compared_to=100,
                compared_for=10.0,
            ),
        }
    },
    default="best",
    keys={"assignment": ("subscriber",), "filters": ("broker",)},
    columns={
        "assignment": {"subscriber": "id", "broker": "id"},
        "filters": {"broker": "id", "lo_*": "number", "hi_*": "number"},
    },
    parameters=(
        Parameter(
            "alpha",
            whole_number(1),
            "Most rectangles of a filter.",
            says_default="the workload's, or 3",
            label="alpha",
            unit="rectangles of a filter",
            axis=Axis("alphas", "most rectangles of a filter, to try: 1,2,4."),
        ),
        Parameter(
            "max_delay",
            number(0),
            "How much later than the quickest way a subscriber may be, as a share of it.",
            says_default="the workload's, or 0.3",
            label="delay limit",
            axis=Axis("max-delays", "delays allowed, to try: 0.1,0.3,1."),
        ),
        Parameter(
            "lbf",
            number(0),
            "Desired load-balance factor.",
            says_default="the workload's, or 1.5",
        ),
        Parameter(
            "lbf_max",
            number(0),
            "Largest load-balance factor.",
            says_default="the workload's, or 1.8",
            label="load limit",
            unit="load-balance factor",
            axis=Axis("load-limits", "largest load-balance factors to try: 1.5,2."),
        ),
        Parameter(
            "latency",
            one_of("path", "last-hop"),
            "path from the publisher, or last-hop from the broker alone.",
            default="path",
        ),
    ),
    metrics=(
        Metric("lbf", "load-balance factor"),
        Metric("late", "late"),
        Metric("rms_delay", "root mean square delay", in_tables=False),
        Metric("load_stdev", "deviation of loads", in_tables=False),
        Metric("fractional", "linear program", in_curves=False),
    ),
    proofs="fanwise.assign.verify_proof:proven_bound",
    unchecked={
        "fractional": "the value of a linear program, a yardstick that nothing rests on",
        "fractional_of": "of whom that program is",
        "lbf_reached": "with evictions, and of Gr* on large workloads, the way to the plan",
        "evicted": "a count of the search, where there are evictions",
        "relaxations": "a count of the search",
        "grown": "a count of the search",
        "repairs": "a count of the search",
        "repaired": "a count of the search",
        "moves": "a count of the search",
        "examined": "a count of the search",
        "gr_star": "the value of another plan, which the search began with",
    },
    explain="fanwise.assign.explain.explain:explain",
    explains={
        "subscriber": "why it is on its broker, and what each other one would cost",
        "plan": "which brokers are full, what keeps subscribers where they are, which limits bind "
        "or are broken and why, and how much is carried that nobody wants",
    },
    reads="content",
)
