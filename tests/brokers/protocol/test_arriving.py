"""Who is taken in, who is refused, and how a broker's death is survived."""

from __future__ import annotations

import pytest
from tests.brokers.protocol.bench import ALL, Bench, carried, connect, sent

from fanwise.brokers.messages import (
    REFUSALS,
    Bye,
    Carry,
    Clients,
    Covered,
    Decline,
    Deliver,
    Forwarded,
    Heartbeat,
    Leave,
    ListClients,
    MoveClient,
    Moved,
    MoveEnded,
    NotDone,
    Publish,
    Redirect,
    Refused,
    Released,
    RequestToMove,
    Summary,
    Superseded,
    Takeover,
    View,
    Welcome,
    from_tuple,
)
from fanwise.brokers.protocol.effects import Demands, Depart, Disk, Heard, Tell

POINT = (0.5,)


@pytest.mark.parametrize(
    ("code", "prepare", "message"),
    [
        ("no room", lambda bench: [bench.client(name) for name in "xyz"], connect()),
        ("no room", lambda bench: None, connect(demand=3.5)),
        ("full disk", lambda bench: bench.give(Disk(True)), connect()),
        ("not ready", lambda bench: bench.give(Depart()), connect()),
        ("ticket", lambda bench: None, connect(ticket=5)),
        ("invalid", lambda bench: None, connect(("s", (1.0,), (0.0,)))),
        ("superseded", lambda bench: bench.client("c", epoch=4), connect(epoch=3)),
    ],
)
def test_a_client_is_refused(code, prepare, message):
    bench = Bench("a")
    prepare(bench)
    client = bench.open("client", "c")
    (answer,) = bench.say(client, message)
    assert (type(answer), answer.code) == (Refused, code)
    assert code in REFUSALS
    assert client not in bench.closed()


def test_a_client_without_a_name_is_refused():
    bench = Bench()
    session = bench.open("client", "")
    assert bench.say(session, connect()) == [Refused("name")]


def test_a_client_at_home_is_taken_in_again_whatever_is_full():
    bench = Bench(capacity=1)
    bench.client("c", ("s", *ALL))
    bench.give(Disk(True))
    again = bench.open("client", "c")
    assert isinstance(bench.say(again, connect(("s", *ALL), home="b"))[0], Welcome)
    later = bench.open("client", "c")
    assert bench.say(later, connect(("s", *ALL), home="b", epoch=2))[0].epoch == 2
    assert bench.closed() >= {again}


def test_who_comes_at_the_same_epoch_and_was_never_welcome_is_somebody_else():
    bench = Bench()
    first = bench.client("c", ("s", *ALL))
    second = bench.open("client", "c")
    assert bench.say(second, connect(home="")) == [Refused("superseded", epoch=1)]
    assert first not in bench.closed()
    assert bench.say(second, connect(home="", epoch=2))[0].epoch == 2
    assert sent(bench.effects, first, Superseded) == [Superseded(2)]
    assert first in bench.closed()
    again = bench.open("client", "c")
    assert bench.say(again, connect(home="b")) == [Refused("superseded", epoch=2)]
    assert second not in bench.closed()


def test_its_subscriptions_are_those_it_comes_with():
    bench = Bench()
    first = bench.client("c", ("s", *ALL), ("t", *ALL))
    bench.lose(first)
    again = bench.open("client", "c")
    bench.say(again, connect(("t", *ALL), ("u", (0.0,), (0.1,)), home="b"))
    assert bench.clients["c"].wanted() == (("t", *ALL), ("u", (0.0,), (0.1,)))


def test_takeover_when_the_home_cannot_be_reached():
    bench = Bench("a")
    bench.lose(bench.links["a"])
    client = bench.open("client", "c")
    answer = bench.say(client, connect(("s", *ALL), epoch=2, previous=("a", "gone"), home="a"))
    assert answer[0].epoch == 2
    # The home hears of it once it is back.
    before = len(bench.effects)
    bench.links["a"] = bench.link("a")
    assert carried(bench.effects[before:], bench.links["a"])[0] == Takeover("c", 2)
    bench.carry("a", Redirect("c", ("p", 1, POINT, b"")))
    assert sent(bench.effects, client, Deliver)
    bench.carry("a", Released("c", 2))
    assert not bench.clients["c"].sources


def test_the_home_is_back_and_hears_of_the_takeover():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.say(client, Publish(1, POINT, b""))
    answer = stream(bench.carry("a", Takeover("c", 2)))
    assert answer == [Redirect("c", ("c", 1, POINT, b""))]
    assert sent(bench.effects, client, Superseded) == [Superseded(2)]
    # Said twice, it is done once.
    assert stream(bench.carry("a", Takeover("c", 2))) == []
    # An older one is void.
    assert stream(bench.carry("a", Takeover("c", 1))) == [Released("c", 1)]


def stream(messages):
    return [from_tuple(message.content) for message in messages if isinstance(message, Carry)]


def test_a_takeover_of_an_unknown_client_is_answered():
    bench = Bench("a")
    assert stream(bench.carry("a", Takeover("c", 2))) == [Released("c", 2)]


def test_a_broker_that_believes_to_be_the_home_is_corrected():
    bench = Bench("a")
    bench.client("c", epoch=5)
    answer = stream(bench.carry("a", Takeover("c", 3)))
    assert answer[:2] == [Released("c", 3), Takeover("c", 5)]


def test_a_client_that_comes_back_is_not_redirected_any_more():
    bench = Bench("a")
    bench.client("c", ("s", *ALL))
    bench.carry("a", Takeover("c", 2))
    client = bench.open("client", "c")
    before = len(bench.effects)
    bench.say(client, connect(("s", *ALL), epoch=3, previous=("a",), home="a"))
    said = carried(bench.effects[before:], bench.links["a"])
    assert said[:2] == [Released("c", 2), Takeover("c", 3)]
    assert bench.clients["c"].sources == {"a": 3}


def test_a_client_goes_on_while_it_still_is_redirected():
    bench = Bench("a", "z")
    bench.client("c", ("s", *ALL), epoch=2, previous=("z",))
    bench.carry("a", Takeover("c", 3))
    # What the first home still has passes through.
    before = len(bench.effects)
    bench.carry("z", Redirect("c", ("p", 1, POINT, b"")))
    assert Redirect("c", ("p", 1, POINT, b"")) in carried(bench.effects[before:], bench.links["a"])
    # It is covered by the home of now, and so is who redirects to here.
    before = len(bench.effects)
    bench.carry("a", Covered("c", 3))
    assert Covered("c", 3) in carried(bench.effects[before:], bench.links["z"])
    bench.wait(6.0)
    bench.know("a")
    bench.know("z")
    bench.wait(0.1)
    assert "c" in bench.clients
    bench.carry("z", Released("c", 2))
    assert "c" not in bench.clients


def test_a_client_that_goes_on_after_its_routes_were_taken_back_is_forgotten():
    bench = Bench("a", "y", "z")
    bench.client("c", ("s", *ALL))
    bench.carry("a", Takeover("c", 2))
    bench.carry("a", Covered("c", 2))
    bench.wait(5.5)
    assert bench.clients["c"].is_withdrawn
    # One knows it already, and nothing more comes from it.
    bench.know("y")
    bench.carry("z", Takeover("c", 3))
    assert bench.clients["c"].target == "z"
    bench.know("a")
    bench.know("z")
    bench.wait(0.1)
    assert "c" not in bench.clients


def test_a_broker_that_has_left_is_waited_for_no_more():
    bench = Bench("a", "z")
    bench.client("c", ("s", *ALL), epoch=2, previous=("z",))
    bench.client("d", ("s", *ALL))
    bench.carry("z", Moved(1, "d", 2))
    rows = tuple(row for row in bench.view.brokers if row[0] != "z")
    bench.say(bench.directory, View(2, rows))
    assert not bench.clients["c"].sources
    assert "d" not in bench.clients
    assert set(bench.machine.core.state.members) == {"a"}
    # A view from before changes nothing.
    bench.say(bench.directory, bench.view)
    assert set(bench.machine.core.state.members) == {"a"}


# ---------------------------------------------------------------- departing, operators


def test_a_broker_departs():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.lose(bench.client("away"))
    bench.give(Depart())
    (request,) = sent(bench.effects, client, RequestToMove)
    assert request.to == "a"
    assert Heartbeat(2.0, False) in sent(bench.wait(1.5), bench.directory)
    assert not sent(bench.effects, bench.directory, Leave)
    for name in ("c", "away"):
        bench.carry("a", Takeover(name, 2))
        bench.carry("a", Covered(name, 2))
    bench.wait(6.0)
    bench.know("a")
    bench.wait(0.1)
    assert not bench.clients
    from_stream = bench.machine.core.state.members["a"].stream

    before = len(bench.effects)
    bench.say(bench.links["a"], Forwarded(from_stream.last))
    assert sent(bench.effects[before:], bench.directory) == [Leave("b")]
    # Not before the directory has it on disk.
    bench.say(bench.directory, NotDone("full disk"))
    assert not bench.notes("left")
    assert Leave("b") in sent(bench.wait(1.5), bench.directory)
    rows = tuple(row for row in bench.view.brokers if row[0] != "b")
    bench.say(bench.directory, View(2, rows))
    assert bench.notes("left")


def test_clients_that_do_not_move_are_sent_away_by_a_broker_that_departs():
    bench = Bench("a")
    client = bench.client("c")
    bench.give(Depart())

    (request,) = sent(bench.effects, client, RequestToMove)
    assert Bye("departs") in bench.say(client, Decline(request.move, "never"))
    assert client in bench.closed()


def test_a_broker_that_an_operator_removed_says_so():
    bench = Bench("a")
    bench.say(bench.directory, View(2, bench.view.brokers[:1]))
    assert bench.notes("expelled")
    assert not bench.notes("left")


def test_operators_see_clients_and_move_them():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    tool = bench.open("tool", "t")
    (answer,) = bench.say(tool, ListClients())
    assert answer == Clients((("c", 1, 1.0, True, (), (ALL,)),), 3, 1.0)
    assert bench.machine.clients() == {"c": ((), 1.0, (ALL,))}
    bench.say(tool, MoveClient(4, "c", "a", "plan", 1.0))
    assert sent(bench.effects, client, RequestToMove)[0].reason == "plan"
    before = len(bench.effects)
    bench.lose(client)
    ended = sent(bench.effects[before:], tool)
    assert ended == [MoveEnded(4, "c", "a", "client is not connected")]
    (ended,) = bench.say(tool, MoveClient(5, "x", "a", "plan", 1.0))
    assert ended.outcome == "not here"


def test_counts_are_of_what_is_there():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.say(client, Publish(1, POINT, b""))
    counts = bench.machine.counts()
    assert (counts["clients"], counts["undelivered"], counts["linked"]) == (1, 1, 1)
    assert counts["load"] == 1.0


def test_summaries_and_demands():
    bench = Bench("a", "z")
    bench.client("c")
    summary = Summary(3, {"c": 1.0})
    effects = bench.give(Tell(None, summary))
    assert [e.message for e in effects] == [summary, summary]
    assert len(bench.give(Tell("a", summary))) == 1
    bench.effects.clear()
    bench.say(bench.links["z"], summary)
    assert bench.effects == [Heard("z", summary)]
    bench.give(Demands({"c": 2.5, "unknown": 1.0}))
    assert bench.machine.core.state.load == 2.5
    bench.restart()
    assert bench.clients["c"].demand == 2.5


@pytest.mark.parametrize(
    "rows", [(("s", None, None),), (("s",),), ((1, (0.0,), (1.0,)),), (("s", ("x",), (1.0,)),)]
)
def test_what_no_client_of_ours_sends_is_invalid(rows):
    bench = Bench()
    session = bench.open("client", "c")
    assert bench.say(session, connect(*rows)) == [Refused("invalid")]
