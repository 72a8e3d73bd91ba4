"""Whatever a client says that is well-formed, a broker survives: an error would end its process."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brokers.message_strategies import messages

from fanwise.brokers.messages import VERSION, Connect, Hello
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.client import ClientMachine
from fanwise.brokers.protocol.directory import DirectoryMachine
from fanwise.brokers.protocol.effects import Arrived, Lost, Opened, Record
from fanwise.brokers.protocol.ports import DirectRouter, PlainMatcher
from fanwise.brokers.protocol.settings import BrokerSettings, ClientSettings, DirectorySettings
from fanwise.brokers.storage.records import HEAD, pack, unpack

ROLES = st.sampled_from(["client", "tool", "nonsense"])
NAMES = st.sampled_from(["ann", "bob", ""])


def steps():
    """Greetings, messages and ends on a few sessions, in any order."""
    opened = st.builds(
        lambda session, role, name: Opened(session, Hello(VERSION, role, name)),
        st.integers(1, 4), ROLES, NAMES,
    )  # fmt: skip
    welcome = st.builds(
        lambda session, epoch, ids: Arrived(
            session,
            Connect(epoch, 0, (), "", 0, 0, 1.0, tuple((id, (0.0,), (1.0,)) for id in ids)),
        ),
        st.integers(1, 4), st.integers(1, 5), st.lists(st.text(max_size=2), max_size=2),
    )  # fmt: skip
    arrived = st.builds(Arrived, st.integers(1, 4), messages())
    return st.lists(st.one_of(opened, welcome, arrived, st.builds(Lost, st.integers(1, 4))))


def drive(machine, events) -> list[tuple]:
    """Give a machine events a second after the other; return what it has recorded."""
    effects = list(machine.start())
    for now, event in enumerate(events):
        effects += machine.handle(float(now), event)
    entries = [effect.entry for effect in effects if type(effect) is Record]
    for entry in [*entries, *machine.snapshot()]:
        unpack(pack(entry)[HEAD.size :])
    return entries


def broker(entries=()):
    return BrokerMachine(
        BrokerSettings("east", "here:1", dimensions=1), entries,
        matcher=PlainMatcher, router=DirectRouter(), now=0.0, seed=1,
    )  # fmt: skip


@settings(max_examples=150)
@given(steps())
def test_a_broker_survives_clients_and_tools(events):
    entries = drive(broker(), events)
    again = broker([unpack(pack(entry)[HEAD.size :]) for entry in entries])
    again.start()
    again.counts()


@settings(max_examples=100)
@given(steps())
def test_a_directory_survives_everybody(events):
    drive(DirectoryMachine(DirectorySettings(), now=0.0, seed=1), events)


@settings(max_examples=100)
@given(st.lists(messages()), st.booleans())
def test_a_client_survives_its_broker(said, is_served):
    machine = ClientMachine(
        ClientSettings("ann", brokers=(("east", "here:1"),)),
        policy=lambda now, request: "", now=0.0, seed=1,
    )  # fmt: skip
    events = [Opened(1, Hello(VERSION, "broker", "east"))] if is_served else []
    drive(machine, [*events, *(Arrived(1, one) for one in said)])
