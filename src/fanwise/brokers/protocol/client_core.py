"""What the parts of a client machine share."""

from __future__ import annotations

from random import Random
from typing import Any

from fanwise.brokers.messages import Message
from fanwise.brokers.protocol.client_state import ClientState
from fanwise.brokers.protocol.effects import Close, Dial, Effect, Noted, Record, Send
from fanwise.brokers.protocol.settings import ClientSettings
from fanwise.brokers.protocol.timers import Timers


class ClientCore:
    """Shared by the parts of a client machine."""

    def __init__(self, settings: ClientSettings, state: ClientState, now: float, seed: int) -> None:
        self.settings = settings
        self.state = state
        self.now = now
        self.random = Random(seed)
        self.timers = Timers()
        self.effects: list[Effect] = []

    @property
    def name(self) -> str:
        return self.settings.name

    def commit(self, *entry: Any) -> None:
        """Change the state, on disk if it is kept there."""
        self.state.apply(entry)
        if self.settings.is_durable:
            self.effects.append(Record(entry))

    def send(self, session: int, message: Message) -> None:
        self.effects.append(Send(session, message))

    def close(self, session: int, reason: str) -> None:
        self.effects.append(Close(session, reason))

    def dial(self, peer: str, address: str) -> None:
        self.effects.append(Dial(peer, address))

    def note(self, what: str, **fields: Any) -> None:
        self.effects.append(Noted(what, fields))

    def later(self, seconds: float, work: Any, *arguments: Any) -> None:
        self.timers.at(self.now + seconds, work, *arguments)
