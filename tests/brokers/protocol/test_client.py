from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from tests.brokers.protocol.bench import Bench

from fanwise.brokers.messages import (
    VERSION,
    Accept,
    Ask,
    Brokers,
    Bye,
    Connect,
    Decline,
    Deliver,
    Hello,
    MoveReady,
    NotRegistered,
    Publish,
    Published,
    Received,
    Refused,
    Register,
    Registered,
    Rejected,
    RequestToMove,
    Settled,
    Superseded,
    Undo,
    Unregister,
    Unregistered,
    Welcome,
)
from fanwise.brokers.protocol.client import ClientMachine
from fanwise.brokers.protocol.effects import (
    Arrived,
    Close,
    Dial,
    DialFailed,
    Handed,
    Lost,
    Noted,
    Opened,
    PublishNew,
    Record,
    Send,
    Stop,
    Subscribe,
    Tick,
    Unsubscribe,
)
from fanwise.brokers.protocol.settings import ClientSettings

SETTINGS = ClientSettings("c", directory="d:1", confirm_count=2)
REQUEST = RequestToMove(9, "f", "f:1", "load", 2.0)


class Program:
    """A client machine; the test is the network."""

    def __init__(self, answer="", **changed):
        self.settings = replace(SETTINGS, **changed)
        self.now, self.numbers, self.log, self.effects = 0.0, count(1), [], []
        self.answer = answer
        self.start()

    def start(self):
        self.machine = ClientMachine(
            self.settings, self.log, policy=lambda now, request: self.answer, now=self.now, seed=1
        )
        self.keep(self.machine.start())

    def keep(self, effects):
        self.log += [effect.entry for effect in effects if isinstance(effect, Record)]
        self.effects += effects
        return effects

    def give(self, event):
        return self.keep(self.machine.handle(self.now, event))

    def open(self, name, role="broker"):
        session = next(self.numbers)
        self.give(Opened(session, Hello(VERSION, role, name)))
        return session

    def hear(self, session, message):
        effects = self.give(Arrived(session, message))
        return [effect.message for effect in effects if isinstance(effect, Send)]

    def wait(self, seconds):
        end, effects = self.now + seconds, []
        while (due := self.machine.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            effects += self.give(Tick())
        self.now = end
        return effects

    def last(self, kind):
        found = [e for e in self.effects if isinstance(e, kind)]
        return found[-1] if found else None

    def last_message(self, kind):
        found = [e for e in self.effects if isinstance(e, Send) and isinstance(e.message, kind)]
        return found[-1] if found else None

    def notes(self, what):
        return [e.fields for e in self.effects if isinstance(e, Noted) and e.what == what]

    def find(self, *names):
        """Let the directory name brokers."""
        session = self.open("directory", "directory")
        self.hear(session, Brokers(tuple((name, f"{name}:1") for name in names)))

    def at_home(self, name="b"):
        self.find(name)
        session = self.open(name)
        self.hear(session, Welcome(self.machine.core.state.epoch, 1))
        return session


def connected(program) -> Connect:
    return program.last_message(Connect).message


def test_a_client_asks_the_directory_and_connects():
    program = Program()
    assert program.last(Dial) == Dial("directory", "d:1")
    directory = program.open("directory", "directory")
    assert program.last_message(Ask).message == Ask("c", (), 0.0)
    program.hear(directory, Brokers((("a", "a:1"), ("b", "b:1"))))
    assert program.last(Close).session == directory
    assert program.last(Dial) == Dial("a", "a:1")
    program.give(DialFailed("a"))
    assert program.last(Dial) == Dial("b", "b:1")
    session = program.open("b")
    assert connected(program) == Connect(1, 0, (), "", 0, 0, 0.0, ())
    program.hear(session, Welcome(1, 1, (("z", "z:1"),)))
    assert program.machine.is_served
    assert program.machine.home == "b"


def test_what_was_asked_for_before_is_done_at_home():
    program = Program()
    program.give(Subscribe("s", (0.0,), (1.0,)))
    program.give(PublishNew((0.5,), b"x"))
    assert program.machine.last_sequence == 1
    program.find("b")
    session = program.open("b")
    assert connected(program).subscriptions == (("s", (0.0,), (1.0,)),)
    # Asked for while it connects.
    program.give(Subscribe("t", (0.0,), (0.5,)))
    program.give(Unsubscribe("s"))
    said = program.hear(session, Welcome(1, 1))
    assert said == [
        Unregister("s"),
        Register("t", (0.0,), (0.5,)),
        Publish(1, (0.5,), b"x"),
    ]
    program.hear(session, Unregistered("s"))
    program.hear(session, Registered("t"))
    program.hear(session, Settled(("t", "s"), True))
    program.hear(session, Published(1))
    assert program.notes("unregistered") == [{"id": "s"}]
    assert program.notes("registered") == [{"id": "t"}]
    assert program.notes("settled") == [{"ids": ("t",), "everywhere": True}]
    assert program.notes("published") == [{"sequence": 1}]
    program.hear(session, Published(1))
    assert len(program.notes("published")) == 1


def test_a_replaced_subscription_is_not_settled_by_what_was_said_of_the_former():
    program = Program()
    session = program.at_home()
    program.give(Subscribe("s", (0.0,), (1.0,)))
    program.hear(session, Registered("s"))
    program.give(Subscribe("s", (0.5,), (1.0,)))
    program.hear(session, Settled(("s",), True))
    assert not program.notes("settled")
    program.hear(session, Registered("s"))
    program.hear(session, Settled(("s",), True))
    assert program.notes("settled")


@pytest.mark.parametrize("code", ["invalid", "full disk"])
def test_what_is_not_registered_is_not_wanted_any_more(code):
    program = Program()
    session = program.at_home()
    program.give(Subscribe("s", (1.0,), (0.0,)))
    program.hear(session, NotRegistered("s", code))
    assert program.notes("not registered") == [{"id": "s", "code": code}]
    assert not program.machine.core.state.wanted


def test_a_rejected_publication_is_the_applications_business():
    program = Program(most_unanswered=1)
    session = program.at_home()
    program.give(PublishNew((0.5,), b""))
    program.give(PublishNew((0.5,), b""))
    assert program.notes("rejected")[0]["code"] == "too many wait for an answer"
    program.hear(session, Rejected(1, "full disk"))
    assert program.notes("rejected")[1] == {"sequence": 1, "code": "full disk"}
    assert not program.machine.core.state.unanswered


def test_each_publication_is_handed_over_once():
    program = Program()
    session = program.at_home()
    for number, sequence in enumerate((4, 5, 4), start=1):
        program.hear(session, Deliver(number, "p", sequence, (0.5,), b"x"))
    handed = [e.publication[1] for e in program.effects if isinstance(e, Handed)]
    assert handed == [4, 5]
    # Together, and what is left a little later.
    assert program.last_message(Received).message == Received(2)
    program.wait(0.2)
    assert program.last_message(Received).message == Received(3)


def test_a_gap_in_deliveries_breaks_the_connection():
    program = Program()
    session = program.at_home()
    program.hear(session, Deliver(2, "p", 1, (0.5,), b""))
    assert program.notes("protocol") == [{"peer": "b", "why": "delivery 2 came after 0"}]
    assert program.last(Close).session == session
    assert not [e for e in program.effects if isinstance(e, Handed)]
    assert program.last(Dial) == Dial("b", "b:1")


def test_a_home_that_comes_back_is_the_same_home():
    program = Program()
    session = program.at_home()
    program.hear(session, Deliver(1, "p", 1, (0.5,), b""))
    program.give(Lost(session))
    again = program.open("b")
    assert connected(program) == Connect(1, 0, (), "b", 1, 0, 0.0, ())
    program.hear(again, Welcome(1, 2))
    assert program.machine.core.state.epoch == 1


def test_another_broker_takes_over_at_a_higher_epoch():
    program = Program()
    session = program.at_home()
    program.give(Lost(session))
    while not (isinstance(program.last(Dial), Dial) and program.last(Dial).peer == "directory"):
        program.give(DialFailed("b"))
        program.wait(0.5)
    program.find("x", "y")
    lost = program.open("x")
    assert (connected(program).epoch, connected(program).previous) == (2, ("b",))
    # No answer: that one may or may not have taken it in.
    program.give(Lost(lost))
    program.open("y")
    assert (connected(program).epoch, connected(program).previous) == (3, ("b", "x"))


def test_a_broker_that_does_not_answer_is_left():
    program = Program()
    program.find("a", "b")
    session = program.open("a")
    program.wait(2.5)
    assert program.last(Close).session == session
    assert program.last(Dial) == Dial("b", "b:1")
    late = program.open("a")
    assert program.last(Close).session == late


def test_without_a_directory_it_tries_who_it_knows():
    program = Program(directory="", brokers=(("k", "k:1"),))
    assert program.last(Dial) == Dial("k", "k:1")
    program.give(DialFailed("k"))
    assert program.wait(1.0)[0] == Dial("k", "k:1")


# ---------------------------------------------------------------- moves


def test_a_client_accepts_and_moves():
    program = Program()
    session = program.at_home()
    assert program.hear(session, REQUEST) == [Accept(9)]
    program.hear(session, MoveReady(9, "f", "f:1", 77, 2))
    assert program.last(Dial) == Dial("f", "f:1")
    program.give(PublishNew((0.5,), b""))
    assert program.last_message(Publish) is None
    there = program.open("f")
    assert connected(program) == Connect(2, 77, ("b",), "b", 0, 0, 0.0, ())
    said = program.hear(there, Welcome(2, 1))
    assert said == [Bye("moved"), Publish(1, (0.5,), b"")]
    assert any(isinstance(e, Close) and e.session == session for e in program.effects)
    assert program.machine.home == "f"
    assert program.machine.last_moved is not None


def test_a_client_declines():
    program = Program(answer="never moves")
    session = program.at_home()
    assert program.hear(session, REQUEST) == [Decline(9, "never moves")]


@pytest.mark.parametrize("how", ["unreachable", "refused", "lost", "silent"])
def test_a_client_that_cannot_get_there_stays(how):
    program = Program()
    session = program.at_home()
    program.hear(session, REQUEST)
    program.hear(session, MoveReady(9, "f", "f:1", 77, 2))
    if how == "unreachable":
        program.give(DialFailed("f"))
    else:
        there = program.open("f")
        if how == "refused":
            program.hear(there, Refused("ticket"))
        elif how == "lost":
            program.give(Lost(there))
        else:
            program.wait(2.5)
    undo = program.last_message(Undo)
    assert (undo.session, undo.message) == (session, Undo(9, 3, 0, 0, ()))
    program.hear(session, Welcome(3, 1))
    assert program.machine.is_served
    assert program.machine.home == "b"
    # The ticket is void: what comes of it is closed.
    late = program.open("f")
    assert program.last(Close).session == late


def test_both_are_lost_during_a_move():
    program = Program()
    session = program.at_home()
    program.hear(session, MoveReady(9, "f", "f:1", 77, 2))
    program.give(Lost(session))
    program.give(DialFailed("f"))
    assert program.last(Dial) == Dial("b", "b:1")
    program.open("b")
    assert (connected(program).epoch, connected(program).previous) == (3, ("f",))


def test_a_ticket_of_another_epoch_is_left_alone():
    program = Program()
    session = program.at_home()
    program.hear(session, MoveReady(9, "f", "f:1", 77, 5))
    assert program.machine.is_served


# ---------------------------------------------------------------- ends


def test_two_programs_of_one_name():
    program = Program()
    session = program.at_home()
    program.hear(session, Superseded(7))
    assert program.notes("stopped") == [{"why": "another program uses this name"}]
    assert not program.wait(60.0)


def test_its_own_former_life_is_adopted():
    program = Program()
    program.find("a", "b")
    session = program.open("a")
    program.hear(session, Refused("superseded", "", 41))
    program.open("b")
    assert connected(program).epoch == 42
    assert connected(program).previous == ("a",)


def test_a_welcome_that_was_lost_is_asked_for_at_a_higher_epoch():
    bench, program = Bench(), Program()
    program.find("b")
    first = bench.open("client", "c")
    session = program.open("b")
    assert isinstance(bench.say(first, connected(program))[0], Welcome)
    program.give(Lost(session))
    program.wait(1.0)
    program.find("b")
    session = program.open("b")
    (refused,) = bench.say(bench.open("client", "c"), connected(program))
    program.hear(session, refused)
    program.wait(1.0)
    program.find("b")
    program.open("b")
    (welcome,) = bench.say(bench.open("client", "c"), connected(program))
    assert (type(welcome), welcome.epoch) == (Welcome, 2)


def test_a_broker_that_departs_sends_it_away():
    program = Program()
    session = program.at_home()
    program.hear(session, Bye("departs"))
    assert program.last(Dial).peer == "directory"


def test_invalid_subscriptions_do_not_keep_it_out():
    program = Program()
    program.give(Subscribe("s", (1.0,), (0.0,)))
    program.find("a")
    session = program.open("a")
    program.hear(session, Refused("invalid"))
    assert program.notes("not registered") == [{"id": "s", "code": "invalid"}]
    assert not program.machine.core.state.wanted


def test_stop():
    program = Program()
    session = program.at_home()
    program.give(Stop())
    assert program.last_message(Bye).session == session
    assert program.last(Close).session == session


def test_a_client_with_a_log_goes_on_where_it_was():
    program = Program(is_durable=True)
    session = program.at_home()
    program.give(Subscribe("s", (0.0,), (1.0,)))
    program.give(PublishNew((0.5,), b"x"))
    program.give(PublishNew((0.5,), b"y"))
    program.hear(session, Published(1))
    program.hear(session, Deliver(1, "p", 1, (0.5,), b""))
    for entries in (program.log, program.machine.snapshot()):
        program.log = list(entries)
        program.start()
        state = program.machine.core.state
        assert (state.epoch, state.home, state.received) == (1, "b", 1)
        assert state.unanswered == {2: ((0.5,), b"y")}
        assert state.wanted == {"s": ((0.0,), (1.0,))}
        assert state.sequence == 2
        assert ("p", 1) in state.seen


def test_ids_are_forgotten_at_last():
    program = Program(most_remembered=2)
    session = program.at_home()
    for number in (1, 2, 3):
        program.hear(session, Deliver(number, "p", number, (0.5,), b""))
    assert list(program.machine.core.state.seen) == [("p", 2), ("p", 3)]
