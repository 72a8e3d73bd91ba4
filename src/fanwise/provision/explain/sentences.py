"""The explanation of a provisioning in tables and sentences."""

from __future__ import annotations

from typing import Any

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, is_enough
from fanwise.formatting import money, number, percent, size
from fanwise.planning.explanation import (
    Lines,
    Listing,
    Passage,
    first_of,
    out_of,
    share,
    some_names,
)
from fanwise.provision.explain.facts import (
    Emptying,
    MachineFacts,
    MoneyFacts,
    PartFacts,
    PlanFacts,
    SubscriberFacts,
    TopicFacts,
)
from fanwise.provision.explain.placement import BANDWIDTH, CONNECTIONS, NOTHING, TOPICS

Pairs = list[tuple[str, Any]]

COSTS = ("rent", "incoming", "outgoing", "cost")
FULL_OF = {
    BANDWIDTH: "bandwidth: not one more pair of any of its topics fits",
    CONNECTIONS: "connections: it serves as many pairs as it may",
    TOPICS: "topics: it can only serve more of those it has",
    NOTHING: "nothing: it has room left",
}
MACHINES_BY = {
    BANDWIDTH: "machines with no bandwidth for a further pair",
    CONNECTIONS: "machines with no connection left",
    TOPICS: "machines that take no further topic",
    NOTHING: "machines with room left",
}


def plan_passages(facts: PlanFacts) -> list[Passage]:
    """Write the explanation of a plan for people."""
    found: list[Passage] = [
        Lines("Where the money goes", money_pairs(facts)),
        Lines("The fleet", fleet_pairs(facts)),
    ]
    if facts.lightest is not None and facts.next_machine is not None:
        found.append(Lines("One machine more or less", machine_pairs(facts)))
    if facts.quartiles is not None:
        found.append(Lines("What subscribers cost", subscriber_pairs(facts)))
    found += [topic_listing(facts), subscriber_listing(facts), machine_listing(facts)]
    return [passage for passage in found if isinstance(passage, Lines) or passage.rows]


def money_pairs(facts: PlanFacts) -> Pairs:
    """Say what is paid for, and what of it buys nothing."""
    cost = facts.cost
    parts = (
        ("rent of bandwidth in use", cost.rent - facts.unused_rent),
        ("rent of bandwidth not in use", facts.unused_rent),
        ("incoming traffic, once for each topic", cost.incoming - facts.further_copies),
        ("incoming traffic of further copies", facts.further_copies),
        ("outgoing traffic", cost.outgoing),
    )
    pairs: Pairs = [(name, _dollars(part, cost.total)) for name, part in parts]
    if facts.bound is not None:
        pairs.append(("no plan costs less than", money(facts.bound)))
    return pairs


def fleet_pairs(facts: PlanFacts) -> Pairs:
    """Say how close the rent is to the least there is, and what machines are full of."""
    rent = facts.cost.rent
    pairs: Pairs = [
        ("machines", facts.machines),
        ("their rent", money(rent)),
        ("least rent with room for these pairs", money(facts.least_rent_for_pairs)),
        ("least rent of any plan, proven", money(facts.least_rent)),
    ]
    if rent > 0 and is_enough(facts.least_rent, rent):
        pairs.append(("so", "no plan has a cheaper fleet"))
    pairs += [(words, facts.binding[what]) for what, words in MACHINES_BY.items()
              if facts.binding[what]]  # fmt: skip
    return pairs


def machine_pairs(facts: PlanFacts) -> Pairs:
    """Say what one machine fewer would need, and what the next one would buy."""
    pairs: Pairs = []
    if facts.lightest is not None:
        pairs += [
            ("the machine that moves least", number(facts.lightest.machine)),
            ("without it", emptying_words(facts.lightest)),
        ]
    pairs.append(
        ("bandwidth free on all machines", f"{size(facts.free_bytes)} per period, as much as "
         f"{_many(facts.free_subscribers)} of mean traffic take")
    )  # fmt: skip
    if facts.growth is not None:
        pairs.append(("rates can grow before a machine is too small", _growth(facts.growth)))
    after = facts.next_machine
    if after is not None:
        pairs += [
            ("the next machine", f"{after.instance} for {money(after.rent)}: "
             f"{size(after.usable_bytes)} per period, as much as {_many(after.subscribers)} of "
             "mean traffic take"),
            ("it could save", "nothing: no further copy is paid for" if not after.could_save else
             f"at most {money(after.could_save)}, what further copies of split topics cost"),
        ]  # fmt: skip
    return pairs


def subscriber_pairs(facts: PlanFacts) -> Pairs:
    """Say how the cost is spread over subscribers."""
    names = ("the cheapest", "lower quartile", "median", "upper quartile", "the dearest")
    pairs: Pairs = [("subscribers that are served", facts.served)]
    pairs += [
        (name, money(value)) for name, value in zip(names, facts.quartiles or (), strict=True)
    ]
    return [*pairs, ("the dearest tenth together", percent(facts.dearest_tenth))]


def topic_listing(facts: PlanFacts) -> Listing:
    """List the topics that cost most."""
    rows = [
        (line.topic, line.pairs, line.machines, *_amounts(line.cost),
         percent(share(line.cost.total, facts.cost.total)))
        for line in facts.topics
    ]  # fmt: skip
    columns = ("topic", "subscribers served", "machines", *COSTS, "of all")
    return Listing("Dearest topics", columns, rows,
                   first_of(len(rows), facts.carried, "topics that are carried"))  # fmt: skip


def subscriber_listing(facts: PlanFacts) -> Listing:
    """List the subscribers that cost most."""
    rows = [(line.subscriber, line.pairs, *_amounts(line.cost)) for line in facts.subscribers]
    columns = ("subscriber", "topics", *COSTS)
    note = (
        "A pair pays for its outgoing traffic, an even share of the incoming copy it is served "
        "from, and rent by what it moves."
    )
    return Listing("Dearest subscribers", columns, rows, note)


def machine_listing(facts: PlanFacts) -> Listing:
    """List the machines that use least of their bandwidth."""
    rows = [
        (line.machine, line.instance, line.topics, line.pairs, percent(line.fill), line.binds,
         *_amounts(line.cost))
        for line in facts.emptiest
    ]  # fmt: skip
    columns = ("machine", "type", "topics", "pairs", "bandwidth used", "full of", *COSTS)
    return Listing("Emptiest machines", columns, rows,
                   first_of(len(rows), facts.machines, "machines"))  # fmt: skip


def machine_passages(facts: MachineFacts) -> list[Passage]:
    """Write what is said of one machine for people."""
    pairs: Pairs = [
        ("why it is there", emptying_words(facts.without)),
        ("it is full of", FULL_OF[facts.binds]),
        ("bandwidth", f"{size(facts.used_bytes)} of {size(facts.usable_bytes)} per period "
         f"({percent(facts.fill)})"),
        ("topics", _within(facts.topics, facts.max_topics)),
        ("pairs", _within(facts.pairs, facts.max_connections)),
        *_costs(facts.cost),
    ]  # fmt: skip
    note = first_of(len(facts.topics_listed), facts.topics, "topics")
    title = f"machine {facts.machine}: {facts.instance}"
    return [Lines(title, pairs), part_listing("Topics on it", "topic", facts.topics_listed, note)]


def emptying_words(found: Emptying) -> str:
    """Say in a sentence whether the other machines could do without one."""
    if not found.pairs:
        return f"it serves nobody: giving it up saves {money(found.saves)}"
    if found.saves is None:
        left = "any" if found.left_over == found.pairs else number(found.left_over)
        return (
            f"the others have no room for {left} of its {number(found.pairs)} pairs, which move "
            f"{size(found.missing_bytes)} per period"
        )
    copies = f"with {number(found.new_copies)} further copies" if found.new_copies else "as it is"
    verb = "saves" if found.saves >= 0 else "costs"
    return (
        f"not needed: the others have room for all {number(found.pairs)} of its pairs, {copies}; "
        f"giving it up {verb} {money(abs(found.saves))}"
    )


def topic_passages(facts: TopicFacts) -> list[Passage]:
    """Write what is said of one topic for people."""
    pairs: Pairs = [
        ("why", topic_reason(facts)),
        ("rate", f"{number(facts.rate)} events per period"),
        ("one copy moves", f"{size(facts.bytes_per_copy)} per period"),
        ("followers served with it", out_of(facts.pairs, facts.followers)),
    ]
    if facts.machines:
        pairs += [
            ("machines it is on", facts.machines),
            ("machines that could hold it", f"{number(facts.least_machines)} at least"),
            *_costs(facts.cost),
            ("of the incoming traffic further copies", money(facts.further_copies)),
            ("rank by cost", out_of(facts.rank or 0, facts.carried)),
        ]
    state = f"on {_machines(facts.machines)}" if facts.machines else "not carried"
    found: list[Passage] = [Lines(f"{facts.topic}: {state}", pairs)]
    if facts.parts:
        note = first_of(len(facts.parts), facts.machines, "machines")
        found.append(part_listing("Where it is", "machine", facts.parts, note))
    return found


def topic_reason(facts: TopicFacts) -> str:
    """Say in a sentence why the topic is on as many machines as it is."""
    if not facts.machines:
        if not facts.fits:
            return "it fits no machine that may be rented, and everybody can do without"
        return "nobody needs it: its followers are satisfied by other topics"
    if facts.machines == 1:
        return "one machine holds all who are served with it, so that it comes in once"
    if facts.machines == facts.least_machines:
        return "no machine holds all who are served with it: it is split as little as may be"
    if facts.least_machines == 1:
        return "one machine could hold it, but in this fleet it fills the room that others leave"
    return (
        f"it must be on {_machines(facts.least_machines)}; the others have it to fill the room "
        "that other topics leave"
    )


def part_listing(title: str, item: str, parts: list[PartFacts], note: str) -> Listing:
    """List topics of a machine, or machines of a topic."""
    rows = [
        (getattr(part, item), part.pairs, percent(part.share), *_amounts(part.cost))
        for part in parts
    ]
    return Listing(title, (item, "pairs", "of the machine", *COSTS), rows, note)


def subscriber_passages(facts: SubscriberFacts) -> list[Passage]:
    """Write what is said of one subscriber for people."""
    pairs: Pairs = [
        ("needs", f"{number(facts.needs)} events per period"),
        ("gets", f"{number(facts.gets)} of the {number(facts.could_get)} it subscribes to"),
        ("topics it is served with", out_of(facts.num_pairs, facts.interests)),
        *_costs(facts.cost),
    ]
    if facts.rank is not None:
        pairs += [
            ("rank by cost", out_of(facts.rank, facts.served)),
            ("subscribers cost on average", money(facts.mean_cost)),
        ]
    pairs += [
        ("traffic there is for it alone", money(facts.own_traffic)),
        ("the cheapest choice", cheapest_words(facts)),
    ]
    rows = [
        (pair.topic, pair.machine, pair.rate, pair.shared_by, *_amounts(pair.cost))
        for pair in facts.pairs
    ]
    columns = ("topic", "machine", "rate", "copy shared by", *COSTS)
    found: list[Passage] = [Lines(f"{facts.subscriber}: {money(facts.cost.total)}", pairs)]
    if rows:
        note = first_of(len(rows), facts.num_pairs, "topics it is served with")
        found.append(Listing("Topics it is served with", columns, rows, note))
    return found


def cheapest_words(facts: SubscriberFacts) -> str:
    """Say in a sentence whether another choice of topics would be cheaper."""
    best = facts.cheapest
    saved = facts.own_traffic - best.traffic
    if saved <= RELATIVE_TOLERANCE * facts.own_traffic:
        proven = is_enough(best.at_least, facts.own_traffic)
        return "this one" if proven else "none cheaper was found"
    names = some_names(best.topics[:3], len(best.topics))
    fits = "have room" if best.has_room else "have no room for it"
    return f"saves {money(saved)} of traffic with topics {names}; the machines {fits}"


def _costs(cost: MoneyFacts) -> Pairs:
    return [
        ("cost", money(cost.total)),
        ("of it rent", _dollars(cost.rent, cost.total)),
        ("of it incoming traffic", _dollars(cost.incoming, cost.total)),
        ("of it outgoing traffic", _dollars(cost.outgoing, cost.total)),
    ]


def _amounts(cost: MoneyFacts) -> tuple[str, ...]:
    return money(cost.rent), money(cost.incoming), money(cost.outgoing), money(cost.total)


def _dollars(part: float, total: float) -> str:
    return f"{money(part)} ({percent(share(part, total))})"


def _within(count: int, most: int | None) -> str:
    return number(count) if most is None else f"{number(count)} of at most {number(most)}"


def _machines(count: int) -> str:
    return f"{number(count)} machine{'' if count == 1 else 's'}"


def _growth(share_more: float) -> str:
    return f"by {percent(share_more)}" if share_more < 1 else f"{number(1 + share_more)} times"


def _many(subscribers: float) -> str:
    count = int(subscribers)
    return f"{number(count)} subscriber{'' if count == 1 else 's'}"
