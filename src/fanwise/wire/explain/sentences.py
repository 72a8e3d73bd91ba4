"""The explanation of a wiring as people read it."""

from __future__ import annotations

from typing import Any

from fanwise.arrays.tolerance import is_enough
from fanwise.formatting import ABSENT, number, percent
from fanwise.planning.explanation import (
    MOST_LISTED,
    Lines,
    Listing,
    Passage,
    first_of,
    out_of,
    share,
    some_names,
    with_share,
    write_box,
)
from fanwise.wire.explain.facts import Choice, PlanFacts, SubscriberFacts
from fanwise.wire.explain.reasons import REASONS, WORDS


def plan_passages(facts: PlanFacts) -> list[Passage]:
    """Write the explanation of a wiring."""
    found: list[Passage] = [cost_lines(facts), reach_lines(facts)]
    if facts.reasons:
        title = "What keeps users where they are"
        if facts.looked_at < facts.users:
            title += f" (of {number(facts.looked_at)} drawn at random)"
        found.append(Lines(title, reason_pairs(facts)))
    found += [channel_listing(facts), link_listing(facts), broker_listing(facts)]
    return [passage for passage in found if isinstance(passage, Lines) or passage.rows]


def cost_lines(facts: PlanFacts) -> Lines:
    """Say what the cost is made of."""
    pairs: list[tuple[str, Any]] = [
        ("cost", facts.cost),
        ("of it access", with_share(facts.access, facts.cost)),
        ("of it core", with_share(facts.core, facts.cost)),
        ("access if everybody had the cheapest link", facts.cheapest_access),
    ]
    if facts.core_steiner is not None and not is_enough(facts.core_steiner, facts.core):
        saved = share(facts.core - facts.core_steiner, facts.core)
        pairs.append(
            ("core with trees through other brokers", f"{number(facts.core_steiner)} "
             f"({percent(saved)} less)")
        )  # fmt: skip
    if facts.bound is not None:
        pairs.append(("no wiring costs less than", facts.bound))
    return Lines("Where the cost comes from", pairs)


def reach_lines(facts: PlanFacts) -> Lines:
    """Say how far channels go, and how full brokers are."""
    pairs: list[tuple[str, Any]] = [
        ("brokers with users", out_of(facts.brokers_used, facts.num_brokers)),
        ("brokers that a channel reaches, on average", f"{facts.mean_brokers:.3g}"),
        ("pairs of a broker and a channel with subscribers", percent(facts.reach)),
        ("links between brokers", facts.num_links),
    ]
    if facts.full is not None:
        pairs.append(
            (
                "brokers without room for a user of mean traffic",
                out_of(facts.full, facts.num_brokers),
            )
        )
    if facts.overloaded:
        shown = some_names(facts.overloaded[:MOST_LISTED], len(facts.overloaded))
        pairs.append(("overloaded brokers", shown))
    return Lines("Reach and room", pairs)


def reason_pairs(facts: PlanFacts) -> list[tuple[str, Any]]:
    """Count users by what keeps them."""
    return [
        (words, with_share(count, facts.looked_at))
        for code, words in WORDS.items()
        if (count := facts.reasons.get(REASONS[code], 0))
    ]


def channel_listing(facts: PlanFacts) -> Listing:
    """List the channels that cost most between brokers."""
    rows = [
        (
            line.channel,
            write_box(line.box),
            line.rate,
            line.subscribers,
            line.brokers,
            line.core,
            percent(share(line.core, facts.core)),
        )
        for line in facts.channels
    ]
    columns = ("channel", "where", "published", "subscribers", "brokers", "core", "of the core")
    return Listing("Dearest channels between brokers", columns, rows,
                   first_of(len(rows), facts.num_channels, "channels"))  # fmt: skip


def link_listing(facts: PlanFacts) -> Listing:
    """List the links that cost most."""
    rows = [
        (
            line.broker,
            line.other,
            line.traffic,
            line.price,
            line.cost,
            percent(share(line.cost, facts.core)),
        )
        for line in facts.links
    ]
    columns = ("broker", "other", "traffic", "price", "cost", "of the core")
    return Listing("Dearest links", columns, rows, first_of(len(rows), facts.num_links, "links"))


def broker_listing(facts: PlanFacts) -> Listing:
    """List the brokers with most load."""
    rows = [
        (
            line.broker,
            line.users,
            line.load,
            ABSENT if line.capacity is None else percent(share(line.load, line.capacity)),
            line.access,
            line.channels,
        )
        for line in facts.brokers
    ]
    columns = ("broker", "users", "load", "of its capacity", "access", "channels wanted")
    return Listing("Brokers with most load", columns, rows,
                   first_of(len(rows), facts.brokers_used, "brokers with users"))  # fmt: skip


def subscriber_passages(facts: SubscriberFacts) -> list[Passage]:
    """Write what is said of one user."""
    pairs: list[tuple[str, Any]] = [
        ("why there", facts.says),
        ("traffic in and out", f"{number(facts.traffic_in)} and {number(facts.traffic_out)}"),
        ("channels it wants", facts.wants),
        ("channels it publishes on", facts.publishes),
        ("channels that come to its broker for it only", facts.alone),
        ("its link costs", facts.access),
        ("brokers with a cheaper link", out_of(facts.rank, facts.num_brokers)),
    ]
    columns = ("broker", "price", "access changes by", "core changes by", "cost changes by",
               "load of capacity", "")  # fmt: skip
    rows = [
        (
            choice.broker,
            choice.price,
            choice.access,
            choice.core,
            choice.cost,
            ABSENT if choice.capacity is None else percent(share(choice.load, choice.capacity)),
            _remark(choice),
        )
        for choice in facts.choices
    ]
    return [
        Lines(f"{facts.subscriber}: on {facts.broker}", pairs),
        Listing("Places for it", columns, rows, first_of(len(rows), facts.num_brokers, "brokers")),
    ]


def _remark(choice: Choice) -> str:
    if choice.is_own:
        return "here"
    return "" if choice.has_room else "no room"
