"""Why a selection is what it is: one topic's case, the worth of capacity, who goes without.

Benefit is what greedy goes by: min(1, rate / missing) added up over the followers that are not
satisfied (binary), or what the total fraction would gain (fractional), times their weights.
Everything is one pass over the pairs, but for two greedy continuations.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.errors import InputError, PlanError
from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.planning.plan import Plan
from fanwise.select.greedy import complete
from fanwise.select.improve import topic_losses
from fanwise.select.problem import Selection, served_topics
from fanwise.wording import number, percent
from fanwise.workload.topic import RELATIVE_TOLERANCE, TopicWorkload

SHOWN = 10
STEP = 0.01
"""The share of capacity whose worth is asked for."""
MAX_CANDIDATES = 20_000
"""Names compared with a misspelt one; comparing a million takes a minute."""

Served = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TopicCase:
    """One topic: what it costs, what it gives, and where it stands.

    Attributes
    ----------
    benefit, ratio, rank
        Benefit as if the topic were not served, per cost (None for a free topic), and the place of
        that ratio among what is ``offloaded`` then, this topic included, from 1.
    subscribers, value
        What serving it adds (offloaded) or dropping it loses (served): subscribers satisfied, and
        the objective.
    share_of_capacity
        Its cost over the capacity; None without capacity.
    left, fits
        Capacity the plan leaves unused, and whether the topic is served or fits into that.
    """

    topic: str
    served: bool
    rate: float
    followers: int
    unsatisfied_followers: int
    cost: float
    share_of_capacity: float | None
    benefit: float
    ratio: float | None
    rank: int
    offloaded: int
    subscribers: int
    value: float
    left: float
    fits: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Purchase:
    """What some capacity buys."""

    capacity: float
    topics: int
    subscribers: int
    value: float


@dataclass(frozen=True)
class Shortage:
    """Unsatisfied subscribers with some number of subscriptions."""

    subscriptions: str
    subscribers: int
    unsatisfied: int
    mean_missing: float | None


@dataclass(frozen=True)
class Standing:
    """A topic in a ranking: its cost, and what it adds or loses."""

    topic: str
    cost: float
    followers: int
    subscribers: int
    benefit: float
    ratio: float | None


@dataclass(frozen=True)
class PlanCase:
    """The whole selection.

    Attributes
    ----------
    leftover
        What greedy would still fit into the capacity that is left.
    next_percent, last_percent
        What 1% more capacity would add to that, and what 1% less would lose.
    missing_quartiles
        Smallest, quartiles and largest of the missing share of tau_v; None if all are satisfied.
    candidates
        Offloaded topics by benefit per cost.
    weakest
        Served topics by what dropping them loses per cost, the least first.
    """

    capacity: float
    used: float
    leftover: Purchase
    next_percent: Purchase
    last_percent: Purchase
    subscribers: int
    unsatisfied: int
    missing_quartiles: tuple[float, ...] | None
    shortages: tuple[Shortage, ...]
    candidates: tuple[Standing, ...]
    weakest: tuple[Standing, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def problem_of(workload: TopicWorkload, plan: Plan) -> Selection:
    """Return the question that a plan answers."""
    if plan.workload != workload.hash:
        raise PlanError(
            f"the plan was made for workload {plan.workload[:12]}…, not this one "
            f"({workload.hash[:12]}…); give the workload it was made for."
        )
    return Selection(
        workload,
        tau=plan.parameters["tau"],
        capacity=plan.parameters["capacity"],
        metric=plan.parameters["metric"],
    )


def explain_topic(workload: TopicWorkload, plan: Plan, name: str) -> TopicCase:
    """Say why a topic is served or offloaded.

    Raises
    ------
    InputError
        If no topic has that name; close ones are suggested.
    """
    problem = problem_of(workload, plan)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    topic = find_topic(workload, name)
    used = float(problem.cost[served].sum())
    others = served.copy()
    others[topic] = False
    missing = missing_events(problem, others)
    with_topic = others.copy()
    with_topic[topic] = True
    benefits, _ = weigh(problem, others, missing)
    cost = problem.cost
    ratios = per_cost(benefits, cost)
    ratio = float(ratios[topic])
    num_better = np.count_nonzero(ratios[~others] > ratio * (1 + RELATIVE_TOLERANCE))
    followers = workload.followers
    row = followers.indices[followers.indptr[topic] : followers.indptr[topic + 1]]
    is_served = bool(served[topic])
    limit = problem.limit
    return TopicCase(
        topic=name,
        served=is_served,
        rate=float(workload.rates[topic]),
        followers=len(row),
        unsatisfied_followers=int(np.count_nonzero(missing_events(problem, served)[row] > 0)),
        cost=float(cost[topic]),
        share_of_capacity=float(cost[topic] / limit) if limit > 0 else None,
        benefit=float(benefits[topic]),
        ratio=ratio if np.isfinite(ratio) else None,
        rank=1 + int(num_better),
        offloaded=int(np.count_nonzero(~others)),
        subscribers=_num_satisfied(problem, with_topic) - _num_satisfied(problem, others),
        value=problem.value(with_topic) - problem.value(others),
        left=limit - used,
        fits=is_served or problem.fits(used + float(cost[topic])),
    )


def explain_plan(workload: TopicWorkload, plan: Plan) -> PlanCase:
    """Say what more or less capacity would change, and who goes without."""
    problem = problem_of(workload, plan)
    served = served_topics(plan.tables["topics"], workload.num_topics)
    missing = missing_events(problem, served)
    full = complete(problem, served)
    more = complete(_with_capacity(problem, 1 + STEP), full)
    needs = problem.demand > 0
    short = missing > 0
    shares = missing[short] / problem.demand[short]
    quartiles = (
        tuple(np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]).tolist()) if len(shares) else None
    )
    return PlanCase(
        capacity=problem.limit,
        used=float(problem.cost[served].sum()),
        leftover=_purchase(problem, served, full),
        next_percent=_purchase(problem, full, more),
        last_percent=_purchase(problem, _shrunk(problem, served), served),
        subscribers=int(np.count_nonzero(needs)),
        unsatisfied=int(np.count_nonzero(short)),
        missing_quartiles=quartiles,
        shortages=_shortages(problem, missing),
        candidates=_candidates(problem, served, missing),
        weakest=_weakest(problem, served),
    )


def passages(workload: TopicWorkload, plan: Plan) -> list[Passage]:
    """Write the explanation of a plan for people."""
    case = explain_plan(workload, plan)
    unit = f"1% of the capacity ({number(STEP * case.capacity)})"
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


def find_topic(workload: TopicWorkload, name: str) -> int:
    """Return the id of a topic, or suggest names like it."""
    names = workload.topic_names
    position: int = pc.index(names, name).as_py()
    if position >= 0:
        return position
    candidates = names
    if len(names) > MAX_CANDIDATES:
        candidates = names.filter(pc.starts_with(names, name[:2]))[:MAX_CANDIDATES]
    close = difflib.get_close_matches(name, candidates.to_pylist(), n=3)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else "no name is close to it."
    raise InputError(f"topic {name!r} is not in the workload; {hint}")


def missing_events(problem: Selection, served: Served) -> FloatArray:
    """Return what each subscriber still needs; 0 for the satisfied."""
    missing = problem.demand - problem.delivered(served)
    missing[missing <= RELATIVE_TOLERANCE * problem.demand] = 0.0
    return missing


def weigh(
    problem: Selection, served: Served, missing: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return each offloaded topic's benefit, and how many subscribers it would satisfy."""
    workload = problem.workload
    benefits, added = weigh_topics(
        *workload.followers,
        workload.rates,
        served,
        missing,
        problem.demand,
        problem.weight,
        problem.metric == "binary",
        RELATIVE_TOLERANCE,
    )
    return benefits, added


@kernel
def weigh_topics(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    served: Served,
    missing: FloatArray,
    demand: FloatArray,
    weight: FloatArray,
    is_binary: bool,
    tolerance: float,
) -> tuple[FloatArray, LongArray]:
    """Add up what each offloaded topic would give its followers, and how many it satisfies."""
    benefits = np.zeros(len(rates))
    added = np.zeros(len(rates), dtype=np.int64)
    for topic in range(len(rates)):
        if served[topic]:
            continue
        rate = rates[topic]
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            lacks = missing[subscriber]
            if lacks <= 0.0:
                continue
            whole = lacks if is_binary else demand[subscriber]
            benefits[topic] += weight[subscriber] * min(rate, lacks) / whole
            if lacks - rate <= tolerance * demand[subscriber]:
                added[topic] += 1
    return benefits, added


def per_cost(benefit: FloatArray, cost: FloatArray) -> FloatArray:
    """Return benefit per cost; infinite for free topics that help, 0 for those that do not."""
    free = np.where(benefit > 0, np.inf, 0.0)
    return np.divide(benefit, cost, out=free, where=cost > 0)


def bin_edges(largest: int) -> npt.NDArray[np.int64]:
    """Bins of subscriptions: 1, 2, 3, 4, then doubling."""
    edges = [1, 2, 3, 4, 5]
    while edges[-1] <= largest:
        edges.append(2 * (edges[-1] - 1) + 1)
    return np.array(edges, dtype=np.int64)


def bin_label(edges: npt.NDArray[np.int64], index: int) -> str:
    """Write a bin of :func:`bin_edges`."""
    if index + 1 == len(edges) or edges[index + 1] == edges[index] + 1:
        return f"{edges[index]}"
    return f"{edges[index]}–{edges[index + 1] - 1}"  # noqa: RUF001


def _with_capacity(problem: Selection, factor: float) -> Selection:
    return Selection(
        problem.workload, problem.tau, capacity=factor * problem.limit, metric=problem.metric
    )


def _num_satisfied(problem: Selection, served: Served) -> int:
    enough = problem.delivered(served) >= problem.demand * (1 - RELATIVE_TOLERANCE)
    return int(np.count_nonzero(enough & (problem.demand > 0)))


def _purchase(problem: Selection, before: Served, after: Served) -> Purchase:
    return Purchase(
        capacity=float(problem.cost[after].sum() - problem.cost[before].sum()),
        topics=int(np.count_nonzero(after)) - int(np.count_nonzero(before)),
        subscribers=_num_satisfied(problem, after) - _num_satisfied(problem, before),
        value=problem.value(after) - problem.value(before),
    )


def _shrunk(problem: Selection, served: Served) -> Served:
    """Give back 1% of the capacity: drop what earns least per cost, refill what fits."""
    smaller = _with_capacity(problem, 1 - STEP)
    order = _by_earnings(problem, served)
    used = float(problem.cost[served].sum())
    kept = served.copy()
    for topic, cost in zip(order.tolist(), problem.cost[order].tolist(), strict=True):
        if smaller.fits(used):
            break
        kept[topic] = False
        used -= cost
    return complete(smaller, kept)


def _by_earnings(problem: Selection, served: Served) -> npt.NDArray[np.int64]:
    """Served topics by what dropping them loses per cost, the least first; ties: the costliest."""
    chosen = np.flatnonzero(served)
    losses = topic_losses(problem, served)[chosen]
    cost = problem.cost[chosen]
    # A free topic never makes room, whatever it earns.
    ratio = np.divide(losses, cost, out=np.full(len(chosen), np.inf), where=cost > 0)
    return chosen[np.lexsort((-cost, ratio))]


def _shortages(problem: Selection, missing: FloatArray) -> tuple[Shortage, ...]:
    needs = problem.demand > 0
    if not needs.any():
        return ()
    followings = np.diff(problem.workload.interests.indptr)[needs]
    edges = bin_edges(int(followings.max()))
    bins = np.searchsorted(edges, followings, side="right") - 1
    short = missing[needs] > 0
    share = missing[needs] / problem.demand[needs]
    count = np.bincount(bins, minlength=len(edges))
    unsatisfied = np.bincount(bins[short], minlength=len(edges))
    total = np.bincount(bins[short], weights=share[short], minlength=len(edges))
    return tuple(
        Shortage(
            bin_label(edges, i),
            int(count[i]),
            int(unsatisfied[i]),
            float(total[i] / unsatisfied[i]) if unsatisfied[i] else None,
        )
        for i in np.flatnonzero(count).tolist()
    )


def _candidates(problem: Selection, served: Served, missing: FloatArray) -> tuple[Standing, ...]:
    benefits, added = weigh(problem, served, missing)
    useful = np.flatnonzero(benefits > 0)
    ratio = per_cost(benefits[useful], problem.cost[useful])
    order = useful[np.argsort(-ratio, kind="stable")[:SHOWN]]
    return _standings(problem, order, added, benefits)


def _weakest(problem: Selection, served: Served) -> tuple[Standing, ...]:
    order = _by_earnings(problem, served)
    order = order[problem.cost[order] > 0][:SHOWN]
    before = _num_satisfied(problem, served)
    lost = np.zeros(problem.workload.num_topics, dtype=np.int64)
    for topic in order.tolist():
        without = served.copy()
        without[topic] = False
        lost[topic] = before - _num_satisfied(problem, without)
    return _standings(problem, order, lost, topic_losses(problem, served))


def _standings(
    problem: Selection,
    order: npt.NDArray[np.int64],
    subscribers: npt.NDArray[np.int64],
    benefit: FloatArray,
) -> tuple[Standing, ...]:
    workload = problem.workload
    return tuple(
        Standing(
            workload.topic_names[topic].as_py(),
            float(problem.cost[topic]),
            int(workload.num_followers[topic]),
            int(subscribers[topic]),
            float(benefit[topic]),
            float(benefit[topic] / problem.cost[topic]) if problem.cost[topic] > 0 else None,
        )
        for topic in order.tolist()
    )


def _signed(value: float) -> str:
    return number(value) if value <= 0 else f"+{number(value)}"


def _ratio(ratio: float | None) -> str:
    return "free" if ratio is None else number(ratio)
