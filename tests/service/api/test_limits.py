"""Who is counted as whom, and connections that send nothing: nobody takes another's place."""

from __future__ import annotations

import asyncio
import socket
import time

import httpx
import pytest

from fanwise.service import server as server_module
from fanwise.service.api import limits
from fanwise.service.api.auth import Person
from fanwise.service.api.known import KnownTokens
from fanwise.service.api.limits import RateLimit


def test_made_up_headers_are_no_new_clients(make_clients):
    clients = make_clients(server={"requests_per_minute": 5})
    anybody = clients.of()
    codes = [
        anybody.get(
            "/api/v1/status",
            headers={
                "Authorization": f"Bearer fw_{number:012x}_{number:064x}",
                "X-Forwarded-For": f"10.0.0.{number}",
                "Forwarded": f"for=10.0.0.{number}",
            },
        ).status_code
        for number in range(8)
    ]
    assert codes == [401] * 5 + [429] * 3
    reader = clients.of("read")
    assert reader.get("/api/v1/status").status_code == 429, "at an address that guesses"


def test_who_was_let_in_once_has_a_bucket_of_its_own(make_clients):
    clients = make_clients(server={"requests_per_minute": 5})
    reader = clients.of("read")
    assert reader.get("/api/v1/status").status_code == 200
    anybody = clients.of()
    guesses = [
        anybody.get("/api/v1/status", headers={"Authorization": f"Bearer {number}"}).status_code
        for number in range(7)
    ]
    assert guesses == [401] * 5 + [429] * 2
    codes = [reader.get("/api/v1/status").status_code for _ in range(5)]
    assert codes == [200] * 4 + [429]


def test_a_revoked_token_loses_its_bucket(make_clients):
    clients = make_clients(server={"requests_per_minute": 3})
    reader = clients.of("read")
    assert reader.get("/api/v1/status").status_code == 200
    identity = next(one.id for one in clients.service.store.tokens() if one.role == "read")
    clients.service.store.revoke_token(identity, who="test", at=2)
    codes = [reader.get("/api/v1/status").status_code for _ in range(6)]
    assert codes == [401] * 4 + [429] * 2, "one from its bucket, three from its address"


def test_ten_thousand_and_one_clients(monkeypatch):
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    assert [limit.wait_for("honest") for _ in range(3)][:2] == [0.0, 0.0]
    for number in range(limits.MOST_CLIENTS + 1):
        now[0] += 1e-6
        limit.wait_for(f"other {number}")
        if number % 100 == 0:
            assert limit.wait_for("honest") > 0, "who asks is not forgotten"
    assert len(limit) == limits.MOST_CLIENTS


def test_known_tokens_are_few():
    known = KnownTokens(most=3)
    people = [Person(f"person {number}", "read", str(number)) for number in range(10)]
    for number, person in enumerate(people):
        known.put(f"Bearer {number}", person)
        assert known.get("Bearer 0") == people[0], "who asks is not forgotten"
    assert known.get("Bearer 9") == people[9]
    assert known.get("Bearer 1") is None
    known.drop("Bearer 0")
    assert known.get("Bearer 0") is None


def chunked(sizes):
    for size in sizes:
        yield b"x" * size


def test_bodies_in_chunks_are_bounded_and_understood(make_clients):
    admin = make_clients(server={"largest_request": "1 kB"}).of("admin")

    def put(content):
        headers = {"Content-Type": "application/json"}
        return admin.put("/api/v1/pins/a", content=content, headers=headers)

    assert put(iter([b'{"kind"', b': "pin"}'])).status_code == 200
    assert put(chunked([300] * 3)).status_code == 422
    assert put(chunked([300] * 4)).status_code == 413
    assert put(iter([])).status_code == 422


def test_a_body_that_does_not_come_is_not_waited_for(clients, monkeypatch):
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.1)
    token = clients.tokens["admin"]
    with connect(clients) as slow:
        slow.sendall(
            b"PUT /api/v1/pins/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
            b"Authorization: Bearer " + token.encode() + b"\r\n\r\n{"
        )
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def connect(clients) -> socket.socket:
    parts = httpx.URL(clients.server.url)
    return socket.create_connection((parts.host, parts.port), timeout=10)


@pytest.fixture
def brief(monkeypatch):
    monkeypatch.setattr(server_module, "HEAD_SECONDS", 0.2)


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a\r\n"])
def test_connections_that_send_nothing_are_closed(brief, clients, sent):
    with connect(clients) as silent:
        silent.sendall(sent)
        assert silent.recv(100) == b"", "closed without an answer"


def test_a_connection_that_asks_again_later_is_kept(brief, clients):
    with connect(clients) as kept:
        for _ in range(2):
            kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"200 OK" in kept.recv(1000)
            time.sleep(0.4)


def test_idle_connections_give_way(clients, monkeypatch):
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 5)
    idle = [connect(clients) for _ in range(20)]
    try:
        anybody = clients.of()
        assert anybody.get("/healthz").status_code == 200
        assert clients.of("read").get("/api/v1/status").status_code == 200
        assert anybody.get("/healthz").status_code == 200
    finally:
        for one in idle:
            one.close()


def test_the_rate_is_taken_back_where_the_token_is_known():
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    assert limit.wait_for("address") == 0.0
    limit.give_back("address")
    assert [limit.wait_for("address") for _ in range(2)] == [0.0, 0.0]
    limit.give_back("nobody")
    assert len(limit) == 1


def test_who_is_asked_for_is_asked_away_from_the_loop():
    """The store may take long; others are answered meanwhile."""
    told = []

    async def app(scope, receive, send):
        told.append(scope["path"])

    def identify(header):
        time.sleep(0.2)
        return Person("ann", "read", "one")

    bounded = limits.BoundedRequests(
        app, largest=100, limit=RateLimit(100), identify=identify, known=KnownTokens()
    )

    async def ask(path, headers):
        scope = {"type": "http", "path": path, "headers": headers, "client": ("1.2.3.4", 1)}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            raise AssertionError(message)

        await bounded(scope, receive, send)

    async def both():
        await asyncio.gather(ask("/slow", [(b"authorization", b"Bearer a")]), ask("/fast", []))

    asyncio.run(both())
    assert told == ["/fast", "/slow"]
