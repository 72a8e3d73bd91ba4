"""What can be wrong with the store."""

from __future__ import annotations

from fanwise.errors import FanwiseError


class StoreError(FanwiseError):
    """A store that cannot be used as it is; the message says what to do."""


class StoreUnavailable(StoreError):  # noqa: N818 - a state of the world rather than a mistake
    """The database does not answer now and may do so later; nothing was changed, or all of it."""


class StaleError(StoreError):
    """Something is no longer in the state that a change starts from; the message says which."""
