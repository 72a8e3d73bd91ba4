"""The explanation of a wiring as people read it."""

from __future__ import annotations

from typing import Any

from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.wire.explaining.cases import PlanCase, UserCase
from fanwise.wire.explaining.standings import REASONS, WORDS
from fanwise.wording import ABSENT, number, percent


def plan_passages(case: PlanCase) -> list[Passage]:
    """Write the explanation of a wiring."""
    found: list[Passage] = [cost_lines(case), reach_lines(case)]
    if case.reasons:
        title = "What keeps users where they are"
        if case.looked_at < case.users:
            title += f" (of {number(case.looked_at)} drawn at random)"
        found.append(Lines(title, reason_pairs(case)))
    found += [channel_listing(case), link_listing(case), broker_listing(case)]
    return [passage for passage in found if isinstance(passage, Lines) or passage.rows]


def cost_lines(case: PlanCase) -> Lines:
    """Say what the cost is made of."""
    pairs: list[tuple[str, Any]] = [
        ("cost", case.cost),
        ("of it access", _part(case.access, case.cost)),
        ("of it core", _part(case.core, case.cost)),
        ("access if everybody had the cheapest link", case.cheapest_access),
    ]
    if case.core_steiner is not None and case.core_steiner < case.core * (1 - 1e-9):
        saved = _share(case.core - case.core_steiner, case.core)
        pairs.append(
            ("core with trees through other brokers", f"{number(case.core_steiner)} "
             f"({percent(saved)} less)")
        )  # fmt: skip
    if case.bound is not None:
        pairs.append(("no wiring costs less than", case.bound))
    return Lines("Where the cost comes from", pairs)


def reach_lines(case: PlanCase) -> Lines:
    """Say how far channels go, and how full brokers are."""
    pairs: list[tuple[str, Any]] = [
        ("brokers with users", _of(case.brokers_used, case.num_brokers)),
        ("brokers that a channel reaches, on average", f"{case.mean_brokers:.3g}"),
        ("pairs of a broker and a channel with subscribers", percent(case.reach)),
        ("links between brokers", case.num_links),
    ]
    if case.full is not None:
        pairs.append(
            ("brokers without room for a user of mean traffic", _of(case.full, case.num_brokers))
        )
    if case.overloaded:
        shown = ", ".join(case.overloaded[:8]) + (", …" if len(case.overloaded) > 8 else "")
        pairs.append(("overloaded brokers", f"{number(len(case.overloaded))}: {shown}"))
    return Lines("Reach and room", pairs)


def reason_pairs(case: PlanCase) -> list[tuple[str, Any]]:
    """Count users by what keeps them."""
    return [
        (words, f"{number(count)} ({percent(_share(count, case.looked_at))})")
        for code, words in WORDS.items()
        if (count := case.reasons.get(REASONS[code], 0))
    ]


def channel_listing(case: PlanCase) -> Listing:
    """List the channels that cost most between brokers."""
    rows = [
        (
            line.channel,
            " x ".join(f"[{number(lo)}, {number(hi)}]" for lo, hi in line.box),
            line.rate,
            line.subscribers,
            line.brokers,
            line.core,
            percent(_share(line.core, case.core)),
        )
        for line in case.channels
    ]
    columns = ("channel", "where", "published", "subscribers", "brokers", "core", "of the core")
    return Listing("Dearest channels between brokers", columns, rows,
                   _first(len(rows), case.num_channels, "channels"))  # fmt: skip


def link_listing(case: PlanCase) -> Listing:
    """List the links that cost most."""
    rows = [
        (
            line.broker,
            line.other,
            line.traffic,
            line.price,
            line.cost,
            percent(_share(line.cost, case.core)),
        )
        for line in case.links
    ]
    columns = ("broker", "other", "traffic", "price", "cost", "of the core")
    return Listing("Dearest links", columns, rows, _first(len(rows), case.num_links, "links"))


def broker_listing(case: PlanCase) -> Listing:
    """List the brokers with most load."""
    rows = [
        (
            line.broker,
            line.users,
            line.load,
            ABSENT if line.capacity is None else percent(_share(line.load, line.capacity)),
            line.access,
            line.channels,
        )
        for line in case.brokers
    ]
    columns = ("broker", "users", "load", "of its capacity", "access", "channels wanted")
    return Listing("Brokers with most load", columns, rows,
                   _first(len(rows), case.brokers_used, "brokers with users"))  # fmt: skip


def user_passages(case: UserCase) -> list[Passage]:
    """Write one user's case."""
    pairs: list[tuple[str, Any]] = [
        ("why there", case.says),
        ("traffic in and out", f"{number(case.traffic_in)} and {number(case.traffic_out)}"),
        ("channels it wants", case.wants),
        ("channels it publishes on", case.publishes),
        ("channels that come to its broker for it only", case.alone),
        ("its link costs", case.access),
        ("brokers with a cheaper link", _of(case.rank, case.num_brokers)),
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
            ABSENT if choice.capacity is None else percent(_share(choice.load, choice.capacity)),
            choice.remark(),
        )
        for choice in case.choices
    ]
    return [
        Lines(f"{case.subscriber}: on {case.broker}", pairs),
        Listing("Places for it", columns, rows, _first(len(rows), case.num_brokers, "brokers")),
    ]


def _first(shown: int, count: int, what: str) -> str:
    return f"The first {number(shown)} of {number(count)} {what}." if count > shown else ""


def _of(count: int, total: int) -> str:
    return f"{number(count)} of {number(total)}"


def _part(amount: float, total: float) -> str:
    return f"{number(amount)} ({percent(_share(amount, total))})"


def _share(part: float, total: float) -> float:
    return part / total if total else 0.0
