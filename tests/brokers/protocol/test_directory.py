from __future__ import annotations

from itertools import count

import pytest

from fanwise.brokers.messages import (
    VERSION,
    Ask,
    Brokers,
    Heartbeat,
    Hello,
    Join,
    Leave,
    NotDone,
    Publish,
    View,
)
from fanwise.brokers.protocol.directory import DirectoryMachine
from fanwise.brokers.protocol.effects import (
    Arrived,
    Close,
    Disk,
    Lost,
    Opened,
    Record,
    Send,
    Tick,
)
from fanwise.brokers.protocol.settings import DirectorySettings


class Office:
    """A directory with its log."""

    def __init__(self):
        self.now, self.numbers, self.log = 0.0, count(1), []
        self.restart()

    def restart(self, entries=None):
        entries = self.log if entries is None else entries
        self.machine = DirectoryMachine(DirectorySettings(), entries, now=self.now, seed=1)
        self.machine.start()

    def give(self, event):
        effects = self.machine.handle(self.now, event)
        self.log += [effect.entry for effect in effects if isinstance(effect, Record)]
        return effects

    def open(self, role, name):
        session = next(self.numbers)
        self.effects = self.give(Opened(session, Hello(VERSION, role, name)))
        return session

    def say(self, session, message):
        self.effects = self.give(Arrived(session, message))
        return [e.message for e in self.effects if isinstance(e, Send) and e.session == session]

    def wait(self, seconds):
        end, effects = self.now + seconds, []
        while (due := self.machine.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            effects += self.give(Tick())
        self.now = end
        return effects

    def broker(self, name, position=(), capacity=10.0, load=0.0, birth=1):
        session = self.open("broker", name)
        self.say(session, Join(name, f"{name}:1", position, capacity, load, birth))
        self.say(session, Heartbeat(load, True))
        return session

    def ask(self, **named):
        client = self.open("client", "c")
        (answer,) = self.say(client, Ask("c", **named))
        assert isinstance(answer, Brokers)
        return [name for name, _ in answer.brokers]


def test_brokers_join_and_hear_of_each_other():
    office = Office()
    one = office.broker("one")
    other = office.open("broker", "other")
    (view,) = office.say(other, Join("other", "other:1", (1.0,), 5.0, 2.0, 3))
    assert isinstance(office.effects[0], Record)
    assert view.brokers[1] == ("other", "other:1", (1.0,), 5.0, 2.0, True, 3)
    told = [e for e in office.wait(0.1) if isinstance(e, Send) and e.session == one]
    assert told[-1].message == view


def test_a_broker_that_is_not_heard_is_not_alive():
    office = Office()
    one = office.broker("one")
    office.broker("other")
    for _ in range(3):
        office.wait(1.2)
        office.say(one, Heartbeat(0.0, True))
    office.wait(0.1)
    tool = office.open("tool", "t")
    (view,) = [e.message for e in office.effects if isinstance(e, Send) and e.session == tool]
    assert [(row[0], row[5]) for row in view.brokers] == [("one", True), ("other", False)]
    assert office.ask() == ["one"]
    assert office.machine.counts()["alive"] == 1


def test_clients_hear_of_close_brokers_with_room():
    office = Office()
    office.broker("far", (9.0, 0.0))
    office.broker("near", (1.0, 0.0))
    office.broker("full", (0.0, 0.0), capacity=5.0, load=4.5)
    assert office.ask(position=(0.0, 0.0), demand=1.0) == ["near", "far"]
    assert office.ask(position=(0.0, 0.0)) == ["full", "near", "far"]
    assert office.ask(demand=1.0) == ["far", "near"]
    starting = office.broker("starting", (0.0, 0.0))
    office.say(starting, Heartbeat(0.0, False))
    assert "starting" not in office.ask()


def test_it_survives_its_own_restart():
    office = Office()
    office.broker("one")
    two = office.broker("two")
    assert isinstance(office.say(two, Leave("two"))[0], View)
    office.restart()
    assert office.ask() == []
    session = office.open("broker", "one")
    (view,) = office.say(session, Join("one", "one:1", (), 10.0, 0.0, 1))
    assert [row[0] for row in view.brokers] == ["one"]
    assert view.epoch == 3
    assert office.log[-1][0] == "left"
    snapshot = office.machine.snapshot()
    office.restart(snapshot)
    assert office.machine.snapshot() == snapshot


def test_a_broker_that_has_left_needs_an_empty_disk():
    office = Office()
    one = office.broker("one")
    office.say(one, Leave("one"))
    again = office.open("broker", "one")
    (answer,) = office.say(again, Join("one", "one:1", (), 10.0, 0.0, 1))
    assert (answer.code, answer.detail) == ("left", "one has left; start it on an empty disk")
    (answer,) = office.say(again, Join("one", "one:1", (), 10.0, 0.0, 2))
    assert isinstance(answer, View)


def test_one_name_is_one_broker():
    office = Office()
    office.broker("one")
    other = office.open("broker", "one")
    (answer,) = office.say(other, Join("one", "x:1", (), 10.0, 0.0, 2))
    assert (answer.code, answer.detail) == ("name", "another broker one is there")
    (answer,) = office.say(other, Join("two", "x:1", (), 10.0, 0.0, 2))
    assert answer == NotDone("name", "'two' came as 'one'")


@pytest.mark.parametrize(
    ("role", "message", "code"),
    [
        ("client", Leave("one"), "role"),
        ("broker", Leave("one"), "role"),
        ("tool", Leave("nobody"), "unknown"),
        ("client", Join("x", "x:1", (), 1.0, 0.0, 1), "role"),
        ("broker", Publish(1, (0.0,), b""), "role"),
    ],
)
def test_what_cannot_be(role, message, code):
    office = Office()
    office.broker("one")
    (answer,) = office.say(office.open(role, "x"), message)
    assert (type(answer), answer.code) == (NotDone, code)


def test_nothing_changes_on_a_full_disk():
    office = Office()
    one = office.broker("one")
    office.give(Disk(True))
    assert office.say(one, Leave("one")) == [NotDone("full disk")]
    other = office.open("broker", "other")
    assert office.say(other, Join("other", "o:1", (), 1.0, 0.0, 1)) == [NotDone("full disk")]
    assert any(isinstance(e, Close) and e.session == other for e in office.effects)
    office.give(Disk(False))
    assert isinstance(office.say(one, Leave("one"))[0], View)


def test_an_operator_sends_a_broker_away():
    office = Office()
    office.broker("one")
    tool = office.open("tool", "t")
    (view,) = office.say(tool, Leave("one"))
    assert view.brokers == ()
    office.give(Lost(tool))
