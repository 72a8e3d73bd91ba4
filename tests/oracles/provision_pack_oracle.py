"""Plain-Python twins of the packing algorithms, in exact rational arithmetic.

A machine is a dictionary from topic to how many of its pairs it holds. Imports nothing from
fanwise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor, inf


def load(machine, needs):
    """Bytes that a machine moves: each topic once in, once out per pair."""
    return sum(((pairs + 1) * Fraction(needs[t]) for t, pairs in machine.items()), Fraction(0))


def takes(machine, topic, needs, capacity, max_topics=inf, max_pairs=inf):
    """How many pairs of a topic a machine could take on top of what it has."""
    room = Fraction(capacity) - load(machine, needs)
    if topic not in machine:
        if len(machine) >= max_topics:
            return 0
        room -= Fraction(needs[topic])
    connections = max_pairs - sum(machine.values())
    if needs[topic] == 0:
        return connections
    return max(0, min(floor(room / Fraction(needs[topic])), connections))


def first_fit(chosen, needs, capacity, max_topics=inf, max_pairs=inf):
    """Rung (a): pair by pair, each to the first machine that takes it. (vm, topic, subscriber)."""
    machines, placed = [], []
    for subscriber, topics in enumerate(chosen):
        for topic in topics:
            for vm, machine in enumerate([*machines, None]):
                if machine is None:
                    machine = {}
                    machines.append(machine)
                if takes(machine, topic, needs, capacity, max_topics, max_pairs) >= 1:
                    machine[topic] = machine.get(topic, 0) + 1
                    placed.append((vm, topic, subscriber))
                    break
            else:
                raise AssertionError("a pair fits no machine")
    return machines, placed


def ladder(counts, needs, capacity, rung, rent=0, price=0, max_topics=inf, max_pairs=inf,
           order="rate"):  # fmt: skip
    """Rungs (b) to (e): topics in turn, whole on the machine opened last, else on others.

    Others are new ones in (b) and (c), and open ones before them in (d) and (e).
    """
    topics = [topic for topic, count in enumerate(counts) if count]
    if rung != "group":
        weight = {"rate": lambda t: needs[t], "volume": lambda t: needs[t] * counts[t]}[order]
        topics.sort(key=lambda topic: (-weight(topic), topic))
    machines = []
    limits = (max_topics, max_pairs)

    def free(machine):
        """What a machine has left; nothing if it takes no other topic or pair."""
        if len(machine) >= max_topics or sum(machine.values()) >= max_pairs:
            return -1
        return Fraction(capacity) - load(machine, needs)

    def existing(topic):
        """The open machines that take at least one pair, in the order they are filled."""
        able = [
            vm
            for vm, machine in enumerate(machines)
            if takes(machine, topic, needs, capacity, *limits) >= 1
        ]
        return sorted(able, key=lambda vm: (-free(machines[vm]), vm))

    for topic in topics:
        left = counts[topic]
        if machines and takes(machines[-1], topic, needs, capacity, *limits) >= left:
            machines[-1][topic] = left
            continue
        able = existing(topic) if rung in ("most-free", "cbp") else []
        if rung == "cbp" and not cheaper_to_distribute(
            left,
            [takes(machines[vm], topic, needs, capacity, *limits) for vm in able],
            takes({}, topic, needs, capacity, *limits),
            Fraction(needs[topic]),
            rent,
            price,
        ):
            able = []
        for vm in able:
            taken = min(left, takes(machines[vm], topic, needs, capacity, *limits))
            if taken:
                machines[vm][topic] = taken
                left -= taken
        while left:
            taken = min(left, takes({}, topic, needs, capacity, *limits))
            machines.append({topic: taken})
            left -= taken
    return machines


def cheaper_to_distribute(count, able, per_new, need, rent, price):
    """Alg. 7: the cost of filling open machines and then new ones, against new ones alone."""
    rest, copies = count, 0
    for taken in able:
        if rest > 0:
            rest -= min(rest, taken)
            copies += 1
    extra, new = ceil(Fraction(rest, per_new)), ceil(Fraction(count, per_new))
    distributed = Fraction(rent) * extra + Fraction(price) * need * (copies + extra)
    alone = Fraction(rent) * new + Fraction(price) * need * new
    return distributed < alone


def allocate(machines, chosen):
    """Subscribers of each topic in ascending id to its machines in ascending number."""
    placed = []
    for topic in {topic for topics in chosen for topic in topics}:
        subscribers = [v for v, topics in enumerate(chosen) if topic in topics]
        for vm, machine in enumerate(machines):
            mine = subscribers[: machine.get(topic, 0)]
            subscribers = subscribers[len(mine) :]
            placed.extend((vm, topic, subscriber) for subscriber in mine)
        assert not subscribers
    return sorted(placed)


def cheapest_packing(counts, needs, types, price):
    """The least rent and incoming traffic for pairs of topics, by trying every first machine.

    ``types`` are (capacity, rent, max_topics, max_pairs).
    """
    needs = [Fraction(need) for need in needs]

    def cheapest_type(machine):
        held = load(machine, needs)
        rents = [
            Fraction(rent)
            for capacity, rent, topics, pairs in types
            if held <= Fraction(capacity)
            and len(machine) <= topics
            and sum(machine.values()) <= pairs
        ]
        return min(rents, default=None)

    @cache
    def least(left):
        if not any(left):
            return Fraction(0)
        first = next(t for t, n in enumerate(left) if n)  # some machine holds it: this one
        best = None
        for some in product(*(range(1 if t == first else 0, n + 1) for t, n in enumerate(left))):
            machine = {t: n for t, n in enumerate(some) if n}
            rent = cheapest_type(machine)
            if rent is None:
                continue
            rest = least(tuple(n - m for n, m in zip(left, some, strict=True)))
            if rest is None:
                continue
            cost = rent + Fraction(price) * sum((needs[t] for t in machine), Fraction(0)) + rest
            best = cost if best is None else min(best, cost)
        return best

    return least(tuple(counts))
