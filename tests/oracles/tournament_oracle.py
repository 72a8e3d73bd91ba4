"""A plain list in the place of a tournament."""

from __future__ import annotations


class Numbers:
    """Numbers of which the largest is asked for."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = list(numbers)

    def set(self, place: int, number: float) -> None:
        self.numbers[place] = number

    def first_at_least(self, number: float) -> int:
        return next(i for i, other in enumerate(self.numbers) if other >= number)

    def first_largest(self) -> int:
        return self.numbers.index(max(self.numbers))
