"""Stores for tests of the store."""

from __future__ import annotations

import pytest
from tests.service.servers import postgres, store_url

from fanwise.service.store.store import Store

__all__ = ["postgres", "store_url"]


@pytest.fixture
def store(store_url):
    with Store(store_url) as store:
        yield store
