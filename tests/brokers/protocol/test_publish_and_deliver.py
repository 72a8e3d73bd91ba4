from __future__ import annotations

import pytest
from tests.brokers.protocol.bench import ALL, Bench, sent

from fanwise.brokers.messages import (
    Bye,
    Connect,
    Deliver,
    Forward,
    Publish,
    Published,
    Received,
    Rejected,
    Welcome,
)
from fanwise.brokers.protocol.effects import Disk, Record

POINT = (0.5,)


def test_a_publication_is_on_disk_before_it_is_confirmed_and_delivered():
    bench = Bench()
    publisher, subscriber = bench.client("p"), bench.client("c", ("s", *ALL))
    before = len(bench.effects)
    assert bench.say(publisher, Publish(1, POINT, b"x")) == [Published(1)]
    assert isinstance(bench.effects[before], Record)
    assert sent(bench.effects[before:], subscriber) == [Deliver(1, "p", 1, POINT, b"x")]


def test_it_goes_to_brokers_whose_routes_have_the_point():
    bench = Bench("a", "y", "z")
    publisher = bench.client("p")
    bench.routes("a", (1, (0.0,), (0.5,)), (2, (0.2,), (0.7,)))
    bench.routes("z", (1, (0.5,), (1.0,)))
    bench.routes("y", (1, (0.6,), (1.0,)))
    before = len(bench.effects)
    bench.say(publisher, Publish(1, POINT, b"x"))
    for name, times in (("a", 1), ("z", 1), ("y", 0)):
        messages = sent(bench.effects[before:], bench.links[name], Forward)
        assert len(messages) == times
        for message in messages:
            assert message.numbers == {name: 1}
            assert message.publication == ("p", 1, POINT, b"x")


@pytest.mark.parametrize("point", [(0.5, 0.5), (), (float("nan"),), (float("inf"),)])
def test_what_is_no_point_is_rejected(point):
    bench = Bench()
    client = bench.client("c", ("s", *ALL))
    assert bench.say(client, Publish(1, point, b"")) == [Rejected(1, "invalid")]


def test_nothing_is_taken_on_a_full_disk():
    bench = Bench()
    client = bench.client("c", ("s", *ALL))
    bench.give(Disk(True))
    assert bench.say(client, Publish(1, POINT, b"")) == [Rejected(1, "full disk")]
    bench.give(Disk(False))
    assert bench.say(client, Publish(2, POINT, b""))[0] == Published(2)
    # It comes again, if the answer was lost, and then is taken.
    assert bench.say(client, Publish(1, POINT, b""))[0] == Published(1)
    assert [number for number, _ in bench.clients["c"].queue] == [1, 2]


def test_a_publication_is_rejected_where_too_much_waits():
    bench = Bench("a", most_waiting=2)
    client = bench.client("c")
    bench.routes("a", (1, (0.0,), (1.0,)))
    bench.lose(bench.links["a"])
    answers = [bench.say(client, Publish(n, POINT, b""))[0] for n in (1, 2, 3)]
    assert answers == [Published(1), Published(2), Rejected(3, "no room")]


def test_a_publication_that_comes_again_is_confirmed_again_and_not_doubled():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.routes("a", (1, (0.0,), (1.0,)))
    bench.say(client, Publish(1, POINT, b""))
    bench.restart()
    session = bench.open("client", "c")
    bench.say(session, Connect(1, 0, (), "b", 0, 0, 1.0, (("s", *ALL),)))
    assert bench.say(session, Publish(1, POINT, b"")) == [Published(1)]
    assert len(bench.clients["c"].queue) == 1
    assert len(bench.machine.core.state.members["a"].stream) == 1


def test_deliveries_keep_to_the_window():
    bench = Bench()
    client = bench.client("c", ("s", *ALL))
    for number in range(1, 6):
        bench.say(client, Publish(number, POINT, b""))
    delivered = [message.number for message in sent(bench.effects, client, Deliver)]
    assert delivered == [1, 2]
    answer = bench.say(client, Received(2))
    assert [message.number for message in answer] == [3, 4]
    # What was never delivered cannot be confirmed.
    assert bench.say(client, Received(9)) == []
    assert len(bench.clients["c"].queue) == 3


def test_undelivered_publications_wait_for_the_client_to_come_back():
    bench = Bench()
    client = bench.client("c", ("s", *ALL))
    bench.say(client, Publish(1, POINT, b""))
    bench.say(client, Publish(2, POINT, b""))
    bench.say(client, Bye())
    assert client in bench.closed()
    again = bench.open("client", "c")
    # It has taken the first one; the confirmation was lost.
    answer = bench.say(again, Connect(1, 0, (), "b", 1, 2, 1.0, (("s", *ALL),)))
    assert answer[0] == Welcome(1, 2, ())
    assert [message.number for message in answer if isinstance(message, Deliver)] == [2]


def test_a_client_that_stays_away_is_given_up():
    bench = Bench(absent_seconds=10.0)
    client = bench.client("c", ("s", *ALL))
    bench.say(client, Publish(1, POINT, b""))
    bench.lose(client)
    bench.wait(9.0)
    again = bench.open("client", "c")
    bench.say(again, Connect(1, 0, (), "b", 0, 1, 1.0, (("s", *ALL),)))
    bench.wait(9.0)
    assert "c" in bench.clients
    bench.lose(again)
    bench.wait(11.0)
    assert bench.notes("expired") == [{"client": "c", "undelivered": 1}]
    assert not bench.clients
    assert bench.machine.core.state.load == 0


def test_strangers_cannot_speak_for_clients_or_brokers():
    bench = Bench("a")
    tool = bench.open("tool", "t")
    assert bench.say(tool, Publish(1, POINT, b"")) == []
    waiting = bench.open("client", "c")
    assert bench.say(waiting, Publish(1, POINT, b"")) == []
    assert [note["why"] for note in bench.notes("protocol")] == ["sent Publish"]
    client = bench.client("d")
    bench.say(client, Forward("a", 7, {"b": 1}, ("p", 1, POINT, b"")))
    assert bench.machine.core.state.members["a"].received == 0


def test_a_sequence_far_ahead_is_invalid():
    bench = Bench()
    client = bench.client("c")
    assert bench.say(client, Publish(10**12, POINT, b"")) == [Rejected(10**12, "invalid")]
    # A client that counts from far on says so when it comes.
    other = bench.client("d", published=10**12)
    assert bench.say(other, Publish(10**12 + 1, POINT, b"")) == [Published(10**12 + 1)]
