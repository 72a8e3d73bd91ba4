"""The explanation of an overlay in tables and sentences."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from fanwise.connect.explain.facts import PlanFacts, TopicFacts
from fanwise.connect.structure import EXACT_UP_TO, NUM_SOURCES
from fanwise.formatting import number, percent
from fanwise.planning.explanation import Lines, Listing, Passage, out_of, share, with_share

SAMPLED = f"Topics with many nodes are walked from {NUM_SOURCES} of them."


def plan_passages(facts: PlanFacts) -> list[Passage]:
    """Write the explanation of an overlay for people."""
    lost = f"{out_of(facts.cut_off, facts.pairs)} ({percent(share(facts.cut_off, facts.pairs))})"
    reach = [
        ("connected topics", out_of(facts.connected, facts.topics)),
        ("interests cut off from most of their topic", lost),
        ("nodes without links", number(facts.alone)),
    ]
    if facts.full is not None:
        reach.append(("nodes with all the links they may have", number(facts.full)))
    reach += [
        ("hops inside a topic, mean of topics", f"{facts.mean_hops:.3g}"),
        ("hops at most", _most_hops(facts)),
    ]
    bought = [
        (f"support of the first {part} of the links", percent(support))
        for part, support in facts.first_links.items()
    ]
    if facts.links_for_80 is not None:
        needed = with_share(facts.links_for_80, facts.links)
        bought.append(("links for a support of 80%", needed))
    found: list[Passage] = [
        Lines("Who is reached", reach),
        Lines("What the first links buy", bought),
    ]
    if facts.worst_topics:
        found.append(
            Listing(
                "Topics from which most nodes are cut off",
                ("topic", "nodes", "pieces", "cut off", "links", "mean hops", "most hops"),
                [astuple(row) for row in facts.worst_topics],
                SAMPLED if any(row.nodes > EXACT_UP_TO for row in facts.worst_topics) else "",
            )
        )
    if facts.worst_nodes:
        found.append(
            Listing(
                "Nodes that are cut off from most topics",
                ("subscriber", "topics", "cut off from", "links"),
                [astuple(row) for row in facts.worst_nodes],
            )
        )
    return found


def topic_passages(facts: TopicFacts) -> list[Passage]:
    """Write the explanation of one topic for people."""
    state = "connected" if facts.components <= 1 else f"in {number(facts.components)} pieces"
    pairs: list[tuple[str, Any]] = [
        ("nodes that want it", facts.nodes),
        ("cut off from the largest piece", facts.cut_off),
        ("links between them", facts.links),
        ("hops on average", f"{facts.mean_hops:.3g}"),
        ("hops at most", _most_hops(facts)),
    ]
    if facts.components > 1:
        pairs.append(("links that would join pieces and fit the budgets", facts.joinable))
    found: list[Passage] = [Lines(f"{facts.topic}: {state}", pairs)]
    if facts.components > 1:
        rows = [
            (
                piece.nodes,
                piece.with_spare,
                ", ".join(piece.names) + (", …" if piece.nodes > len(piece.names) else ""),
            )
            for piece in facts.pieces
        ]
        note = f"The largest {len(rows)} of {number(facts.components)} pieces."
        columns = ("nodes", "with a link to spare", "who")
        found.append(Listing("Pieces", columns, rows, note if facts.components > len(rows) else ""))
    return found


def _most_hops(facts: PlanFacts | TopicFacts) -> str:
    return number(facts.diameter) if facts.is_exact else f"{facts.diameter:,} or more"
