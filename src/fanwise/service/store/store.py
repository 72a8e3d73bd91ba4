"""The store as others see it: one class, every method one transaction."""

from __future__ import annotations

from fanwise.service.store.applications import Applications
from fanwise.service.store.decisions import Decisions
from fanwise.service.store.people import People
from fanwise.service.store.windows import Windows


class Store(Decisions, Windows, People, Applications):
    """Decisions, windows, audit trail, tokens, pins, applications and their deliveries.

    Every method raises :class:`~fanwise.service.store.errors.StoreUnavailable` while the database
    is away; :func:`~fanwise.service.store.waiting.retrying` waits for it.
    """
