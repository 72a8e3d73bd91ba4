"""Plain-Python twins of stage 1 and of bounds, in exact arithmetic. Imports nothing from fanwise.

``types`` are (rent, capacity, most topics, most pairs) of machines; None where there is no limit.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import ceil, floor


def demand(rates, interests, tau):
    """tau_v = min(tau, sum of the subscriber's rates)."""
    taus = tau if isinstance(tau, list) else [tau] * len(interests)
    sums = [sum((Fraction(rates[t]) for t in topics), Fraction(0)) for topics in interests]
    return [min(Fraction(wanted), most) for wanted, most in zip(taus, sums, strict=True)]


def covers(rates, topics, enough):
    """Every set of topics that reaches the threshold and no longer does without any one of them."""
    found = []
    for size in range(len(topics) + 1):
        for subset in combinations(topics, size):
            got = sum((Fraction(rates[t]) for t in subset), Fraction(0))
            if got >= enough and all(got - Fraction(rates[t]) < enough for t in subset):
                found.append(subset)
    return found


def cheapest_cover(rates, prices, enough):
    """The least price of topics with enough events together."""
    found = covers(rates, range(len(rates)), Fraction(enough))
    return min(sum((Fraction(prices[t]) for t in cover), Fraction(0)) for cover in found)


def choose_randomly(rates, interests, needed, draws):
    """RSP: draw after draw picks one of the topics left; the last topic fills the gap."""
    chosen, place = [], 0
    for topics, enough in zip(interests, needed, strict=True):
        left, got, taken = list(topics), Fraction(0), []
        row = draws[place : place + len(topics)]
        place += len(topics)
        while got < enough:
            pick = floor(row[len(taken)] * len(left))
            taken.append(left[pick])
            got += Fraction(rates[left[pick]])
            left[pick] = left[-1]
            left.pop()
        chosen.append(taken)
    return chosen


def held(need, types):
    """How many pairs of a topic a machine holds at most, beside the incoming copy."""
    most = 0
    for _, capacity, _, most_pairs in types:
        pairs = floor(Fraction(capacity) / Fraction(need)) - 1
        most = max(most, pairs if most_pairs is None else min(pairs, most_pairs))
    return most


def choices(rates, needs, interests, tau, types):
    """How many pairs each topic has, for every choice of minimal covers; none if impossible."""
    counts = {(0,) * len(rates)}
    for topics, enough in zip(interests, demand(rates, interests, tau), strict=True):
        usable = [t for t in topics if held(needs[t], types) >= 1]
        counts = {
            tuple(n + (t in cover) for t, n in enumerate(count))
            for count in counts
            for cover in covers(rates, usable, enough)
        }
    return counts


def traffic(count, needs, types, price_in, price_out):
    """The price of the pairs of each topic with the fewest copies, machines not looked at."""
    total = Fraction(0)
    for need, pairs in zip(needs, count, strict=True):
        if pairs:
            copies = ceil(Fraction(pairs, held(need, types)))
            total += Fraction(need) * (copies * Fraction(price_in) + pairs * Fraction(price_out))
    return total


def least_traffic(rates, needs, interests, tau, types, price_in, price_out):
    """The least price of traffic over all choices, or None."""
    found = choices(rates, needs, interests, tau, types)
    return min((traffic(c, needs, types, price_in, price_out) for c in found), default=None)


def optimum(rates, needs, interests, tau, types, price_in, price_out):
    """The least money over all choices and all packings on machines of these types, or None."""
    needs = [Fraction(need) for need in needs]
    price_in, price_out = Fraction(price_in), Fraction(price_out)

    def fits(load, kind):
        _, capacity, most_topics, most_pairs = kind
        used = sum(((n + 1) * needs[t] for t, n in enumerate(load) if n), Fraction(0))
        num_topics = sum(1 for n in load if n)
        return (
            used <= Fraction(capacity)
            and (most_topics is None or num_topics <= most_topics)
            and (most_pairs is None or sum(load) <= most_pairs)
        )

    @cache
    def rent(load):
        """The cheapest machine that holds a load, or None."""
        return min((Fraction(kind[0]) for kind in types if fits(load, kind)), default=None)

    @cache
    def cheapest(left):
        """Rent and incoming traffic of the cheapest machines for the pairs left."""
        if not any(left):
            return Fraction(0)
        first = next(t for t, n in enumerate(left) if n)  # some machine holds it: this one
        best = None
        for load in product(*(range(1 if t == first else 0, n + 1) for t, n in enumerate(left))):
            paid = rent(load)
            if paid is None:
                continue
            rest = cheapest(tuple(n - m for n, m in zip(left, load, strict=True)))
            copies = sum((needs[t] for t, n in enumerate(load) if n), Fraction(0))
            cost = paid + copies * price_in + rest
            best = cost if best is None else min(best, cost)
        return best

    found = choices(rates, needs, interests, tau, types)
    return min(
        (
            cheapest(count) + sum(n * needs[t] for t, n in enumerate(count)) * price_out
            for count in found
        ),
        default=None,
    )


def least_rent(offers, amount):
    """The least rent of machines (rent, room) with this much room together."""
    (rent, room), rest = offers[0], offers[1:]
    most = ceil(Fraction(amount) / Fraction(room)) if amount > 0 else 0
    if not rest:
        return most * Fraction(rent)
    return min(
        number * Fraction(rent) + least_rent(rest, Fraction(amount) - number * Fraction(room))
        for number in range(most + 1)
    )
