"""What the executor refuses, and what outputs report."""

from __future__ import annotations

from typing import Literal

from fanwise.errors import FanwiseError

FailureKind = Literal["refused", "unreachable", "timeout", "too-large", "tls", "other"]
"""Why an output could not be told, in a word; a label of metrics."""


class ConflictError(FanwiseError):
    """A decision is not in the state that was asked for; the message says in which it is."""


class UnknownDecisionError(FanwiseError):
    """No decision has this hash."""

    def __init__(self, hash: str) -> None:
        super().__init__(f"No decision has the hash {hash[:64]!r}.")


class OutputError(FanwiseError):
    """An output could not be told, or did not confirm; it may have changed all the same.

    Parameters
    ----------
    reason
        In a sentence, without secrets.
    may_pass
        Whether to try again.
    wait
        Seconds that the other side asked to wait for.
    kind
        The reason in a word.
    """

    def __init__(
        self,
        reason: str,
        *,
        may_pass: bool = True,
        wait: float | None = None,
        kind: FailureKind = "other",
    ) -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind
        self.may_pass = may_pass
        self.wait = wait
