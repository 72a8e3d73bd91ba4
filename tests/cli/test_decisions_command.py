"""``fanwise decisions`` against a server over a real socket."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.cli.conftest import is_one_line
from tests.service.api.conftest import Clients
from tests.service.certificates import Authority
from tests.service.servers import free_port
from tests.service.services import close_hour, supervise

from fanwise.service.records import ROLES


@pytest.fixture
def service(tmp_path):
    """A service with one pending decision, and its server."""
    service = supervise(tmp_path, execute={"retries": {"attempts": 1}})
    close_hour(service, 0)
    clients = Clients(service)
    yield clients
    clients.stop()


@pytest.fixture
def ask(run, service, monkeypatch):
    """Run ``fanwise decisions`` against the service, with the token of a role."""
    monkeypatch.setenv("FANWISE_URL", service.server.url)

    def ask(*arguments, role="approve"):
        monkeypatch.setenv("FANWISE_TOKEN", service.tokens[role])
        return run("decisions", *arguments)

    return ask


def pending(service):
    return service.service.store.pending().hash


def test_a_decision_from_the_list_to_in_force_and_back(ask, service, tmp_path):
    first = pending(service)
    assert first[:12] in ask("list", role="read").out
    assert "pending" in ask("show", first[:8], role="read").out
    diff = ask("diff", first[:8], role="read")
    assert "2 on, 0 off" in diff.out
    assert "cats" in diff.out
    done = ask("approve", first[:8])
    assert (done.status, done.out) == (0, f"{first[:12]} is in force\n")
    close_hour(service.service, 1, {"cats": 9, "dogs": 9, "news": 1})
    second = pending(service)
    assert ask("approve", second).status == 0
    back = ask("rollback", first[:6], "--json")
    assert back.status == 0
    assert back.json["decision"]["hash"] == first
    assert back.json["decision"]["state"] == "in-force"
    close_hour(service.service, 2, {"dogs": 9, "news": 1})
    third = pending(service)
    done = ask("reject", third[:8], "--why", "not today")
    assert "rejected" in done.out
    assert "not today" in done.out


def test_json_everywhere(ask, service):
    hash = pending(service)
    assert [one["hash"] for one in ask("list", "--json").json["decisions"]] == [hash]
    shown = ask("show", hash, "--json").json
    assert (shown["hash"], shown["state"]) == (hash, "pending")
    diff = ask("diff", hash[:5], "--json").json
    assert len(diff["changes"]) == shown["changes"]
    assert ask("approve", hash, "--json").json["state"] == "done"
    close_hour(service.service, 1, {"cats": 9, "dogs": 9, "news": 1})
    rejected = ask("reject", pending(service), "--json").json
    assert rejected["state"] == "rejected"


def test_lists_and_differences_are_read_page_by_page(ask, service):
    for hour in range(1, 8):
        close_hour(service.service, hour, {"cats": hour + 1, "dogs": 2 * hour, "news": 3})
    rows = ask("list", "--limit", "5", "--json").json["decisions"]
    assert [one["number"] for one in rows] == [8, 7, 6, 5, 4]
    whole = ask("diff", rows[0]["hash"], "--json").json["changes"]
    part = ask("diff", rows[0]["hash"], "--limit", "1", "--json").json["changes"]
    assert part == whole[:1]


def test_reasons_name_decisions_by_their_first_digits(ask, service):
    first = pending(service)
    ask("approve", first)
    for hour, events in ((1, {"cats": 9, "dogs": 9}), (2, {"dogs": 9, "news": 1})):
        close_hour(service.service, hour, events)
    table = ask("list").out
    hashes = [one["hash"] for one in ask("list", "--json").json["decisions"]]
    assert not any(hash in table for hash in hashes)
    assert all(hash[:12] in table for hash in hashes)


def test_refusals_are_one_line_with_what_to_do(ask, run, service, monkeypatch):
    old = pending(service)
    close_hour(service.service, 1, {"cats": 9, "dogs": 9})
    cases = [
        (ask("approve", old), 1, "superseded"),
        (ask("rollback", old), 1, old),
        (ask("approve", pending(service), role="read"), 1, "use a token with a larger role"),
        (ask("show", "0" * 64), 2, "No decision has the hash"),
        (ask("show", "zzzz"), 2, "no decision begins with 'zzzz'"),
        (ask("show", "abc"), 2, "too short"),
        (ask("show", "x" * 64), 2, "hash"),
        (ask("list", "--url", f"http://127.0.0.1:{free_port()}"), 2, "is the service running"),
        (ask("list", "--url", "nowhere"), 2, "is no address such as"),
        (ask("list", "--url", "http://[::bad"), 2, "--url"),
        (ask("list", "--token", "fw_000000000000_" + "0" * 64), 1, "FANWISE_TOKEN"),
        (ask("list", "--token", "no tokén"), 2, "--token: is no token"),
        (ask("list", "--limit", "0"), 2, "limit"),
    ]
    monkeypatch.delenv("FANWISE_TOKEN")
    cases.append((run("decisions", "list"), 1, "fanwise serve token create makes one"))
    for done, status, words in cases:
        assert (done.status, done.out) == (status, ""), done
        assert is_one_line(done.err), done.err
        assert words in done.err


def test_a_hash_that_several_decisions_begin_with_is_asked_for_in_full(ask, service, monkeypatch):
    from fanwise.cli import decisions

    close_hour(service.service, 1, {"cats": 9, "dogs": 9})
    monkeypatch.setattr(decisions, "SHORTEST", 0)
    done = ask("show", "")
    assert done.status == 2
    assert "several decisions begin with" in done.err


def test_an_application_that_fails_is_said(ask, service, tmp_path):
    (tmp_path / "served.json").mkdir()
    done = ask("approve", pending(service))
    assert done.status == 1
    assert " is failed: " in done.out
    assert done.out.count("\n") == 1


def test_tokens_are_never_shown(ask, service):
    hash = pending(service)
    for role in ROLES:
        for arguments in (["list"], ["show", hash], ["approve", "0" * 64]):
            done = ask(*arguments, role=role)
            assert service.tokens[role] not in done.out + done.err


@pytest.fixture
def ours(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Serve one pending decision over HTTPS with a certificate."""
    started = []

    def start(pair):
        server = {"tls_certificate": pair.certificate, "tls_key": pair.key}
        service = supervise(tmp_path / str(len(started)), server=server)
        close_hour(service, 0)
        started.append(Clients(service))
        monkeypatch.setenv("FANWISE_URL", started[-1].server.url)
        monkeypatch.setenv("FANWISE_TOKEN", started[-1].tokens["approve"])
        return started[-1]

    yield start
    for clients in started:
        clients.stop()


def test_every_command_takes_the_authority_of_a_service(run, ours, serve, monkeypatch):
    clients = serve(ours.issue())
    hash = pending(clients)
    for arguments in (["list"], ["show", hash], ["diff", hash], ["approve", hash]):
        assert run("decisions", *arguments, "--ca", ours.file).status == 0
    monkeypatch.setenv("FANWISE_CA", str(ours.file))
    assert "in-force" in run("decisions", "list").out
    close_hour(clients.service, 1, {"cats": 9, "dogs": 9, "news": 1})
    second = pending(clients)
    assert run("decisions", "approve", second).status == 0
    assert run("decisions", "rollback", hash).status == 0
    close_hour(clients.service, 2, {"dogs": 9, "news": 1})
    assert run("decisions", "reject", pending(clients)).status == 0


def test_a_certificate_that_is_not_trusted_is_one_line_with_what_to_do(run, ours, serve, tmp_path):
    theirs = Authority(tmp_path, "theirs")
    (tmp_path / "garbage.pem").write_text("garbage\n")
    give = "give its authority by --ca or FANWISE_CA"
    gone = tmp_path / "gone.pem"
    elsewhere, expired = ours.issue("elsewhere.test"), ours.issue(is_expired=True)
    cases = [
        (ours.issue(), None, f"its certificate is not trusted: unable to get local issuer "
         f"certificate; {give}"),
        (ours.issue(), theirs.file, f"its certificate is not trusted: it comes from no authority "
         f"in {theirs.file}; {give}"),
        (elsewhere, ours.file, "its certificate is for another name than 127.0.0.1"),
        (expired, ours.file, "its certificate has expired"),
        (ours.issue(), gone, f"--ca: {gone} cannot be read: No such file or directory"),
        (ours.issue(), tmp_path / "garbage.pem", "garbage.pem holds no certificate in PEM"),
    ]  # fmt: skip
    for pair, authority, words in cases:
        clients = serve(pair)
        done = run("decisions", "list", *([] if authority is None else ["--ca", authority]))
        assert (done.status, done.out) == (2, "")
        assert is_one_line(done.err), done.err
        assert words in done.err
        assert clients.tokens["approve"] not in done.err


def test_a_service_that_does_not_speak_tls(run, service, ours, monkeypatch):
    url = service.server.url.replace("http:", "https:")
    done = run("decisions", "list", "--url", url, "--ca", ours.file)
    assert done.status == 2
    assert is_one_line(done.err)
    assert "does not speak TLS there" in done.err


NASTY = "bell\a \x1b[2J\x1b]0;owned\x07 c1\x9b31m back\b\r over\u202eturned\nnext\x7f"


def pinned(service, topic):
    """A decision that switches a topic on."""
    service.service.store.set_pin(topic, "pin", who="test", at=1)
    close_hour(service.service, 1, {"cats": 9, topic: 0})
    return pending(service)


def is_harmless(text):
    return all(one == "\n" or one.isprintable() for one in text)


def test_names_cannot_move_the_terminal(ask, service):
    hash = pinned(service, NASTY)
    table = ask("diff", hash)
    assert is_harmless(table.out)
    assert "\\x1b[2J" in table.out
    assert "\\u202e" in table.out
    assert is_harmless(ask("list").out)
    why = ask("reject", hash, "--why", NASTY)
    assert is_harmless(why.out)
    assert "\\x9b31m" in why.out
    found = ask("diff", hash, "--json")
    assert is_harmless(found.out)
    assert NASTY in [one["topic"] for one in found.json["changes"]]
    refused = ask("show", "\x1b[2Jabcd")
    assert is_harmless(refused.err)
    assert is_one_line(refused.err)


def test_differences_of_any_length_are_asked_for(ask, service):
    for limit in (10_001, 20_000, 10**9):
        done = ask("diff", pending(service), "--limit", limit, "--json")
        assert (done.status, len(done.json["changes"])) == (0, 2)


def test_large_differences_come_in_pages(ask, service, monkeypatch):
    from fanwise.cli.decisions import Service

    asked = []

    def answer(self, path, *, parameters=None, **more):
        asked.append(parameters)
        begin = parameters.get("offset", 0)
        change = {"topic": "a", "served": True, "followers": 1, "cost": 1.0, "reason": ""}
        return {"on": 25_000, "off": 0, "changes": [change] * 9000, "next": begin + 9000}

    monkeypatch.setattr(Service, "ask", answer)
    done = ask("diff", "0" * 64, "--limit", "20000", "--json")
    assert len(done.json["changes"]) == 20_000
    assert max(one["limit"] for one in asked) <= 10_000


@pytest.fixture
def stranger(monkeypatch):
    """A server that is no service of ours, and says what it is told to."""
    answers = {"status": 200, "body": b""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(answers["status"])
            self.send_header("Content-Length", str(len(answers["body"])))
            self.end_headers()
            self.wfile.write(answers["body"])

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("FANWISE_URL", f"http://127.0.0.1:{server.server_port}")
    yield answers
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>", b"", b"\xff\xfe", b"null", b"[]", b"3", b'"a"', b"{}",
        b'{"decisions": 3, "cursor": null}', b'{"decisions": [1], "cursor": null}',
        b'{"decisions": [{"hash": 1}], "cursor": null}',
        b'{"on": "a", "off": null, "changes": [{}], "next": null}',
    ],
)  # fmt: skip
def test_answers_of_strangers_are_one_line(run, stranger, body):
    stranger["body"] = body
    for arguments in (["list"], ["show", "0" * 64], ["diff", "0" * 64], ["show", "abcdef"]):
        done = run("decisions", *arguments)
        assert done.status == 2, (arguments, done)
        assert is_one_line(done.err), done.err
        assert "is no answer of a fanwise service" in done.err


@pytest.mark.parametrize(("status", "code"), [(429, 2), (503, 2), (500, 1), (404, 2), (409, 1)])
def test_what_may_pass_is_no_answer(run, stranger, status, code):
    stranger.update(status=status, body=b'{"detail": "why"}')
    done = run("decisions", "list")
    assert (done.status, is_one_line(done.err)) == (code, True)
    assert "why" in done.err


def test_no_proxy_stands_between_this_machine_and_itself(ask, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert ask("list").status == 0


def test_dead_letters_are_listed(ask, service, tmp_path):
    assert ask("dead-letters", "--json").json == {"deliveries": []}
    (tmp_path / "served.json").mkdir()
    hash = pending(service)
    ask("approve", hash)
    table = ask("dead-letters", role="read").out
    assert hash[:12] in table
    assert "cannot be written" in table
    found = ask("dead-letters", "--json").json["deliveries"][-1]
    assert len(ask("dead-letters", "--limit", "1", "--json").json["deliveries"]) == 1
    assert (found["output"], found["attempts"], found["hash"]) == ("file", 1, hash)
