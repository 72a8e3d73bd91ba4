"""The explanation of an assignment as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.assign.explain.facts import Choice, PlanFacts, SubscriberFacts
from fanwise.assign.explain.reasons import REASONS, WORDS
from fanwise.formatting import ABSENT, number, percent
from fanwise.planning.explanation import (
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


def plan_passages(facts: PlanFacts) -> list[Passage]:
    """Write the explanation of an assignment."""
    found: list[Passage] = []
    if not facts.feasible and facts.trouble is not None:
        found.append(trouble_lines(facts, facts.trouble))
    found += [
        load_lines(facts),
        latency_lines(facts),
        Lines("What keeps subscribers where they are", reason_pairs(facts)),
        bandwidth_lines(facts),
    ]
    if facts.brokers:
        rows = [
            (
                line.broker,
                line.serves,
                ABSENT if line.limit is None else line.limit,
                ABSENT if line.only_choice_of is None else line.only_choice_of,
                line.rectangles,
                line.bandwidth,
                percent(share(line.unwanted, line.bandwidth)),
            )
            for line in facts.brokers
        ]
        columns = (
            "broker", "serves", "limit", "only choice of", "rectangles", "bandwidth",
            "that nobody wants",
        )  # fmt: skip
        note = first_of(len(rows), facts.num_brokers, "brokers in use")
        found.append(Listing("Brokers that carry most", columns, rows, note))
    return found


def trouble_lines(facts: PlanFacts, trouble: Mapping[str, Any]) -> Lines:
    """Say which limits the plan breaks, and whether any plan could keep them."""
    pairs: list[tuple[str, Any]] = [("why", trouble["says"])]
    if facts.late:
        pairs.append(("late subscribers", some_names(facts.late_names, facts.late)))
    if facts.overloaded:
        pairs.append(("overloaded brokers", some_names(facts.overloaded_names, facts.overloaded)))
    if trouble["unreachable"]:
        names, count = trouble["unreachable_names"], trouble["unreachable"]
        pairs.append(("subscribers whom no broker reaches in time", some_names(names, count)))
    if trouble["left_over"]:
        pairs += [
            ("brokers that are too small together", ", ".join(trouble["bottleneck_brokers"])),
            ("subscribers who have only those", trouble["bottleneck_subscribers"]),
            ("of them too many", trouble["left_over"]),
        ]
    return Lines("Limits that are broken", pairs)


def load_lines(facts: PlanFacts) -> Lines:
    """Say how full brokers are."""
    least = "none: somebody has no broker in time"
    if facts.least_lbf is not None:
        least = number(facts.least_lbf)
    return Lines(
        "Load",
        [
            ("brokers full at the allowed factor", out_of(facts.full, facts.leaves)),
            ("brokers full at the desired factor", out_of(facts.full_at_desired, facts.leaves)),
            ("load-balance factor", facts.lbf),
            ("desired and allowed", f"{number(facts.lbf_desired)} and {number(facts.lbf_max)}"),
            ("least that serves everybody in time", least),
        ],
    )


def latency_lines(facts: PlanFacts) -> Lines:
    """Say how much choice latency leaves, and how late people are."""
    return Lines(
        "Latency",
        [
            ("brokers in time for a subscriber, on average", f"{facts.mean_choices:.3g}"),
            ("subscribers with only one", with_share(facts.one_choice, facts.subscribers)),
            ("subscribers on the quickest way", with_share(facts.quickest, facts.subscribers)),
            ("delay on average", percent(facts.mean_delay)),
            ("delay at most", percent(facts.most_delay)),
            ("late subscribers", facts.late),
        ],
    )


def reason_pairs(facts: PlanFacts) -> list[tuple[str, Any]]:
    """Count subscribers by what keeps them."""
    return [
        (words, with_share(facts.reasons[REASONS[code]], facts.subscribers))
        for code, words in WORDS.items()
        if facts.reasons[REASONS[code]]
    ]


def bandwidth_lines(facts: PlanFacts) -> Lines:
    """Say what is carried, and how much of it for nobody."""
    pairs: list[tuple[str, Any]] = [("total bandwidth", facts.bandwidth)]
    if facts.bandwidth_inner:
        pairs.append(
            ("of it to brokers between", with_share(facts.bandwidth_inner, facts.bandwidth))
        )
    pairs.append(("of it wanted by nobody below", with_share(facts.unwanted, facts.bandwidth)))
    return Lines("Bandwidth", pairs)


def subscriber_passages(facts: SubscriberFacts) -> list[Passage]:
    """Write what is said of one subscriber."""
    wants = "nothing"
    if facts.wants is not None:
        wants = write_box(facts.wants)
    pairs = [
        ("why there", facts.says),
        ("wants", wants),
        ("brokers in time", facts.num_in_time),
        ("quickest way", facts.shortest),
        ("latency allowed", "by a list of brokers" if facts.limit is None else facts.limit),
    ]
    columns = ("broker", "latency", "serves", "limit", "filters would grow by", "")
    rows = [
        (
            choice.broker,
            choice.latency,
            choice.serves,
            choice.limit,
            choice.growth,
            _remark(choice),
        )
        for choice in facts.choices
    ]
    return [
        Lines(f"{facts.subscriber}: on {facts.broker}", pairs),
        Listing("Places for it", columns, rows),
    ]


def _remark(choice: Choice) -> str:
    words = []
    if choice.is_own:
        words.append("here")
    if not choice.in_time:
        words.append("too late")
    if choice.is_full:
        words.append("full")
    if choice.holds:
        words.append("holds it")
    return ", ".join(words)
