"""Stores, clocks and outputs for tests of the executor."""

from __future__ import annotations

import pytest
from tests.service.executor.receivers import Clock, Receiver
from tests.service.servers import mosquitto, postgres, store_url

from fanwise.service.store.store import Store

__all__ = ["mosquitto", "postgres", "store_url"]


@pytest.fixture
def store(store_url):
    with Store(store_url) as store:
        yield store


@pytest.fixture
def sqlite(tmp_path):
    """A store where the kind of database does not matter."""
    with Store(tmp_path / "store.sqlite") as store:
        yield store


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver
