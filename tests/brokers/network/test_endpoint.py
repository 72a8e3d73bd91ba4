"""Connections: who is let in, what is refused, and how one that is dead is noticed."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from pathlib import Path

import pytest
import trustme
from tests.brokers.network.hosts import OPEN, Host, Stranger, hello

from fanwise.brokers.frames import HEAD, MOST_STRANGER_BYTES
from fanwise.brokers.messages import Bye, Hello, Ping, Pong, Publish, Published, Refused
from fanwise.brokers.network import connection as connection_module
from fanwise.brokers.network.connection import Pulse
from fanwise.brokers.network.endpoint import CODEC, Admission
from fanwise.brokers.network.measures import COMMON, FULL, MACHINE, NOTED
from fanwise.brokers.network.metrics import MetricsServer
from fanwise.brokers.network.tls import TlsFileError, serve_with, trust
from fanwise.brokers.network.tokens import TokenFileError, Tokens, read_tokens
from fanwise.brokers.protocol.effects import Arrived, Close, DialFailed, Lost, Opened, Send

SECRET = "a-token-that-nobody-guesses"
GUARDED = {"client": Tokens([SECRET]), "broker": Tokens([SECRET + "-of-peers"])}
CALM = Pulse()


def go(work) -> None:
    asyncio.run(work())


def test_both_say_who_they_are_and_talk():
    async def work():
        async with Host("east") as east, Host("west") as west:
            west.dial(east.address, "east")
            there = await east.hears(Opened)
            here = await west.hears(Opened)
            assert (there.peer.name, here.peer.name) == ("west", "east")
            west.driver.handle(None)
            west.endpoint.carriers[Send](Send(here.session, Publish(1, (0.5,), b"x")))
            west.endpoint.flush()
            assert (await east.hears(Arrived)).message == Publish(1, (0.5,), b"x")
            answer = await west.hears(Arrived)
            assert answer.message == Published(1)

    go(work)


def test_machines_are_not_told_of_the_end_that_they_made():
    async def work():
        async with Host("east") as east, Host("west") as west:
            west.dial(east.address)
            session = (await west.hears(Opened)).session
            west.endpoint.carriers[Close](Close(session, "enough"))
            await east.hears(Lost)
            await asyncio.sleep(0.02)
            assert not west.machine.of(Lost)
            assert west.endpoint.num_connections == east.endpoint.num_connections == 0

    go(work)


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (hello(version=99), "version"),
        (hello(token="wrong"), "token"),
        (hello(token=SECRET + "-of-peers"), "token"),
        (hello("broker", token=SECRET), "token"),
        (hello("directory", token=SECRET), "role"),
        (hello("nonsense"), "role"),
        (Publish(1, (), b""), "hello"),
    ],
)
def test_who_may_not_come_in_is_told_why(first, code, caplog):
    caplog.set_level(logging.DEBUG)

    async def work():
        async with Host(admission=Admission(GUARDED, token=SECRET), pulse=CALM) as host:
            stranger = await Stranger.at(host)
            stranger.say(first, Publish(1, (), b""))
            assert await stranger.hear_all() == [Refused(code)]
            assert host.endpoint.num_refused == 1
            assert not host.machine.events
            stranger.close()

    go(work)
    assert SECRET not in caplog.text


def test_a_token_lets_in_and_is_kept_from_whoever_calls_and_from_the_machine(caplog):
    caplog.set_level(logging.DEBUG)
    mine = Admission(GUARDED, token="mine-to-show-others")

    async def work():
        async with Host(admission=mine, pulse=CALM) as host:
            stranger = await Stranger.at(host)
            stranger.say(hello(token=SECRET))
            answer = await stranger.hear()
            assert type(answer) is Hello
            assert answer.token == ""
            assert (await host.hears(Opened)).peer.token == ""
            stranger.close()

    go(work)
    assert SECRET not in caplog.text
    assert "mine-to-show" not in caplog.text
    assert "mine-to-show" not in repr(mine)


def test_a_dial_that_fails_says_why():
    async def work():
        async with (
            Host("east", admission=Admission(GUARDED)) as east,
            Host("west", admission=Admission(OPEN, token="wrong-token-entirely")) as west,
        ):
            west.dial(east.address, "east")
            await west.until(lambda: len(west.machine.of(DialFailed)) == 1)
            west.dial("127.0.0.1:1", "east")
            west.dial("nonsense", "east")
            await west.until(lambda: len(west.machine.of(DialFailed)) == 3)
            codes = {event.code for event in west.machine.of(DialFailed)}
            assert "token" in codes
            assert any("refused" in code or "connect" in code for code in codes)
            east.endpoint._admission = Admission(OPEN)
            west.dial(east.address, "north")
            await west.until(lambda: len(west.machine.of(DialFailed)) == 4)
            assert west.machine.of(DialFailed)[-1].code == "east is there, not north"
            assert not west.machine.of(Opened)

    go(work)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 100,
        HEAD.pack(MOST_STRANGER_BYTES + 1),
        HEAD.pack(3) + b"\x93\x01\x01",
    ],
    ids=["http", "tls", "zeros", "large", "short"],
)
def test_garbage_ends_the_connection_and_nothing_else(data):
    async def work():
        async with Host(pulse=CALM) as host:
            stranger = await Stranger.at(host)
            stranger.say(data)
            assert await stranger.hear_all() == []
            friend = await Stranger.at(host)
            friend.say(hello())
            assert type(await friend.hear()) is Hello
            friend.say(Publish(1, (), b"x"), b"\xff" * 50)
            assert (await friend.hear_all())[:1] in ([Published(1)], [])
            await host.hears(Lost)

    go(work)


def test_large_frames_are_for_those_who_are_known():
    async def work():
        async with Host(pulse=CALM) as host:
            friend = await Stranger.at(host)
            friend.say(hello(), Publish(1, (), b"x" * MOST_STRANGER_BYTES))
            assert type(await friend.hear()) is Hello
            assert await friend.hear() == Published(1)
            friend.close()

    go(work)


def test_a_stranger_who_says_nothing_is_not_waited_for_for_ever():
    async def work():
        async with Host() as host:
            stranger = await Stranger.at(host)
            assert await stranger.hear_all() == []
            assert host.endpoint.num_refused == 1

    go(work)


def test_a_connection_that_is_half_open_is_given_up_and_one_that_breathes_is_kept():
    async def work():
        async with Host() as host:
            silent, alive = await Stranger.at(host), await Stranger.at(host)
            silent.say(hello(name="silent"))
            alive.say(hello(name="alive"))
            await host.until(lambda: len(host.machine.of(Opened)) == 2)
            names = {event.session: event.peer.name for event in host.machine.of(Opened)}
            pings = 0
            while not host.machine.of(Lost):
                message = await alive.hear()
                pings += type(message) is Ping
                alive.say(Pong())
            assert names[host.machine.of(Lost)[0].session] == "silent"
            assert pings >= 2
            assert host.endpoint.num_connections == 1
            alive.close()

    go(work)


def test_bye_is_said_and_heard():
    async def work():
        host = Host(pulse=CALM)
        async with host:
            friend, other = await Stranger.at(host), await Stranger.at(host)
            friend.say(hello())
            other.say(hello(name="bob"), Bye("going"))
            other.close()
            assert (await host.hears(Arrived)).message == Bye("going")
            assert type(await friend.hear()) is Hello
        assert await friend.hear_all() == [Bye("stopping")]

    go(work)


def test_who_takes_nothing_is_given_up_before_memory_is(monkeypatch):
    monkeypatch.setattr(connection_module, "MOST_BYTES", 2**20)

    async def work():
        async with Host(pulse=Pulse(most_waiting=2**20)) as host:
            slow = await Stranger.at(host)
            slow.say(hello())
            session = (await host.hears(Opened)).session
            slow.writer.transport.pause_reading()
            message = Publish(1, (), b"x" * 100_000)
            most = 0
            while not host.machine.of(Lost):
                host.endpoint.carriers[Send](Send(session, message))
                host.endpoint.flush()
                most = max(most, host.endpoint.waiting_bytes)
                await asyncio.sleep(0)
            assert most < 3 * 2**20
            slow.writer.transport.abort()

    go(work)


def test_readers_that_are_held_send_back_pressure():
    async def work():
        async with Host(pulse=CALM) as host:
            friend = await Stranger.at(host)
            friend.say(hello())
            await host.hears(Opened)
            host.endpoint.hold(True)
            friend.say(*(Publish(one, (), b"x" * 60_000) for one in range(1, 300)))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await friend.writer.drain()
            assert len(host.machine.of(Arrived)) < 20
            host.endpoint.hold(False)
            await host.until(lambda: len(host.machine.of(Arrived)) == 299)
            friend.close()

    go(work)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    home = tmp_path_factory.mktemp("certificates")
    authority, other = trustme.CA(), trustme.CA()
    served = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(home / "ca.pem"))
    other.cert_pem.write_to_path(str(home / "other.pem"))
    served.cert_chain_pems[0].write_to_path(str(home / "cert.pem"))
    served.private_key_pem.write_to_path(str(home / "key.pem"))
    other.issue_cert("127.0.0.1").private_key_pem.write_to_path(str(home / "wrong-key.pem"))
    return home


def test_tls_both_ways_and_who_is_not_trusted(certificates):
    serving = serve_with(certificates / "cert.pem", certificates / "key.pem")

    def admission(authority: str | None) -> Admission:
        trusting = None if authority is None else trust(certificates / authority)
        return Admission(OPEN, serving=serving, trusting=trusting)

    async def work():
        async with (
            Host("east", admission("ca.pem"), CALM) as east,
            Host("west", admission("ca.pem"), CALM) as west,
            Host("doubting", admission("other.pem"), CALM) as doubting,
            Host("plain", Admission(OPEN), CALM) as plain,
        ):
            west.dial(east.address, "east")
            assert (await west.hears(Opened)).peer.name == "east"
            doubting.dial(east.address, "east")
            assert "certificate is refused" in (await doubting.hears(DialFailed)).code
            east.dial(plain.address, "plain")
            assert "TLS" in (await east.hears(DialFailed)).code
            stranger = await Stranger.at(east)
            stranger.say(hello())
            assert await stranger.hear_all() == []
            context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
            friend = await Stranger.at(east, ssl=context)
            friend.say(hello())
            assert type(await friend.hear()) is Hello
            friend.close()

    go(work)


def test_files_of_certificates_and_tokens_that_are_of_no_use_are_one_line(certificates, tmp_path):
    with pytest.raises(TlsFileError, match=r"--tls-key: .* is not the key of the certificate"):
        serve_with(certificates / "cert.pem", certificates / "wrong-key.pem")
    with pytest.raises(TlsFileError, match="no certificate and key in PEM"):
        serve_with(certificates / "key.pem", certificates / "cert.pem")
    with pytest.raises(TlsFileError, match=r"--tls-ca: .* cannot be read: No such file"):
        trust(tmp_path / "none")
    file = tmp_path / "tokens"
    file.write_text(f"# old\n{SECRET}\n\n")
    file.chmod(0o644)
    with pytest.raises(TokenFileError, match="others may read"):
        read_tokens(file, "--client-tokens")
    file.chmod(0o600)
    assert read_tokens(file, "--client-tokens") == [SECRET]
    file.write_text(f"{SECRET}\nshort\n")
    with pytest.raises(TokenFileError, match="line 2: a token has at least") as error:
        read_tokens(file, "--client-tokens")
    assert "short" not in str(error.value)
    file.write_text("# none\n")
    with pytest.raises(TokenFileError, match="holds no token"):
        read_tokens(file, "--client-tokens")


def test_two_tokens_let_in_while_one_is_replaced():
    tokens = Tokens(["the-old-token-of-all", "the-new-token-of-all"])
    assert tokens.admits("the-old-token-of-all")
    assert tokens.admits("the-new-token-of-all")
    assert not tokens.admits("")
    assert not tokens.admits("the-new-token-of-al")
    assert not tokens.admits("\udcff")
    assert Tokens().admits("anything")


def test_a_second_server_on_a_port_is_one_line():
    from fanwise.brokers.network.server import bind
    from fanwise.errors import FanwiseError

    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(FanwiseError, match=f":{port}: .*in use"):
            bind("127.0.0.1", port)
    with pytest.raises(FanwiseError, match=r"cannot listen on nowhere.invalid:0"):
        bind("nowhere.invalid", 0)


def test_frames_are_written_once_a_turn():
    """Many small messages cost few system calls."""

    async def work():
        async with Host(pulse=CALM) as host:
            friend = await Stranger.at(host)
            friend.say(hello())
            session = (await host.hears(Opened)).session
            connection = host.endpoint._connections[session]
            writes = []
            real = connection._transport.write
            connection._transport = _Watched(connection._transport, writes, real)
            friend.say(b"".join(CODEC.encode(Publish(one, (), b"")) for one in range(1, 201)))
            await host.until(lambda: len(host.machine.of(Arrived)) == 200)
            await asyncio.sleep(0.01)
            assert len(writes) < 20
            friend.close()

    go(work)


class _Watched:
    def __init__(self, inner, writes, real) -> None:
        self._inner, self._writes, self._real = inner, writes, real

    def write(self, data) -> None:
        self._writes.append(len(data))
        self._real(data)

    def __getattr__(self, name):
        return getattr(self._inner, name)


DOCS = Path(__file__).parents[3] / "docs" / "brokers" / "running.md"


def test_metrics_are_served_and_each_is_documented():
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?)(?: \(by `\w+`\))? \|$", DOCS.read_text(), re.M))
    measures = (*COMMON, *MACHINE.values())
    for one in measures:
        assert said[one.name + ("_total" if one.is_counter else "")] == one.help.rstrip(".")

    def read():
        return {NOTED: {'a "quoted" thing': 2.0}, FULL: 1.0}

    async def ask(port: int, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer

    async def work():
        server = MetricsServer(read, {"broker": "east"})
        port = await server.start("127.0.0.1", 0)
        answer = await ask(port, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
        assert b'fanwise_disk_full{broker="east"} 1.0' in answer
        assert b'fanwise_notes_total{broker="east",what="a \\"quoted\\" thing"} 2.0' in answer
        assert b"404" in await ask(port, b"GET / HTTP/1.1\r\n\r\n")
        assert b"405" in await ask(port, b"POST /metrics HTTP/1.1\r\n\r\n")
        assert await ask(port, b"x" * 20_000) == b""
        await server.stop()

    go(work)
