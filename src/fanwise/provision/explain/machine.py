"""Why a machine is there: what it is full of, who it serves, and what giving it up would take."""

from __future__ import annotations

import numpy as np

from fanwise.errors import InputError
from fanwise.planning.explanation import MOST_LISTED, share
from fanwise.provision.explain.facts import MachineFacts, PartFacts
from fanwise.provision.explain.money import Money, split_by_machine, split_by_part
from fanwise.provision.explain.placement import LIMITS, Placement
from fanwise.provision.explain.room import try_emptying


def explain_machine(placement: Placement, vm: int) -> MachineFacts:
    """Say what a machine has no more of, and whether the others could do without it.

    Raises
    ------
    InputError
        If the plan has no machine of that number.
    """
    if not 0 <= vm < placement.num_machines:
        last = placement.num_machines - 1
        known = f"they are numbered 0 to {last}" if last >= 0 else "it has none"
        raise InputError(f"machine {vm} is not in the plan; {known}.")
    by_part = split_by_part(placement)
    by_machine = split_by_machine(placement, by_part)
    entry, used = placement.machines[vm], float(placement.used_bytes[vm])
    usable = float(placement.usable_bytes[vm])
    inside = placement.parts_of_machine(vm)
    dearest = inside.start + np.argsort(-by_part.total[inside], kind="stable")
    return MachineFacts(
        machine=vm,
        instance=entry.instance,
        cost=by_machine.at(vm),
        used_bytes=used,
        usable_bytes=usable,
        fill=share(used, usable),
        topics=int(placement.num_topics[vm]),
        max_topics=entry.max_topics,
        pairs=int(placement.num_pairs[vm]),
        max_connections=entry.max_connections,
        binds=LIMITS[placement.binding[vm]],
        without=try_emptying(placement, vm),
        topics_listed=[
            part_facts(placement, by_part, part) for part in dearest[:MOST_LISTED].tolist()
        ],
    )


def part_facts(placement: Placement, by_part: Money, part: int) -> PartFacts:
    """Describe a topic on a machine."""
    vm, topic, num_pairs = (int(ids[part]) for ids in placement.parts)
    moved = float(placement.needs[part]) * (num_pairs + 1)
    return PartFacts(
        machine=vm,
        topic=str(placement.problem.workload.topic_names[topic]),
        pairs=num_pairs,
        cost=by_part.at(part),
        share=share(moved, float(placement.usable_bytes[vm])),
    )
