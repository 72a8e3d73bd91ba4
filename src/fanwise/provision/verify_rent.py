"""The least rent of machines with room for something: a covering knapsack, plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fanwise.planning.verify import ROUNDING
from fanwise.workload.topic import RELATIVE_TOLERANCE

MOST_STATES = 1_000_000
MOST_WORK = 100_000_000

Floats = npt.NDArray[np.float64]


def least_rent(rents: Sequence[float], amount: float, rooms: Sequence[float]) -> float:
    """Return what machines with this much room together cost at least; any number of each type.

    Exact, unless a catalogue is made to take for ever: then by fractions.
    """
    offers = [(rent, room) for rent, room in zip(rents, rooms, strict=True) if room > 0]
    if amount <= 0 or not offers:
        return 0.0
    if len(offers) == 1:
        ((rent, room),) = offers
        return math.ceil(amount / room * (1 - RELATIVE_TOLERANCE)) * rent
    packages: list[tuple[float, float]] = []
    for rent, room in offers:
        most = max(math.ceil(amount / room * (1 - RELATIVE_TOLERANCE)), 1)
        powers = [2**power for power in range(most.bit_length())]  # any number is a sum of some
        packages += [(min(room * power, amount), rent * power) for power in powers]
    enough = amount * (1 - RELATIVE_TOLERANCE)
    packages.sort(key=lambda one: one[1] / min(one[0], enough))
    table = np.array(packages)
    return _cheapest(table[:, 0], table[:, 1], enough)


def _cheapest(room: Floats, rent: Floats, enough: float) -> float:
    """Return the least rent of packages that are enough, each taken once or not.

    Partial choices are kept as long as none is as roomy and as cheap as another, and fractions of
    what is to come could make them cheaper than what is known.
    """
    rooms = np.concatenate([[0.0], np.cumsum(np.minimum(room, enough))])
    rents = np.concatenate([[0.0], np.cumsum(rent)])

    def fill(missing: Floats, first: int) -> Floats:
        last = np.searchsorted(rooms, rooms[first] + missing, side="left")
        last = np.maximum(last, first + 1)
        is_enough = last < len(rooms)
        last = np.minimum(last, len(rooms) - 1)
        left = missing - (rooms[last - 1] - rooms[first])
        whole = rooms[last] - rooms[last - 1]
        filled = rents[last - 1] - rents[first]
        filled = filled + (rents[last] - rents[last - 1]) * (left / whole)
        return np.where(is_enough, filled, np.inf)

    by_fractions = float(fill(np.array([enough]), 0)[0])
    best, work = float(np.min(rent[room >= enough], initial=np.inf)), 0
    has, paid = np.zeros(1), np.zeros(1)
    for i in range(len(room)):
        has, paid = np.concatenate([has, has + room[i]]), np.concatenate([paid, paid + rent[i]])
        best = min(best, float(np.min(paid[has >= enough], initial=np.inf)))
        order = np.lexsort((paid, -has))
        has, paid = has[order], paid[order]
        cheaper = np.minimum.accumulate(np.concatenate([[np.inf], paid[:-1]]))
        is_kept = (has < enough) & (paid < cheaper)
        has, paid = has[is_kept], paid[is_kept]
        if i + 1 == len(room) or not len(has):
            break
        # A hair of play: what rounding alone makes dearer is kept.
        is_kept = paid + fill(enough - has, i + 1) * (1 - ROUNDING) < best
        has, paid = has[is_kept], paid[is_kept]
        work += len(has)
        if len(has) > MOST_STATES or work > MOST_WORK:
            return by_fractions
        if not len(has):
            break
    return best
