"""The API: who may do what, what it answers, what it refuses."""

from __future__ import annotations

import json
import re
import time
from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

import pytest
from tests.service.services import close_hour

from fanwise.service.api.limits import RateLimit
from fanwise.service.store.errors import StoreUnavailable

PATHS = {
    ("GET", "/metrics"): "read",
    ("GET", "/api/v1/status"): "read",
    ("GET", "/api/v1/decisions"): "read",
    ("GET", "/api/v1/decisions/{hash}"): "read",
    ("GET", "/api/v1/decisions/{hash}/diff"): "read",
    ("GET", "/api/v1/windows"): "read",
    ("GET", "/api/v1/audit"): "read",
    ("GET", "/api/v1/dead-letters"): "read",
    ("GET", "/api/v1/pins"): "read",
    ("GET", "/api/v1/topics/news"): "read",
    ("GET", "/api/v1/subscribers/bob"): "read",
    ("GET", "/api/v1/series"): "read",
    ("GET", "/api/v1/search"): "read",
    ("GET", "/api/v1/network"): "read",
    ("GET", "/api/v1/session"): "read",
    ("DELETE", "/api/v1/session"): "read",
    ("POST", "/api/v1/what-if"): "read",
    ("POST", "/api/v1/what-if/curve"): "read",
    ("PUT", "/api/v1/pins/news"): "admin",
    ("DELETE", "/api/v1/pins/news"): "admin",
    ("POST", "/api/v1/decisions/{hash}/reject"): "approve",
    ("POST", "/api/v1/decisions/{hash}/approve"): "approve",
    ("POST", "/api/v1/decisions/{hash}/rollback"): "approve",
}
OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/api/v1/session")}
BODIES = {
    "/api/v1/what-if": {},
    "/api/v1/what-if/curve": {},
    "/api/v1/pins/news": {"kind": "pin"},
}
ORDER = [None, "read", "approve", "admin"]


def pending(clients):
    return clients.service.store.pending().hash


def ask(client, method, path, hash="0" * 64):
    body = BODIES.get(path)
    return client.request(method, path.format(hash=hash), json=body)


def test_every_path_of_the_description_is_tried_with_every_role(clients):
    described = clients.of().get("/openapi.json").json()["paths"]
    known = {
        (method.upper(), path.replace("{topic}", "news").replace("{name}", "news"))
        for path, methods in described.items()
        for method in methods
    }
    tried = {
        (method, path.replace("bob", "news"))
        for method, path in (*PATHS, *(OPEN - {("GET", "/openapi.json")}))
    }
    assert known == tried
    for (method, path), least in PATHS.items():
        for role in ORDER:
            answer = ask(clients.of(role), method, path)
            if role is None:
                assert answer.status_code == 401, (method, path)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
            elif ORDER.index(role) < ORDER.index(least):
                assert answer.status_code == 403, (method, path, role)
            else:
                assert answer.status_code not in (401, 403, 500), (method, path, role)


@pytest.mark.parametrize(
    "header",
    ["Bearer nonsense", "Basic abc", "Bearer", "", "Bearer fw_0_0", "Bearer fw_" + "0" * 77],
)
def test_tokens_that_are_none_are_refused_even_where_reading_is_free(make_clients, header):
    anybody = make_clients(server={"anonymous_read": True}).of()
    assert anybody.get("/api/v1/status").status_code == 200
    assert anybody.put("/api/v1/pins/a", json={"kind": "pin"}).status_code == 401
    answer = anybody.get("/api/v1/status", headers={"Authorization": header})
    assert answer.status_code == 401


def test_revoked_tokens_open_nothing(clients):
    client = clients.of("admin")
    assert client.get("/api/v1/status").json()["you"] == "admin"
    identity = next(one.id for one in clients.service.store.tokens() if one.role == "admin")
    clients.service.store.revoke_token(identity, who="test", at=2)
    assert client.get("/api/v1/status").status_code == 401


def test_a_decision_from_pending_to_in_force_and_back(clients, tmp_path):
    service, client = clients.service, clients.of("approve")
    first = pending(clients)
    shown = client.get(f"/api/v1/decisions/{first}").json()
    assert (shown["hash"], shown["state"]) == (first, "pending")
    assert shown["window"] == {
        "start": "1970-01-01T00:00:00.000Z",
        "end": "1970-01-01T01:00:00.000Z",
    }
    diff = client.get(f"/api/v1/decisions/{first}/diff").json()
    assert diff["on"] == len(diff["changes"]) == shown["changes"] > 0
    assert diff["off"] == 0
    assert all(change["reason"] for change in diff["changes"])
    done = client.post(f"/api/v1/decisions/{first}/approve").json()
    assert (done["state"], done["decision"]["state"]) == ("done", "in-force")
    served = json.loads((tmp_path / "served.json").read_text())
    assert served["hash"] == first
    assert client.post(f"/api/v1/decisions/{first}/approve").status_code == 409

    close_hour(service, 1, {"cats": 9, "dogs": 9, "news": 1})
    second = pending(clients)
    assert second != first
    assert client.post(f"/api/v1/decisions/{second}/approve").json()["state"] == "done"
    assert client.get(f"/api/v1/decisions/{first}").json()["state"] == "superseded"
    back = client.post(f"/api/v1/decisions/{first}/rollback").json()
    assert back["decision"]["state"] == "in-force"
    assert json.loads((tmp_path / "served.json").read_text())["hash"] == first
    entries = client.get("/api/v1/audit").json()["entries"]
    assert [one["what"] for one in entries if one["who"] == "approveer"] == [
        "roll-back", "approve", "approve",
    ]  # fmt: skip


def test_a_decision_that_is_no_longer_pending_is_409(clients):
    client, old = clients.of("approve"), pending(clients)
    close_hour(clients.service, 1, {"cats": 9, "dogs": 9})
    assert pending(clients) != old
    for verb in ("approve", "reject", "rollback"):
        answer = client.post(f"/api/v1/decisions/{old}/{verb}")
        assert answer.status_code == 409
        assert old in answer.json()["detail"]
    assert client.post(f"/api/v1/decisions/{'0' * 64}/approve").status_code == 404


def test_rejecting_says_why_in_the_audit_trail(clients):
    hash = pending(clients)
    answer = clients.of("approve").post(
        f"/api/v1/decisions/{hash}/reject", json={"why": "not today"}
    )
    assert answer.json()["state"] == "rejected"
    assert "not today" in answer.json()["why"]
    newest = clients.of("read").get("/api/v1/audit?limit=1").json()["entries"][0]
    assert (newest["who"], newest["what"], newest["note"]) == ("approveer", "reject", "not today")


def test_pages_of_decisions_go_through_all_of_them_once(clients):
    for hour in range(1, 8):
        close_hour(clients.service, hour, {"cats": hour + 1, "dogs": 2 * hour})
    client, seen, cursor = clients.of("read"), [], None
    while True:
        begin = {} if cursor is None else {"cursor": cursor}
        page = client.get("/api/v1/decisions", params={"limit": 3, **begin}).json()
        assert len(page["decisions"]) <= 3
        seen += [one["number"] for one in page["decisions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == list(range(8, 0, -1))
    assert client.get("/api/v1/decisions?cursor=nonsense").status_code == 422
    windows = client.get("/api/v1/windows").json()["windows"]
    assert len(windows) == 8


def test_topics_and_subscribers_are_explained(clients):
    client = clients.of("read")
    chat = client.get("/api/v1/topics/chat/room").json()
    assert chat["served"]
    assert not chat["in_force"]
    assert chat["facts"]["followers"] == 2
    bob = client.get("/api/v1/subscribers/bob").json()
    assert (bob["needs"], bob["satisfied"]) == (2.0, True)
    assert {row["topic"] for row in bob["topics"]} == {"news", "chat/room"}
    missing = client.get("/api/v1/topics/chat/roon")
    assert missing.status_code == 404
    assert "chat/room" in missing.json()["detail"]
    assert chat["takes"] is None
    assert chat["why"]
    assert client.get("/api/v1/subscribers/..%2f..%2fetc%2fpasswd").status_code == 404


def test_pins_fix_topics_from_the_next_decision_on(clients):
    admin = clients.of("admin")
    assert admin.put("/api/v1/pins/dogs", json={"kind": "exclude"}).json()["who"] == "adminer"
    assert (
        admin.put("/api/v1/pins/a%2Fb'; DROP TABLE pins;--", json={"kind": "pin"}).status_code
        == 200
    )
    assert {pin["topic"] for pin in admin.get("/api/v1/pins").json()} == {
        "dogs", "a/b'; DROP TABLE pins;--",
    }  # fmt: skip
    close_hour(clients.service, 1, {"dogs": 9, "cats": 9})
    assert not admin.get("/api/v1/topics/dogs").json()["served"]
    assert admin.delete("/api/v1/pins/dogs").status_code == 204
    assert admin.delete("/api/v1/pins/dogs").status_code == 404


def test_what_if_changes_nothing(clients):
    client, before = clients.of("read"), pending(clients)
    more = client.post("/api/v1/what-if", json={"capacity": "100%"}).json()
    assert more["value"] == 6
    assert more["gap"] == 0
    none = client.post("/api/v1/what-if", json={"capacity": 0}).json()
    assert none["value"] == 0
    assert pending(clients) == before
    assert clients.service.store.count_decisions() == {"pending": 1}
    for bad in (
        {"capacity": "much"}, {"tau": 0}, {"tau": 1e300}, {"tau": True}, {"tau": "3"},
        {"capacity": -1}, {"capacity": True}, {"x": 1},
    ):  # fmt: skip
        assert client.post("/api/v1/what-if", json=bad).status_code == 422, bad


def test_health_readiness_and_metrics(clients):
    client = clients.of("read")
    assert clients.of().get("/healthz").json() == {"status": "ok"}
    assert clients.of().get("/readyz").status_code == 200
    clients.service.health.receiver = "no connection to the broker"
    ready = clients.of().get("/readyz")
    assert (ready.status_code, ready.json()["troubles"]) == (503, ["receiver"])
    text = client.get("/metrics").text
    for line in (
        "fanwise_events_total 18.0",
        'fanwise_part_up{part="receiver"} 0.0',
        'fanwise_part_up{part="store"} 1.0',
        "fanwise_epoch 0.0",
    ):
        assert line in text, text


def test_requests_are_bounded(clients):
    admin = clients.of("admin")
    assert admin.put("/api/v1/pins/a", content=b"x" * 10**6).status_code == 413
    assert admin.get("/api/v1/decisions?limit=1000000").status_code == 422


def test_misspelt_parameters_are_refused(clients):
    reader = clients.of("read")
    answer = reader.get("/api/v1/decisions?limt=3")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "limt: is no parameter of this path; known are cursor, limit."
    assert reader.get("/api/v1/status?x").status_code == 422


def test_pages_are_no_larger_than_the_store_allows(make_clients):
    reader = make_clients(server={"largest_page": 5000}).of("read")
    assert reader.get("/api/v1/decisions?limit=5000").status_code == 200


def test_too_many_requests_wait(make_clients):
    clients = make_clients(server={"requests_per_minute": 5})
    reader = clients.of("read")
    answers = [reader.get("/api/v1/status") for _ in range(7)]
    assert [one.status_code for one in answers] == [200] * 5 + [429] * 2
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert clients.of("approve").get("/api/v1/status").status_code == 200
    anybody = clients.of()
    assert all(anybody.get("/healthz").status_code == 200 for _ in range(9))


def test_buckets_fill_again():
    now = [0.0]
    limit = RateLimit(60, lambda: now[0])
    assert [limit.wait_for("a") for _ in range(60)] == [0.0] * 60
    assert limit.wait_for("a") == pytest.approx(1.0)
    now[0] = 2.0
    assert limit.wait_for("a") == 0.0


def test_errors_say_nothing_of_what_is_inside(clients, monkeypatch):
    monkeypatch.setattr(clients.service.store, "pins", lambda: 1 / 0)
    answer = clients.of("read").get("/api/v1/pins")
    assert answer.status_code == 500
    assert "ZeroDivision" not in answer.text


def test_tokens_are_in_no_answer(clients):
    client = clients.of("admin")
    texts = [
        client.get(path).text
        for path in ("/api/v1/status", "/api/v1/audit", "/metrics", "/openapi.json")
    ]
    secrets = [token.rsplit("_", 1)[1] for token in clients.tokens.values()]
    digests = [token.digest for token in clients.service.store.tokens()]
    assert not any(secret in text for secret in (*secrets, *digests) for text in texts)


@pytest.mark.parametrize("name", ["a\n", "a\nb", "\n", "a\r\n\u2028b", "a/b\n/c", "é" * 5000])
def test_names_are_any_text(clients, name):
    admin, path = clients.of("admin"), f"/api/v1/pins/{quote(name, safe='')}"
    assert admin.put(path, json={"kind": "pin"}).json()["topic"] == name
    assert [pin["topic"] for pin in admin.get("/api/v1/pins").json()] == [name]
    assert admin.delete(path).status_code == 204
    missing = clients.of("read").get(f"/api/v1/topics/{quote(name, safe='')}")
    assert missing.status_code == 404
    assert "not in the workload" in missing.json()["detail"]


def test_names_are_no_longer_than_topics_can_be(clients):
    headers = {"Authorization": f"Bearer {clients.tokens['admin']}"}
    longest = "é" * 32_767 + "a"
    for name, code in ((longest, 200), ("a" * 65_536, 422), (longest + "a", 422)):
        # The library of the other tests takes no addresses that are so long.
        connection = HTTPConnection(urlsplit(clients.server.url).netloc, timeout=60)
        headers["Content-Type"] = "application/json"
        connection.request("PUT", f"/api/v1/pins/{quote(name)}", b'{"kind": "pin"}', headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status == code, text[:200]
        assert (json.loads(text)["topic"] == name) if code == 200 else len(text) < 200


def test_without_a_token_nothing_is_said_of_the_question(clients):
    """Whoever may not ask does not hear what is wrong with the question."""
    anybody, reader = clients.of(), clients.of("read")
    json_type = {"Content-Type": "application/json"}
    cases = [
        ("GET", "/api/v1/decisions?limt=3", None),
        ("GET", "/api/v1/decisions?limit=0", None),
        ("GET", "/api/v1/decisions/zzz", None),
        ("PUT", "/api/v1/pins/a", b"{broken"),
        ("PUT", "/api/v1/pins/a", b"{}"),
        ("POST", "/api/v1/what-if", b"\xff"),
    ]
    for method, path, content in cases:
        refused = anybody.request(method, path, content=content, headers=json_type)
        assert refused.status_code == 401, (method, path)
        assert refused.headers["WWW-Authenticate"] == "Bearer"
    for content in (b"{broken", b"{}"):
        answer = reader.put("/api/v1/pins/a", content=content, headers=json_type)
        assert answer.status_code == 403
    assert reader.post("/api/v1/what-if", content=b"{", headers=json_type).status_code == 422


def test_hashes_that_nobody_knows_are_404_in_every_mode(make_clients):
    clients = make_clients(execute={"mode": "dry-run"})
    client = clients.of("approve")
    for verb in ("approve", "rollback", "reject"):
        assert client.post(f"/api/v1/decisions/{'0' * 64}/{verb}").status_code == 404
    assert client.post(f"/api/v1/decisions/{pending(clients)}/approve").status_code == 409


def away(*_, **__):
    raise StoreUnavailable('postgresql://db.internal/fw: does not answer: user "bob" on 10.1.2.3.')


def test_while_the_store_is_away_metrics_are_read_and_others_hear_nothing_of_it(
    clients, monkeypatch
):
    reader = clients.of("read")
    assert reader.get("/metrics").status_code == 200
    for name in ("find_token", "decisions", "outputs", "current"):
        monkeypatch.setattr(clients.service.store, name, away)
    answer = reader.get("/api/v1/decisions")
    assert answer.status_code == 503
    assert not any(word in answer.text for word in ("postgresql", "db.internal", "bob", "10.1"))
    text = reader.get("/metrics")
    assert text.status_code == 200
    assert "fanwise_events_total 18.0" in text.text
    assert clients.of("approve").get("/metrics").status_code == 503, "nobody knows this token"
    assert clients.of("admin").put("/api/v1/pins/a", json={"kind": "pin"}).status_code == 503


def test_what_if_needs_a_token_also_where_reading_is_free(make_clients):
    clients = make_clients(server={"anonymous_read": True})
    assert clients.of().get("/api/v1/topics/news").status_code == 200
    assert clients.of().post("/api/v1/what-if", json={}).status_code == 401
    assert clients.of("read").post("/api/v1/what-if", json={}).status_code == 200


def test_status_tells_what_is_applied_and_which_output_waits_why(make_clients, tmp_path):
    clients = make_clients(execute={"retries": {"first_wait": "20s", "longest_wait": "20s"}})
    (tmp_path / "served.json").mkdir()
    reader, hash = clients.of("read"), pending(clients)
    application = clients.service.executor.approve(hash, "ann")
    status = {}
    for _ in range(300):
        status = reader.get("/api/v1/status").json()
        if status["applying"] and status["applying"][0]["waiting"][0]["error"]:
            break
        time.sleep(0.05)
    (applying,) = status["applying"]
    assert (applying["hash"], applying["kind"], applying["who"]) == (hash, "apply", "ann")
    assert re.fullmatch(ISO, applying["opened_at"])
    (waiting,) = applying["waiting"]
    assert (waiting["output"], waiting["attempts"]) == ("file", 1)
    assert "cannot be written" in waiting["error"]
    assert re.fullmatch(ISO, waiting["next_attempt"])
    assert status["outputs"][0]["name"] == "file"
    assert status["outputs"][0]["is_behind"]
    assert status["dead_letters"] == 0
    assert clients.of().get("/readyz").status_code == 200
    assert application.epoch == applying["epoch"]


ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_times_of_the_status_are_written_like_all_others(clients):
    status = clients.of("read").get("/api/v1/status").json()
    assert status["windows"]["last"] == {
        "start": "1970-01-01T00:00:00.000Z",
        "end": "1970-01-01T01:00:00.000Z",
    }
    assert re.fullmatch(ISO, status["input"]["last"])
    assert status["input"]["lag"] > 10**9


def test_dead_letters_are_listed_page_by_page(make_clients, tmp_path):
    clients = make_clients(execute={"retries": {"attempts": 1}})
    (tmp_path / "served.json").mkdir()
    approver = clients.of("approve")
    for hour in (1, 2, 3):
        approver.post(f"/api/v1/decisions/{pending(clients)}/approve")
        close_hour(clients.service, hour, {"cats": hour, "dogs": 9 - hour})
    reader, seen, cursor = clients.of("read"), [], None
    while True:
        begin = {} if cursor is None else {"cursor": cursor}
        page = reader.get("/api/v1/dead-letters", params={"limit": 2, **begin}).json()
        seen += page["deliveries"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(seen) >= 3
    assert [one["epoch"] for one in seen] == sorted((one["epoch"] for one in seen), reverse=True)
    assert all("cannot be written" in one["error"] for one in seen)
    assert {one["output"] for one in seen} == {"file"}
    assert re.fullmatch(ISO, seen[0]["created_at"])
    assert reader.get("/api/v1/status").json()["dead_letters"] == len(seen)


def test_the_audit_trail_tells_tokens_of_the_same_label_apart(clients):
    store = clients.service.store
    made = [store.create_token("admin", "ann", who="test", at=1) for _ in range(2)]
    for (token, text), topic in zip(made, ("a", "b"), strict=True):
        headers = {"Authorization": f"Bearer {text}"}
        anybody = clients.of()
        anybody.put(f"/api/v1/pins/{topic}", json={"kind": "pin"}, headers=headers)
        assert anybody.delete(f"/api/v1/pins/{topic}", headers=headers).status_code == 204
        assert token.id
    hash = pending(clients)
    headers = {"Authorization": f"Bearer {made[1][1]}"}
    clients.of().post(f"/api/v1/decisions/{hash}/approve", headers=headers)
    entries = clients.of("read").get("/api/v1/audit").json()["entries"]
    told = {(one["who"], one["what"], one["about"], one["token"]) for one in entries}
    assert {
        ("ann", "pin", "a", made[0][0].id),
        ("ann", "unpin", "a", made[0][0].id),
        ("ann", "pin", "b", made[1][0].id),
        ("ann", "approve", hash, made[1][0].id),
    } <= told
    assert all(one["token"] is None for one in entries if one["who"] in ("test", "service"))
