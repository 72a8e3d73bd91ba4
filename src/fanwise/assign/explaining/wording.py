"""The explanation of an assignment as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.assign.explaining.cases import Choice, PlanCase, SubscriberCase
from fanwise.assign.explaining.standings import REASONS, WORDS
from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.wording import ABSENT, number, percent


def plan_passages(case: PlanCase) -> list[Passage]:
    """Write the explanation of an assignment."""
    found: list[Passage] = []
    if not case.feasible and case.trouble is not None:
        found.append(trouble_lines(case, case.trouble))
    found += [
        load_lines(case),
        latency_lines(case),
        Lines("What keeps subscribers where they are", reason_pairs(case)),
        bandwidth_lines(case),
    ]
    if case.brokers:
        rows = [
            (
                line.broker,
                line.serves,
                ABSENT if line.limit is None else line.limit,
                ABSENT if line.only_choice_of is None else line.only_choice_of,
                line.rectangles,
                line.bandwidth,
                percent(_share(line.unwanted, line.bandwidth)),
            )
            for line in case.brokers
        ]
        columns = (
            "broker", "serves", "limit", "only choice of", "rectangles", "bandwidth",
            "that nobody wants",
        )  # fmt: skip
        note = f"The first {len(rows)} of {number(case.num_brokers)} brokers in use."
        note = note if case.num_brokers > len(rows) else ""
        found.append(Listing("Brokers that carry most", columns, rows, note))
    return found


def trouble_lines(case: PlanCase, trouble: Mapping[str, Any]) -> Lines:
    """Say which limits the plan breaks, and whether any plan could keep them."""
    pairs: list[tuple[str, Any]] = [("why", trouble["says"])]
    if case.late:
        pairs.append(("late subscribers", _some(case.late_names, case.late)))
    if case.overloaded:
        pairs.append(("overloaded brokers", _some(case.overloaded_names, case.overloaded)))
    if trouble["unreachable"]:
        names, count = trouble["unreachable_names"], trouble["unreachable"]
        pairs.append(("subscribers whom no broker reaches in time", _some(names, count)))
    if trouble["left_over"]:
        pairs += [
            ("brokers that are too small together", ", ".join(trouble["bottleneck_brokers"])),
            ("subscribers who have only those", trouble["bottleneck_subscribers"]),
            ("of them too many", trouble["left_over"]),
        ]
    return Lines("Limits that are broken", pairs)


def load_lines(case: PlanCase) -> Lines:
    """Say how full brokers are."""
    least = "none: somebody has no broker in time"
    if case.least_lbf is not None:
        least = number(case.least_lbf)
    return Lines(
        "Load",
        [
            ("brokers full at the allowed factor", _share_of(case.full, case.leaves)),
            ("brokers full at the desired factor", _share_of(case.full_at_desired, case.leaves)),
            ("load-balance factor", case.lbf),
            ("desired and allowed", f"{number(case.lbf_desired)} and {number(case.lbf_max)}"),
            ("least that serves everybody in time", least),
        ],
    )


def latency_lines(case: PlanCase) -> Lines:
    """Say how much choice latency leaves, and how late people are."""
    return Lines(
        "Latency",
        [
            ("brokers in time for a subscriber, on average", f"{case.mean_choices:.3g}"),
            ("subscribers with only one", _of(case.one_choice, case.subscribers)),
            ("subscribers on the quickest way", _of(case.quickest, case.subscribers)),
            ("delay on average", percent(case.mean_delay)),
            ("delay at most", percent(case.most_delay)),
            ("late subscribers", case.late),
        ],
    )


def reason_pairs(case: PlanCase) -> list[tuple[str, Any]]:
    """Count subscribers by what keeps them."""
    return [
        (words, _of(case.reasons[REASONS[code]], case.subscribers))
        for code, words in WORDS.items()
        if case.reasons[REASONS[code]]
    ]


def bandwidth_lines(case: PlanCase) -> Lines:
    """Say what is carried, and how much of it for nobody."""
    pairs: list[tuple[str, Any]] = [("total bandwidth", case.bandwidth)]
    if case.bandwidth_inner:
        pairs.append(("of it to brokers between", _part(case.bandwidth_inner, case.bandwidth)))
    pairs.append(("of it wanted by nobody below", _part(case.unwanted, case.bandwidth)))
    return Lines("Bandwidth", pairs)


def subscriber_passages(case: SubscriberCase) -> list[Passage]:
    """Write one subscriber's case."""
    wants = "nothing"
    if case.wants is not None:
        wants = " x ".join(f"[{number(lo)}, {number(hi)}]" for lo, hi in case.wants)
    pairs = [
        ("why there", case.says),
        ("wants", wants),
        ("brokers in time", case.num_in_time),
        ("quickest way", case.shortest),
        ("latency allowed", "by a list of brokers" if case.limit is None else case.limit),
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
        for choice in case.choices
    ]
    return [
        Lines(f"{case.subscriber}: on {case.broker}", pairs),
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


def _share_of(count: int, total: int) -> str:
    return f"{number(count)} of {number(total)}"


def _of(count: int, total: int) -> str:
    return f"{number(count)} ({percent(_share(count, total))})"


def _part(amount: float, total: float) -> str:
    return f"{number(amount)} ({percent(_share(amount, total))})"


def _share(part: float, total: float) -> float:
    return part / total if total else 0.0


def _some(names: list[str], count: int) -> str:
    return f"{number(count)}: {', '.join(names)}{', …' if count > len(names) else ''}"
