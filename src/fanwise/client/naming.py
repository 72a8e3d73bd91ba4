"""What forwarders, clients and publishers call things: ids, properties, control topics."""

from __future__ import annotations

import re
from typing import NamedTuple

ID = "fanwise-id"
"""User property: the message's id."""
PUBLISHER, NUMBER = "fanwise-publisher", "fanwise-number"
"""User properties that a publisher may set: its name, and a number that grows by one."""
TOPIC = "fanwise-topic"
"""User property of a message that is sent again: the topic it was published on."""
OURS = "fanwise-"
"""How the names of our user properties begin."""
CONTROL = "fanwise/"
"""How control topics begin; nothing below is forwarded."""
DECISION = "fanwise/decision"
"""Retained at the ingress: what is served."""

_ID = re.compile(r"([0-9a-f]{8})-(\d{12,19})", re.ASCII)


class Identity(NamedTuple):
    """The id of a message: within a log, sequences order messages as the forwarder took them."""

    log: str
    sequence: int

    def __str__(self) -> str:
        return f"{self.log}-{self.sequence:012d}"


def read_identity(text: str) -> Identity | None:
    """Return the id that a property holds; None if it is none."""
    found = _ID.fullmatch(text)
    return None if found is None else Identity(found[1], int(found[2]))


def state_topic(forwarder: str) -> str:
    """Return where a forwarder tells its state, retained, at the ingress."""
    return f"fanwise/forwarder/{forwarder}"


def ask_topic(forwarder: str) -> str:
    """Where a forwarder is asked: at the back end by clients, at the ingress by publishers."""
    return f"fanwise/ask/{forwarder}"


def answer_topic(asker: str) -> str:
    """Return where a client or publisher is answered."""
    return f"fanwise/answer/{asker}"
