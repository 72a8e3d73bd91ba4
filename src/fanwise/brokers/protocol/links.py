"""Links between brokers, and the streams on them: each entry once, in order, whatever breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fanwise.brokers.messages import (
    Carry,
    Forward,
    Forwarded,
    LinkOpen,
    Message,
    Publication,
    Resent,
    as_tuple,
    from_tuple,
)
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.members import Entry, Member

MOST_AHEAD = 4096
"""Entries that are kept until those before them come; more are dropped and sent again."""
MOST_PATIENCE = 8
"""The time until entries are sent again grows so many times."""


class Links:
    """Links and streams of a broker.

    Attributes
    ----------
    take_publication
        Does what is to be done with a publication from a stream: member, number, publication.
    take_message
        The same with a message: member, message.
    opened, moved_on
        Told of a link that stands, and of progress in the stream from a member.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.view = 0
        self.take_publication: Callable[[Member, int, Publication], None]
        self.take_message: Callable[[Member, Message], None]
        self.opened: Callable[[Member, LinkOpen], None]
        self.moved_on: Callable[[Member], None]
        self.confirmed: Callable[[], None]

    # ------------------------------------------------------------ connections

    def open(self, session: Session, member: Member) -> None:
        """A connection with a broker stands; a former one is over."""
        if member.session:
            self.core.close(member.session, "another connection has come")
            self.down(member)
        member.session, member.is_dialled = session.number, False
        stream = member.stream
        self.core.send(
            session.number,
            LinkOpen(member.received, stream.first, stream.last, member.version, self.view),
        )

    def on_open(self, session: Session, message: LinkOpen) -> None:
        """The peer says what it has; from here on the link is up."""
        member = self.member_of(session)
        if member is None:
            return
        member.is_up = True
        member.since = max(member.since, message.view)
        self.core.refresh_up()
        self.core.note("linked", broker=member.name)
        if member.stream.trim(message.received):
            self.confirmed()
        # What the peer no longer holds has been confirmed from here, also what concerned nobody
        # and was not written down.
        if message.first - 1 > member.received:
            member.received = message.first - 1
            for number in [number for number in member.ahead if number <= member.received]:
                del member.ahead[number]
            self._take_ahead(member)
        # Before anything is said on it: what was sent on a former link may be lost.
        member.sent, member.is_catching_up = member.stream.first - 1, True
        self.opened(member, message)
        member.progress, member.patience = self.core.now, self.core.settings.resend_seconds
        self._send_again(member)

    def down(self, member: Member) -> None:
        """The link is no more."""
        was_up = member.is_up
        member.session, member.is_up, member.is_catching_up = 0, False, False
        self.core.refresh_up()
        if was_up:
            self.core.note("unlinked", broker=member.name)

    def member_of(self, session: Session) -> Member | None:
        """The member whose link the session is."""
        member = self.core.state.members.get(session.peer.name)
        return member if member is not None and member.session == session.number else None

    # ------------------------------------------------------------ sending

    def say(self, name: str, message: Message) -> None:
        """Put a message into the stream to a broker."""
        member = self.core.state.members.get(name)
        if member is not None:
            self.core.commit("out", name, as_tuple(message))
            self.push(member)

    def push(self, member: Member) -> None:
        """Send what may be sent on the direct link now."""
        if not member.is_up:
            return
        stream = member.stream
        limit = stream.last
        if member.is_catching_up:
            limit = min(limit, stream.first - 1 + self.core.settings.window)
        while member.sent < limit:
            member.sent += 1
            content = stream[member.sent]
            if isinstance(content[0], str):
                content = as_tuple(Resent(content))
            self.core.send(member.session, Carry(member.sent, content))
        if member.is_catching_up and member.sent == stream.last:
            member.is_catching_up = False
        self.watch(member)

    def spread(self, numbers: dict[str, int], publication: Publication) -> None:
        """Send a new publication along the tree; numbers are of the streams' last entries."""
        members = self.core.state.members
        on_tree = {}
        for name, number in numbers.items():
            member = members[name]
            # Behind entries that are sent one window at a time it waits for its turn.
            if member.is_up and not member.is_catching_up and member.sent == number - 1:
                member.sent = number
                on_tree[name] = number
                self.watch(member)
        if on_tree:
            self._pass_on(self.core.name, self.core.state.birth, on_tree, publication)

    def _pass_on(
        self, origin: str, birth: int, numbers: dict[str, int], publication: Publication
    ) -> None:
        core = self.core
        to = frozenset(name for name in numbers if name in core.up)
        if not to:
            return
        hops = core.router.next_hops(core.name, publication[2], to, core.up)
        for hop, behind in hops.items():
            if hop not in core.up:
                continue
            session = core.state.members[hop].session
            part = {name: numbers[name] for name in sorted(behind)}
            core.send(session, Forward(origin, birth, part, publication))

    def watch(self, member: Member) -> None:
        """See to it that what is not confirmed in time is sent again."""
        if len(member.stream) and not member.is_watched:
            member.is_watched = True
            member.progress = self.core.now
            self.core.later(member.patience, self._look, member)

    def _look(self, member: Member) -> None:
        core = self.core
        member.is_watched = False
        if core.state.members.get(member.name) is not member or not member.is_up:
            return
        if not len(member.stream):
            return
        if core.now >= member.progress + member.patience:
            most = MOST_PATIENCE * core.settings.resend_seconds
            member.progress, member.patience = core.now, min(member.patience * 2, most)
            self._send_again(member)
        member.is_watched = True
        core.timers.at(member.progress + member.patience, self._look, member)

    def _send_again(self, member: Member) -> None:
        member.sent = member.stream.first - 1
        member.is_catching_up = True
        self.push(member)

    def on_forwarded(self, session: Session, message: Forwarded) -> None:
        """The peer has everything up to a number."""
        member = self.member_of(session)
        if member is None or not member.is_up:
            return
        if member.stream.trim(message.number):
            member.progress, member.patience = self.core.now, self.core.settings.resend_seconds
            member.sent = max(member.sent, member.stream.first - 1)
            self.push(member)
            self.confirmed()

    # ------------------------------------------------------------ receiving

    def on_forward(self, session: Session, message: Forward) -> None:
        """A publication by the tree: for here, for others behind, or both."""
        core = self.core
        numbers = message.numbers
        number = numbers.get(core.name)
        if number is not None:
            numbers = {name: n for name, n in numbers.items() if name != core.name}
            member = core.state.members.get(message.origin)
            if member is not None and member.birth == message.birth:
                self._take(member, number, message.publication)
        if numbers:
            self._pass_on(message.origin, message.birth, numbers, message.publication)

    def on_carry(self, session: Session, message: Carry) -> None:
        """An entry on the direct link."""
        member = self.member_of(session)
        if member is not None and member.is_up:
            content = message.content
            if content[0] == Resent.TYPE:
                content = content[1]
            self._take(member, message.number, content)

    def _take(self, member: Member, number: int, content: Entry) -> None:
        if number == member.received + 1:
            member.ahead.pop(number, None)
            self._do(member, number, content)
            self._take_ahead(member)
            self.moved_on(member)
        elif number > member.received and len(member.ahead) < MOST_AHEAD:
            member.ahead[number] = content
        if not member.is_to_confirm:
            member.is_to_confirm = True
            self.core.later(self.core.settings.confirm_seconds, self._confirm, member)

    def _take_ahead(self, member: Member) -> None:
        ahead = member.ahead
        while ahead and member.received + 1 in ahead:
            self._do(member, member.received + 1, ahead.pop(member.received + 1))

    def _do(self, member: Member, number: int, content: Entry) -> None:
        if isinstance(content[0], str):
            self.take_publication(member, number, content)
        else:
            self.take_message(member, from_tuple(content))
            self.core.commit("taken", member.name, number, must_wait=False)

    def _confirm(self, member: Member) -> None:
        member.is_to_confirm = False
        if member.is_up:
            self.core.send(member.session, Forwarded(member.received))

    def push_all(self, names: Iterable[str]) -> None:
        """Send what was put into streams to these brokers."""
        for name in names:
            member = self.core.state.members.get(name)
            if member is not None:
                self.push(member)
