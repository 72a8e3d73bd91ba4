"""The design of overlays, described once: what is asked, by which algorithms, in which words."""

from __future__ import annotations

from fanwise.planning import settings
from fanwise.planning.family import Algorithm, Family, Metric, Objective
from fanwise.planning.parameter import Axis, Parameter
from fanwise.planning.values import number, one_of, whole_number

DESCRIPTION = Family(
    name="connect",
    question="which links between subscribers connect most of every topic within a degree budget",
    sense="max",
    objective=Objective(
        "joined components",
        otherwise={("topic_weight", "rate"): "joined components, by rate"},
    ),
    problem="fanwise.connect.problem:Connection",
    checks="fanwise.connect.verify:checks",
    plots="fanwise.connect.plots:figures",
    facts="fanwise.connect.facts:describe",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.connect.best:solve",
                "the best greedy overlay without useless links, improved by local swaps",
                is_seeded=True,
            ),
            "gpa": Algorithm(
                "fanwise.connect.greedy:solve_within_edges",
                "largest contribution first, within a number of links (the paper's Alg. 1)",
            ),
            "gpm": Algorithm(
                "fanwise.connect.phases:solve_within_degree",
                "matching by matching, within a degree (the paper's Alg. 3)",
            ),
            "gm": Algorithm(
                "fanwise.connect.greedy:solve_complete",
                "largest contribution first until every topic is connected",
            ),
            "minmax-oda": Algorithm(
                "fanwise.connect.phases:solve_complete",
                "matching by matching until every topic is connected",
            ),
            "spidercast": Algorithm(
                "fanwise.connect.spidercast:solve",
                "each node covers its topics by greedy and random neighbours (SpiderCastM)",
                is_seeded=True,
                settings={
                    "greedy": settings.whole_number(3, 1),
                    "random": settings.whole_number(1, 0),
                },
            ),
            "random-average": Algorithm(
                "fanwise.connect.random_overlays:solve_average",
                "random links, within a number of links",
                is_seeded=True,
                settings={"shared": settings.flag(False)},
            ),
            "random-maximum": Algorithm(
                "fanwise.connect.random_overlays:solve_maximum",
                "random links, within a degree",
                is_seeded=True,
                settings={"shared": settings.flag(False)},
            ),
            "gossip": Algorithm(
                "fanwise.connect.gossip:solve",
                "nodes with partial views propose links to each other, round by round",
                is_seeded=True,
                settings={
                    "view": settings.whole_number(20, 1),
                    "rounds": settings.whole_number(40, 0),
                },
            ),
            "exact": Algorithm(
                "fanwise.connect.exact:solve",
                "the optimum, proven; small instances",
                compared_to=20_000,
                compared_for=10.0,
            ),
        }
    },
    default="best",
    algorithm_after="budget_ratio",
    keys={"edges": ("u", "v")},
    columns={"edges": {"u": "id", "v": "id"}},
    parameters=(
        Parameter(
            "max_degree",
            whole_number(0, word="column"),
            "Most links of a node, or 'column' for the workload's own.",
            label="degree limit",
            axis=Axis("max-degrees", "most links of a node, to try: 2,4,8.", whole_number(0)),
        ),
        Parameter(
            "max_edges",
            whole_number(0),
            "Most links in all.",
            label="link limit",
            axis=Axis("edge-limits", "most links in all, to try: 100,1000."),
        ),
        Parameter(
            "avg_degree",
            number(0),
            "Most links in all, as a mean degree A: A x nodes / 2 links, rounded down.",
        ),
        Parameter(
            "budget_ratio",
            number(0),
            "A share, as in 0.2, of what minmax-oda needs for the complete overlay: of its links "
            "for gpa and random-average, of its degree for the others.",
            axis=Axis("budget-ratios", "shares of the complete overlay to try: 0.1,0.2,0.5."),
        ),
        Parameter(
            "topic_weight",
            one_of("one", "rate"),
            "one counts every component alike, rate by its topic's events.",
            default="one",
        ),
        Parameter(
            "link_cost",
            one_of("distance"),
            "distance: links cost the distance of their ends (columns net_*); chosen by gain per "
            "cost. They cost nothing without it.",
        ),
        Parameter("max_link_cost", number(0), "Most that all links cost together."),
    ),
    metrics=(
        Metric("support", "support", writes="percent"),
        Metric("edges", "links"),
        Metric("max_degree", "largest degree"),
    ),
    proofs="fanwise.connect.verify_proof:proven_bound",
    unchecked={
        "moves": "how often the search tried a move",
        "moves_better": "how often such a move was kept",
        "branched": "how many cases the search looked at",
        "rounds": "how long nodes went on choosing",
        "messages": "what nodes told each other on the way",
        "complete_edges": "the complete overlay is made anew only where that takes seconds",
        "complete_degree": "the complete overlay is made anew only where that takes seconds",
    },
    exports={
        "graphml": "fanwise.connect.exports:write_graphml",
        "dot": "fanwise.connect.exports:write_dot",
        "forests": "fanwise.connect.exports:write_forests",
    },
    explain="fanwise.connect.explain.explain:explain",
    explains={
        "topic": "its components, who is cut off from the largest and whether links are left "
        "there, and how many hops a message takes",
        "plan": "the topics and nodes that are cut off most, and what the first links buy",
    },
)
