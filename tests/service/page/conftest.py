"""A browser, and pages of services that it has signed in to."""

from __future__ import annotations

import os
import shutil
from urllib.parse import urlsplit

import pytest
from tests.service.api.conftest import Clients
from tests.service.services import close_hour, supervise


def find_chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


# A module at a time: while it runs, nothing else in this process can run an event loop.
@pytest.fixture(scope="module")
def browser():
    """Chromium without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    path = find_chromium()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = started.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


class Visit:
    """A page that was opened, and all it asked for and complained of."""

    def __init__(self, page, clients):
        self.page, self.clients = page, clients
        self.hosts, self.sizes, self.complaints = set(), {}, []
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("requestfinished", self._measure)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)

    def _measure(self, request):
        if "/api/" not in request.url:
            self.sizes[urlsplit(request.url).path] = request.sizes()["responseBodySize"]

    def _hear(self, message):
        # Refusals are expected by some tests, and named there.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def open(self, role="approve"):
        """Open the page, signed in by a link; wait for all of it."""
        app, store = self.clients.app, self.clients.service.store
        token = next(one for one in store.tokens() if one.role == role)
        self.page.goto(f"{self.clients.server.url}/#code={app.state.sessions.invite(token.id)}")
        self.page.wait_for_selector("html[data-ready=charts]")
        return self.page


@pytest.fixture
def visits(browser, tmp_path):
    """Makes services with some closed hours, and pages on them."""
    made, contexts = [], []

    def make(*, hours=1, clients=None, context=None, **given):
        if clients is None:
            service = supervise(tmp_path, **given)
            for hour in range(hours):
                close_hour(service, hour)
            clients = Clients(service)
            made.append(clients)
        contexts.append(browser.new_context(**(context or {})))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        return Visit(page, clients)

    yield make
    for one in contexts:
        one.close()
    for clients in made:
        clients.stop()


@pytest.fixture
def visit(visits):
    return visits()
