"""Proven lower bounds on the money that any plan costs.

Guarantee
    No plan that keeps its limits within the tolerance of verification costs less.

Complexity
    The paper's bound takes one pass over the pairs; ours a few, and the dual ascent of
    :mod:`fanwise.provision.pairs.dual_ascent` on what they leave undecided.

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014, appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, least_enough, most_within
from fanwise.planning.problem import Bound, Run
from fanwise.planning.proof import Proof
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step
from fanwise.provision.pairs.charges import charge, pairs_held, prices_with_rent, whole_demand
from fanwise.provision.pairs.core import find_core
from fanwise.provision.pairs.core_kernels import count_forced_pairs
from fanwise.provision.pairs.dual_ascent import IsEnough, never, share
from fanwise.provision.pairs.pair_kernels import count_fewest_pairs, cover_fractionally
from fanwise.provision.pairs.passes import NO_DEADLINES, Deadlines, pass_over
from fanwise.provision.problem import Provisioning
from fanwise.provision.proving.loads import count_sizes
from fanwise.provision.proving.rent import Offer, least_rent, round_up
from fanwise.provision.proving.weights import (
    Weights,
    no_weights,
    price_covers_of,
    price_weights,
    slice_weights,
    tried_in,
    weigh,
)

SUM_ROUNDING = 2.0**-52
"""What a sum can lose by rounding, per number added up."""


def paper_bound(problem: Provisioning) -> float:
    """Return the bound of Setty et al. (Alg. 5, Theorem A.1), for one type of machine.

    Subscriber v must be sent max(tau_v, its smallest rate) events. The bytes of all subscribers are
    paid for as outgoing traffic and fill machines to the brim; incoming traffic is left out. Where
    topics have messages of different sizes, the bytes of v are those of the cheapest fractional
    cover of tau_v, and at least those of its smallest topic: the same thing for equal sizes.
    Subscribers that need nothing are sent nothing.
    """
    least: FloatArray = cover_fractionally(
        *problem.workload.interests, problem.workload.rates, problem.sizes, problem.demand
    )
    out_bytes = float(least.sum())
    num_vms = round_up(out_bytes / problem.capacity_bytes)
    return problem.costs(num_vms * problem.machine.usd_per_hour, 0.0, out_bytes).total


class Proven(NamedTuple):
    """A proven bound and the tables of its certificate."""

    value: float
    tables: Mapping[str, pa.Table]

    @property
    def proof(self) -> Proof:
        """The certificate."""
        return Proof(kind="duals", tables=self.tables, proves=self.value)


def proven_bound(problem: Provisioning, is_enough: IsEnough = never) -> float:
    """Return what every plan costs at least; see :func:`prove_bound`."""
    return prove_bound(problem, is_enough).value


def prove_bound(
    problem: Provisioning, is_enough: IsEnough = never, deadlines: Deadlines = NO_DEADLINES
) -> Proven:
    """Return what every plan costs at least, with the types of machine that may be rented.

    Traffic: each subscriber is sent a cover of its threshold, and each topic that is carried comes
    in at least once, and at least once per so many pairs as the largest machine holds; the least
    price of both together is bounded by :mod:`fanwise.provision.pairs.dual_ascent`.
    Rent: see :func:`rent_by_bytes`; with one type of machine also by what large topics leave of
    one (:mod:`fanwise.provision.proving.loads`).

    The total is at least the least price of traffic plus the least rent for the least bytes. And
    every byte takes bandwidth, so it is at least the least price of traffic with a byte's cheapest
    rent on top. Where a byte costs the same in and out, the first is never less; else the larger
    one counts. The bound holds for every plan that keeps its limits within the tolerance of
    verification. Nothing is swept once a bound is enough, or the time is over.

    What is returned is what the certificate proves, by its own numbers (see
    :mod:`fanwise.provision.proving.weights`).
    """
    if not np.any(problem.demand > 0):
        return total_bound(problem, no_traffic, is_enough)._replace(value=0.0)
    traffic = partial(prove_traffic, problem, deadlines=deadlines)
    has_one_type = len(problem.types_allowed) == 1
    loads = partial(_rent_by_loads, problem, traffic) if has_one_type else None
    return total_bound(problem, traffic, is_enough, loads)


class Traffic(NamedTuple):
    """What any plan's traffic costs at least, and the shares that prove it."""

    least: float
    weights: Weights


ProveTraffic = Callable[[float, float, IsEnough], Traffic]
"""Returns what any plan's traffic costs at least, at prices for a byte in and out."""


def no_traffic(in_price: float, out_price: float, is_enough: IsEnough) -> Traffic:
    """Return what nothing costs."""
    return Traffic(0.0, no_weights())


class BoundSearch(Search[float]):
    """The search for a bound on what plans cost, given one that costs so much.

    Called with a bound, it says whether that is enough: close to the cost as asked for, or the last
    one for which there was time.
    """

    def __init__(self, run: Run, step: Step, cost: float) -> None:
        super().__init__(run, step, "min", limits_of(run), unit="cost")
        self.offer(cost, cost)

    def __call__(self, bound: float) -> bool:
        self.prove(Bound(bound))
        return self.is_over()


class Rented(NamedTuple):
    """What any plan's machines cost at least, and the tables that prove it."""

    rent: float
    tables: Mapping[str, pa.Table]


RentByLoads = Callable[[float, float, IsEnough], Rented | None]
"""Returns more rent than was known, given the least bytes, or None."""


def total_bound(
    problem: Provisioning,
    traffic: ProveTraffic,
    is_enough: IsEnough = never,
    by_loads: RentByLoads | None = None,
) -> Proven:
    """Return what every plan costs at least, given what traffic does.

    ``by_loads`` finds more rent where volume alone is not what fills machines.
    """
    in_price, out_price = (
        problem.costs(0.0, 1.0, 0.0).total,
        problem.costs(0.0, 0.0, 1.0).total,
    )
    rent = rent_by_bytes(problem)
    if in_price == out_price:

        def total(least_bytes: float) -> float:
            return rent(least_bytes) + in_price * least_bytes

        least = traffic(1.0, 1.0, lambda least_bytes: is_enough(total(least_bytes)))
        found = Proven(total(least.least), least.weights.tables("bytes"))
        return _with_loads(found, least.least, rent(least.least), is_enough, by_loads)

    in_bytes = traffic(1.0, 1.0, lambda least_bytes: is_enough(rent(least_bytes)))
    rent_alone = rent(in_bytes.least)
    money = traffic(in_price, out_price, lambda least: is_enough(rent_alone + least))
    separate = Proven(
        rent_alone + money.least,
        {**in_bytes.weights.tables("bytes"), **money.weights.tables("money")},
    )
    separate = _with_loads(separate, in_bytes.least, rent_alone, is_enough, by_loads)
    if is_enough(separate.value):
        return separate
    both = traffic(*prices_with_rent(problem), is_enough)
    together = least_enough(both.least)
    if together <= separate.value:
        return separate
    return Proven(together, both.weights.tables("together"))


def _with_loads(
    found: Proven, least_bytes: float, rent: float, is_enough: IsEnough,
    by_loads: RentByLoads | None,
) -> Proven:  # fmt: skip
    """Return a bound with the rent for loads in place of that for bytes, if that is more."""
    if by_loads is None or is_enough(found.value):
        return found
    rented = by_loads(least_bytes, rent, lambda more: is_enough(found.value + more - rent))
    if rented is None:
        return found
    return Proven(found.value + rented.rent - rent, {**found.tables, **rented.tables})


def _rent_by_loads(
    problem: Provisioning,
    traffic: Callable[..., Traffic],
    least_bytes: float,
    rent: float,
    is_enough: IsEnough,
) -> Rented | None:
    """Return rent for what topics count as; see :mod:`fanwise.provision.proving.loads`."""
    each = problem.costs(problem.machine.usd_per_hour, 0.0, 0.0).total
    if each <= 0:
        return None
    sizes = count_sizes(problem, round(rent / each), lambda: is_enough(rent))
    if sizes is None:
        return None

    def rent_for(least: float) -> float:
        return least_rent([Offer(each, sizes.most)], least)

    least = traffic(1.0, 1.0, lambda found: is_enough(rent_for(found)), needs=sizes.needs)
    more = rent_for(least.least)
    if more <= rent:
        return None
    return Rented(more, {**least.weights.tables("counted"), "counted_sizes": sizes.table})


def prove_traffic(
    problem: Provisioning,
    in_price: float,
    out_price: float,
    is_enough: IsEnough = never,
    deadlines: Deadlines = NO_DEADLINES,
    needs: FloatArray | None = None,
) -> Traffic:
    """Return what any plan's traffic costs at least at these prices per byte, and why.

    ``needs`` are the bytes that a copy of each topic counts as, where those are not its own.
    When the time is over, subscribers that were not looked at share no copies; and covers that are
    not priced yet may be taken in part, which is no more than what a checker will find.
    """
    workload = problem.workload
    charges = charge(problem, in_price, out_price, RELATIVE_TOLERANCE, needs)
    enough, rates = whole_demand(problem, RELATIVE_TOLERANCE), rates_that_fit(problem)
    core = find_core(problem, charges, enough, rates, is_over=deadlines.settling)
    shares = share(core, is_enough=is_enough).shares
    undecided = core.undecided
    indptr, topics = workload.interests
    positions = (undecided.pair - indptr[undecided.subscriber[undecided.row]]).astype(np.int32)
    always_even = core.pair_price > charges.outgoing
    followers = workload.num_followers
    weights = weigh(undecided, shares, positions, followers, always_even, workload.num_subscribers)
    priced = price_weights(weights, charges, followers, core.num_forced)
    items = slice_weights(weights, 0, workload.num_subscribers)
    tried = tried_in(workload.num_pairs)
    price = price_covers_of(workload.interests, rates, enough, priced, items, tried)
    covers, num_seen = pass_over(indptr, price, deadlines.pricing)
    sizes = problem.sizes if needs is None else needs / workload.rates
    rest = cover_fractionally(indptr[num_seen:], topics, rates, sizes, enough[num_seen:])
    total = priced.paid + sum(covers) + out_price * float(rest.sum())
    return Traffic(whole_price(total, workload.num_pairs), weights)


def whole_price(total: float, num_pairs: int) -> float:
    """Return a sum over so many pairs less what rounding can have added to it."""
    return total * (1 - SUM_ROUNDING * num_pairs)


def rent_by_bytes(problem: Provisioning) -> Callable[[float], float]:
    """Return what tells the least rent of machines for so many bytes.

    They also hold the pairs of any one topic that subscribers cannot do without, with an incoming
    copy on each machine; they serve the fewest pairs that are enough and take in the topics that
    somebody cannot do without, a type without such a limit any number; and they are at least one.
    """
    types = problem.types_allowed
    rents = [problem.costs(entry.usd_per_hour, 0.0, 0.0).total for entry in types]
    limits = [most_within(problem.usable_bytes(entry)) for entry in types]
    enough, rates = whole_demand(problem, RELATIVE_TOLERANCE), rates_that_fit(problem)
    num_forced = count_forced_pairs(*problem.workload.interests, rates, enough)
    demands: list[tuple[float, list[float]]] = []
    if num_forced.any():
        widest = int(np.argmax(num_forced / pairs_held(problem, RELATIVE_TOLERANCE)))
        need = float(problem.needs[widest])
        held = [
            min(limit // need - 1 if need > 0 else np.inf, entry.max_connections or np.inf)
            for limit, entry in zip(limits, types, strict=True)
        ]
        demands.append((float(num_forced[widest]), held))
    if any(entry.max_connections for entry in types):
        fewest = count_fewest_pairs(*problem.workload.interests, rates, enough)
        demands.append((fewest, [entry.max_connections or np.inf for entry in types]))
    num_topics = float(np.count_nonzero(num_forced))
    demands.append((num_topics, [entry.max_topics or np.inf for entry in types]))

    def rent_for(amount: float, rooms: list[float]) -> float:
        return least_rent([*map(Offer, rents, rooms)], amount)

    least = max(min(rents), *(rent_for(*demand) for demand in demands), 0.0)
    return lambda least_bytes: max(least, rent_for(least_bytes, limits))


def rates_that_fit(problem: Provisioning) -> FloatArray:
    """Return the rates of topics that fit an allowed machine, 0 for others."""
    limit = most_within(max(map(problem.usable_bytes, problem.types_allowed)))
    rates: FloatArray = np.where(2 * problem.needs <= limit, problem.workload.rates, 0.0)
    return rates
