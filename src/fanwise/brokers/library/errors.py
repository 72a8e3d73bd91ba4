"""What clients may be told."""

from __future__ import annotations

from fanwise.errors import FanwiseError


class NotConnectedError(FanwiseError, TimeoutError):
    """No broker serves the client in time; it goes on trying, unless it has stopped."""


class RejectedError(FanwiseError):
    """A publication was not taken, for good: it may be published again under a new number.

    Attributes
    ----------
    code
        "full disk", "no room" or "invalid".
    """

    def __init__(self, sequence: int, code: str) -> None:
        super().__init__(f"publication {sequence} was not taken: {code}.")
        self.sequence, self.code = sequence, code


class SubscriptionError(FanwiseError):
    """A subscription was not taken."""
