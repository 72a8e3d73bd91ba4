"""Plain-Python twins of how a provisioning's cost is shared, in exact rational arithmetic.

Imports nothing from fanwise. Rows are (machine, topic, subscriber); needs are bytes per period of
one copy of each topic; prices are money for a byte per period.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def copies_of(rows):
    """Who is served from each incoming copy: (machine, topic) -> subscribers."""
    found = {}
    for vm, topic, subscriber in rows:
        found.setdefault((vm, topic), []).append(subscriber)
    return found


def shares(rows, needs, rents, in_price, out_price):
    """What each pair pays as (rent, incoming, outgoing), and the rent that nobody pays."""
    copies = copies_of(rows)
    paid = {}
    for vm, rent in enumerate(rents):
        moved = {}
        for (machine, topic), served in copies.items():
            for subscriber in served if machine == vm else ():
                need = Fraction(needs[topic])
                moved[topic, subscriber] = (need / len(served), need)
        total = sum(sum(both) for both in moved.values())
        for (topic, subscriber), (incoming, outgoing) in moved.items():
            part = (incoming + outgoing) / total if total else Fraction(1, len(moved))
            paid[vm, topic, subscriber] = (
                part * Fraction(rent),
                incoming * Fraction(in_price),
                outgoing * Fraction(out_price),
            )
    idle = sum(
        (Fraction(rent) for vm, rent in enumerate(rents) if vm not in {row[0] for row in rows}),
        Fraction(0),
    )
    return paid, idle


def add_up(paid, place, key):
    """The shares of the pairs whose machine (0), topic (1) or subscriber (2) is ``key``."""
    chosen = [parts for row, parts in paid.items() if row[place] == key]
    return tuple(sum((parts[i] for parts in chosen), Fraction(0)) for i in range(3))


def traffic_for(subscriber, topics, rows, needs, in_price, out_price):
    """What serving a subscriber with these topics costs, next to everybody else's rows."""
    others = {topic for _, topic, who in rows if who != subscriber}
    return sum(
        (
            Fraction(needs[t]) * (Fraction(out_price) + (0 if t in others else Fraction(in_price)))
            for t in topics
        ),
        Fraction(0),
    )


def cheapest_choice(subscriber, interests, enough, rates, rows, needs, in_price, out_price):
    """The least of that over all choices of topics with enough events."""
    return min(
        traffic_for(subscriber, chosen, rows, needs, in_price, out_price)
        for size in range(len(interests) + 1)
        for chosen in combinations(interests, size)
        if sum((Fraction(rates[t]) for t in chosen), Fraction(0)) >= enough
    )


def own_traffic(subscriber, rows, needs, in_price, out_price):
    """What disappears with a subscriber: its pairs, and copies that serve nobody else."""
    copies = copies_of(rows)
    return sum(
        (
            Fraction(needs[topic])
            * (Fraction(out_price) + (Fraction(in_price) if len(copies[vm, topic]) == 1 else 0))
            for vm, topic, who in rows
            if who == subscriber
        ),
        Fraction(0),
    )


def takes_no_more(vm, rows, needs, capacity):
    """Whether a machine has no bandwidth for a further pair of any topic it has."""
    mine = [(topic, who) for machine, topic, who in rows if machine == vm]
    topics = {topic for topic, _ in mine}
    used = sum((Fraction(needs[t]) for t, _ in mine), Fraction(0))
    used += sum((Fraction(needs[t]) for t in topics), Fraction(0))
    free = Fraction(capacity) - used
    return bool(mine) and all(Fraction(needs[t]) > free for t in topics)
