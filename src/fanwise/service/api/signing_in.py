"""Signing in and out on the page."""

from __future__ import annotations

import logging
import time
from urllib.parse import urlsplit

from fastapi import FastAPI, HTTPException, Request, Response

from fanwise.service.api import page_bodies
from fanwise.service.api.auth import Person, find_token, refuse_foreign
from fanwise.service.api.sessions import Sessions, csrf_of
from fanwise.service.records import AuditEntry
from fanwise.service.store.rows import Token
from fanwise.service.store.store import Store

log = logging.getLogger(__name__)


class Door:
    """Lets people in and out; every time is in the audit trail under the token's label."""

    def __init__(self, app: FastAPI) -> None:
        self._store: Store = app.state.store
        self._sessions: Sessions = app.state.sessions
        self._cookie: str = app.state.cookie

    def sign_in(
        self, request: Request, how: page_bodies.SignIn, answer: Response
    ) -> page_bodies.SessionBody:
        """Begin a session, and set the cookie of the answer.

        Raises
        ------
        HTTPException
            401 for what opens nothing; 403 where another site's page has caused the request.
        """
        origin = request.headers.get("origin", "")
        if origin:
            refuse_foreign(request.headers)
        token = self._open(how)
        if token is None:
            where = request.client.host if request.client else "?"
            log.warning("a sign-in from %s was refused", where)
            raise HTTPException(
                401,
                "This token is not valid; fanwise serve token create makes one."
                if how.code is None
                else "This link was used or is too old; sign in with a token.",
                {"WWW-Authenticate": "Bearer"},
            )
        self._sessions.end(request.cookies.get(self._cookie))
        secret = self._sessions.begin(token.id)
        answer.set_cookie(
            self._cookie,
            secret,
            path="/",
            httponly=True,
            samesite="strict",
            # Behind a proxy that does TLS only the browser knows.
            secure="https" in (request.url.scheme, urlsplit(origin).scheme),
        )
        self._note(token.label, "sign-in", token.id)
        return self.describe(Person(token.label, token.role, token.id, secret))

    def sign_out(self, person: Person, answer: Response) -> None:
        """End the session of a person, and forget the cookie."""
        session = self._sessions.find(person.session)
        if session is not None and self._sessions.end(person.session):
            self._note(person.name, "sign-out", session.token)
        answer.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")

    def describe(self, person: Person) -> page_bodies.SessionBody:
        """Say who somebody is, and what their requests must carry."""
        session = self._sessions.find(person.session)
        return page_bodies.SessionBody(
            name=person.name,
            role=person.role,
            csrf="" if person.session is None else csrf_of(person.session),
            until=None if session is None else int(self._sessions.until(session) * 1e6),
        )

    def _open(self, how: page_bodies.SignIn) -> Token | None:
        if how.code is not None:
            id = self._sessions.redeem(how.code)
            found = None if id is None else self._store.find_token(id)
            return None if found is None or found.revoked_at is not None else found
        return None if how.token is None else find_token(self._store, how.token.strip())

    def _note(self, who: str, what: str, about: str) -> None:
        self._store.add_audit(AuditEntry(time.time_ns() // 1000, who, what, about, token=about))
