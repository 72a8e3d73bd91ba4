"""Tokens that have opened the door: their clients have buckets of their own.

They are counted apart from whoever guesses at the same address, and read metrics while the store,
which alone knows what was revoked, is away.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from fastapi import HTTPException

from fanwise.service.api.auth import Person, find_person
from fanwise.service.records import Role
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.store.store import Store

MOST_TOKENS = 1000
"""Tokens that are remembered; the one that was quiet longest is forgotten."""
TRUSTED_SECONDS = 3600.0
"""How long a token reads that cannot be checked because the store is away."""


class KnownTokens:
    """Who came with which header, by its digest."""

    def __init__(
        self, most: int = MOST_TOKENS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._clock = most, clock
        self._people: OrderedDict[str, tuple[Person, float]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, header: str, person: Person) -> None:
        """Remember that a header is of somebody."""
        with self._lock:
            self._people[_digest(header)] = (person, self._clock())
            self._people.move_to_end(_digest(header))
            if len(self._people) > self._most:
                self._people.popitem(last=False)

    def get(self, header: str) -> Person | None:
        """Return who a header was of when it was checked last; None if nobody knows."""
        found = self._find(header)
        return None if found is None else found[0]

    def drop(self, header: str) -> None:
        """Forget a header that opens nothing, or no longer."""
        with self._lock:
            self._people.pop(_digest(header), None)

    def check(self, store: Store, header: str | None, role: Role) -> Person:
        """Return who a header is of, as the store says; to read, as it said not long ago.

        Raises
        ------
        HTTPException
            401 for a token that is none, or no longer.
        StoreUnavailable
            Where nobody can tell.
        """
        try:
            person = find_person(store, header)
        except HTTPException:
            self.drop(header or "")
            raise
        except StoreUnavailable:
            found = self._find(header or "")
            if role != "read" or found is None or self._clock() - found[1] > TRUSTED_SECONDS:
                raise
            return found[0]
        if header is not None:
            self.put(header, person)
        return person

    def identify(self, store: Store, header: str) -> Person | None:
        """Return who a header is of; None if it is of nobody, or nobody can tell."""
        try:
            return self.check(store, header, "read")
        except (HTTPException, StoreUnavailable):
            return None

    def _find(self, header: str) -> tuple[Person, float] | None:
        with self._lock:
            found = self._people.get(_digest(header))
            if found is not None:
                self._people.move_to_end(_digest(header))
            return found


def _digest(header: str) -> str:
    return hashlib.sha256(header.encode(errors="replace")).hexdigest()
