"""The page in a real browser on a real service."""

from __future__ import annotations

import http.server
import json
import re
import threading

import pytest
from tests.service.networks import write_network
from tests.service.services import EVENTS, PAIRS, close_hour

from fanwise.service.page.files import Page
from fanwise.service.server import HttpServer

HOSTILE = [
    "<img src=x onerror=window.hacked=1>",
    "</td></table><script>window.hacked=1</script>",
    "javascript:window.hacked=1//",
    '"><svg onload=window.hacked=1>',
    "a/../../b?c#d%2F",
]
LARGEST = 1_500_000


def pending(visit):
    return visit.clients.service.store.pending()


def confirm(page, text, button):
    page.fill("#starts", text)
    page.click(f"#confirm-do:has-text('{button}')")


def test_the_first_view_shows_what_is(visits):
    visit = visits(hours=1)
    visit.clients.service.executor.approve(pending(visit).hash, "test")
    close_hour(visit.clients.service, 1, {"news": 2, "cats": 9, "dogs": 9, "chat/room": 1})
    page = visit.open()
    decision, status = pending(visit), visit.clients.of("read").get("/api/v1/status").json()
    now = status["now"]
    tiles = page.inner_text("#tiles")
    assert f"{now['satisfied']} of {now['subscribers']}" in tiles.replace("\n", " ")
    assert "over capacity" not in tiles
    assert re.search(r"Certified gap", tiles)
    for part in ("Store", "Stream", "Receiver", "Analyzer", "Executor", "file"):
        assert part in page.inner_text("#parts")
    shown = page.inner_text("#pending")
    assert decision.hash[:6] in shown
    effect = decision.facts["effect"]
    assert f"▲ {effect['gain']}" in shown
    assert f"▼ {effect['lose']}" in shown
    rows = page.locator("#changes tbody tr")
    assert rows.count() == decision.changes
    changes, _ = visit.clients.service.store.changes_of(decision.number)
    assert changes[0].reason in rows.first.inner_text()
    assert page.locator("#history tbody tr").count() == 2
    assert page.locator("#over-time canvas").count() >= 3, "charts are drawn"
    assert visit.complaints == []


def test_no_request_leaves_the_machine_and_all_is_small(visit):
    visit.open()
    visit.page.locator("#what-if").scroll_into_view_if_needed()
    visit.page.wait_for_selector("#what-if-answer .big")
    assert visit.hosts == {visit.clients.server.url.removeprefix("http://")}
    assert any("bokeh" in path for path in visit.sizes)
    assert sum(visit.sizes.values()) < LARGEST / 2, "compressed"
    assert Page().num_bytes < LARGEST


def test_headers_keep_others_out(visit):
    client = visit.clients.of()
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert "unsafe" not in policy
    assert re.search(r"'nonce-[\w-]{20,}'", rules["style-src"])
    assert policy != client.get("/").headers["content-security-policy"], "a nonce is used once"
    for path in ("/", "/healthz", "/api/v1/status", "/page/gone.js"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
    assert client.get("/page/../../../etc/passwd").status_code == 404
    assert client.get("/page/%2e%2e/%2e%2e/records.py").status_code == 404
    assert "<script>" not in answer.text
    assert not re.search(r"\son\w+=|style=|https?://", answer.text)


def test_approving_asks_for_the_first_characters(visit, tmp_path):
    page, hash = visit.open(), pending(visit).hash
    page.click("text=Approve …")
    assert page.inner_text("#confirm-hash") == hash
    confirm(page, "000000", "Approve")
    assert "not the first characters" in page.inner_text("#confirm-error")
    confirm(page, hash[:5], "Approve")
    assert "Six characters" in page.inner_text("#confirm-error")
    assert pending(visit).hash == hash
    confirm(page, hash[:6], "Approve")
    page.wait_for_selector("#confirm", state="hidden")
    page.wait_for_selector("#pending-body:has-text('Nothing waits for you')")
    assert json.loads((tmp_path / "served.json").read_text())["hash"] == hash
    page.wait_for_selector("#history .chip:has-text('in force')")
    assert "1 of" not in page.inner_text("#now-note")
    audit = [(one.who, one.what) for one in visit.clients.service.store.audit(5).rows]
    assert ("approveer", "approve") in audit
    page.click("#audit summary")
    page.wait_for_selector("#audit td:has-text('approveer')")
    assert visit.complaints == []


def test_rejecting_keeps_the_reason(visit):
    page, decision = visit.open(), pending(visit)
    page.click("text=Reject …")
    page.fill("#why", "not <b>today</b>")
    page.click("#confirm-do:has-text('Reject')")
    page.wait_for_selector("#history .chip:has-text('rejected')")
    assert page.locator("#history b:has-text('today')").count() == 0
    found = visit.clients.service.store.decision(decision.number)
    assert (found.state, found.why) == ("rejected", "rejected by approveer: not <b>today</b>")


def test_rolling_back(visit):
    service = visit.clients.service
    first = pending(visit).hash
    service.executor.wait(service.executor.approve(first, "test").epoch, 20)
    close_hour(service, 1, {"cats": 9, "dogs": 9, "news": 1})
    second = pending(visit).hash
    service.executor.wait(service.executor.approve(second, "test").epoch, 20)
    page = visit.open()
    buttons = page.locator("#history button:has-text('Roll back')")
    assert buttons.count() == 1
    buttons.click()
    confirm(page, second[:6], "Roll back")
    assert "not the first characters" in page.inner_text("#confirm-error")
    confirm(page, first[:8], "Roll back")
    page.wait_for_selector("#confirm", state="hidden")
    page.wait_for_selector(f"#history tr:has-text('in force'):has-text('{first[:6]}')")
    assert service.store.current().hash == first
    assert ("approveer", "roll-back") in [(e.who, e.what) for e in service.store.audit(9).rows]


def test_a_newer_decision_is_not_approved_by_mistake(visit):
    page, old = visit.open(), pending(visit).hash
    page.click("text=Approve …")
    close_hour(visit.clients.service, 1, {"cats": 9, "dogs": 9})
    page.wait_for_selector("#confirm-error:has-text('newer decision')")
    confirm(page, old[:6], "Approve")
    page.wait_for_selector("#confirm-error:has-text('superseded')")
    assert visit.clients.service.store.current() is None


def test_what_if_by_sliders(visit):
    page = visit.open("read")
    page.locator("#what-if").scroll_into_view_if_needed()
    page.wait_for_selector("#what-if-answer:has-text('As configured')")
    page.focus("#capacity")
    page.keyboard.press("End")
    page.wait_for_selector("#what-if-answer .big:text-is('6')")
    assert "44 (100 %)" in page.inner_text("#capacity-text")
    page.keyboard.press("Home")
    page.wait_for_selector("#what-if-answer .big:text-is('0')")
    page.focus("#tau")
    page.keyboard.press("End")
    page.wait_for_function("document.getElementById('tau-text').value === '20'")
    assert page.locator("#what-if canvas").count() >= 1
    assert "Value against capacity for tau" in page.get_attribute(
        "#what-if [role=img]", "aria-label"
    )
    assert pending(visit).number == 1


def test_search_explains_topics_and_subscribers(visits):
    visit = visits(decide={"capacity": 12})
    page = visit.open("admin")
    page.fill("#query", "new")
    page.wait_for_selector("#option-0:has-text('news')")
    page.press("#query", "ArrowDown")
    page.press("#query", "Enter")
    page.wait_for_selector("#result:has-text('To serve it')")
    assert "offloaded" in page.inner_text("#result")
    page.click("text=Always serve")
    page.wait_for_selector("#result:has-text('pinned by hand')")
    assert visit.clients.service.store.pins()[0].topic == "news"
    page.fill("#query", "ann")
    page.click("#found li:has-text('ann')")
    page.wait_for_selector("#result:has-text('To satisfy it')")
    assert page.locator("#result tbody tr").count() == 1
    page.fill("#query", "nobody has this name")
    page.wait_for_selector("#found:has-text('No name in the last window')")


def test_names_are_never_read_as_html(visits, tmp_path):
    folder = write_network(tmp_path / "offload", [(HOSTILE[0], HOSTILE[1], HOSTILE)])
    pairs = [*PAIRS, *((f"{name} <b>fan</b>", name) for name in HOSTILE)]
    visit = visits(hours=0, pairs=pairs, server={"network": str(folder)}, decide={"capacity": 90})
    close_hour(visit.clients.service, 0, EVENTS | dict.fromkeys(HOSTILE, 3))
    page = visit.open("admin")
    page.wait_for_selector("#network svg")
    for name in HOSTILE:
        assert page.locator("#changes td").get_by_text(name, exact=True).count() == 1, name
        page.fill("#query", name[:12])
        page.locator("#found li").filter(has=page.get_by_text(name, exact=True)).first.click()
        page.wait_for_function(
            "name => document.querySelector('#result h3')?.textContent === name", arg=name
        )
        page.fill("#query", "fan</b>")
        page.wait_for_selector("#found .kind:has-text('subscriber')")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#page img, #page script, #found b, #result b b").count() == 0
    assert visit.complaints == []


def test_signing_in_and_out(visit):
    page, url = visit.page, visit.clients.server.url
    page.goto(url)
    page.wait_for_selector("#sign-in-form")
    assert page.locator("#page").is_hidden()
    page.fill("#token", "fw_nonsense")
    page.press("#token", "Enter")
    page.wait_for_selector("#sign-in-error:has-text('not valid')")
    page.fill("#token", visit.clients.tokens["read"])
    page.press("#token", "Enter")
    page.wait_for_selector("#tiles .tile")
    assert page.inner_text("#person") == "reader (read)"
    assert page.evaluate("document.cookie") == ""
    assert visit.clients.tokens["read"] not in page.content()
    assert page.locator("text=Approve …").count() == 0
    assert "needs a token with the role approve" in page.inner_text("#pending")
    page.reload()
    page.wait_for_selector("#tiles .tile")
    page.click("#sign-out")
    page.wait_for_selector("#sign-in-form")
    page.reload()
    page.wait_for_selector("#sign-in-form")


def test_a_revoked_token_ends_what_is_open(visit):
    page, store = visit.open("read"), visit.clients.service.store
    store.revoke_token(next(t.id for t in store.tokens() if t.role == "read"), who="x", at=3)
    page.wait_for_selector("#sign-in-form")


def test_a_link_works_once(visit):
    page = visit.open()
    assert page.evaluate("location.hash") == ""
    page.context.clear_cookies()
    page.goto(f"{visit.clients.server.url}/#code=used")
    page.wait_for_selector("#sign-in-error:has-text('sign in with a token')")


def test_where_reading_is_free_the_page_opens_without_a_token(visits):
    visit = visits(server={"anonymous_read": True})
    visit.page.goto(visit.clients.server.url)
    visit.page.wait_for_selector("#tiles .tile")
    assert "Sign in to approve" in visit.page.inner_text("#pending")
    visit.page.click("#sign-in-button")
    visit.page.fill("#token", visit.clients.tokens["approve"])
    visit.page.press("#token", "Enter")
    visit.page.wait_for_selector("text=Approve …")


def test_another_page_of_the_same_host_cannot_approve(visit):
    page, decision = visit.open(), pending(visit)
    path = f"{visit.clients.server.url}/api/v1/decisions/{decision.hash}/approve"
    attack = f"""<form method=post action="{path}" enctype=text/plain>
      <input name='{{"starts": "{decision.hash[:6]}", "x' value='": 1}}'></form>
      <script>document.forms[0].submit()</script>""".encode()

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(attack)

        def log_message(self, *arguments):
            pass

    evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    try:
        other = page.context.new_page()
        answers = []
        other.on("response", lambda one: answers.append((one.url, one.status)))
        other.goto(f"http://127.0.0.1:{evil.server_port}/")
        other.wait_for_url(path)
        assert (path, 403) in answers, "the cookie came along, and was not enough"
    finally:
        evil.shutdown()
        evil.server_close()
    assert pending(visit).hash == decision.hash


def test_new_windows_show_without_a_reload(visit):
    page = visit.open()
    page.evaluate("window.same = true")
    close_hour(visit.clients.service, 1, {"cats": 9, "dogs": 9, "news": 1})
    page.wait_for_selector("#pending .lead:has-text('Decision 2')")
    page.wait_for_function("document.querySelectorAll('#history tbody tr').length === 2")
    assert "Decision 2 waits" in page.inner_text("#announcements")
    assert page.title().startswith("●")
    assert page.evaluate("window.same")


def test_the_page_survives_a_restart_of_the_service(visit):
    page, clients = visit.open(), visit.clients
    page.evaluate("window.same = true")
    port = int(clients.server.url.rsplit(":", 1)[1])
    clients.server.stop()
    page.wait_for_selector("#live:has-text('no answer')")
    from fanwise.service.api.app import make_app

    clients.service.latest.decided = None
    settings = clients.service.configuration.server.model_copy(update={"port": port})
    clients.app = make_app(clients.service, clients.service.listener)
    clients.server = HttpServer(clients.app, settings)
    clients.server.start()
    page.wait_for_selector("#live:has-text('live')")
    close_hour(clients.service, 1, {"cats": 9, "dogs": 9, "news": 1})
    page.wait_for_selector("#pending .lead:has-text('Decision 2')")
    assert page.evaluate("window.same")
    assert page.inner_text("#person") == "approveer (approve)", "nobody has to sign in again"


def test_empty_states_say_what_will_come(visits):
    visit = visits(hours=0)
    page = visit.open()
    assert "The first numbers come when the first window of 60 min has closed" in page.inner_text(
        "#tiles"
    )
    assert "A decision comes with it" in page.inner_text("#pending")
    assert "Curves begin" in page.inner_text("#over-time")
    assert "when the first window has closed" in page.inner_text("#what-if")
    assert "fanwise export" in page.inner_text("#network")
    assert "No decision yet" in page.inner_text("#history")
    page.fill("#query", "a")
    page.wait_for_selector("#result:has-text('No window has closed')")
    close_hour(visit.clients.service, 0)
    page.wait_for_selector("#pending .lead:has-text('Decision 1')")
    page.wait_for_selector("#over-time canvas")
    assert visit.complaints == []


def test_troubles_are_said(visit):
    page = visit.open()
    visit.clients.service.health.receiver = "no connection to the broker: refused"
    page.wait_for_selector("#parts:has-text('no connection to the broker: refused')")
    assert "1 thing needs a look" in page.inner_text("#parts-note")


@pytest.mark.parametrize("width", [390, 320, 768, 1360])
def test_it_fits_every_width(visits, width):
    visit = visits(context={"viewport": {"width": width, "height": 800}})
    page = visit.open()
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("nav a:has-text('History')").count() == 1
    page.click("text=Approve …")
    box = page.locator("#confirm").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_by_keyboard_alone(visit):
    page, hash = visit.open(), pending(visit).hash
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Approve …":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where one is must be seen"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.wait_for_selector("#confirm", state="hidden")
    assert page.evaluate("document.activeElement.textContent") == "Approve …"
    page.keyboard.press("Enter")
    page.keyboard.type(hash[:6])
    page.keyboard.press("Enter")
    page.wait_for_selector("#pending-body:has-text('Nothing waits for you')")
    assert visit.clients.service.store.current().hash == hash


def violations(page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs the package axe-playwright-python"
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        (one["id"], node["target"], node["failureSummary"])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visits, scheme, tmp_path):
    folder = write_network(tmp_path / "offload", [("a", "b", ["news"])], [("news", "a")])
    visit = visits(context={"color_scheme": scheme}, server={"network": str(folder)})
    service = visit.clients.service
    service.executor.wait(service.executor.approve(pending(visit).hash, "test").epoch, 20)
    close_hour(service, 1, {"cats": 9, "dogs": 9, "news": 1})
    service.health.receiver = "no connection"
    visit.page.goto(visit.clients.server.url)
    visit.page.wait_for_selector("#sign-in-form")
    assert violations(visit.page) == []
    page = visit.open("admin")
    page.wait_for_selector("#parts .error")
    page.locator("#what-if").scroll_into_view_if_needed()
    page.wait_for_selector("#what-if-answer .big")
    page.click("#audit summary")
    page.wait_for_selector("#audit table")
    page.fill("#query", "a")
    page.wait_for_selector("#option-0")
    assert violations(page) == []
    page.press("#query", "ArrowDown")
    page.press("#query", "Enter")
    page.wait_for_selector("#result dl")
    assert violations(page) == []
    page.click("text=Approve …")
    assert violations(page) == []


def test_light_and_dark_are_remembered(visits):
    visit = visits(context={"color_scheme": "light"})
    page = visit.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.wait_for_selector("#tiles .tile")
    assert page.evaluate(ground) == dark
    assert page.get_attribute("#theme", "aria-pressed") == "true"
