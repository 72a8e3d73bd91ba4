"""Routes: which rectangles lead to which broker, and who knows it by now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fanwise.brokers.messages import LinkOpen, Point, Routes, RoutesKnown
from fanwise.brokers.protocol.core import Core, Session
from fanwise.brokers.protocol.links import Links
from fanwise.brokers.protocol.members import Member

Work = Callable[[], None]


@dataclass(slots=True)
class _Drain:
    """Waits until all that was sent by routes older than a version has come.

    Attributes
    ----------
    unknown
        Members that have not confirmed the version.
    needs
        Of the others, the number up to which entries must have come.
    """

    version: int
    unknown: set[str]
    work: Work
    needs: dict[str, int] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return not self.unknown and not self.needs


class RouteBook:
    """Tells routes to others, and keeps theirs."""

    def __init__(self, core: Core, links: Links) -> None:
        self.core = core
        self.links = links
        self._changes: dict[int, tuple[Point, Point] | None] = {}
        self._is_due = False
        self._told = float("-inf")
        self._everywhere: list[tuple[int, Work]] = []
        self._linked: list[tuple[int, Work]] = []
        self._drains: list[_Drain] = []
        self.learned: Callable[[], None]
        core.state.changed = self._note_change

    # ------------------------------------------------------------ telling

    def _note_change(self, key: int, to: tuple[Point, Point] | None) -> None:
        # What is added and taken back between two tellings is told as both: harmless.
        self._changes[key] = to
        if not self._is_due:
            self._is_due = True
            settings = self.core.settings
            rest = self._told + settings.routes_rest_seconds - self.core.now
            self.core.later(max(settings.routes_seconds, rest), self._tell)

    def _tell(self) -> None:
        self._is_due = False
        self._told = self.core.now
        changes, self._changes = self._changes, {}
        added = tuple((key, *to) for key, to in changes.items() if to is not None)
        # A key that comes again is taken away first.
        removed = tuple(changes)
        message = Routes(self.core.state.version, False, added, removed)
        for member in self.core.state.members.values():
            if member.is_up:
                self.core.send(member.session, message)

    def on_opened(self, member: Member, message: LinkOpen) -> None:
        """On a link that stands: tell all if the peer does not have it."""
        state = self.core.state
        if message.knows != state.version:
            added = tuple((key, lo, hi) for key, (lo, hi) in state.routes.items())
            self.core.send(member.session, Routes(state.version, True, added, ()))
        self._note_known(member, message.knows, message.last)

    # ------------------------------------------------------------ hearing

    def on_routes(self, session: Session, message: Routes) -> None:
        """Another broker's routes: kept on disk, then confirmed."""
        member = self.links.member_of(session)
        if member is None or not member.is_up:
            return
        is_new = member.version < 0
        if message.version != member.version or message.is_full:
            self.core.commit(
                *("routes", member.name, message.version, message.is_full),
                *(message.added, message.removed),
            )
        self.core.send(session.number, RoutesKnown(message.version, member.stream.last))
        if is_new:
            self.learned()

    def on_known(self, session: Session, message: RoutesKnown) -> None:
        """A broker has these routes on disk."""
        member = self.links.member_of(session)
        if member is not None and member.is_up:
            self._note_known(member, message.version, message.sent)

    def _note_known(self, member: Member, version: int, sent: int) -> None:
        member.knows, member.told = version, sent
        for drain in self._drains:
            if drain.version <= version and member.name in drain.unknown:
                drain.unknown.discard(member.name)
                if member.received < sent:
                    drain.needs[member.name] = sent
        self.review()

    # ------------------------------------------------------------ waiting

    def when_known(self, work: Work, *, everywhere: bool) -> None:
        """Do this when the routes of now are known, everywhere or to all that are linked."""
        waiting = self._everywhere if everywhere else self._linked
        waiting.append((self.core.state.version, work))
        # Not at once: the caller may be in the middle of something.
        self.core.later(0.0, self.review)

    def when_drained(self, work: Callable[[], None]) -> None:
        """Do this when nothing comes any more that was sent by routes older than those of now."""
        drain = _Drain(self.core.state.version, set(), work)
        for member in self.core.state.members.values():
            if member.knows < drain.version:
                drain.unknown.add(member.name)
            elif member.received < member.told:
                drain.needs[member.name] = member.told
        self._drains.append(drain)
        self.core.later(0.0, self.review)

    def moved_on(self, member: Member) -> None:
        """More has come from a member."""
        done = False
        for drain in self._drains:
            need = drain.needs.get(member.name)
            if need is not None and member.received >= need:
                del drain.needs[member.name]
                done = True
        if done:
            self.review()

    def gone(self, name: str) -> None:
        """A broker has left: nobody waits for it."""
        for drain in self._drains:
            drain.unknown.discard(name)
            drain.needs.pop(name, None)
        self.core.later(0.0, self.review)

    def review(self) -> None:
        """Do what waited for routes to be known, or for what was sent by old ones."""
        work = []
        if self._everywhere:
            members = self.core.state.members.values()
            floor = min((m.knows for m in members), default=self.core.state.version)
            work += _take_until(floor, self._everywhere)
        if self._linked:
            members = self.core.state.members.values()
            floor = min((m.knows for m in members if m.is_up), default=self.core.state.version)
            work += _take_until(floor, self._linked)
        if any(drain.is_done for drain in self._drains):
            work += [drain.work for drain in self._drains if drain.is_done]
            self._drains = [drain for drain in self._drains if not drain.is_done]
        for do in work:
            do()


def _take_until(floor: int, waiting: list[tuple[int, Work]]) -> list[Work]:
    count = 0
    while count < len(waiting) and waiting[count][0] <= floor:
        count += 1
    ready = [work for _, work in waiting[:count]]
    del waiting[:count]
    return ready
