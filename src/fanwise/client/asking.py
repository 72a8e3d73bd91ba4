"""Questions of clients and publishers, and the forwarder's answers, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


def write_question(
    client: str,
    number: int,
    log: str | None,
    filters: Sequence[tuple[str, int | None]],
    resend: Sequence[int] = (),
) -> bytes:
    """Ask which messages there were for filters after a sequence, and have some sent again."""
    content = {
        "client": client,
        "number": number,
        "log": log,
        "filters": [list(one) for one in filters],
        "resend": list(resend),
    }
    return json.dumps(content).encode()


@dataclass(frozen=True)
class Answer:
    """What a forwarder says.

    Attributes
    ----------
    position
        Sequence of its newest message.
    through
        How far it looked for messages.
    first
        The oldest message that it can send again.
    ids
        Sequences of messages that there were, as runs: first, how many, first, ….
    """

    forwarder: str
    log: str
    number: int
    position: int
    through: int
    first: int
    ids: tuple[int, ...]

    def sequences(self) -> Iterator[int]:
        """Return the sequences one by one."""
        for first, count in zip(self.ids[::2], self.ids[1::2], strict=True):
            yield from range(first, first + count)


def read_answer(body: bytes) -> Answer | None:
    """Return an answer to a client; None if it is none."""
    try:
        found = json.loads(body)
        return Answer(
            str(found["forwarder"]),
            str(found["log"]),
            int(found["number"]),
            int(found["position"]),
            int(found["through"]),
            int(found["first"]),
            tuple(found["ids"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Taken:
    """How far a forwarder has the messages of a publisher on disk."""

    log: str
    number: int
    taken: int


def write_check(publisher: str, number: int) -> bytes:
    """Ask how far messages were taken; the answer comes after all that were sent before."""
    return json.dumps({"publisher": publisher, "number": number}).encode()


def read_taken(body: bytes) -> Taken | None:
    """Return an answer to a publisher; None if it is none."""
    try:
        found = json.loads(body)
        return Taken(str(found["log"]), int(found["number"]), int(found["taken"]))
    except (ValueError, KeyError, TypeError):
        return None
