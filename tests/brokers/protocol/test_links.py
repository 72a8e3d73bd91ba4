from __future__ import annotations

from tests.brokers.protocol.bench import ALL, Bench, carried, connect, sent

from fanwise.brokers.messages import (
    Carry,
    Deliver,
    Forward,
    Forwarded,
    LinkOpen,
    Publish,
    Resent,
    RoutesKnown,
    View,
    as_tuple,
)
from fanwise.brokers.protocol.effects import Close, Dial, DialFailed
from fanwise.brokers.protocol.ports import DirectRouter

POINT = (0.5,)


def publication(number):
    return ("p", number, POINT, b"")


def forward(number, **others):
    return Forward("a", 7, {"b": number, **others}, publication(number))


def test_publications_are_taken_in_order_and_once():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    link = bench.links["a"]
    before = len(bench.effects)
    for number in (2, 3, 1, 1, 2):
        bench.say(link, forward(number))
    taken = [m.sequence for m in sent(bench.effects[before:], client, Deliver)]
    assert taken == [1, 2]  # the window
    assert [p[1] for _, p in bench.clients["c"].queue] == [1, 2, 3]
    assert sent(bench.wait(0.1), link, Forwarded) == [Forwarded(3)]


def test_what_was_confirmed_is_known_after_a_restart():
    bench = Bench("a")
    bench.client("c", ("s", *ALL))
    bench.say(bench.links["a"], forward(1))
    bench.restart()
    assert bench.machine.core.state.members["a"].received == 1
    assert len(bench.clients["c"].queue) == 1


def test_what_concerned_nobody_is_not_asked_for_again():
    bench = Bench("a")
    for number in (1, 2):
        bench.say(bench.links["a"], forward(number))
    assert not [entry for entry in bench.log if entry[0] == "arrive"]
    bench.restart()
    assert bench.machine.core.state.members["a"].received == 0
    # One that came ahead of the link's opening is taken when it is known that no other comes.
    session = bench.open("broker", "a")
    bench.say(session, forward(3))
    bench.say(session, LinkOpen(0, 3, 3, 0, 1))
    assert bench.machine.core.state.members["a"].received == 3


def test_a_broker_on_the_way_passes_on_and_writes_nothing():
    bench = Bench("a", "y", "z")
    before, records = len(bench.effects), len(bench.log)
    message = Forward("a", 7, {"y": 4, "z": 9}, publication(1))
    bench.say(bench.links["a"], message)
    for name, number in (("y", 4), ("z", 9)):
        (passed,) = sent(bench.effects[before:], bench.links[name], Forward)
        assert passed == Forward("a", 7, {name: number}, publication(1))
    assert len(bench.log) == records
    # Where it cannot pass on, it drops: the origin sends again.
    bench.lose(bench.links["z"])
    before = len(bench.effects)
    bench.say(bench.links["a"], message)
    assert not sent(bench.effects[before:], bench.links["z"])


def test_no_copy_goes_twice_over_a_link():
    class ByWayOfA(DirectRouter):
        def next_hops(self, here, point, destinations, alive):
            return {"a": destinations} if destinations else {}

    bench = Bench("a", "y", "z", router=ByWayOfA())
    client = bench.client("c")
    for name in ("a", "y", "z"):
        bench.routes(name, (1, (0.0,), (1.0,)))
    before = len(bench.effects)
    bench.say(client, Publish(1, POINT, b""))
    (one,) = sent(bench.effects[before:], bench.links["a"], Forward)
    assert one.numbers == {"a": 1, "y": 1, "z": 1}
    assert not sent(bench.effects[before:], bench.links["z"], Forward)


def test_what_is_not_confirmed_is_sent_again_a_window_at_a_time():
    bench = Bench("a")
    client = bench.client("c")
    bench.routes("a", (1, (0.0,), (1.0,)))
    for number in range(1, 5):
        bench.say(client, Publish(number, POINT, b""))
    again = bench.wait(2.5)
    assert carried(again, bench.links["a"]) == [Resent(("c", n, POINT, b"")) for n in (1, 2)]
    # A new one waits for its turn: it would come ahead.
    before = len(bench.effects)
    bench.say(client, Publish(5, POINT, b""))
    assert not sent(bench.effects[before:], bench.links["a"])
    more = bench.say(bench.links["a"], Forwarded(2))
    assert [message.number for message in more] == [3, 4]
    more = bench.say(bench.links["a"], Forwarded(4))
    assert [message.number for message in more] == [5]
    bench.say(bench.links["a"], Forwarded(5))
    assert not len(bench.machine.core.state.members["a"].stream)
    assert not sent(bench.wait(30.0), bench.links["a"], Carry)


def test_what_was_sent_while_the_link_was_down_goes_when_it_stands():
    bench = Bench("a")
    client = bench.client("c")
    bench.routes("a", (1, (0.0,), (1.0,)))
    bench.say(client, Publish(1, POINT, b""))
    bench.lose(bench.links["a"])
    bench.say(client, Publish(2, POINT, b""))
    bench.restart()
    session = bench.open("broker", "a")
    # The first one had come.
    answer = bench.say(session, LinkOpen(1, 1, 0, -1, 1))
    assert [m.number for m in answer if isinstance(m, Carry)] == [2]


def test_a_link_that_comes_again_replaces_the_former():
    bench = Bench("a")
    former = bench.links["a"]
    bench.links["a"] = bench.link("a")
    assert former in bench.closed()
    assert bench.machine.core.up == {"a"}


def test_a_broker_that_lost_its_disk_is_another():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.say(bench.links["a"], forward(1))
    member = bench.machine.core.state.members["a"]
    bench.machine.joining.know("a", "a:1", 8)
    fresh = bench.machine.core.state.members["a"]
    assert fresh is not member
    assert (fresh.received, fresh.version, fresh.birth) == (0, -1, 8)
    before = len(bench.effects)
    bench.say(client, forward(2))
    assert not sent(bench.effects[before:], client, Deliver)


def test_forwards_of_a_former_life_are_left_alone():
    bench = Bench("a")
    bench.client("c", ("s", *ALL))
    bench.say(bench.links["a"], Forward("a", 6, {"b": 1}, publication(1)))
    bench.say(bench.links["a"], Forward("x", 7, {"b": 1}, publication(1)))
    assert not bench.clients["c"].queue


def test_the_first_by_name_dials():
    bench = Bench()
    rows = (
        ("a", "a:1", (), 1.0, 0.0, True, 7),
        ("b", "b:1", (), 3.0, 0.0, True, bench.machine.birth),
        ("z", "z:1", (), 1.0, 0.0, True, 7),
    )
    before = len(bench.effects)
    bench.say(bench.directory, View(2, rows))
    assert [e for e in bench.effects[before:] if isinstance(e, Dial)] == [Dial("z", "z:1")]
    assert not [e for e in bench.give(DialFailed("z")) if isinstance(e, Dial)]
    assert Dial("z", "z:1") in bench.wait(1.5)


def test_a_broker_of_the_same_name_is_closed():
    bench = Bench()
    session = bench.open("broker", "b")
    assert any(isinstance(e, Close) and e.session == session for e in bench.effects)


def test_routes_are_confirmed_from_disk_with_what_was_sent_before():
    bench = Bench("a")
    client = bench.client("c")
    bench.routes("a", (1, (0.0,), (1.0,)))
    bench.say(client, Publish(1, POINT, b""))
    before = len(bench.effects)
    bench.routes("a", (2, (0.0,), (1.0,)))
    assert sent(bench.effects[before:], bench.links["a"]) == [RoutesKnown(2, 1)]
    bench.restart()
    assert bench.machine.core.state.brokers_at(POINT) == ("a",)


def test_a_new_broker_takes_clients_once_it_knows_all_routes():
    fresh = Bench()
    rows = [("a", "a:1", (), 1.0, 0.0, True, 7)]
    fresh.log.clear()
    fresh._start()
    rows.append(("b", "b:1", (), 3.0, 0.0, True, fresh.machine.birth))
    directory = fresh.open("directory", "directory")
    fresh.say(directory, View(1, tuple(rows)))
    session = fresh.open("client", "c")
    (refused,) = fresh.say(session, connect())
    assert refused.code == "not ready"
    fresh.effects.clear()
    fresh.link("a")
    assert fresh.notes("ready")
    assert fresh.say(session, connect())[0].epoch == 1


def test_messages_can_be_read_with_fields_of_later_versions():
    bench = Bench("a")
    bench.client("c", ("s", *ALL))
    content = (*as_tuple(Resent(publication(1))), "a later field")
    bench.say(bench.links["a"], Carry(1, content))
    assert len(bench.clients["c"].queue) == 1
