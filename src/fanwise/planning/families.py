"""The one table of families and algorithms, as strings that are resolved on use.

A family decides one kind of question. An algorithm is a function that answers it; families that
work in stages (provision: choose pairs, then pack them) have one table of algorithms per stage and
write a combination with a plus sign, as in ``gsp+ffbp``.
"""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.errors import ParameterError
from fanwise.planning.family import Algorithm, Family
from fanwise.planning.settings import flag, number, one_of, whole_number

SELECT = Family(
    name="select",
    question="which topics to serve under a capacity so that most subscribers are satisfied",
    sense="max",
    problem="fanwise.select.problem:Selection",
    checks="fanwise.select.verify:checks",
    plots="fanwise.select.plots:figures",
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
            "popular": Algorithm("fanwise.select.orders:popular", "most followers first"),
            "cheapest": Algorithm("fanwise.select.orders:cheapest", "least cost first"),
            "cuckoo": Algorithm("fanwise.select.orders:cuckoo", "largest rate x followers first"),
            "exact": Algorithm(
                "fanwise.select.exact:solve",
                "mixed-integer programming by HiGHS; small instances",
                compared_to=20_000,
                compared_for=10.0,
            ),
            "random": Algorithm(
                "fanwise.select.orders:random",
                "topics in random order, as long as they fit",
                is_seeded=True,
            ),
        }
    },
    default="best",
    keys={"topics": ("topic",)},
    columns={"topics": {"topic": "id", "served": "flag", "cost": "number", "was_served?": "flag"}},
    parameters=(
        "tau",
        "capacity",
        "capacity_percent",
        "metric",
        "pin",
        "exclude",
        "previous",
        "max_changes",
        "change_price",
        "engine",
    ),
    proofs="fanwise.select.verify_proof:proven_bound",
    unchecked={
        "vanished": "topics of the previous plan that this workload does not have",
        "rounds": "passes that the search made",
        "free_value": "needs the plan that is free to change, which the proof holds",
        "free_changes": "needs the plan that is free to change, which the proof holds",
        "net_bound": "needs a proof",
    },
    engines={"spark": "fanwise.distributed.select:solve_on_spark"},
    explain="fanwise.select.explaining.explain:explain",
    reproduce="fanwise.select.reproducing.reproduce:reproduce",
)

PROVISION = Family(
    name="provision",
    question="the cheapest machines and bandwidth that satisfy everybody",
    sense="min",
    problem="fanwise.provision.problem:Provisioning",
    checks="fanwise.provision.verify:checks",
    proofs="fanwise.provision.verify_proof:proven_bound",
    unchecked={
        "cost_naive": "what the plan of RSP and FFBP costs, which takes making it",
        "packing_is_optimal": "that no packing of these pairs is cheaper is the word of HiGHS",
    },
    plots="fanwise.provision.plots:figures",
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
            ),
            "most-free": Algorithm(
                "fanwise.provision.machines.group:pack_most_free",
                "the same, on machines with most room first (the paper's (d))",
            ),
            "cbp": Algorithm(
                "fanwise.provision.machines.group:pack_by_cost",
                "the same, on new machines where that is cheaper (the paper's Alg. 4 and 7)",
            ),
        },
    },
    default="best+best",
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
        "tau",
        "instance",
        "catalog",
        "price_gb_in",
        "price_gb_out",
        "message_bytes",
        "horizon_seconds",
        "reserve",
        "max_cost",
    ),
    engines={
        "stream": "fanwise.provision.streamed.solve:solve_streamed",
        "spark": "fanwise.distributed.provision:solve_on_spark",
    },
    reproduce="fanwise.provision.reproducing.reproduce:reproduce",
    open_large="fanwise.provision.streamed.opening:open_if_large",
)

CONNECT = Family(
    name="connect",
    question="which links between subscribers connect most of every topic within a degree budget",
    sense="max",
    problem="fanwise.connect.problem:Connection",
    checks="fanwise.connect.verify:checks",
    plots="fanwise.connect.plots:figures",
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
                settings={"greedy": whole_number(3, 1), "random": whole_number(1, 0)},
            ),
            "random-average": Algorithm(
                "fanwise.connect.random_overlays:solve_average",
                "random links, within a number of links",
                is_seeded=True,
                settings={"shared": flag(False)},
            ),
            "random-maximum": Algorithm(
                "fanwise.connect.random_overlays:solve_maximum",
                "random links, within a degree",
                is_seeded=True,
                settings={"shared": flag(False)},
            ),
            "gossip": Algorithm(
                "fanwise.connect.gossip:solve",
                "nodes with partial views propose links to each other, round by round",
                is_seeded=True,
                settings={"view": whole_number(20, 1), "rounds": whole_number(40, 0)},
            ),
            "exact": Algorithm(
                "fanwise.connect.exact:solve",
                "the optimum, proven; very small instances",
                compared_to=20_000,
                compared_for=10.0,
            ),
        }
    },
    default="best",
    keys={"edges": ("u", "v")},
    columns={"edges": {"u": "id", "v": "id"}},
    parameters=(
        "max_degree",
        "max_edges",
        "avg_degree",
        "budget_ratio",
        "topic_weight",
        "link_cost",
        "max_link_cost",
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
    explain="fanwise.connect.explaining:explain",
    reproduce="fanwise.connect.reproducing.reproduce:reproduce",
)

ASSIGN = Family(
    name="assign",
    question="which broker serves whom, so that the least travels between brokers",
    sense="min",
    problem="fanwise.assign.problem:Assignment",
    checks="fanwise.assign.verify:checks",
    plots="fanwise.assign.plots:figures",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.assign.best:solve",
                "the best of the paper's, improved by ruin and recreate on sides of rectangles",
                is_seeded=True,
                settings={"effort": number(1.0, 0.0, 1000.0)},
            ),
            "gr-star": Algorithm(
                "fanwise.assign.greedy:solve_offline",
                "whoever has the fewest brokers with room first, where filters grow least (Gr*)",
            ),
            "gr": Algorithm(
                "fanwise.assign.greedy:solve_online",
                "one after the other, where filters grow least (Gr)",
                is_seeded=True,
                settings={"evict": one_of("none", "next", "later")},
            ),
            "slp": Algorithm(
                "fanwise.assign.slp:solve",
                "filters by linear programming on samples, rounded, then max-flow (SLP)",
                is_seeded=True,
                settings={
                    "epsilon": number(0.1, 0, 1),
                    "gamma": number(0.5, 0, 1),
                    "accuracy": number(0.02, 0, 1),
                    "whole": whole_number(600, 0),
                    "balance": whole_number(10, 1),
                    "pairs": whole_number(8000, 1),
                    "clusters": whole_number(5, 1),
                    "rounds": whole_number(3, 1),
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
    parameters=("alpha", "max_delay", "lbf", "lbf_max", "latency"),
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
    explain="fanwise.assign.explaining.explain:explain",
    explains=("subscriber",),
    reproduce="fanwise.assign.reproducing.reproduce:reproduce",
    reads="content",
)

WIRE = Family(
    name="wire",
    question="which broker each user is attached to, so that carrying all traffic costs least",
    sense="min",
    problem="fanwise.wire.problem:Wiring",
    checks="fanwise.wire.verify:checks",
    plots="fanwise.wire.plots:figures",
    stages={
        "algorithm": {
            "best": Algorithm(
                "fanwise.wire.best:solve",
                "the cheapest start, improved by moves, swaps, and ruin and recreate",
                is_seeded=True,
                settings={"effort": number(1.0, 0.0, 1000.0)},
            ),
            "migration": Algorithm(
                "fanwise.wire.migration:solve",
                "users move one by one to wherever that lowers the cost, until none does",
                is_seeded=True,
                settings={"start": one_of("packing", "random", "clustering", "steiner-mixing")},
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
                settings={"per_publisher": flag(False)},
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
    parameters=("topology", "core_factor", "capacity_factor"),
    proofs="fanwise.wire.verify_proof:proven_bound",
    leaves=("nodes",),
    solver="its own search, whose cases are too many to keep",
    unchecked={
        "core_steiner": "what a heuristic for Steiner trees came to; it lies within half of core "
        "and core, as it must",
        **dict.fromkeys(
            ("moves", "swaps", "exchanges", "changes", "rounds", "branched"),
            "a count of what the search did",
        ),
    },
    explain="fanwise.wire.explaining.explain:explain",
    explains=("subscriber",),
    reproduce="fanwise.wire.reproducing.reproduce:reproduce",
    reads="content",
)

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (SELECT, PROVISION, CONNECT, ASSIGN, WIRE)
}


def find_family(name: str) -> Family:
    """Return the family called ``name``."""
    if name not in FAMILIES:
        raise ParameterError("problem", f"one of {', '.join(FAMILIES)}", name)
    return FAMILIES[name]
