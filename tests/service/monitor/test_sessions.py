"""Who is connected, and what that means for subscriptions, kept across restarts of everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.monitor.test_mosquitto_log import GOES, NOTICE, SUBSCRIBE, UNSUBSCRIBE

from fanwise.service.monitor.ledger import Batch, Ledger
from fanwise.service.monitor.mosquitto_log import AMBIGUOUS, BrokerLog
from fanwise.service.monitor.subscriptions import SubscriptionChange
from fanwise.service.monitor.windows import WindowRule

RULE = WindowRule(60, 60, 10)


class Read:
    """A ledger that reads lines; everything else is begun anew with each of them."""

    def __init__(self, folder):
        self.path, self.at = folder / "s", 0
        self._ledger = Ledger(self.path, RULE)

    def lines(self, *lines):
        """Take lines, each with its topic, in batches of one that are handed over twice."""
        bad = 0
        for topic, line in lines:
            self.at += 1
            found = BrokerLog().read(topic, f"{self.at}: {line}".encode(), 0)
            if isinstance(found, str):
                bad += 1
            elif found is not None:
                bad += self.take(found._replace(came=self.at))
        return bad

    def take(self, *changes):
        number = self._ledger.totals()["batch"] + 1
        done = self._ledger.commit(Batch(number, changes=changes))
        self._ledger.close()
        self._ledger = Ledger(self.path, RULE)
        assert not self._ledger.commit(Batch(number, changes=changes)).is_new
        return done.bad

    @property
    def totals(self):
        return self._ledger.totals()

    @property
    def reasons(self):
        return self._ledger.reasons()

    def wanted(self):
        known = self._ledger._memory.subscriptions.open_
        return {(client, topic) for client, own in known.items() for topic in own}


@pytest.fixture
def read(tmp_path):
    return Read(tmp_path)


def comes(client, *, clean=True):
    return NOTICE, f"New client connected from 10.0.0.1:9 as {client} (p2, c{int(clean)}, k60)."


def wants(client, topic):
    return SUBSCRIBE, f"{client} 1 {topic}"


def leaves(client, line=GOES[0]):
    return NOTICE, line.format(client)


@pytest.mark.parametrize("line", GOES)
def test_a_clean_session_ends_with_its_client_whoever_was_restarted_meanwhile(read, line):
    read.lines(comes("alice"), wants("alice", "a"), comes("bob", clean=False), wants("bob", "a"))
    assert read.wanted() == {("alice", "a"), ("bob", "a")}
    read.lines(leaves("alice", line), leaves("bob", line))
    assert read.wanted() == {("bob", "a")}, "a session that is kept keeps its subscriptions"
    read.lines(wants("alice", "b"), leaves("alice", line))
    assert ("alice", "b") in read.wanted(), "nobody saw it come"


def test_a_client_that_comes_again_without_having_been_seen_to_go(read):
    read.lines(comes("alice"), wants("alice", "a"), comes("alice", clean=False))
    assert read.wanted() == set()
    read.lines(wants("alice", "b"), leaves("alice"), comes("alice", clean=False))
    assert read.wanted() == {("alice", "b")}
    read.lines(comes("alice"))
    assert read.wanted() == set(), "a clean session begins with nothing"


def test_a_session_that_expires_is_over(read):
    read.lines(comes("bob", clean=False), wants("bob", "a"), leaves("bob"))
    read.lines((NOTICE, "Expiring client bob due to timeout."))
    assert read.wanted() == set()


def test_a_broker_that_is_started_anew_has_no_clean_sessions(read):
    read.lines(comes("old"), wants("old", "a"), comes("kept", clean=False), wants("kept", "a"))
    read.lines(comes("new"), wants("new", "a"))  # its line has time 5
    read.take(SubscriptionChange(5 * 10**6, "start", "", None, 90))
    assert read.wanted() == {("kept", "a"), ("new", "a")}
    read.take(SubscriptionChange(5 * 10**6, "start", "", None, 91))
    assert read.wanted() == {("kept", "a"), ("new", "a")}
    # We lost the connection after "new" had come, and the start was what ended it.
    read.take(SubscriptionChange(5 * 10**6, "start", "", "5", 92))
    assert read.wanted() == {("kept", "a")}


def test_a_line_that_comes_again_after_the_start_is_of_before_it(read):
    read.lines(comes("old"), wants("old", "a"))
    read.take(
        SubscriptionChange(10**6, "clean", "old", "2", 50),
        SubscriptionChange(2 * 10**6, "subscribe", "old", "a", 51),
        SubscriptionChange(10**6, "start", "", "2", 52),
    )
    assert read.wanted() == set()


def test_gaps_are_counted(read):
    read.take(SubscriptionChange(1, "gap", "", "away", 1), SubscriptionChange(1, "gap", "", "away"))
    read.take(SubscriptionChange(1, "gap", "", "session", 1))
    assert (read.totals["gaps"], read.totals["lost_sessions"]) == (2, 1)


def test_names_and_topics_with_spaces_are_told_apart_by_who_is_there(read):
    read.lines(comes("alice smith"), wants("alice smith", "x y"), wants("alice smith", "1 2 3"))
    assert read.wanted() == {("alice smith", "x y"), ("alice smith", "1 2 3")}
    read.lines((UNSUBSCRIBE, "alice smith x y"), (UNSUBSCRIBE, "alice smith no such"))
    assert read.wanted() == {("alice smith", "1 2 3")}
    assert read.reasons == {}


def test_lines_that_several_may_have_caused_are_set_aside(read):
    both = [comes("a"), comes("a 1 b"), wants("a", "c"), wants("a 1 b", "c")]
    assert read.lines(*both) == 1, "the last may be of a, for the topic 'b 1 c'"
    assert read.wanted() == {("a", "c")}
    assert read.lines(wants("nobody", "x 1 y")) == 1
    assert read.reasons == {AMBIGUOUS: 2}
    assert read.totals["bad"] == 2


def test_nobody_goes_because_of_anothers_name(read):
    name = "alice disconnected: x"
    read.lines(comes("alice"), wants("alice", "a"), comes(name), (SUBSCRIBE, f"{name} 0 b"))
    assert read.lines(leaves(name)) == 1, "alice may have gone, or the other"
    assert read.wanted() == {("alice", "a"), (name, "b")}
    read.lines(leaves("alice"), leaves(name))
    assert read.wanted() == set()


CLIENTS = st.sampled_from(["a", "b", "a b"])
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("comes"), CLIENTS, st.booleans()),
        st.tuples(st.just("wants"), CLIENTS, st.sampled_from(["x", "y"])),
        st.tuples(st.just("ends"), CLIENTS, st.sampled_from(["x", "y"])),
        st.tuples(st.just("leaves"), CLIENTS, st.sampled_from(GOES)),
    )
)


@settings(deadline=None)
@given(LINES)
def test_lines_against_a_plain_model(tmp_path_factory, lines):
    """Of a broker: what connected clients do, in any order."""
    read = Read(tmp_path_factory.mktemp("sessions"))
    connected: dict[str, bool] = {}
    subscribed: set[tuple[str, str]] = set()
    for what, client, more in lines:
        mine = {pair for pair in subscribed if pair[0] == client}
        if what == "comes":
            if more or connected.get(client):
                subscribed -= mine
            connected[client] = more
            read.lines(comes(client, clean=more))
        elif client in connected and what == "leaves":
            if connected.pop(client):
                subscribed -= mine
            read.lines(leaves(client, more))
        elif client in connected and what == "wants":
            subscribed.add((client, more))
            read.lines(wants(client, more))
        elif client in connected and what == "ends":
            subscribed.discard((client, more))
            read.lines((UNSUBSCRIBE, f"{client} {more}"))
        assert read.wanted() == subscribed
