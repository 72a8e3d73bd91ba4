"""The explanation of a selection in tables and sentences."""

from __future__ import annotations

from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.select.explaining.cases import PlanCase, TopicCase
from fanwise.wording import number, percent


def plan_passages(case: PlanCase) -> list[Passage]:
    """Write the explanation of a plan for people."""
    unit = f"1% of the capacity ({number(0.01 * case.capacity)})"
    found: list[Passage] = [
        Listing(
            "What capacity buys",
            ("capacity", "topics", "satisfied subscribers", "objective"),
            [
                (name, _signed(buys.topics), _signed(buys.subscribers), _signed(buys.value))
                for name, buys in (
                    (f"what is left ({number(case.capacity - case.used)})", case.leftover),
                    (f"the next {unit}", case.next_percent),
                    (f"the last {unit}", case.last_percent),
                )
            ],
            "By greedy continuation, and by dropping what earns least.",
        )
    ]
    share = case.unsatisfied / case.subscribers if case.subscribers else 0.0
    lines = [("unsatisfied", f"{number(case.unsatisfied)} of {number(case.subscribers)} "
              f"({percent(share)})")]  # fmt: skip
    if case.missing_quartiles:
        names = ("least", "lower quartile", "median", "upper quartile", "most")
        lines += [
            (f"{name} missing of tau", percent(value))
            for name, value in zip(names, case.missing_quartiles, strict=True)
        ]
    found.append(Lines("Who stays unsatisfied", lines))
    if case.shortages:
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
                    for row in case.shortages
                ],
            )
        )
    columns = ("topic", "cost", "followers")
    for title, standings, worth in (
        ("Offloaded topics that would add most per cost", case.candidates, "benefit"),
        ("Served topics that earn least per cost", case.weakest, "objective lost"),
    ):
        change = "would satisfy" if worth == "benefit" else "satisfies"
        rows = [
            (at.topic, at.cost, at.followers, at.subscribers, at.benefit, _ratio(at.ratio))
            for at in standings
        ]
        if rows:
            heads = (*columns, change, worth, f"{worth} per cost")
            found.append(Listing(title, heads, rows))
    return found


def topic_passages(case: TopicCase) -> list[Passage]:
    """Write one topic's case for people."""
    changes = "dropping it loses" if case.served else "serving it adds"
    pairs = [
        ("rate", f"{number(case.rate)} events per period"),
        ("followers", f"{number(case.followers)}, "
         f"{number(case.unsatisfied_followers)} unsatisfied"),
        ("cost", f"{number(case.cost)} ({percent(case.share_of_capacity)} of the capacity)"),
        ("benefit" if not case.served else "benefit if offloaded", number(case.benefit)),
        ("benefit per cost", _ratio(case.ratio)),
        (
            "rank of that" + (" if offloaded" if case.served else ""),
            f"{case.rank:,} among {number(case.offloaded)} offloaded",
        ),
        (changes, f"{number(case.subscribers)} satisfied subscribers, "
         f"{number(case.value)} of the objective"),
    ]  # fmt: skip
    if not case.served:
        fits = "fits" if case.fits else "does not fit"
        pairs.append(("capacity left", f"{number(case.left)}: it {fits}"))
    pairs.append(("why", reason(case)))
    return [Lines(f"{case.topic}: {'served' if case.served else 'offloaded'}", pairs)]


def reason(case: TopicCase) -> str:
    """Say in a sentence why the topic is where it is."""
    if case.pinned or case.excluded:
        return f"it is {'pinned' if case.pinned else 'excluded'}: the plan was asked for that"
    if case.served:
        if case.subscribers > 0 or case.value > 0:
            return "subscribers depend on it"
        return "nobody depends on it: others would fill in; it could make room"
    if case.benefit == 0:
        return "nobody needs it: all its followers are satisfied"
    if case.fits:
        return "it fits and would help: the plan has room for more"
    if case.rank > 1:
        return "others give more for the same cost, and what is left is too small for it"
    return "nothing offloaded gives more per cost, but it does not fit in what is left"


def _signed(value: float) -> str:
    return number(value) if value <= 0 else f"+{number(value)}"


def _ratio(ratio: float | None) -> str:
    return "free" if ratio is None else number(ratio)
