"""Client and publisher with real brokers and a forwarder: each message once, whatever is killed."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from tests.service.forwarding.forwarders import Setting, wait_until
from tests.service.servers import Mosquitto

from fanwise.client import AsyncClient, AsyncPublisher, Client, Publisher

TOPICS = {"news": 0, "chat/room": 0, "cats": 1, "dogs": 1}
"""Served or not, at first."""


def place(broker: Mosquitto) -> str:
    return f"127.0.0.1:{broker.port}"


@pytest.fixture
def setting():
    with Setting() as setting:
        setting.configure({"cats": ("n0",), "dogs": ("n0",)})
        setting.start()
        setting.decide(1, "news", "chat/room")
        yield setting


def client_of(setting, **more):
    edge = place(setting.edges["n0"])
    return Client(place(setting.back_end), edge, forwarders=["main"], check=0.5, **more)


def test_each_message_once_from_both_sides(setting):
    with client_of(setting) as client, Publisher(
        place(setting.ingress), forwarder="main"
    ) as publisher:  # fmt: skip
        client.subscribe("news", "chat/+", "cats")
        plain = setting.listen(setting.back_end, "#")
        for one in range(100):
            publisher.publish(list(TOPICS)[one % 4], b"%d" % one, [("colour", "red")])
        publisher.flush(30)
        got = [client.get(30) for _ in range(75)]
        assert sorted(int(one.payload) for one in got) == [n for n in range(100) if n % 4 != 3]
        assert {one.user_properties for one in got} == {(("colour", "red"),)}
        assert [one.payload for one in sorted(got, key=lambda one: one.id)] == [
            b"%d" % one for one in range(100) if one % 4 != 3
        ]
        wait_until(lambda: len(plain.heard) >= 50, "plain clients see nothing")
        wait_until(lambda: [*client.complete_through.values()] == [100], "not complete")
        with pytest.raises(TimeoutError):
            client.get(0.1)
        assert publisher.num_waiting == 0


def test_messages_across_a_switch(setting):
    with client_of(setting) as client:
        client.subscribe("#")
        sender = setting.client(setting.ingress)
        for epoch in range(2, 8):
            for one in range(20):
                sender.publish("cats", b"%d" % (epoch * 100 + one), 1)
            setting.decide(epoch, *(["cats"] if epoch % 2 else []))
        got = [client.get(30) for _ in range(120)]
        by_id = [int(one.payload) for one in sorted(got, key=lambda one: one.id)]
        assert by_id == [epoch * 100 + one for epoch in range(2, 8) for one in range(20)]


def test_doubles_of_a_forwarder_that_was_killed_are_dropped(setting):
    with client_of(setting) as client:
        client.subscribe("news", "cats")
        plain = setting.listen(setting.back_end, "news")
        for start in range(0, 400, 200):
            sender = setting.client(setting.ingress)
            for one in range(start, start + 200):
                sender.publish("news" if one % 2 else "cats", b"%d" % one, 1)
            wait_until(lambda many=start: len(plain.heard) > many // 2, "nothing comes")
            setting.kill()
            for name in ("places-0", "places-1"):  # it knows of no acknowledgement
                (setting.home / "state" / name).unlink(missing_ok=True)
            setting.start()
        got = [client.get(30) for _ in range(400)]
        assert sorted(int(one.payload) for one in got) == list(range(400))
        wait_until(lambda: len(plain.heard) > 200, "nothing was sent twice")
        wait_until(lambda: client.counts.doubles, "nothing was sent twice")
        assert client.counts.handed == 400


def test_a_client_that_was_away_gets_what_it_missed(setting):
    """The back end forgets it: nothing but the forwarder's log has the messages."""
    with client_of(setting) as client, Publisher(
        place(setting.ingress), forwarder="main"
    ) as publisher:  # fmt: skip
        client.subscribe("news", "cats")
        publisher.publish("news", b"first")
        assert client.get(30).payload == b"first"
        for broker in (setting.back_end, setting.edges["n0"]):
            broker.kill()
            for path in broker.folder.glob("*.db*"):
                path.unlink()
            broker.start()
        for one in range(700):
            publisher.publish("news" if one % 2 else "cats", b"%d" % one)
        got = [client.get(60) for _ in range(700)]
        assert sorted(int(one.payload) for one in got) == list(range(700))
        assert client.counts.lost == 0


def test_an_ingress_that_loses_everything_loses_nothing_of_a_publisher(setting):
    with client_of(setting) as client, Publisher(
        place(setting.ingress), forwarder="main"
    ) as publisher:  # fmt: skip
        client.subscribe("#")
        setting.kill()  # so that all waits in the memory of the ingress
        for one in range(500):
            publisher.publish("cats", b"%d" % one)
        wait_until(lambda: len(publisher._publisher._in_flight) == 0, "the ingress takes nothing")
        setting.ingress.kill()
        for path in setting.ingress.folder.glob("*.db*"):
            path.unlink()
        setting.ingress.start()
        setting.start()
        publisher.flush(60)
        got = [client.get(30) for _ in range(500)]
        assert [int(one.payload) for one in got] == list(range(500)), "in order, each once"


def test_a_publisher_that_the_forwarder_forgot_begins_anew(setting):
    with client_of(setting) as client, Publisher(
        place(setting.ingress), forwarder="main"
    ) as publisher:  # fmt: skip
        client.subscribe("cats")
        publisher.publish("cats", b"1")
        publisher.flush(30)
        assert client.get(30).payload == b"1"
        setting.kill()
        shutil.rmtree(setting.home / "state")
        setting.start()
        publisher.publish("cats", b"2")
        publisher.flush(30)
        assert client.get(30).payload == b"2"


def test_without_a_forwarder_that_answers_doubles_are_dropped(setting):
    edge = place(setting.edges["n0"])
    with Client(place(setting.back_end), edge, forwarders=()) as client:
        client.subscribe("news", "+")
        setting.publish("news", [b"1", b"2"])
        direct = setting.client(setting.back_end)
        direct.publish("other", b"direct", 1)
        got = {client.get(30).payload for _ in range(3)}
        assert got == {b"1", b"2", b"direct"}
        assert client.complete_through == {}


def test_async_client_and_publisher(setting):
    async def run() -> list[bytes]:
        edge = place(setting.edges["n0"])
        async with (
            AsyncClient(place(setting.back_end), edge, forwarders=["main"]) as client,
            AsyncPublisher(place(setting.ingress), forwarder="main", most_waiting=50) as publisher,
        ):
            await client.subscribe("cats", "news")
            for one in range(200):
                await publisher.publish("news" if one % 2 else "cats", b"%d" % one)
            await publisher.flush(30)
            got = [(await client.get(30)).payload for _ in range(200)]
            await client.unsubscribe("cats")
            await publisher.publish("cats", b"not wanted")
            await publisher.publish("news", b"wanted")
            return [*got, (await client.get(30)).payload]

    got = asyncio.run(run())
    assert sorted(map(int, got[:-1])) == list(range(200))
    assert got[-1] == b"wanted"


def test_the_client_needs_nothing_heavy():
    program = (
        "import sys; from fanwise.client import Client, Publisher, AsyncClient\n"
        "Client('127.0.0.1:1'); Publisher('127.0.0.1:1')\n"
        "heavy = {'numpy', 'pyarrow', 'pydantic', 'typer', 'numba'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_makes_no_sense_is_refused(setting):
    with pytest.raises(ValueError, match="host:port"):
        Client("nowhere")
    with pytest.raises(ValueError, match="name"):
        Publisher("127.0.0.1:1", name="a/b")
    with Publisher(place(setting.ingress)) as publisher:
        for topic in ("", "a/#", "fanwise/decision"):
            with pytest.raises(ValueError, match="topic"):
                publisher.publish(topic, b"")


class Load:
    """Publishers and clients of the helper while things are killed around them."""

    def __init__(self, setting: Setting, rate: float, topics: list[str]) -> None:
        self._setting, self._rate, self._topics = setting, rate, topics
        self.sent: Counter[tuple[str, bytes]] = Counter()
        self.got: list[Counter[tuple[str, bytes]]] = []
        self.clients: list[Client] = []
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self.newest = [0.0] * 3

    def __enter__(self):
        edge = place(self._setting.edges["n0"])
        for at in range(3):
            counter: Counter[tuple[str, bytes]] = Counter()
            self.got.append(counter)
            client = Client(
                place(self._setting.back_end), edge, forwarders=["main"], check=0.5,
                on_message=lambda one, counter=counter, at=at: self._hear(one, counter, at),
            )  # fmt: skip
            self.clients.append(client)
            client.__enter__()
            client.subscribe("#")
        self._threads = [
            threading.Thread(target=self._publish, args=(name,)) for name in ("ann", "bob")
        ]
        for thread in self._threads:
            thread.start()
        return self

    def _hear(self, message, counter, at):
        counter[message.topic, message.payload] += 1
        self.newest[at] = max(self.newest[at], float(message.payload.split()[2]))

    def _publish(self, name):
        with Publisher(place(self._setting.ingress), name=name, forwarder="main") as publisher:
            number = 0
            while not self._is_over.is_set():
                for _ in range(5):
                    number += 1
                    topic = self._topics[number % len(self._topics)]
                    payload = f"{name} {number} {time.monotonic()}".encode()
                    publisher.publish(topic, payload)
                    with self._lock:
                        self.sent[topic, payload] += 1
                time.sleep(5 / self._rate)
            publisher.flush(60)

    def sent_by_now(self):
        with self._lock:
            return Counter(self.sent)

    def is_normal(self, since, before):
        """Whether all clients have had all that was sent before, and something sent since then."""
        time.sleep(0.1)
        is_new = all(at > since for at in self.newest)
        return is_new and all(key in got for got in self.got for key in before)

    def finish(self):
        """Stop publishing; return how many messages were lost and doubled, over all clients."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        end = time.monotonic() + 60
        while time.monotonic() < end and any(got.total() < self.sent.total() for got in self.got):
            time.sleep(0.1)
        time.sleep(1.0)
        lost = sum((self.sent - got).total() for got in self.got)
        doubled = sum((got - self.sent).total() for got in self.got)
        return lost, doubled

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        for client in self.clients:
            client.__exit__()


def test_a_back_end_killed_under_load_loses_nothing_and_doubles_nothing(setting):
    with Load(setting, 200, list(TOPICS)) as load:
        for broker in (setting.back_end, setting.edges["n0"], setting.back_end):
            time.sleep(0.7)
            broker.kill()
            broker.start()
        time.sleep(0.5)
        lost, doubled = load.finish()
        assert (lost, doubled) == (0, 0), [client.counts for client in load.clients]
        assert load.sent.total() > 200
        assert sum(client.counts.repaired for client in load.clients), "nothing had to be repaired"


KILLS = 30


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_killed_thirty_times_at_random_moments(setting, keep_counts):
    """The forwarder and a broker each time, while decisions switch sides; 0 lost, 0 doubled."""
    rng = random.Random(30)
    slowest = 0.0
    with Load(setting, 250, list(TOPICS)) as load:
        epoch = 1
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.5))
            broker = rng.choice(list(setting.brokers.values()))
            first, second = rng.sample([setting.kill, broker.kill], 2)
            first()
            time.sleep(rng.uniform(0.0, 0.3))
            second()
            broker.start()
            setting.start(is_awaited=False)
            killed, before = time.monotonic(), load.sent_by_now()
            wait_until(
                lambda since=killed, before=before: load.is_normal(since, before),
                "it does not come back",
            )
            slowest = max(slowest, time.monotonic() - killed)
            epoch += 1
            setting.decide(epoch, *rng.sample(list(TOPICS), 2))
        lost, doubled = load.finish()
        repaired = sum(client.counts.repaired for client in load.clients)
        assert (lost, doubled) == (0, 0)
        keep_counts(
            kills=2 * KILLS, messages=load.sent.total(), clients=len(load.clients), lost=lost,
            doubled=doubled, repaired=repaired,
            slowest_back_to_normal_ms=int(1000 * slowest),
        )  # fmt: skip
