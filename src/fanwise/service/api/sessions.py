"""Sessions of people who signed in on the page: bounded in number and time, ended at any moment.

A session is a secret in a cookie that scripts cannot read. Here only its digest is kept, with the
token that it stands for; what the token may do is looked up for every request, so a revoked token
ends its sessions. They are kept in a file, so that a restart of the service signs nobody out.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

log = logging.getLogger(__name__)

MOST = 1000
"""Sessions at a time; the one that was quiet longest ends first."""
MOST_PER_TOKEN = 20
"""So that one person cannot push everybody else out."""
IDLE_SECONDS = 2 * 3600.0
"""Without a request for so long a session ends: an open page asks every few seconds."""
LINK_SECONDS = 3600.0
"""How long a link that signs in once is good for."""
MOST_LINKS = 10


@dataclass(frozen=True)
class Session:
    """Somebody who signed in: with which token, when, and when last heard of (wall clock)."""

    token: str
    begun: float
    seen: float


class Sessions:
    """Who is signed in."""

    def __init__(
        self, path: Path, *, longest: float, clock: Callable[[], float] = time.time
    ) -> None:
        """Begin with what is kept in the file.

        Parameters
        ----------
        longest
            Seconds after which a session ends in any case.
        """
        self._path, self._longest, self._clock = path, longest, clock
        self._lock = threading.Lock()
        self._links: dict[str, tuple[str, float]] = {}
        self._sessions = self._read()

    def begin(self, token: str) -> str:
        """Begin a session for the id of a token; return its secret."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._drop_old(now)
            self._sessions[_digest(secret)] = Session(token, now, now)
            self._drop_most(MOST_PER_TOKEN, token)
            self._drop_most(MOST)
            self._write()
        return secret

    def find(self, secret: str | None) -> Session | None:
        """Return the session of a secret, which has now been heard of; None for none."""
        if not secret:
            return None
        key, now = _digest(secret), self._clock()
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                return None
            if not self._is_open(session, now):
                del self._sessions[key]
                return None
            self._sessions[key] = session = replace(session, seen=now)
        return session

    def name_of(self, secret: str | None) -> str | None:
        """Return what to call the session of a secret where it must not be told; None for none."""
        return None if secret is None or self.find(secret) is None else _digest(secret)

    def end(self, secret: str | None) -> bool:
        """End a session; return whether there was one."""
        if not secret:
            return False
        with self._lock:
            found = self._sessions.pop(_digest(secret), None)
            if found is not None:
                self._write()
        return found is not None

    def until(self, session: Session) -> float:
        """Return when a session ends at the latest, in seconds since the epoch."""
        return session.begun + self._longest

    def invite(self, token: str) -> str:
        """Return a code that begins one session for the id of a token, once and soon."""
        code, now = secrets.token_urlsafe(24), self._clock()
        with self._lock:
            self._links[_digest(code)] = (token, now + LINK_SECONDS)
            while len(self._links) > MOST_LINKS:
                del self._links[next(iter(self._links))]
        return code

    def redeem(self, code: str) -> str | None:
        """Return the token that a code was made for, the first time it is shown."""
        with self._lock:
            token, until = self._links.pop(_digest(code), ("", 0.0))
        return token if token and self._clock() < until else None

    def _is_open(self, session: Session, now: float) -> bool:
        # A clock that was set back must not make sessions last for ever.
        return 0 <= now - session.begun < self._longest and abs(now - session.seen) < IDLE_SECONDS

    def _drop_old(self, now: float) -> None:
        self._sessions = {
            key: one for key, one in self._sessions.items() if self._is_open(one, now)
        }

    def _drop_most(self, most: int, token: str | None = None) -> None:
        """Drop the quietest sessions, of one token or of all, beyond so many."""
        some = [
            (one.seen, one.begun, key)
            for key, one in self._sessions.items()
            if token is None or one.token == token
        ]
        for _, _, key in sorted(some)[: max(0, len(some) - most)]:
            del self._sessions[key]

    def _read(self) -> dict[str, Session]:
        now = self._clock()
        try:
            rows = json.loads(self._path.read_text(encoding="ascii"))
            # When each was heard of last is not written at every request.
            found = {key: replace(Session(**row), seen=now) for key, row in rows.items()}
            return {key: one for key, one in found.items() if self._is_open(one, now)}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            log.warning("%s: cannot be read, everybody signs in again: %s", self._path, error)
            return {}

    def _write(self) -> None:
        rows = {key: asdict(one) for key, one in self._sessions.items()}
        hidden = self._path.with_suffix(".new")
        try:
            with open(
                os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii"
            ) as file:
                json.dump(rows, file)
            hidden.replace(self._path)
        except OSError as error:  # people stay signed in until the next restart
            log.warning("%s: cannot be written: %s", self._path, error)


def csrf_of(secret: str) -> str:
    """Return what the page must send along with every change, made from the session's secret."""
    return hashlib.sha256(f"fanwise csrf {secret}".encode()).hexdigest()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
