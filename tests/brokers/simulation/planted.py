"""Machines and a network with a bug each: what the simulation must find."""

from __future__ import annotations

from fanwise.brokers.messages import Cancel, Replicate, Unregister, Unregistered
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.simulation.scenario import Machines
from fanwise.brokers.simulation.world import World


class SkipsReplicate(BrokerMachine):
    """Gives the client's state to the foreign broker without what is undelivered."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        whole = self.moving_home.replica

        def replica(move, client, waits) -> Replicate:
            return whole(move, client, ())

        self.moving_home.replica = replica


class DropsRedirectEarly(BrokerMachine):
    """Forgets a client as soon as it has gone."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.leaving._wait = self.leaving._forget


class AcceptsTwice(BrokerMachine):
    """Gives the same room to several clients."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.moving_foreign.has_room = lambda demand, freed: True


class KeepsWhatItGaveAway(BrokerMachine):
    """Serves a client on although another broker said that it has come there."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.leaving._leave = lambda client, member, epoch, skip: None


class TakesUndoneTickets(BrokerMachine):
    """Goes on keeping room after a move was cancelled."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self._stream[Cancel] = lambda member, message: None
        self.moving_foreign._expire = lambda name, move: None


class ForgetsAnUnsubscribe(BrokerMachine):
    """Confirms the end of a subscription and goes on delivering."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)

        def on_unregister(session, message: Unregister) -> None:
            if self.core.served(session) is not None:
                self.core.send(session.number, Unregistered(message.id))

        self._handlers["client", Unregister] = on_unregister


class TakesInAnyOrder(BrokerMachine):
    """Takes entries of streams as they come, and confirms the highest."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        links = self.links

        def take(member, number, content):
            if number > member.received:
                links._do(member, number, content)
                links.moved_on(member)
            if not member.is_to_confirm:
                member.is_to_confirm = True
                self.core.later(self.core.settings.confirm_seconds, links._confirm, member)

        links._take = take


class ReordersFrames(World):
    """A network whose connections do not keep the order."""

    def arrival(self, last, time):
        return time


PLANTED = {
    "skip replicate": (Machines(broker=SkipsReplicate), World),
    "drop redirect early": (Machines(broker=DropsRedirectEarly), World),
    "double accept": (Machines(broker=AcceptsTwice), World),
    "forget an unsubscribe": (Machines(broker=ForgetsAnUnsubscribe), World),
    "reorder frames": (Machines(), ReordersFrames),
    "two homes": (Machines(broker=KeepsWhatItGaveAway), World),
    "room never given back": (Machines(broker=TakesUndoneTickets), World),
    "streams in any order": (Machines(broker=TakesInAnyOrder), World),
}
"""The five of the issue, and three more."""
