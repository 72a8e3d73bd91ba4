"""The independent check of a provisioning's bound: its certificate against the workload alone.

The certificate says who pays for a topic's incoming copy. Weights are turned into shares here such
that no choice of pairs pays more than its copies cost, so that whatever is written in the tables,
what they prove is true. Plain NumPy in blocks of subscribers, no kernel, no shared formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import ROUNDING
from fanwise.provision.verify_covers import Pairs, find_forced, least_prices, tried_of
from fanwise.provision.verify_leaves import Kind, Subscriber, price_leaves
from fanwise.provision.verify_loads import GRID, MOST_LISTED, MOST_SIZE, most_counted
from fanwise.provision.verify_pairs import Block, blocks_of, demand_of
from fanwise.provision.verify_parameters import allowed_types, check_parameters
from fanwise.provision.verify_rent import least_rent
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

COUNTED, SIZES = "counted", "counted_sizes"
SETS = ("bytes", "money", "together", COUNTED)
"""What shares may be of: bytes, the money for traffic, that with rent by the byte, or bytes of
which large topics count for more."""
MOST_WEIGHT = 65535
LOST_PER_NUMBER = 2.0**-52
"""What a sum can lose by rounding, per number added up."""
MOST_PAIRS_OF_LEAVES = 64
"""Pairs of the largest question whose plans are all looked at."""
SOLVED_BY_PROGRAM = "exact+exact"
"""What asks a solver for the bound of the whole question, where it is small."""
MOST_SOLVED = 300
"""Pairs of the largest question that a solver is asked whole."""

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def proven_bound(workload: TopicWorkload, plan: Plan) -> float:
    """Return the money that every plan costs at least, by the certificate of this one."""
    for check in check_parameters(workload, plan.parameters):
        if not check.holds:
            raise ProofError(f"{check.name}: {check.problem}")
    if plan.proof is None:
        raise ProofError("there is no proof")
    market = _Market.of(workload, plan.parameters)
    if set(plan.proof.tables) == {"leaves"}:
        return _price_leaves(workload, plan.proof, market)
    sharings = _read_sharings(workload, plan.proof)
    counts = _count(workload, market, sharings)
    sizes = _read_sizes(market, plan.proof, counts)
    if not counts.num_in_need:
        return 0.0
    prices = {
        "bytes": (1.0, 1.0),
        "money": (market.in_price, market.out_price),
        "together": market.prices_with_rent(),
        COUNTED: (1.0, 1.0),
    }
    needs = {**dict.fromkeys(SETS, market.need), COUNTED: sizes.need}
    least = _least_traffic(workload, market, counts, sharings, prices, needs)
    least_bytes = least.get("bytes", 0.0)
    is_alike = market.in_price == market.out_price
    money = market.in_price * least_bytes if is_alike else least.get("money", 0.0)
    by_loads = least_rent(market.rents, least.get(COUNTED, 0.0), sizes.most)
    separately = max(_rent(market, counts, least_bytes), by_loads) + money
    return max(separately, least.get("together", 0.0) * (1 - RELATIVE_TOLERANCE))


def _price_leaves(workload: TopicWorkload, proof: Proof, market: _Market) -> float:
    """Return the price of the cheapest leaf of a search over all plans."""
    if workload.num_pairs > MOST_PAIRS_OF_LEAVES:
        raise ProofError(f"leaves are for questions of up to {MOST_PAIRS_OF_LEAVES} pairs")
    subscribers = []
    for block, pairs in _parts(workload, market):
        for row in range(len(pairs.enough)):
            is_its = (pairs.row == row) & (pairs.rate > 0)
            subscribers.append(
                Subscriber(block.topics[is_its], pairs.rate[is_its], float(pairs.enough[row]))
            )
    kinds = [
        Kind(rent, room, entry.get("max_topics") or np.inf, entry.get("max_connections") or np.inf)
        for rent, room, entry in zip(market.rents, market.usable, market.types, strict=True)
    ]
    prices = market.in_price, market.out_price
    return price_leaves(proof, subscribers, market.need, kinds, prices)


def may_rest_on_solver(workload: TopicWorkload, plan: Plan) -> bool:
    """Whether a bound of such a plan may come from a solver: tiny questions, solved whole."""
    return plan.algorithm == SOLVED_BY_PROGRAM and workload.num_pairs <= MOST_SOLVED


class _Market(NamedTuple):
    """What machines and traffic cost, and what fits.

    ``in_price`` and ``out_price`` are money for a byte per period over the horizon; ``rents`` money
    for a machine of each type, ``usable`` what it may move, within the tolerance. By topic:
    ``need`` is the bytes of one copy, ``rates`` are 0 where no machine has room for two,
    ``held`` is how many pairs one machine holds beside the copy.
    """

    tau: Any
    in_price: float
    out_price: float
    rents: list[float]
    usable: list[float]
    types: list[Mapping[str, Any]]
    need: Floats
    rates: Floats
    held: Floats
    is_whole: bool

    @classmethod
    def of(cls, workload: TopicWorkload, parameters: Mapping[str, Any]) -> _Market:
        types = list(allowed_types(parameters).values())
        horizon, period = float(parameters["horizon_seconds"]), workload.period_seconds
        kept = 1 - float(parameters["reserve"])
        usable = [
            entry["mbps"] * 125_000 * period * kept * (1 + RELATIVE_TOLERANCE) for entry in types
        ]
        size = parameters["message_bytes"]
        need = workload.rates * (workload.message_bytes if size is None else float(size))
        held = np.ones(len(need))
        for room, entry in zip(usable, types, strict=True):
            held = np.maximum(held, _held(need, room, entry))
        return cls(
            tau=parameters["tau"],
            in_price=parameters["price_gb_in"] / 1e9 * (horizon / period),
            out_price=parameters["price_gb_out"] / 1e9 * (horizon / period),
            rents=[entry["usd_per_hour"] * (horizon / 3600) for entry in types],
            usable=usable,
            types=types,
            need=need,
            rates=np.where(2 * need <= max(usable), workload.rates, 0.0),
            held=held,
            is_whole=bool(np.all(workload.rates == np.floor(workload.rates))),
        )

    def prices_with_rent(self) -> tuple[float, float]:
        """Return what a byte in and out costs with the cheapest rent for its bandwidth."""
        rent = min(
            rent / room * (1 + RELATIVE_TOLERANCE)
            for rent, room in zip(self.rents, self.usable, strict=True)
        )
        prices = self.in_price + rent, self.out_price + rent
        return prices


def _held(need: Floats, room: float, entry: Mapping[str, Any]) -> Floats:
    """Return how many pairs of each topic a machine holds beside the incoming copy."""
    held = np.full(len(need), np.inf)
    with np.errstate(over="ignore"):
        np.divide(room, need, out=held, where=need > 0)
    most = entry.get("max_connections")
    most_held: Floats = np.minimum(np.floor(held) - 1, np.inf if most is None else float(most))
    return most_held


class _Sharing(NamedTuple):
    """Who pays for incoming copies: of even topics all alike, of others by weights."""

    is_even: npt.NDArray[np.bool_]
    subscriber: npt.NDArray[Any]
    place: npt.NDArray[Any]
    weight: npt.NDArray[Any]


def _read_sharings(workload: TopicWorkload, proof: Proof) -> dict[str, _Sharing]:
    known = {SIZES, *(f"{name}_{part}" for name in SETS for part in ("even", "shares"))}
    strange = sorted(set(proof.tables) - known)
    if strange:
        raise ProofError(f"the proof has a table {strange[0]!r} that nobody knows")
    return {
        name: _read_sharing(workload, proof, name)
        for name in SETS
        if any(table.startswith(f"{name}_") for table in proof.tables)
    }


def _read_sharing(workload: TopicWorkload, proof: Proof, name: str) -> _Sharing:
    table = f"{name}_even"
    topic = proof.table(table, {"topic": "id"}).column("topic").to_numpy().astype(np.int64)
    _refuse(table, "topic", (topic < 0) | (topic >= workload.num_topics), "unknown")
    _refuse(table, "topic", np.diff(topic, prepend=-1) <= 0, "not in ascending order")
    is_even = np.zeros(workload.num_topics, dtype=bool)
    is_even[topic] = True
    table = f"{name}_shares"
    shares = proof.table(table, {"subscriber": "id", "place": "id", "weight": "id"})
    subscriber, place, weight = (
        shares.column(one).to_numpy() for one in ("subscriber", "place", "weight")
    )
    count = workload.num_subscribers
    _refuse(table, "subscriber", (subscriber < 0) | (subscriber >= count), "unknown")
    _refuse(table, "weight", (weight < 0) | (weight > MOST_WEIGHT), f"not from 0 to {MOST_WEIGHT}")
    indptr = workload.interests.indptr
    length = indptr[subscriber.astype(np.int64) + 1] - indptr[subscriber]
    _refuse(table, "place", (place < 0) | (place >= length), "no place among its interests")
    pair = indptr[subscriber] + place
    _refuse(table, "place", np.diff(pair, prepend=-1) <= 0, "not in ascending order")
    topic = workload.interests.indices[pair]
    _refuse(table, "place", is_even[topic], f"a topic of {name}_even, which has no weights")
    return _Sharing(is_even, subscriber, place, weight)


def _refuse(table: str, column: str, is_wrong: npt.NDArray[np.bool_], what: str) -> None:
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ProofError(f"proof/{table}.parquet, row {row}: {column} is {what}")


class _Counts(NamedTuple):
    """What a first pass over the pairs finds.

    By topic: followers, and pairs that somebody cannot do without; by name of a sharing and topic,
    the sum of the largest weights that one copy can be shared by. Subscribers with a threshold, and
    the fewest pairs that satisfy everybody.
    """

    followers: Longs
    forced: Longs
    weights: dict[str, Floats]
    num_in_need: int
    fewest: float


class _Sizes(NamedTuple):
    """The bytes that a copy of each topic counts as, and the most that each type's load does."""

    need: Floats
    most: list[float]


def _read_sizes(market: _Market, proof: Proof, counts: _Counts) -> _Sizes:
    if COUNTED not in counts.weights:
        return _Sizes(market.need, market.usable)
    table = proof.table(SIZES, {"topic": "id", "bytes": "number"})
    if table.num_rows > MOST_LISTED:
        raise ProofError(f"more than {MOST_LISTED:,} topics count otherwise than their bytes")
    topic = table.column("topic").to_numpy().astype(np.int64)
    size = table.column("bytes").to_numpy().astype(np.float64)
    _refuse(SIZES, "topic", (topic < 0) | (topic >= len(market.need)), "unknown")
    _refuse(SIZES, "topic", np.diff(topic, prepend=-1) <= 0, "not in ascending order")
    _refuse(SIZES, "bytes", ~((size >= 0) & (size <= MOST_SIZE)), f"not from 0 to {MOST_SIZE:g}")
    own, followers = market.need[topic], counts.followers[topic]
    is_small = own * GRID < max(market.usable)
    _refuse(SIZES, "topic", is_small, "too small to count otherwise than its bytes")
    need = market.need.copy()
    need[topic] = size
    return _Sizes(need, [most_counted(size, own, followers, room) for room in market.usable])


class _Part(NamedTuple):
    """A block of subscribers with the rates of its pairs and what is enough for each."""

    block: Block
    pairs: Pairs


def _parts(workload: TopicWorkload, market: _Market) -> Iterator[_Part]:
    for block in blocks_of(workload):
        whole = demand_of(workload, market.tau, block, workload.rates[block.topics])
        enough = whole * (1 - RELATIVE_TOLERANCE)
        if market.is_whole:
            enough = np.ceil(enough)
        yield _Part(block, Pairs(block.rows, market.rates[block.topics], enough))


def _count(workload: TopicWorkload, market: _Market, sharings: Mapping[str, _Sharing]) -> _Counts:
    num_topics = workload.num_topics
    followers = np.zeros(num_topics, dtype=np.int64)
    forced = np.zeros(num_topics, dtype=np.int64)
    counts_pairs = any(entry.get("max_connections") is not None for entry in market.types)
    num_in_need, fewest = 0, 0.0
    for block, pairs in _parts(workload, market):
        followers += np.bincount(block.topics, minlength=num_topics)
        forced += np.bincount(block.topics[find_forced(pairs)], minlength=num_topics)
        num_in_need += int(np.count_nonzero(pairs.enough > 0))
        if counts_pairs:
            fewest += _fewest_pairs(pairs)
    weights = {
        name: _add_up_weights(workload, market.held, sharing) for name, sharing in sharings.items()
    }
    return _Counts(followers, forced, weights, num_in_need, fewest)


def _fewest_pairs(pairs: Pairs) -> float:
    """Return how many pairs it takes at least: those with most events first."""
    order = np.lexsort((-pairs.rate, pairs.row))
    rate = pairs.rate[order]
    bounds = np.searchsorted(pairs.row, np.arange(len(pairs.enough) + 1))
    position, end = bounds[:-1].copy(), bounds[1:]
    missing, fewest = pairs.enough.copy(), 0
    active = np.flatnonzero((missing > 0) & (position < end))
    while len(active):
        missing[active] -= rate[position[active]]
        position[active] += 1
        fewest += len(active)
        lacks = missing[active] > ROUNDING * pairs.enough[active]
        active = active[lacks & (position[active] < end[active])]
    return float(fewest)


def _add_up_weights(workload: TopicWorkload, held: Floats, sharing: _Sharing) -> Floats:
    """Return by topic the sum of its weights, of the largest ones where not all share a copy."""
    num_topics = workload.num_topics
    total, number = np.zeros(num_topics), np.zeros(num_topics)
    for items in _slices(len(sharing.weight)):
        topic = _topics_of(workload, sharing, items)
        total += np.bincount(topic, sharing.weight[items], minlength=num_topics)
        number += np.bincount(topic, minlength=num_topics)
    is_cut = number > held
    if not is_cut.any():
        return total
    found: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
    for items in _slices(len(sharing.weight)):
        topic = _topics_of(workload, sharing, items)
        found.append((topic[is_cut[topic]], sharing.weight[items][is_cut[topic]]))
    topic = np.concatenate([one for one, _ in found])
    weight = np.concatenate([one for _, one in found]).astype(np.int64)
    order = np.lexsort((-weight, topic))
    topic, weight = topic[order], weight[order]
    rank = np.arange(len(topic)) - np.searchsorted(topic, topic)
    counts = rank < held[topic]
    total[is_cut] = np.bincount(topic[counts], weight[counts], minlength=num_topics)[is_cut]
    return total


def _slices(count: int, size: int = 1 << 22) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _topics_of(workload: TopicWorkload, sharing: _Sharing, items: slice) -> npt.NDArray[Any]:
    indptr, indices = workload.interests
    topics: npt.NDArray[Any] = indices[indptr[sharing.subscriber[items]] + sharing.place[items]]
    return topics


def _least_traffic(
    workload: TopicWorkload,
    market: _Market,
    counts: _Counts,
    sharings: Mapping[str, _Sharing],
    prices: Mapping[str, tuple[float, float]],
    needs: Mapping[str, Floats],
) -> dict[str, float]:
    """Return what any plan's traffic costs at least, by name of the sharing and its prices.

    Copies of topics without shares count where somebody cannot do without; of others every pair
    pays its share. To that comes the least cover of each subscriber, at prices with the shares.
    """
    paid, base, of_weight, least = {}, {}, {}, {}
    sharers = np.maximum(np.minimum(counts.followers, market.held), 1.0)
    for name, sharing in sharings.items():
        (in_price, out_price), need = prices[name], needs[name]
        incoming = in_price * need
        is_paid = ~sharing.is_even & (counts.weights[name] == 0)
        copies = np.where(is_paid, np.ceil(counts.forced / market.held), 0.0)
        paid[name] = float(np.sum(copies * incoming))
        base[name] = out_price * need + np.where(sharing.is_even, incoming / sharers, 0.0)
        of_weight[name] = incoming / np.maximum(counts.weights[name], 1.0)
        least[name] = 0.0
    tried = tried_of(workload.num_pairs)
    for block, pairs in _parts(workload, market):
        is_forced = find_forced(pairs)
        for name, sharing in sharings.items():
            price = base[name][block.topics]
            ends = np.searchsorted(sharing.subscriber, [block.first, block.last])
            items = slice(*ends)
            start = workload.interests.indptr[block.first]
            pair = workload.interests.indptr[sharing.subscriber[items]] + sharing.place[items]
            topic = block.topics[pair - start]
            price[pair - start] += sharing.weight[items] * of_weight[name][topic]
            least[name] += float(np.sum(least_prices(pairs, price, is_forced, tried)))
    lost = LOST_PER_NUMBER * workload.num_pairs
    return {name: (paid[name] + least[name]) * (1 - lost) for name in sharings}


def _rent(market: _Market, counts: _Counts, least_bytes: float) -> float:
    """Return the least rent of machines that move so many bytes and keep all limits.

    They are at least one. They hold the pairs of any one topic that nobody can do without, with a
    copy on each machine. They serve the fewest pairs that are enough, and take in the topics that
    somebody cannot do without; a type without such a limit has room for any number.
    """
    demands = [(least_bytes, market.usable)]
    if counts.forced.any():
        widest = int(np.argmax(counts.forced / market.held))
        need = market.need[widest : widest + 1]
        held = [
            float(_held(need, room, entry)[0])
            for room, entry in zip(market.usable, market.types, strict=True)
        ]
        demands.append((float(counts.forced[widest]), held))
    for limit, amount in (
        ("max_connections", counts.fewest),
        ("max_topics", float(np.count_nonzero(counts.forced))),
    ):
        demands.append((amount, [float(entry.get(limit) or np.inf) for entry in market.types]))
    return max(min(market.rents), *(least_rent(market.rents, *one) for one in demands))
