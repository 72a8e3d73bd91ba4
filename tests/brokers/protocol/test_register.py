from __future__ import annotations

import pytest
from tests.brokers.protocol.bench import ALL, Bench, sent

from fanwise.brokers.messages import (
    NotRegistered,
    Publish,
    Register,
    Registered,
    Routes,
    RoutesKnown,
    Settled,
    Unregister,
    Unregistered,
)
from fanwise.brokers.protocol.effects import Disk, Record


def test_a_subscription_is_on_disk_before_it_is_confirmed():
    bench = Bench()
    client = bench.client("c")
    before = len(bench.effects)
    assert bench.say(client, Register("s", *ALL))[0] == Registered("s")
    assert isinstance(bench.effects[before], Record)
    bench.restart()
    assert bench.clients["c"].wanted() == (("s", *ALL),)


def test_it_is_settled_when_others_know_it_and_everywhere_when_all_do():
    bench = Bench("a", "z")
    client = bench.client("c")
    bench.lose(bench.links["z"])
    assert bench.say(client, Register("s", *ALL)) == [Registered("s")]
    told = sent(bench.wait(0.1), bench.links["a"], Routes)
    assert [route[1:] for route in told[0].added] == [ALL]
    version = told[0].version
    before = len(bench.effects)
    bench.say(bench.links["a"], RoutesKnown(version, 0))
    assert sent(bench.effects[before:], client) == [Settled(("s",), False)]
    before = len(bench.effects)
    bench.links["z"] = bench.link("z", knows=-1)
    assert sent(bench.effects[before:], bench.links["z"], Routes)[0].is_full
    bench.say(bench.links["z"], RoutesKnown(version, 0))
    assert sent(bench.effects[before:], client) == [Settled(("s",), True)]


def test_a_broker_alone_settles_at_once():
    bench = Bench()
    client = bench.client("c")
    bench.say(client, Register("s", *ALL))
    assert sent(bench.effects, client, Settled) == [Settled(("s",), True), Settled(("s",), False)]


def test_one_of_the_same_id_is_replaced():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.wait(0.1)
    bench.say(client, Register("s", (0.5,), (0.6,)))
    assert bench.clients["c"].wanted() == (("s", (0.5,), (0.6,)),)
    (told,) = sent(bench.wait(0.1), bench.links["a"], Routes)
    assert [route[1:] for route in told.added] == [((0.5,), (0.6,))]
    assert len(told.removed) == 2
    bench.say(client, Register("s", (0.5,), (0.6,)))
    assert not sent(bench.wait(0.1), bench.links["a"], Routes)


@pytest.mark.parametrize(
    "rectangle",
    [((1.0,), (0.0,)), ((0.0, 0.0), (1.0, 1.0)), ((float("nan"),), (1.0,)), ((0.0,), (1.0, 2.0))],
)
def test_what_is_no_rectangle_is_not_registered(rectangle):
    bench = Bench()
    client = bench.client("c")
    assert bench.say(client, Register("s", *rectangle)) == [NotRegistered("s", "invalid")]
    assert not bench.clients["c"].subscriptions


def test_nothing_is_registered_on_a_full_disk_but_ended():
    bench = Bench()
    client = bench.client("c", ("s", *ALL))
    bench.give(Disk(True))
    assert bench.say(client, Register("t", *ALL)) == [NotRegistered("t", "full disk")]
    assert bench.say(client, Unregister("s")) == [Unregistered("s")]
    bench.give(Disk(False))
    assert bench.say(client, Register("t", *ALL))[0] == Registered("t")


def test_an_ended_subscription_brings_nothing_more():
    bench = Bench("a")
    client = bench.client("c", ("s", *ALL))
    bench.wait(0.1)
    assert bench.say(client, Unregister("s")) == [Unregistered("s")]
    assert bench.say(client, Unregister("unknown")) == [Unregistered("unknown")]
    bench.say(client, Publish(1, (0.5,), b""))
    assert not bench.clients["c"].queue
    (told,) = sent(bench.wait(0.1), bench.links["a"], Routes)
    assert len(told.removed) == 1
    assert not told.added


def test_subscriptions_in_a_covering_rectangle_are_not_told_singly():
    bench = Bench("a", covers=(((0.0,), (0.5,)),))
    client = bench.client("c")
    bench.wait(0.1)
    bench.say(client, Register("in", (0.1,), (0.5,)))
    bench.say(client, Register("out", (0.1,), (0.6,)))
    (told,) = sent(bench.wait(0.1), bench.links["a"], Routes)
    assert [route[1:] for route in told.added] == [((0.1,), (0.6,))]
    bench.lose(bench.links["a"])
    before = len(bench.effects)
    link = bench.link("a", knows=-1)
    (full,) = sent(bench.effects[before:], link, Routes)
    assert sorted(route[1:] for route in full.added) == [((0.0,), (0.5,)), ((0.1,), (0.6,))]


def test_other_covering_rectangles_after_a_restart_are_told():
    bench = Bench("a", covers=(((0.0,), (0.5,)),))
    bench.client("c", ("s", (0.1,), (0.4,)))
    version = bench.machine.core.state.version
    bench.settings = Bench(covers=(((0.7,), (0.8,)),)).settings
    bench.restart()
    assert bench.machine.core.state.version > version
    assert sorted(bench.machine.core.state.routes.values()) == [
        ((0.1,), (0.4,)),
        ((0.7,), (0.8,)),
    ]
