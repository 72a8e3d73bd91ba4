"""Options of all ingests: the size of messages without one, and how many rows may be bad."""

from __future__ import annotations

from dataclasses import dataclass

from fanwise.errors import ParameterError

MESSAGE_BYTES = 200.0
"""Size of messages of which no size is known, unless an option says another."""


def check_message_bytes(message_bytes: float) -> float:
    """Return the size of messages of which none is known, or refuse it."""
    if not 0 <= message_bytes < float("inf"):
        raise ParameterError("message-bytes", "a finite number >= 0", message_bytes)
    return message_bytes


@dataclass(frozen=True)
class Limit:
    """How many bad rows are let pass: a number, or a share of all rows read."""

    number: int = 0
    share: float | None = None

    @classmethod
    def parse(cls, text: str | int | Limit) -> Limit:
        """Read ``100`` or ``0.5%``."""
        if isinstance(text, Limit):
            return text
        wanted = "a whole number >= 0, or a percentage like 0.1%"
        digits = str(text).strip()
        try:
            if digits.endswith("%"):
                share = float(digits[:-1]) / 100
                if 0 <= share <= 1:
                    return cls(share=share)
            elif int(digits) >= 0:
                return cls(int(digits))
        except ValueError:
            pass
        raise ParameterError("max-bad-rows", wanted, text)

    def allows(self, num_bad: int, rows: int) -> bool:
        """Return whether so many bad rows of so many may pass."""
        if self.share is not None:
            return num_bad <= self.share * rows
        return num_bad <= self.number

    def __str__(self) -> str:
        return f"{self.number}" if self.share is None else f"{100 * self.share:g}%"
