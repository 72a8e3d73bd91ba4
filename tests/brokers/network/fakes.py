"""Machines that do little, for tests of what drives machines."""

from __future__ import annotations

from fanwise.brokers.messages import Bye, Hello, Publish, Published
from fanwise.brokers.protocol.effects import (
    Arrived,
    Close,
    Dial,
    DialFailed,
    Disk,
    Lost,
    Noted,
    Opened,
    Record,
    Send,
)  # fmt: skip


class Counter:
    """Records each publication, and answers once that is on disk."""

    def __init__(self, entries=()) -> None:
        self.kept = [entry[1] for entry in entries if entry[0] == "kept"]
        self.events: list[object] = []
        self.deadline: float | None = None
        self.is_full = False
        self.must_wait = True
        self.mistake: Exception | None = None

    def start(self):
        return []

    def handle(self, now, event):
        self.events.append(event)
        if type(event) is Disk:
            self.is_full = event.is_full
        if type(event) is not Arrived:
            return []
        if self.mistake is not None:
            raise self.mistake
        if type(event.message) is Publish:
            sequence = event.message.sequence
            self.kept.append(sequence)
            return [
                Noted("taken", {"sequence": sequence}),
                Record(("kept", sequence), self.must_wait),
                Send(event.session, Published(sequence)),
            ]
        return [Close(event.session, "enough")]

    def next_deadline(self):
        return self.deadline

    def snapshot(self):
        return [("kept", one) for one in self.kept]

    def of(self, kind):
        return [event for event in self.events if type(event) is kind]


__all__ = ["Arrived", "Bye", "Counter", "Dial", "DialFailed", "Hello", "Lost", "Opened"]
