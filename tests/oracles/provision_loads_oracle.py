"""What one machine's load counts as at most, by trying every load. Imports nothing from fanwise."""

from fractions import Fraction
from itertools import product


def most_counted(sizes, needs, followers, room, grid=None):
    """Copies of each topic, none or from two to one more than followers; bytes fill the rest.

    With a grid, needs are rounded down to so many steps of the room.
    """
    room = Fraction(room)
    taken = [Fraction(need) for need in needs]
    if grid is not None:
        taken = [room * ((need * grid) // room) / grid for need in taken]
    choices = [(0, *range(2, wanted + 2)) for wanted in followers]
    best = room
    for load in product(*choices):
        left = room - sum((n * need for n, need in zip(load, taken, strict=True)), Fraction(0))
        fits = all(n * Fraction(need) <= room for n, need in zip(load, needs, strict=True))
        if left >= 0 and fits:
            counted = sum((n * Fraction(s) for n, s in zip(load, sizes, strict=True)), Fraction(0))
            best = max(best, counted + left)
    return best
