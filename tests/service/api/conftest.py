"""A service with one closed window, and clients of every role over real sockets."""

from __future__ import annotations

import httpx
import pytest
from tests.service.services import close_hour, supervise

from fanwise.service.api.app import make_app
from fanwise.service.api.metrics import Metrics
from fanwise.service.records import ROLES
from fanwise.service.server import HttpServer


class Clients:
    """One client for each role, and one without a token."""

    def __init__(self, service):
        self.service = service
        metrics = service.listener = Metrics(service)
        settings = service.configuration.server.model_copy(update={"port": 0})
        self.app = make_app(service, metrics)
        self.server = HttpServer(self.app, settings)
        self.server.start()
        self.tokens = {
            role: service.store.create_token(role, f"{role}er", who="test", at=1)[1]
            for role in ROLES
        }
        self._clients = []

    def of(self, role=None):
        headers = {} if role is None else {"Authorization": f"Bearer {self.tokens[role]}"}
        self._clients.append(httpx.Client(base_url=self.server.url, headers=headers, timeout=60))
        return self._clients[-1]

    def stop(self):
        for client in self._clients:
            client.close()
        self.server.stop()
        self.service.stop()


@pytest.fixture
def make_clients(tmp_path):
    made = []

    def make(**sections):
        service = supervise(tmp_path, **sections)
        close_hour(service, 0)
        made.append(Clients(service))
        return made[-1]

    yield make
    for clients in made:
        clients.stop()


@pytest.fixture
def clients(make_clients):
    return make_clients()
