"""The calls of a move, and all that can go wrong with one."""

from __future__ import annotations

import pytest
from tests.brokers.protocol.bench import ALL, Bench, carried, connect, sent

from fanwise.brokers.messages import (
    Accept,
    Cancel,
    Carry,
    Covered,
    Decline,
    Deliver,
    LinkOpen,
    Moved,
    MoveReady,
    Publish,
    Redirect,
    Refused,
    Released,
    Replicate,
    Replicated,
    ReplicateRefused,
    RequestToMove,
    Resent,
    RoutesKnown,
    Superseded,
    Takeover,
    Undo,
    Welcome,
    from_tuple,
)
from fanwise.brokers.protocol.effects import Disk, Propose

POINT = (0.5,)
ASK = Propose("c", "f", "load", 2.5, 9)


def home(**changed):
    """A home ``b`` with client ``c``, and a foreign broker ``f`` to which it is asked to move."""
    bench = Bench("f", **changed)
    client = bench.client("c", ("s", *ALL))
    bench.wait(0.05)
    bench.know("f")
    bench.effects.clear()
    return bench, client


def handing_over(**changed):
    """The same, with the ticket given."""
    bench, client = home(**changed)
    bench.say(client, Publish(1, POINT, b""))
    bench.give(ASK)
    bench.say(client, Accept(9))
    before = len(bench.effects)
    bench.say(bench.links["f"], Replicated(9, 77, "c"))
    (ready,) = sent(bench.effects[before:], client, MoveReady)
    return bench, client, ready


def outcome(bench):
    return [note["outcome"] for note in bench.notes("move")]


# ---------------------------------------------------------------- as home


def test_a_move_from_the_request_to_the_end():
    bench, client, ready = handing_over()
    assert sent(bench.effects, client, RequestToMove) == [RequestToMove(9, "f", "f:1", "load", 2.5)]
    assert sent(bench.effects, bench.links["f"], Replicate) == [
        Replicate(9, "c", 2, 1.0, 1, (("s", *ALL),), ((1, ("c", 1, POINT, b"")),))
    ]
    assert ready == MoveReady(9, "f", "f:1", 77, 2)
    # Delivers nothing from here on, but keeps it.
    before = len(bench.effects)
    publisher = bench.client("p")
    bench.say(publisher, Publish(1, POINT, b"x"))
    assert not sent(bench.effects[before:], client, Deliver)
    # It is there: what was not replicated follows, and all that comes.
    answer = bench.carry("f", Moved(9, "c", 2))
    assert [Redirect("c", ("p", 1, POINT, b"x"))] == carried_of(answer)
    assert outcome(bench) == ["moved"]
    assert client in bench.closed()
    assert bench.machine.core.state.load == 1.0
    before = len(bench.effects)
    bench.say(publisher, Publish(2, POINT, b"y"))
    assert carried(bench.effects[before:], bench.links["f"]) == [
        Redirect("c", ("p", 2, POINT, b"y"))
    ]
    # Everybody knows the routes to the foreign broker, and the time is over.
    bench.wait(6.0)
    assert bench.carry("f", Covered("c", 2)) == []
    bench.wait(0.1)
    assert bench.clients["c"].is_withdrawn
    before = len(bench.effects)
    bench.know("f")
    assert carried(bench.effects[before:], bench.links["f"]) == [Released("c", 2)]
    assert "c" not in bench.clients


def carried_of(messages):

    return [from_tuple(message.content) for message in messages if isinstance(message, Carry)]


def test_routes_go_only_when_nothing_comes_by_them_any_more():
    bench, _, _ = handing_over()
    bench.carry("f", Moved(9, "c", 2))
    bench.carry("f", Covered("c", 2))
    bench.wait(5.5)
    assert bench.clients["c"].is_withdrawn
    version = bench.machine.core.state.version

    # The other broker had sent two more before it knew; they come first.
    bench.say(bench.links["f"], RoutesKnown(version, bench.received["f"] + 2))
    assert "c" in bench.clients
    before = len(bench.effects)
    for number in (1, 2):
        bench.carry("f", publication_by_tree(number))
    assert [m.publication[1] for m in carried(bench.effects[before:], bench.links["f"])
            if isinstance(m, Redirect)] == [1, 2]  # fmt: skip
    bench.wait(0.1)
    assert "c" not in bench.clients


def publication_by_tree(number):

    return Resent(("p", number, POINT, b""))


def test_the_time_to_redirect_passes_before_routes_settle():
    bench, _, _ = handing_over(redirect_seconds=1.0)
    bench.carry("f", Moved(9, "c", 2))
    bench.wait(1.5)
    assert bench.notes("ttl") == [{"client": "c", "waiting": True}]
    assert bench.clients["c"].role == "leaving"
    bench.carry("f", Covered("c", 2))
    assert bench.clients["c"].is_withdrawn


def test_routes_settle_before_the_time_to_redirect_passes():
    bench, _, _ = handing_over(redirect_seconds=1.0)
    bench.carry("f", Moved(9, "c", 2))
    bench.carry("f", Covered("c", 2))
    assert not bench.clients["c"].is_withdrawn
    bench.wait(1.5)
    assert bench.clients["c"].is_withdrawn
    assert not bench.notes("ttl")


def test_the_client_declines():
    bench, client = home()
    bench.give(ASK)
    bench.say(client, Decline(9, "sticky"))
    assert outcome(bench) == ["declined: sticky"]
    assert bench.say(client, Accept(9)) == []
    bench.give(ASK)
    assert len(sent(bench.effects, client, RequestToMove)) == 2


def test_the_client_does_not_answer():
    bench, client = home()
    bench.give(ASK)
    bench.wait(6.0)
    assert outcome(bench) == ["no answer from the client"]
    assert not sent(bench.effects, bench.links["f"], Replicate)
    assert bench.say(client, Accept(9)) == []


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        (Propose("x", "f", "", 0.0), "not here"),
        (Propose("c", "x", "", 0.0), "not linked"),
    ],
)
def test_what_cannot_be_asked(proposal, why):
    bench, _ = home()
    bench.give(proposal)
    assert outcome(bench) == [why]


def test_one_move_at_a_time():
    bench, _ = home()
    bench.give(ASK)
    bench.give(Propose("c", "f", "", 0.0, 10))
    assert outcome(bench) == ["is moving"]


def test_the_client_goes_away_before_it_has_answered():
    bench, client = home()
    bench.give(ASK)
    bench.lose(client)
    assert outcome(bench) == ["client is not connected"]


@pytest.mark.parametrize("code", ["no room", "full disk", "not ready", "busy", "superseded"])
def test_the_foreign_broker_refuses(code):
    bench, client = home()
    bench.give(ASK)
    bench.say(client, Accept(9))
    bench.say(bench.links["f"], ReplicateRefused(9, code))
    assert outcome(bench) == [f"refused: {code}"]
    before = len(bench.effects)
    bench.say(client, Publish(1, POINT, b""))
    assert sent(bench.effects[before:], client, Deliver)


def test_the_foreign_broker_does_not_answer():
    bench, client = home()
    bench.give(ASK)
    bench.say(client, Accept(9))
    effects = bench.wait(6.0)
    assert outcome(bench) == ["no answer from the broker"]
    assert Cancel(9, "c") in carried(effects, bench.links["f"])
    # An answer that comes after all is answered by the same.
    answer = bench.say(bench.links["f"], Replicated(9, 77, "c"))
    assert Cancel(9, "c") in carried_of(answer)
    assert not sent(bench.effects, client, MoveReady)


def test_the_link_breaks_while_the_state_is_given():
    bench, client = home()
    bench.give(ASK)
    bench.say(client, Accept(9))
    bench.lose(bench.links["f"])
    assert outcome(bench) == ["link lost"]
    before = len(bench.effects)
    bench.links["f"] = bench.link("f")
    assert carried(bench.effects[before:], bench.links["f"]) == [Cancel(9, "c")]


def test_the_client_goes_away_while_the_state_is_given():
    bench, client = home()
    bench.give(ASK)
    bench.say(client, Accept(9))
    effects = bench.lose(client)
    assert carried(effects, bench.links["f"]) == [Cancel(9, "c")]
    assert outcome(bench) == ["client is not connected"]


def test_the_client_cannot_reach_the_foreign_broker_and_undoes():
    bench, client, _ = handing_over()
    before = len(bench.effects)
    answer = bench.say(client, Undo(9, 3, 0, 1, (("s", *ALL),)))
    assert answer[0] == Welcome(3, 1, (("f", "f:1"),))
    assert [m.number for m in answer if isinstance(m, Deliver)] == [1]
    said = carried(bench.effects[before:], bench.links["f"])
    # All know the routes to here already.
    assert said == [Cancel(9, "c"), Takeover("c", 3), Covered("c", 3)]
    assert outcome(bench) == ["came back"]
    # What the foreign broker may say now is void.
    assert carried_of(bench.carry("f", Moved(9, "c", 2))) == [Released("c", 2)]
    assert bench.clients["c"].role == "home"


def test_the_client_comes_back_without_knowing_of_the_ticket():
    bench, client, _ = handing_over()
    bench.lose(client)
    again = bench.open("client", "c")
    before = len(bench.effects)
    answer = bench.say(again, connect(("s", *ALL), home="b"))
    assert isinstance(answer[0], Welcome)
    assert Deliver(1, "c", 1, POINT, b"") in answer
    assert carried(bench.effects[before:], bench.links["f"]) == [Cancel(9, "c")]


def test_an_undo_of_what_is_over_is_refused():
    bench, client = home()
    assert bench.say(client, Undo(9, 1, 0, 0, ())) == [Refused("superseded", epoch=1)]
    stranger = bench.open("client", "x")
    assert bench.say(stranger, Undo(9, 3, 0, 0, ())) == [Refused("superseded", epoch=0)]


def test_the_home_is_killed_after_it_gave_the_ticket():
    bench, _, _ = handing_over()
    bench.restart()
    assert bench.clients["c"].is_handing_over
    session = bench.links["f"] = bench.open("broker", "f")

    bench.say(session, LinkOpen(0, 1, 0, -1, 1))
    bench.carry("f", Moved(9, "c", 2))
    assert bench.clients["c"].role == "leaving"
    bench.restart()
    assert bench.clients["c"].role == "leaving"


def test_the_client_is_found_elsewhere_while_it_moves():
    bench = Bench("f", "g")
    client = bench.client("c", ("s", *ALL))
    bench.give(ASK)
    bench.say(client, Accept(9))
    bench.say(bench.links["f"], Replicated(9, 77, "c"))
    answer = bench.carry("g", Takeover("c", 3))
    assert outcome(bench) == ["went elsewhere"]
    assert sent(bench.effects, client, Superseded) == [Superseded(3)]
    assert answer == []
    assert bench.clients["c"].target == "g"


# ---------------------------------------------------------------- as foreign broker


def replicate(epoch=2, demand=1.0, move=9, waits=()):
    return Replicate(move, "c", epoch, demand, 4, (("s", *ALL),), waits)


def prepared(**changed):
    bench = Bench("f", **changed)
    waits = tuple((n, ("p", n, POINT, b"")) for n in (5, 6, 7))
    (answer,) = bench.say(bench.links["f"], replicate(waits=waits))
    return bench, answer.ticket


def test_state_and_room_are_kept_and_routes_told_before_the_client_comes():
    bench, _ = prepared()
    assert bench.machine.core.state.load == 1.0
    assert len(bench.machine.core.state.routes) == 1
    publisher = bench.client("p")
    bench.say(publisher, Publish(1, POINT, b""))
    # It still comes by its home.
    assert len(bench.clients["c"].queue) == 3
    bench.restart()
    assert bench.clients["c"].role == "prepared"


def test_the_client_comes_with_its_ticket():
    bench, ticket = prepared()
    client = bench.open("client", "c")
    before = len(bench.effects)
    answer = bench.say(
        client, connect(("s", *ALL), epoch=2, ticket=ticket, previous=("f",), home="f", received=5)
    )
    assert answer[0] == Welcome(2, 1, (("f", "f:1"),))
    # What it took meanwhile is not delivered again.
    assert [m.sequence for m in answer if isinstance(m, Deliver)] == [6, 7]
    assert carried(bench.effects[before:], bench.links["f"]) == [Moved(9, "c", 2)]
    before = len(bench.effects)
    bench.wait(0.05)
    bench.know("f")
    assert carried(bench.effects[before:], bench.links["f"]) == [Covered("c", 2)]
    bench.carry("f", Released("c", 2))
    assert not bench.clients["c"].sources


def test_what_is_redirected_comes_but_not_by_subscriptions_that_have_ended():
    bench, ticket = prepared()
    client = bench.open("client", "c")
    wanted = ("t", (0.0,), (0.4,))
    bench.say(client, connect(wanted, epoch=2, ticket=ticket, home="f", received=7))
    bench.carry("f", Redirect("c", ("p", 8, (0.3,), b"")))
    bench.carry("f", Redirect("c", ("p", 9, (0.5,), b"")))
    assert [p[1] for _, p in bench.clients["c"].queue] == [8]
    bench.carry("f", Redirect("unknown", ("p", 9, (0.5,), b"")))


@pytest.mark.parametrize(("ticket", "epoch"), [(1, 2), (None, 3)])
def test_a_wrong_ticket_is_refused(ticket, epoch):
    bench, right = prepared()
    client = bench.open("client", "c")
    answer = bench.say(client, connect(epoch=epoch, ticket=ticket or right))
    assert answer == [Refused("ticket")]
    assert bench.clients["c"].role == "prepared"


def test_a_ticket_expires():
    bench, ticket = prepared(prepared_seconds=3.0)
    bench.wait(3.5)
    assert bench.notes("dropped") == [{"client": "c", "move": 9, "why": "expired"}]
    assert bench.machine.core.state.load == 0
    client = bench.open("client", "c")
    assert bench.say(client, connect(epoch=2, ticket=ticket)) == [Refused("ticket")]


def test_a_move_is_cancelled():
    bench, _ = prepared()
    bench.carry("f", Cancel(8, "c"))
    assert "c" in bench.clients
    bench.carry("f", Cancel(9, "c"))
    assert "c" not in bench.clients
    assert not bench.machine.core.state.routes


def test_the_client_went_elsewhere():
    bench, _ = prepared()
    assert carried_of(bench.carry("f", Takeover("c", 3))) == [Released("c", 3)]
    assert "c" not in bench.clients
    # What was sent before, on a connection that the client has given up, is too late.
    client = bench.open("client", "c")
    assert bench.say(client, connect(epoch=2)) == [Refused("superseded", epoch=3)]


def test_the_welcome_is_lost_and_the_client_has_gone_back():
    bench, ticket = prepared()
    client = bench.open("client", "c")
    bench.say(client, connect(("s", *ALL), epoch=2, ticket=ticket, previous=("f",), home="f"))
    bench.lose(client)
    answer = carried_of(bench.carry("f", Takeover("c", 3)))
    assert [m.publication[1] for m in answer] == [5, 6, 7]
    assert bench.clients["c"].role == "leaving"


@pytest.mark.parametrize(
    ("code", "prepare"),
    [
        ("no room", lambda bench: [bench.client(name) for name in "xyz"]),
        ("full disk", lambda bench: bench.give(Disk(True))),
        ("not ready", lambda bench: setattr(bench.machine.core, "is_departing", True)),
        ("superseded", lambda bench: bench.client("c", epoch=5)),
    ],
)
def test_a_client_is_not_taken(code, prepare):
    bench = Bench("f")
    prepare(bench)
    assert bench.say(bench.links["f"], replicate()) == [ReplicateRefused(9, code)]


def test_a_client_is_not_taken_while_it_leaves_from_here():
    bench = Bench("f")
    bench.client("c", ("s", *ALL))
    bench.carry("f", Takeover("c", 2))
    assert bench.say(bench.links["f"], replicate(epoch=3)) == [ReplicateRefused(9, "busy")]
    assert bench.say(bench.links["f"], replicate(epoch=2)) == [ReplicateRefused(9, "superseded")]


def test_room_is_kept_once_for_moves_that_follow_each_other():
    bench, _ = prepared(capacity=1)
    (answer,) = bench.say(bench.links["f"], replicate(epoch=3, move=10))
    assert isinstance(answer, Replicated)
    assert bench.machine.core.state.load == 1.0
    assert bench.say(bench.links["f"], replicate(epoch=2)) == [ReplicateRefused(9, "superseded")]


def test_what_the_home_rejected_may_be_published_there():
    bench, client = home()
    bench.say(client, Publish(2, POINT, b""))
    bench.give(ASK)
    bench.say(client, Accept(9))
    (replica,) = sent(bench.effects, bench.links["f"], Replicate)
    # The first one has not come, or was rejected: only what is before it is sure.
    assert replica.published == 0
