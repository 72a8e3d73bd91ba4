"""What switching a topic must gain, by trying every course of the windows to come."""

from __future__ import annotations

from itertools import product


def price_of_switching(price, worth, counts, was_served):
    """Return the price less what being on the other side is worth later, at its best.

    A course says in which of the windows to come the topic is served. A window counts ``counts`` of
    the one before it; a switch between two windows counts as the first of them.
    """

    def best_from(served):
        found = None
        for course in product([False, True], repeat=len(worth)):
            total, before = 0.0, served
            for step, now in enumerate(course):
                total -= price * counts**step * (now != before)
                total += counts ** (step + 1) * worth[step] * now
                before = now
            found = total if found is None else max(found, total)
        return found

    return price + best_from(was_served) - best_from(not was_served)
