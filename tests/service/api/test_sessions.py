"""Signing in on the page: sessions, their ends, and what other sites' pages cannot do."""

from __future__ import annotations

import httpx
import pytest
from tests.service.services import close_hour

from fanwise.service.api.sessions import (
    IDLE_SECONDS,
    LINK_SECONDS,
    MOST,
    MOST_PER_TOKEN,
    Sessions,
)


def sign_in(clients, role="approve"):
    """Return a browser that has signed in, and the headers its page sends."""
    url = clients.server.url
    browser = clients.of()
    answer = browser.post("/api/v1/session", json={"token": clients.tokens[role]})
    assert answer.status_code == 200
    return browser, {"Origin": url, "X-Fanwise-CSRF": answer.json()["csrf"]}


def approve(clients, browser, headers, **more):
    hash = clients.service.store.pending().hash
    body = {"starts": hash[:6], **more}
    return browser.post(f"/api/v1/decisions/{hash}/approve", headers=headers, json=body)


def audit(clients):
    return [(one.who, one.what) for one in clients.service.store.audit(50).rows]


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(clients):
    answer = clients.of().post("/api/v1/session", json={"token": clients.tokens["read"]})
    (cookie,) = answer.headers.get_list("set-cookie")
    words = {word.strip().lower() for word in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words
    assert "secure" not in words, "over plain HTTP on loopback it would not come back"
    assert clients.tokens["read"] not in cookie
    assert answer.json()["role"] == "read"
    kept = clients.service.folder.sessions.read_text()
    secret = cookie.split("=", 1)[1].split(";")[0]
    assert secret not in kept
    assert clients.service.folder.sessions.stat().st_mode & 0o077 == 0


def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_alone(clients):
    host = clients.server.url.removeprefix("http://")
    answer = clients.of().post(
        "/api/v1/session",
        json={"token": clients.tokens["read"]},
        headers={"Origin": f"https://{host}"},
    )
    assert "secure" in answer.headers["set-cookie"].lower()


def test_signing_in_and_out_is_in_the_audit_trail(clients):
    browser, headers = sign_in(clients)
    assert browser.get("/api/v1/session").json()["name"] == "approveer"
    assert browser.get("/api/v1/status").json()["you"] == "approve"
    assert approve(clients, browser, headers).json()["state"] == "done"
    assert browser.delete("/api/v1/session", headers=headers).status_code == 204
    assert browser.get("/api/v1/session").status_code == 401
    assert [one for one in audit(clients)[::-1] if one[0] == "approveer"] == [
        ("approveer", "sign-in"), ("approveer", "approve"), ("approveer", "sign-out"),
    ]  # fmt: skip


def test_a_cookie_is_worthless_after_signing_out(clients):
    browser, headers = sign_in(clients)
    stolen = dict(browser.cookies)
    browser.delete("/api/v1/session", headers=headers)
    again = httpx.get(f"{clients.server.url}/api/v1/status", cookies=stolen)
    assert again.status_code == 401


@pytest.mark.parametrize(
    "change",
    [
        {"X-Fanwise-CSRF": None},
        {"X-Fanwise-CSRF": ""},
        {"X-Fanwise-CSRF": "0" * 64},
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_what_another_page_causes_changes_nothing(clients, change):
    browser, headers = sign_in(clients, "admin")
    hash = clients.service.store.pending().hash
    wrong = {name: value for name, value in (headers | change).items() if value is not None}
    for method, path, body in (
        ("POST", f"/api/v1/decisions/{hash}/approve", {"starts": hash[:6]}),
        ("POST", f"/api/v1/decisions/{hash}/reject", {}),
        ("POST", f"/api/v1/decisions/{hash}/rollback", {"starts": hash[:6]}),
        ("PUT", "/api/v1/pins/news", {"kind": "pin"}),
        ("DELETE", "/api/v1/pins/news", None),
        ("DELETE", "/api/v1/session", None),
        ("POST", "/api/v1/what-if", {}),
    ):
        answer = browser.request(method, path, headers=wrong, json=body)
        assert answer.status_code == 403, (method, path)
    assert clients.service.store.pending().hash == hash
    assert clients.service.store.pins() == ()
    assert approve(clients, browser, headers).status_code == 200


def test_another_page_cannot_sign_somebody_in(clients):
    answer = clients.of().post(
        "/api/v1/session",
        json={"token": clients.tokens["read"]},
        headers={"Origin": "http://evil.example"},
    )
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_tokens_of_programs_need_neither_header(clients):
    hash = clients.service.store.pending().hash
    answer = clients.of("approve").post(
        f"/api/v1/decisions/{hash}/approve", headers={"Origin": "http://elsewhere.example"}
    )
    assert answer.json()["state"] == "done"


def test_a_token_counts_before_a_cookie(clients):
    browser, headers = sign_in(clients, "admin")
    reader = {"Authorization": f"Bearer {clients.tokens['read']}"}
    assert browser.get("/api/v1/status", headers=reader).json()["you"] == "read"
    refused = browser.put("/api/v1/pins/news", json={"kind": "pin"}, headers=headers | reader)
    assert refused.status_code == 403


def test_people_confirm_by_the_first_characters(clients):
    browser, headers = sign_in(clients)
    hash = clients.service.store.pending().hash
    for body in (None, {"starts": "000000"}, {"starts": hash[1:9]}):
        answer = browser.post(f"/api/v1/decisions/{hash}/approve", headers=headers, json=body)
        assert answer.status_code == 409, body
    short = browser.post(
        f"/api/v1/decisions/{hash}/approve", headers=headers, json={"starts": hash[:5]}
    )
    assert short.status_code == 422
    assert clients.service.store.pending().hash == hash
    assert approve(clients, browser, headers, starts=hash[:9].upper()).status_code == 200


def test_programs_may_confirm_and_then_must_be_right(clients):
    hash = clients.service.store.pending().hash
    client, path = clients.of("approve"), f"/api/v1/decisions/{hash}/approve"
    assert client.post(path, json={"starts": "000000"}).status_code == 409
    assert client.post(path, json={"starts": hash[:6]}).json()["state"] == "done"


def test_revoking_the_token_ends_its_sessions(clients):
    browser, headers = sign_in(clients)
    other, _ = sign_in(clients, "read")
    store = clients.service.store
    id = next(one.id for one in store.tokens() if one.role == "approve")
    store.revoke_token(id, who="test", at=2)
    assert browser.get("/api/v1/status").status_code == 401
    assert approve(clients, browser, headers).status_code == 401
    assert other.get("/api/v1/status").status_code == 200


def test_roles_are_those_of_the_token(clients):
    browser, headers = sign_in(clients, "read")
    assert browser.get("/api/v1/status").json()["you"] == "read"
    assert approve(clients, browser, headers).status_code == 403
    browser, headers = sign_in(clients, "approve")
    refused = browser.put("/api/v1/pins/news", json={"kind": "pin"}, headers=headers)
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "how",
    [{}, {"token": ""}, {"token": "fw_0_0"}, {"token": "x" * 77}, {"code": "no"}, {"code": ""}],
    ids=str,
)
def test_what_opens_nothing_is_refused(clients, how):
    answer = clients.of().post("/api/v1/session", json=how)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert clients.of().post("/api/v1/session", json={"token": "x" * 500}).status_code == 422


def test_a_link_signs_in_once(clients):
    service = clients.service
    sessions = clients.app.state.sessions
    id = next(one.id for one in service.store.tokens() if one.role == "admin")
    code = sessions.invite(id)
    assert clients.of().post("/api/v1/session", json={"code": code}).json()["role"] == "admin"
    assert clients.of().post("/api/v1/session", json={"code": code}).status_code == 401
    code = sessions.invite(id)
    service.store.revoke_token(id, who="test", at=2)
    assert clients.of().post("/api/v1/session", json={"code": code}).status_code == 401


def test_every_session_has_its_own_share_of_requests(make_clients):
    clients = make_clients(server={"requests_per_minute": 20})
    first, _ = sign_in(clients)
    second, _ = sign_in(clients)
    codes = [first.get("/api/v1/status").status_code for _ in range(25)]
    assert codes.count(429) >= 4
    assert second.get("/api/v1/status").status_code == 200
    # What is made up is no session: it counts for the address.
    codes = [
        httpx.get(
            f"{clients.server.url}/api/v1/status", cookies={clients.app.state.cookie: f"{made}"}
        ).status_code
        for made in range(25)
    ]
    assert 429 in codes


def test_newer_decisions_make_what_was_looked_at_409(clients):
    browser, headers = sign_in(clients)
    old = clients.service.store.pending().hash
    close_hour(clients.service, 1, {"cats": 9, "dogs": 9})
    answer = browser.post(
        f"/api/v1/decisions/{old}/approve", headers=headers, json={"starts": old[:6]}
    )
    assert answer.status_code == 409


@pytest.fixture
def kept(tmp_path):
    """Sessions of an hour, with a clock that is set by hand."""
    now = [1_000_000.0]

    def make():
        return Sessions(tmp_path / "sessions.json", longest=3600.0, clock=lambda: now[0])

    return make, now


def test_sessions_end_by_themselves(kept):
    make, now = kept
    sessions = make()
    secret = sessions.begin("t")
    now[0] += 3599
    assert sessions.find(secret).token == "t"
    now[0] += 1
    assert sessions.find(secret) is None
    for strange in (None, "", "x", "é" * 40):
        assert sessions.find(strange) is None
        assert not sessions.end(strange)


def test_quiet_sessions_end_sooner(kept, tmp_path):
    _, now = kept
    sessions = Sessions(tmp_path / "long.json", longest=1e9, clock=lambda: now[0])
    secret = sessions.begin("t")
    now[0] += IDLE_SECONDS - 1
    assert sessions.find(secret)
    now[0] += IDLE_SECONDS - 1
    assert sessions.find(secret)
    now[0] += IDLE_SECONDS + 1
    assert sessions.find(secret) is None


def test_sessions_are_kept_over_a_restart(kept):
    make, now = kept
    sessions = make()
    secret, other = sessions.begin("t"), sessions.begin("u")
    sessions.end(other)
    again = make()
    assert again.find(secret).token == "t"
    assert again.find(other) is None
    now[0] += 3600
    assert make().find(secret) is None


def test_a_broken_file_signs_everybody_out(kept, tmp_path):
    make, _ = kept
    secret = make().begin("t")
    for broken in ("{", "[]", '{"a": 1}', '{"a": {"x": 1}}'):
        (tmp_path / "sessions.json").write_text(broken)
        assert make().find(secret) is None
    assert make().begin("t")


def test_their_number_is_bounded(kept):
    make, now = kept
    sessions = make()
    first = sessions.begin("greedy")
    for _ in range(MOST_PER_TOKEN):
        now[0] += 1
        sessions.begin("greedy")
    assert sessions.find(first) is None
    kept_one = sessions.begin("other")
    assert len(sessions._sessions) == MOST_PER_TOKEN + 1
    assert sessions.find(kept_one)
    assert MOST >= 10 * MOST_PER_TOKEN


def test_links_grow_old(kept):
    make, now = kept
    sessions = make()
    code = sessions.invite("t")
    now[0] += LINK_SECONDS
    assert sessions.redeem(code) is None
    assert sessions.redeem(sessions.invite("t")) == "t"
