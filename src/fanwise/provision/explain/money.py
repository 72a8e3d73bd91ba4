"""Who the money is spent on: the cost of a plan split over machines, topics and subscribers.

The outgoing traffic of a pair is its own. The incoming copy of a topic on a machine is shared by
the pairs that the machine serves from it, evenly. The rent of a machine is shared by what it moves:
each pair counts with its outgoing bytes and its share of the incoming ones; on a machine that moves
nothing, all pairs count alike. So the shares of all pairs add up to the cost, but for the rent of
machines that serve nobody, which is nobody's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.provision.explain.facts import MoneyFacts
from fanwise.provision.explain.placement import Placement
from fanwise.provision.measuring import add_up


class Money(NamedTuple):
    """Dollars over the horizon, by what they are paid for; one entry for each of something."""

    rent: FloatArray
    incoming: FloatArray
    outgoing: FloatArray

    @property
    def total(self) -> FloatArray:
        return self.rent + self.incoming + self.outgoing

    def at(self, index: int) -> MoneyFacts:
        """Return the money of one of them."""
        rent, incoming, outgoing = (float(values[index]) for values in self)
        return MoneyFacts(rent, incoming, outgoing, rent + incoming + outgoing)

    def added_up(self, groups: LongArray, num_groups: int) -> Money:
        """Return the money of groups."""
        return Money(*(add_up(groups, values, num_groups) for values in self))


def rents(placement: Placement) -> FloatArray:
    """Return the rent of each machine for the horizon."""
    problem = placement.problem
    return np.array(
        [problem.costs(entry.usd_per_hour, 0.0, 0.0).total for entry in placement.machines]
    )


def split_by_part(placement: Placement) -> Money:
    """Return what each part costs: a topic on a machine."""
    vm, _, num_pairs = placement.parts
    in_price, out_price = byte_prices(placement)
    used = placement.used_bytes[vm]
    moved = placement.needs * (num_pairs + 1)
    # A machine that moves nothing, since messages are empty, is shared by the pair.
    part_of_machine = num_pairs / placement.num_pairs[vm]
    np.divide(moved, used, out=part_of_machine, where=used > 0)
    return Money(
        rent=rents(placement)[vm] * part_of_machine,
        incoming=in_price * placement.needs,
        outgoing=out_price * placement.needs * num_pairs,
    )


def split_by_machine(placement: Placement, by_part: Money) -> Money:
    """Return what each machine costs: its rent, whether it serves anybody or not, and traffic."""
    traffic = by_part.added_up(placement.parts.vm, placement.num_machines)
    return traffic._replace(rent=rents(placement))


def split_by_subscriber(placement: Placement, by_part: Money) -> Money:
    """Return what each subscriber costs; one pass over the allocation."""
    each = Money(*(values / placement.parts.num_pairs for values in by_part))
    count = placement.problem.workload.num_subscribers
    found = Money(np.zeros(count), np.zeros(count), np.zeros(count))
    for subscriber, part in placement.each_pair():
        for total, value in zip(found, each, strict=True):
            np.add.at(total, subscriber, value[part])
    return found


def byte_prices(placement: Placement) -> tuple[float, float]:
    """Return what a byte per period costs, coming in and going out."""
    costs = placement.problem.costs
    return costs(0.0, 1.0, 0.0).total, costs(0.0, 0.0, 1.0).total
