"""Mixed fleets: which machines of several types have room for a volume, cheapest first.

Guarantee
    Every fleet has room for the volume; whether items fit on it as they are is for others to find.

Complexity
    O(types x UNITS) for each fleet, of which there are at most types x len(SLACKS) x BACK.

References
----------
    The cheapest machines for the rest are an unbounded knapsack: P. C. Gilmore, R. E. Gomory: The
    theory and computation of knapsack functions. Operations Research 14(6), 1966.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fanwise.arrays.tolerance import most_within
from fanwise.provision.machines.packing import Bin

UNITS = 256
"""Steps in which room is counted when the cheapest machines for a volume are found."""
MAX_MIXES, MAX_LARGE_MIXES = 48, 8
"""Fleets that are tried, and where there are many items."""
SLACKS = (0.0, 0.01, 0.03, 0.08)
"""How much more room than the volume a fleet may have: packing wastes a little."""
BACK = 5
"""How many machines of the main type are given up, at most, for a mix of others."""


def mixed_fleets(
    bins: Sequence[Bin], volume: float, num_pairs: int, *, is_large: bool
) -> Iterator[tuple[Bin, ...]]:
    """Yield fleets with room for a volume, by rising rent.

    Each type in turn is the main one; the last few of its machines are replaced by the cheapest
    combination of types with room for the rest. No fleet has more machines than there are pairs.
    """
    fleets: dict[tuple[str, ...], tuple[Bin, ...]] = {}
    for main in bins:
        full = volume / main.limit
        if full > num_pairs:
            continue
        for slack in SLACKS:
            num_main = math.floor(full)
            for num_kept in range(num_main, max(num_main - BACK, -1), -1):
                rest = volume * (1 + slack) - num_kept * main.limit
                fleet = (main,) * num_kept + cover(bins, rest)
                fleet = tuple(sorted(fleet, key=lambda kind: -kind.limit))
                fleets.setdefault(tuple(kind.machine.instance for kind in fleet), fleet)
    ordered = sorted(fleets.values(), key=lambda fleet: sum(kind.rent for kind in fleet))
    yield from ordered[: MAX_LARGE_MIXES if is_large else MAX_MIXES]


def cover(bins: Sequence[Bin], volume: float) -> tuple[Bin, ...]:
    """Return the cheapest machines with room for a volume, by dynamic programming.

    Room is rounded down to a small share of the volume, so the machines always have enough.
    """
    if volume <= 0:
        return ()
    unit = volume / UNITS
    choices = [(kind, int(most_within(kind.limit) / unit)) for kind in bins]
    choices = [(kind, room) for kind, room in choices if room > 0]
    if not choices:
        largest = max(bins, key=lambda kind: kind.limit)
        return (largest,) * math.ceil(volume / largest.limit)
    least, last = [0.0], [0]
    for units in range(1, UNITS + 1):
        prices = [kind.rent + least[max(units - room, 0)] for kind, room in choices]
        best = min(range(len(choices)), key=prices.__getitem__)
        least.append(prices[best])
        last.append(best)
    machines, units = [], UNITS
    while units > 0:
        kind, room = choices[last[units]]
        machines.append(kind)
        units -= room
    return tuple(machines)
