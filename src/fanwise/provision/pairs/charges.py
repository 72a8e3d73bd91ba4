"""What stage 1 pays for: traffic by topic, with the rent of the bandwidth it takes up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.provision.problem import Provisioning


class Charges(NamedTuple):
    """What traffic is charged, by topic.

    Attributes
    ----------
    incoming, outgoing
        Price of one incoming copy and of one pair.
    held
        How many pairs one machine holds at most, beside the incoming copy.
    """

    incoming: FloatArray
    outgoing: FloatArray
    held: FloatArray

    def price(self, num_pairs: LongArray) -> float:
        """Return the price of so many pairs of each topic, with the fewest copies they need."""
        copies = np.ceil(num_pairs / self.held)
        return float((self.incoming * copies).sum() + (self.outgoing * num_pairs).sum())


def charge(
    problem: Provisioning,
    in_price: float,
    out_price: float,
    tolerance: float,
    needs: FloatArray | None = None,
) -> Charges:
    """Return the charges for traffic at these prices per byte.

    Machines are the largest that may be rented, with ``tolerance`` for rounding. ``needs`` are what
    copies count as, where that is not their bytes.
    """
    charged = problem.needs if needs is None else needs
    return Charges(
        incoming=in_price * charged,
        outgoing=out_price * charged,
        held=pairs_held(problem, tolerance),
    )


SCARCE = 0.9
"""The share of the rent that is charged for what machines run out of first, if not bandwidth."""


def charge_ways(problem: Provisioning, tolerance: float) -> list[Charges]:
    """Return the ways to charge the rent: for bandwidth, for topics, for connections, for both.

    A machine that takes so many topics or connections at most is paid for by those that it has, as
    it is by its bandwidth. Which of them it runs out of first is not known beforehand, so there is
    one way of charging for each; where machines have no such limits, there is bandwidth alone.
    Whichever way, no plan costs less than its pairs are charged.
    """
    plain = charge(problem, *prices_with_rent(problem), tolerance)
    by_topic, by_pair = (
        _least_rent_each(problem, [getattr(entry, name) for entry in problem.types_allowed])
        for name in ("max_topics", "max_connections")
    )
    ways = [plain]
    for has_topic, has_pair in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
        if (has_topic and not by_topic) or (has_pair and not by_pair):
            continue
        in_price, out_price = (
            problem.costs(0.0, 1.0, 0.0).total,
            problem.costs(0.0, 0.0, 1.0).total,
        )
        rest = (1 - SCARCE) * _least_rent_of_bytes(problem)
        ways.append(
            Charges(
                incoming=(in_price + rest) * problem.needs + SCARCE * has_topic * by_topic,
                outgoing=(out_price + rest) * problem.needs + SCARCE * has_pair * by_pair,
                held=plain.held,
            )
        )
    return ways


def _least_rent_each(problem: Provisioning, limits: list[int | None]) -> float:
    """Return the least rent for one of what machines have a limit for; 0 if some have none."""
    if not all(limits):
        return 0.0
    return min(
        problem.costs(entry.usd_per_hour, 0.0, 0.0).total / (limit or 1)
        for entry, limit in zip(problem.types_allowed, limits, strict=True)
    )


def _least_rent_of_bytes(problem: Provisioning) -> float:
    return min(
        problem.costs(entry.usd_per_hour, 0.0, 0.0).total / problem.usable_bytes(entry)
        for entry in problem.types_allowed
    )


def prices_with_rent(problem: Provisioning) -> tuple[float, float]:
    """Return what a byte in and a byte out cost with the cheapest rent for their bandwidth.

    Rent is paid by the machine, but at least in proportion to what the machines move.
    """
    rent = _least_rent_of_bytes(problem)
    in_price = problem.costs(0.0, 1.0, 0.0).total + rent
    out_price = problem.costs(0.0, 0.0, 1.0).total + rent
    return (in_price, out_price) if in_price + out_price > 0 else (1.0, 1.0)


def pairs_held(problem: Provisioning, tolerance: float) -> FloatArray:
    """Return how many pairs of each topic one machine holds at most; at least 1."""
    most = np.ones(problem.workload.num_topics)
    for entry in problem.types_allowed:
        limit = problem.usable_bytes(entry) * (1 + tolerance)
        held = np.full(len(most), np.inf)
        np.divide(limit, problem.needs, out=held, where=problem.needs > 0)
        np.maximum(most, np.minimum(np.floor(held) - 1, entry.max_connections or np.inf), out=most)
    return most


def whole_demand(problem: Provisioning, tolerance: float) -> FloatArray:
    """Return what is enough for each subscriber; a whole number where all rates are whole."""
    enough: FloatArray = problem.demand * (1 - tolerance)
    rates = problem.workload.rates
    if np.array_equal(rates, np.floor(rates)):
        enough = np.ceil(enough)
    return enough
