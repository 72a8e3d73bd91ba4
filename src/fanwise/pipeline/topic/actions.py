"""Change logs of subscriptions: which words begin one, and which end it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanwise.errors import ParameterError

SUBSCRIBE, UNSUBSCRIBE = "subscribe", "unsubscribe"
_WORDS = {
    SUBSCRIBE: (
        "subscribe", "subscribed", "sub", "follow", "followed", "add", "added", "join", "+",
    ),
    UNSUBSCRIBE: (
        "unsubscribe", "unsubscribed", "unsub", "unfollow", "unfollowed", "remove", "removed",
        "leave", "-",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Actions:
    """The words of a change log, in lower case.

    Attributes
    ----------
    words
        From each word to whether it begins a subscription (else it ends one).
    """

    words: Mapping[str, bool] = field(
        default_factory=lambda: {
            word: action == SUBSCRIBE for action, words in _WORDS.items() for word in words
        }
    )

    @classmethod
    def parse(cls, own: Mapping[str, str] | None) -> Actions:
        """Take words of one's own besides the usual ones, as in ``{"on": "subscribe"}``."""
        words = dict(cls().words)
        for word, action in (own or {}).items():
            if action.strip().lower() not in _WORDS:
                raise ParameterError("action", "WORD=subscribe or WORD=unsubscribe", action)
            words[word.strip().lower()] = action.strip().lower() == SUBSCRIBE
        return cls(words)


@dataclass(frozen=True)
class LogCounts:
    """The rows of a change log: ``rows = bad + began + ended + without_effect``.

    Rows without effect begin what holds already, or end what does not.
    """

    rows: int
    began: int
    ended: int
    without_effect: int

    def as_dict(self) -> dict[str, int]:
        """Return the entry of the report."""
        return {
            "rows": self.rows,
            "subscribed": self.began,
            "unsubscribed": self.ended,
            "without_effect": self.without_effect,
        }
