"""Brokers as processes: what is acknowledged arrives, once, whatever happens to them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time

import pytest
from benchmarks.brokers_network import Network, Process
from tests.brokers.network.proxies import Proxy

from fanwise.brokers.library import AsyncClient, Client, RejectedError, never
from fanwise.brokers.library.errors import NotConnectedError
from fanwise.brokers.messages import MoveClient, MoveEnded
from fanwise.brokers.network.addresses import parse_address
from fanwise.brokers.network.asking import Asker
from fanwise.brokers.network.connection import Pulse
from fanwise.brokers.network.endpoint import Admission
from fanwise.brokers.storage.folder import FolderError

QUICK = ("--heartbeat", "0.4s")
WHOLE = ((0.0, 0.0), (1.0, 1.0))
PATIENCE = 60.0


class Ears:
    """What a client heard: how often each publication came, by publisher and sequence."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int], int] = {}

    def __call__(self, message) -> None:
        id = (message.publisher, message.sequence)
        self.counts[id] = self.counts.get(id, 0) + 1

    @property
    def doubled(self) -> list[tuple[str, int]]:
        return [id for id, count in self.counts.items() if count > 1]

    async def have(self, wanted) -> None:
        """Return when all that is wanted has come."""
        await until(lambda: set(wanted) <= set(self.counts))


async def until(condition, seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.fixture
def network(tmp_path):
    with Network(tmp_path / "network", QUICK) as found:
        yield found


@contextlib.asynccontextmanager
async def publishing(clients, rate: float = 100.0):
    """Publish from clients in turn while the block runs; yields the ids that are acknowledged."""
    acknowledged: list[tuple[str, int]] = []
    is_over = asyncio.Event()

    async def publish() -> None:
        chosen = random.Random(1)
        while not is_over.is_set():
            client = chosen.choice(clients)
            future = client.send((chosen.random(), chosen.random()), b"x")
            future.add_done_callback(
                lambda done, name=client.name: acknowledged.append((name, done.result()))
            )
            await asyncio.sleep(1 / rate)

    task = asyncio.create_task(publish())
    try:
        yield acknowledged
    finally:
        is_over.set()
        await task
        await until(lambda: not any(client.num_unanswered for client in clients))


def start_brokers(network, *names, **options) -> None:
    """Start brokers in a row, each at a place of its own."""
    found = {
        name: ("--position", str(place), *options.get(name, ())) for place, name in enumerate(names)
    }
    network.start(*names, options=found)
    network.wait_ready()


async def start_clients(stack, network, names, ears=None, **more):
    """Start clients at the places of the first brokers in turn."""
    clients = []
    for number, name in enumerate(names):
        client = AsyncClient(
            name, network.address, on_message=ears[number] if ears else None,
            position=(float(number % len(network.brokers)),), **more,
        )  # fmt: skip
        await stack.enter_async_context(client)
        clients.append(client)
    return clients


def test_publications_cross_brokers_and_a_departing_broker_hands_over_its_clients(network):
    async def work():
        ears = [Ears() for _ in range(6)]
        async with contextlib.AsyncExitStack() as stack:
            clients = await start_clients(stack, network, [f"c{n}" for n in range(6)], ears)
            assert {client.home for client in clients} == {"east", "west", "north"}
            for client in clients:
                await client.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            leaving = clients[0].home
            async with publishing(clients) as acknowledged:
                await asyncio.sleep(0.3)
                network.brokers[leaving].signal(signal.SIGUSR1)
                status = await asyncio.to_thread(network.brokers[leaving].wait)
                await asyncio.sleep(0.3)
            assert status == 0
            assert leaving not in {client.home for client in clients}
            for one in ears:
                await one.have(acknowledged)
                assert not one.doubled
            assert len(acknowledged) > 30
            assert any(client.counts["asked"] for client in clients)

    quick = ("--redirect", "0.3s")
    start_brokers(network, "east", "west", "north", east=quick, west=quick, north=quick)
    asyncio.run(work())


def test_a_departing_broker_waits_for_a_client_that_is_away(network, tmp_path):
    async def work():
        ears, more = Ears(), {"state": tmp_path / "ann", "position": (0.0,)}
        async with AsyncClient("bob", network.address, position=(1.0,)) as bob:
            async with AsyncClient("ann", network.address, on_message=ears, **more) as ann:
                await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
                assert (ann.home, bob.home) == ("east", "west")
            wanted = [("bob", await bob.publish((0.5, 0.5), b"x")) for _ in range(3)]
            network.brokers["east"].signal(signal.SIGUSR1)
            wanted.append(("bob", await bob.publish((0.5, 0.5), b"x")))
            await until(lambda: "leaving" in network.said("east"))
            await asyncio.sleep(1.0)
            assert network.brokers["east"].is_running
            async with AsyncClient("ann", network.address, on_message=ears, **more) as ann:
                await ears.have(wanted)
                assert await asyncio.to_thread(network.brokers["east"].wait) == 0
                assert ann.home == "west"
                assert not ears.doubled

    quick = ("--redirect", "0.3s")
    start_brokers(network, "east", "west", east=quick, west=quick)
    asyncio.run(work())


OTHER_VERSION = """
import sys
import fanwise.brokers.messages as messages
messages.VERSION += 1
from fanwise.cli.main import main
sys.argv[0] = "fanwise"
main()
"""


def test_a_program_of_another_version_is_refused_and_both_sides_say_so_once(network, tmp_path):
    start_brokers(network, "east")
    said = "speaks another version of the protocol"
    other = Process(
        [
            sys.executable, "-c", OTHER_VERSION, "broker", "run", "--name", "north", "--json",
            "--data", str(tmp_path / "north"), "--directory", network.address, *QUICK,
        ],
        tmp_path / "north.log",
    )  # fmt: skip
    other.start()
    try:
        other.wait_ready()
        network.wait_for(lambda: network.directory.errors.read_text().count(said) >= 2)
    finally:
        other.signal(signal.SIGTERM)
        assert other.wait() == 128 + signal.SIGTERM
    assert [line.count(said) for line in other.errors.read_text().splitlines()].count(1) == 1
    assert f"broker north was not let in: it {said}" in network.directory.errors.read_text()
    listing = [sys.executable, "-c", OTHER_VERSION, "broker", "list"]
    told = subprocess.run(
        [*listing, "--directory", network.address], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert (told.stderr.count("\n"), told.stderr.count(said)) == (1, 1)
    assert "Traceback" not in told.stderr + other.errors.read_text()


def test_killed_brokers_lose_and_double_nothing_that_was_acknowledged(network):
    """Each broker is killed at random moments, and started again; its clients go elsewhere."""
    seconds: list[float] = []

    async def kill(name, clients, chosen) -> None:
        there = [client for client in clients if client.home == name]
        since = time.monotonic()
        await asyncio.to_thread(network.kill, name)
        left = list(there)
        while left:
            left = [client for client in left if client.home == name or client.trouble]
            assert time.monotonic() - since < PATIENCE
            await asyncio.sleep(0.01)
        if there:
            seconds.append(time.monotonic() - since)
        await asyncio.sleep(chosen.random() * 0.3)
        await asyncio.to_thread(network.start, name)

    async def work():
        chosen = random.Random(7)
        ears = [Ears() for _ in range(9)]
        async with contextlib.AsyncExitStack() as stack:
            clients = await start_clients(stack, network, [f"c{n}" for n in range(9)], ears)
            for client in clients:
                await client.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            async with publishing(clients, 200.0) as acknowledged:
                for name in ("east", "west", "north", "east"):
                    await asyncio.sleep(chosen.random() * 0.5)
                    await kill(name, clients, chosen)
            for one in ears:
                await one.have(acknowledged)
                assert not one.doubled
            assert len(acknowledged) > 100

    start_brokers(network, "east", "west", "north")
    asyncio.run(work())
    print(f"clients of a killed broker were served again after {max(seconds):.2f} s at the most")


def test_the_directory_comes_back_with_what_it_knew_and_is_not_missed_meanwhile(network):
    async def work():
        async with contextlib.AsyncExitStack() as stack:
            ann, bob = await start_clients(stack, network, ["ann", "bob"])
            await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            network.directory.signal(signal.SIGKILL)
            network.directory.wait()
            sequence = await bob.publish((0.5, 0.5), b"without a directory", timeout=PATIENCE)
            assert (await ann.get(PATIENCE)).sequence == sequence
            # Whom bob knows from its first broker is enough to find the other one.
            lost = bob.home
            await asyncio.to_thread(network.kill, lost)
            await bob.publish((0.5, 0.5), b"from elsewhere", timeout=PATIENCE)
            assert bob.home != lost
            await asyncio.to_thread(network.start_directory)
            async with AsyncClient("eve", network.address) as eve:
                assert eve.home == bob.home

    start_brokers(network, "east", "west")
    asyncio.run(work())


def test_a_broker_that_is_frozen_is_left_and_finds_its_clients_gone(network):
    """Half-open: its sockets stand, and nothing comes."""

    async def work():
        ears = Ears()
        async with contextlib.AsyncExitStack() as stack:
            [bob] = await start_clients(stack, network, ["bob"])
            pulse = Pulse(heartbeat=0.2, silence=1.0)
            ann = await stack.enter_async_context(
                AsyncClient("ann", network.address, on_message=ears, pulse=pulse)
            )
            other = await stack.enter_async_context(
                AsyncClient("eve", network.address, pulse=pulse)
            )
            await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            frozen = ann.home
            sender = bob if bob.home != frozen else other
            network.brokers[frozen].signal(signal.SIGSTOP)
            try:
                acknowledged = []
                for _ in range(20):
                    acknowledged.append((sender.name, await sender.publish((0.5, 0.5), b"x")))
                    await asyncio.sleep(0.01)
                await until(lambda: ann.home != frozen and not ann.trouble)
            finally:
                network.brokers[frozen].signal(signal.SIGCONT)
            await ears.have(acknowledged)
            assert not ears.doubled
            await until(lambda: network.metrics(frozen)["notes_total[away]"] >= 1)

    start_brokers(network, "east", "west", "north")
    asyncio.run(work())


def test_a_slow_link_and_one_that_is_cut_delay_and_lose_nothing(tmp_path):
    """Between the brokers is a proxy: whoever dials east comes over it."""
    with Proxy(bytes_per_second=60_000, delay=0.02) as proxy, Network(tmp_path / "n") as network:
        options = {
            "east": ("--advertise", proxy.address, "--position", "0"),
            "west": ("--position", "1"),
        }
        network.start("east", "west", options=options)
        proxy.target = parse_address(network.brokers["east"].told["listen"])
        network.wait_ready()

        async def work():
            ears = [Ears() for _ in range(4)]
            async with contextlib.AsyncExitStack() as stack:
                clients = await start_clients(stack, network, [f"c{n}" for n in range(4)], ears)
                for client in clients:
                    await client.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
                async with publishing(clients, 100.0) as acknowledged:
                    for _ in range(3):
                        await asyncio.sleep(0.3)
                        proxy.cut()
                for one in ears:
                    await one.have(acknowledged)
                    assert not one.doubled

        asyncio.run(work())
        assert proxy.num_connections >= 2


def test_a_full_disk_is_said_and_survived(tmp_path):
    """The limit of the log is reached by what waits for a client that takes nothing."""

    async def work(network):
        async with contextlib.AsyncExitStack() as stack:
            [bob] = await start_clients(stack, network, ["bob"])
            async with AsyncClient("ann", network.address) as ann:
                await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            acknowledged, said = [], ""
            async with asyncio.timeout(PATIENCE):
                while not said:
                    try:
                        acknowledged.append(await bob.publish((0.5, 0.5), b"x" * 20_000))
                    except RejectedError as error:
                        said = error.code
            assert said == "full disk"
            assert network.metrics("east")["disk_full"] == 1.0
            async with AsyncClient("ann", network.address) as ann:
                found = [(await ann.get(PATIENCE)).sequence for _ in acknowledged]
                assert found == acknowledged
                await ann.unsubscribe("all", timeout=PATIENCE)
            async with asyncio.timeout(PATIENCE):
                while True:  # until what nobody needs any more is gone from the disk
                    with contextlib.suppress(RejectedError):
                        await bob.publish((0.5, 0.5), b"x")
                        break
                    await asyncio.sleep(0.1)

    with Network(tmp_path / "n", ("--disk-limit", "6")) as network:
        start_brokers(network, "east")
        asyncio.run(work(network))
        assert "the disk is full" in network.said("east")
        assert "there is room again" in network.said("east")


def test_the_time_to_redirect_that_passes_before_routes_settle_is_said_and_loses_nothing(network):
    """A third broker is frozen: it cannot know the routes of a client that moves meanwhile."""

    async def work():
        ears = Ears()
        async with contextlib.AsyncExitStack() as stack:
            ann = await stack.enter_async_context(
                AsyncClient("ann", network.address, on_message=ears, position=(0.0,))
            )
            bob = await stack.enter_async_context(
                AsyncClient("bob", network.address, position=(2.0,))
            )
            assert (ann.home, bob.home) == ("east", "north")
            await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            network.brokers["north"].signal(signal.SIGSTOP)
            try:
                network.brokers["east"].signal(signal.SIGUSR1)
                await until(lambda: ann.home == "west")
                await until(lambda: network.metrics("east").get("notes_total[ttl]"))
            finally:
                network.brokers["north"].signal(signal.SIGCONT)
            acknowledged = [
                ("bob", await bob.publish((0.5, 0.5), b"x", timeout=PATIENCE)) for _ in range(20)
            ]
            await ears.have(acknowledged)
            assert not ears.doubled
            assert await asyncio.to_thread(network.brokers["east"].wait) == 0

    start_brokers(network, "east", "west", "north", east=("--redirect", "0.1s"))
    asyncio.run(work())
    assert "before routes had settled" in network.said("east")


def test_a_move_that_an_operator_asks_for_ends_as_the_client_says(network):
    async def ask_to_move(client, to: str) -> str:
        async with Asker(network.brokers[client.home].told["address"], Admission()) as asker:
            asker.say(MoveClient(7, client.name, to, "because", 1.0))
            return (await asker.hear(MoveEnded)).outcome

    async def work():
        async with contextlib.AsyncExitStack() as stack:
            [ann] = await start_clients(stack, network, ["ann"])
            [bob] = await start_clients(stack, network, ["bob"], policy=never)
            for client in (ann, bob):
                await client.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
            assert ann.home == bob.home == "east"
            assert await ask_to_move(bob, "west") == "declined: never"
            assert await ask_to_move(ann, "west") == "moved"
            await until(lambda: ann.home == "west")
            sequence = await ann.publish((0.5, 0.5), b"x", timeout=PATIENCE)
            for client in (ann, bob):
                assert (await client.get(PATIENCE)).sequence == sequence
            # Who never moves stays until its broker leaves, and is sent away then.
            network.brokers["east"].signal(signal.SIGUSR1)
            await until(lambda: bob.home == "west" and not bob.trouble)
            assert await asyncio.to_thread(network.brokers["east"].wait) == 0
            sequence = await ann.publish((0.5, 0.5), b"y", timeout=PATIENCE)
            assert (await bob.get(PATIENCE)).sequence == sequence

    quick = ("--redirect", "0.3s")
    start_brokers(network, "east", "west", east=quick, west=quick)
    asyncio.run(work())


def test_a_client_without_an_event_loop(network):
    start_brokers(network, "east", "west")
    with Client("ann", network.address) as ann, Client("bob", network.address) as bob:
        ann.subscribe("half", (0.0, 0.0), (0.5, 1.0), settle="everywhere", timeout=PATIENCE)
        bob.publish((0.9, 0.5), b"not for ann")
        sequence = bob.publish((0.5, 1.0), b"on the border")
        message = ann.get(PATIENCE)
        assert (message.publisher, message.sequence, message.point, message.payload) == (
            "bob", sequence, (0.5, 1.0), b"on the border",
        )  # fmt: skip
        ann.unsubscribe("half")
        bob.publish((0.1, 0.1), b"not wanted any more")
        with pytest.raises(TimeoutError):
            ann.get(0.2)
        with pytest.raises(RejectedError, match="invalid"):
            bob.publish((0.1,), b"of another dimension")
        assert ann.home in ("east", "west")
    nobody = Client("eve", "127.0.0.1:1", patience=0.2)
    with pytest.raises(NotConnectedError, match=r"no broker after 0.2 s: .*refused"), nobody:
        pass


def test_of_two_programs_under_one_name_the_first_stops_and_says_why(network):
    async def work():
        whose = "another program uses this name"
        first = AsyncClient("ann", network.address)
        async with first, AsyncClient("ann", network.address) as second:
            with pytest.raises(NotConnectedError, match=whose):
                await first.get(PATIENCE)
            with pytest.raises(NotConnectedError, match=whose):
                async for _ in first:
                    pass
            for _ in range(2):
                with pytest.raises(NotConnectedError, match=whose):
                    await first.publish((0.5, 0.5), b"x")
                with pytest.raises(NotConnectedError, match=whose):
                    await first.subscribe("all", *WHOLE)
            await second.subscribe("all", *WHOLE, timeout=PATIENCE)
            sequence = await second.publish((0.5, 0.5), b"x", timeout=PATIENCE)
            assert (await second.get(PATIENCE))[:2] == ("ann", sequence)
            assert second.counts["welcome"] == 1

    start_brokers(network, "east")
    asyncio.run(work())


def test_a_client_with_a_folder_goes_on_where_it_was(network, tmp_path):
    async def work():
        state = tmp_path / "ann"
        ears = Ears()
        async with AsyncClient("bob", network.address) as bob:
            async with AsyncClient("ann", network.address, state=state, on_message=ears) as ann:
                await ann.subscribe("all", *WHOLE, settle="everywhere", timeout=PATIENCE)
                first = [await ann.publish((0.5, 0.5), b"x") for _ in range(3)]
                await ears.have([("ann", sequence) for sequence in first])
            wanted = [("bob", await bob.publish((0.5, 0.5), b"y")) for _ in range(3)]
            async with AsyncClient("ann", network.address, state=state, on_message=ears) as ann:
                again = await ann.publish((0.5, 0.5), b"x", timeout=PATIENCE)
                await ears.have([*wanted, ("ann", again)])
                assert [*first, again] == [1, 2, 3, 4]
                assert not ears.doubled
                with pytest.raises(FolderError, match="uses this data folder"):
                    await AsyncClient("ann", network.address, state=state).start()

    start_brokers(network, "east", "west")
    asyncio.run(work())
