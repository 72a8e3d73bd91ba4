"""The explanation of a selection in tables and sentences."""

from __future__ import annotations

from fanwise.formatting import number, percent
from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.select.explain.facts import PlanFacts, TopicFacts


def plan_passages(facts: PlanFacts) -> list[Passage]:
    """Write the explanation of a plan for people."""
    unit = f"1% of the capacity ({number(0.01 * facts.capacity)})"
    found: list[Passage] = [
        Listing(
            "What capacity buys",
            ("capacity", "topics", "satisfied subscribers", "objective"),
            [
                (name, _signed(buys.topics), _signed(buys.subscribers), _signed(buys.value))
                for name, buys in (
                    (f"what is left ({number(facts.capacity - facts.used)})", facts.leftover),
                    (f"the next {unit}", facts.next_percent),
                    (f"the last {unit}", facts.last_percent),
                )
            ],
            "By greedy continuation, and by dropping what earns least.",
        )
    ]
    share = facts.unsatisfied / facts.subscribers if facts.subscribers else 0.0
    lines = [("unsatisfied", f"{number(facts.unsatisfied)} of {number(facts.subscribers)} "
              f"({percent(share)})")]  # fmt: skip
    if facts.missing_quartiles:
        names = ("least", "lower quartile", "median", "upper quartile", "most")
        lines += [
            (f"{name} missing of tau", percent(value))
            for name, value in zip(names, facts.missing_quartiles, strict=True)
        ]
    found.append(Lines("Who stays unsatisfied", lines))
    if facts.shortages:
        found.append(
            Listing(
                "Unsatisfied by number of subscriptions",
                ("subscriptions", "subscribers", "unsatisfied", "share", "mean missing of tau"),
                [
                    (
                        row.subscriptions,
                        row.subscribers,
                        row.unsatisfied,
                        percent(row.unsatisfied / row.subscribers),
                        percent(row.mean_missing),
                    )
                    for row in facts.shortages
                ],
            )
        )
    columns = ("topic", "cost", "followers")
    for title, ranked, worth in (
        ("Offloaded topics that would add most per cost", facts.candidates, "benefit"),
        ("Served topics that earn least per cost", facts.weakest, "objective lost"),
    ):
        change = "would satisfy" if worth == "benefit" else "satisfies"
        rows = [
            (at.topic, at.cost, at.followers, at.subscribers, at.benefit, _ratio(at.ratio))
            for at in ranked
        ]
        if rows:
            heads = (*columns, change, worth, f"{worth} per cost")
            found.append(Listing(title, heads, rows))
    return found


def topic_passages(facts: TopicFacts) -> list[Passage]:
    """Write what is said of one topic for people."""
    changes = "dropping it loses" if facts.served else "serving it adds"
    pairs = [
        ("rate", f"{number(facts.rate)} events per period"),
        ("followers", f"{number(facts.followers)}, "
         f"{number(facts.unsatisfied_followers)} unsatisfied"),
        ("cost", f"{number(facts.cost)} ({percent(facts.share_of_capacity)} of the capacity)"),
        ("benefit" if not facts.served else "benefit if offloaded", number(facts.benefit)),
        ("benefit per cost", _ratio(facts.ratio)),
        (
            "rank of that" + (" if offloaded" if facts.served else ""),
            f"{facts.rank:,} among {number(facts.offloaded)} offloaded",
        ),
        (changes, f"{number(facts.subscribers)} satisfied subscribers, "
         f"{number(facts.value)} of the objective"),
    ]  # fmt: skip
    if not facts.served:
        fits = "fits" if facts.fits else "does not fit"
        pairs.append(("capacity left", f"{number(facts.left)}: it {fits}"))
    pairs.append(("why", reason(facts)))
    return [Lines(f"{facts.topic}: {'served' if facts.served else 'offloaded'}", pairs)]


def reason(facts: TopicFacts) -> str:
    """Say in a sentence why the topic is where it is."""
    if facts.pinned or facts.excluded:
        return f"it is {'pinned' if facts.pinned else 'excluded'}: the plan was asked for that"
    if facts.served:
        if facts.subscribers > 0 or facts.value > 0:
            return "subscribers depend on it"
        return "nobody depends on it: others would fill in; it could make room"
    if facts.benefit == 0:
        return "nobody needs it: all its followers are satisfied"
    if facts.fits:
        return "it fits and would help: the plan has room for more"
    if facts.rank > 1:
        return "others give more for the same cost, and what is left is too small for it"
    return "nothing offloaded gives more per cost, but it does not fit in what is left"


def _signed(value: float) -> str:
    return number(value) if value <= 0 else f"+{number(value)}"


def _ratio(ratio: float | None) -> str:
    return "free" if ratio is None else number(ratio)
