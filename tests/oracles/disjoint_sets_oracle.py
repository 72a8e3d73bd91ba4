"""Sets of items as Python's own sets."""

from __future__ import annotations


class Sets:
    """Items, each in one set."""

    def __init__(self, num_items: int) -> None:
        self.set_of = [{item} for item in range(num_items)]

    def join(self, one: int, other: int) -> bool:
        """Join the sets of two items; tell whether they were two."""
        if self.set_of[one] is self.set_of[other]:
            return False
        together = self.set_of[one] | self.set_of[other]
        for item in together:
            self.set_of[item] = together
        return True

    def root(self, item: int) -> int:
        return min(self.set_of[item])
