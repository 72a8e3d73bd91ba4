"""Where the money goes, how near the fleet is to the least, what a machine more or less means.

A few passes over the allocation in chunks, and for the proven rent a few over the interests.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.planning.explanation import MOST_LISTED, largest, share
from fanwise.planning.plan import Plan
from fanwise.provision.bounds import rent_by_bytes
from fanwise.provision.explain.facts import (
    Emptying,
    MachineCost,
    MoneyFacts,
    NextMachine,
    PlanFacts,
    SubscriberCost,
    TopicCost,
)
from fanwise.provision.explain.money import (
    Money,
    byte_prices,
    rents,
    split_by_machine,
    split_by_part,
    split_by_subscriber,
)
from fanwise.provision.explain.placement import LIMITS, Placement
from fanwise.provision.explain.room import try_emptying
from fanwise.provision.explain.subscriber import count_pairs
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning
from fanwise.provision.proving.rent import Offer, least_rent
from fanwise.provision.streamed.bounds import prove_traffic


def explain_plan(placement: Placement, plan: Plan) -> PlanFacts:
    """Say where the money goes, and what would change with a machine more or less."""
    by_part = split_by_part(placement)
    by_subscriber = split_by_subscriber(placement, by_part)
    rent = rents(placement)
    num_pairs = count_pairs(placement)
    is_served = num_pairs > 0
    served = int(np.count_nonzero(is_served))
    costs = np.sort(by_subscriber.total[is_served])
    counts = np.bincount(placement.binding, minlength=len(LIMITS)).tolist()
    mean_bytes = share(float(placement.used_bytes.sum()), served)
    free = float(placement.free_bytes.sum())
    in_price, _ = byte_prices(placement)
    further = np.maximum(placement.copies_of_topic - 1, 0) @ placement.problem.needs
    paid = MoneyFacts(
        rent=float(rent.sum()),
        incoming=float(by_part.incoming.sum()),
        outgoing=float(by_part.outgoing.sum()),
        total=float(rent.sum() + by_part.incoming.sum() + by_part.outgoing.sum()),
    )
    fill = np.minimum(placement.used_bytes / placement.usable_bytes, 1.0)
    return PlanFacts(
        cost=paid,
        unused_rent=float(rent @ (1 - fill)),
        further_copies=in_price * float(further),
        bound=plan.bound,
        machines=placement.num_machines,
        least_rent_for_pairs=rent_for_pairs(placement),
        least_rent=proven_rent(placement.problem, paid.rent),
        binding=dict(zip(LIMITS, counts, strict=True)),
        growth=growth_left(placement),
        free_bytes=free,
        free_subscribers=share(free, mean_bytes),
        lightest=find_lightest(placement),
        next_machine=next_machine(placement, mean_bytes, in_price * float(further)),
        served=served,
        quartiles=np.quantile(costs, [0, 0.25, 0.5, 0.75, 1]).tolist() if served else None,
        dearest_tenth=share(float(costs[-max(served // 10, 1) :].sum()), paid.total),
        topics=dearest_topics(placement, by_part),
        carried=int(np.count_nonzero(placement.copies_of_topic)),
        subscribers=[
            SubscriberCost(
                str(placement.problem.workload.subscriber_names[who]),
                int(num_pairs[who]),
                by_subscriber.at(who),
            )
            for who in largest(by_subscriber.total)
        ],
        emptiest=emptiest_machines(placement, by_part, fill),
    )


def rent_for_pairs(placement: Placement) -> float:
    """Return the least rent of machines with room for these pairs, however they are packed."""
    problem = placement.problem
    pairs, copies = placement.pairs_of_topic, placement.least_copies
    amounts = (
        (((pairs + copies) * problem.needs).sum(), [kind.limit for kind in problem.allowed_bins]),
        (copies.sum(), [kind.max_topics for kind in problem.allowed_bins]),
        (pairs.sum(), [kind.max_pairs for kind in problem.allowed_bins]),
    )
    rented = [kind.rent for kind in problem.allowed_bins]
    return max(
        least_rent([*map(Offer, rented, map(float, rooms))], float(amount))
        for amount, rooms in amounts
    )


def proven_rent(problem: Provisioning, rent: float) -> float:
    """Return the proven least rent of any plan; no further work is done once that is ``rent``."""
    if not np.any(problem.demand > 0):
        return 0.0
    for_bytes = rent_by_bytes(problem)

    def is_enough(least_bytes: float) -> bool:
        return for_bytes(least_bytes) >= rent * (1 - SOLVER_TOLERANCE)

    return for_bytes(prove_traffic(problem, 1.0, 1.0, is_enough).least)


def growth_left(placement: Placement) -> float | None:
    """Return by what share all rates could grow, pairs and machines staying as they are."""
    used = placement.used_bytes
    if not np.any(used > 0):
        return None
    is_used = used > 0
    return max(float((placement.usable_bytes[is_used] / used[is_used]).min()) - 1.0, 0.0)


def find_lightest(placement: Placement) -> Emptying | None:
    """Try to empty the machine that moves least."""
    if not placement.num_machines:
        return None
    return try_emptying(placement, int(np.argmin(placement.used_bytes)))


def next_machine(placement: Placement, mean_bytes: float, could_save: float) -> NextMachine | None:
    """Say what one more machine would buy, of the type with the cheapest bandwidth."""
    if mean_bytes == 0:
        return None
    problem = placement.problem
    kind = min(problem.allowed_bins, key=lambda kind: (kind.rent / kind.limit, kind.rent))
    usable = problem.usable_bytes(kind.machine)
    return NextMachine(kind.machine.instance, kind.rent, usable, usable / mean_bytes, could_save)


def dearest_topics(placement: Placement, by_part: Money) -> list[TopicCost]:
    """Describe the topics that cost most."""
    workload = placement.problem.workload
    by_topic = by_part.added_up(placement.parts.topic, workload.num_topics)
    return [
        TopicCost(
            str(workload.topic_names[topic]),
            int(placement.pairs_of_topic[topic]),
            int(placement.copies_of_topic[topic]),
            by_topic.at(topic),
        )
        for topic in largest(by_topic.total)
    ]


def emptiest_machines(placement: Placement, by_part: Money, fill: FloatArray) -> list[MachineCost]:
    """Describe the machines that use least of their bandwidth."""
    by_machine = split_by_machine(placement, by_part)
    return [
        MachineCost(
            vm,
            placement.machines[vm].instance,
            int(placement.num_topics[vm]),
            int(placement.num_pairs[vm]),
            float(fill[vm]),
            LIMITS[placement.binding[vm]],
            by_machine.at(vm),
        )
        for vm in np.argsort(fill, kind="stable")[:MOST_LISTED].tolist()
    ]
