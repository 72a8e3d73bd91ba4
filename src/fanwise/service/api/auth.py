"""Who may do what: tokens with roles, each of which may do what the ones before it may.

Programs send the token itself (``Authorization: Bearer …``). People sign in with it on the page and
have a session then, known by a cookie. A browser sends cookies along whoever caused a request, so
what changes something must come from the page itself: it carries a header that only the page can
know, and an Origin that is this server's.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers

from fanwise.service.api.sessions import Sessions, csrf_of
from fanwise.service.records import ROLES, Role
from fanwise.service.store.people import opens, read_token
from fanwise.service.store.rows import Token
from fanwise.service.store.store import Store

CSRF_HEADER = "x-fanwise-csrf"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Person:
    """Whoever asks: the label of a token, its role and its id; no role without a token.

    Attributes
    ----------
    session
        The secret of the session, where it is one of the page.
    """

    name: str
    role: Role | None
    token: str | None = None
    session: str | None = None


ANYBODY = Person("anybody", None)
BEARER = Depends(HTTPBearer(auto_error=False, description="Made by fanwise serve token create."))
"""Puts the token into the description; who has one is found out below."""


DOORS: set[Any] = set()
"""Everything that :func:`requires` has returned."""


def cookie_name(state: Path) -> str:
    """Return the cookie's name: browsers tell hosts apart and not ports, so services are."""
    return f"fanwise-{hashlib.sha256(str(state).encode(errors='replace')).hexdigest()[:8]}"


def find_token(store: Store, text: str) -> Token | None:
    """Return the valid token with a text; None for what is none, or no longer."""
    parts = read_token(text)
    token = None if parts is None else store.find_token(parts[0])
    return token if token is not None and parts is not None and opens(token, parts[1]) else None


def find_person(store: Store, header: str | None) -> Person:
    """Return who an Authorization header is of.

    Raises
    ------
    HTTPException
        401 for a token that is none, or no longer.
    """
    if header is None:
        return ANYBODY
    scheme, text = get_authorization_scheme_param(header)
    token = find_token(store, text) if scheme.lower() == "bearer" else None
    if token is None:
        raise HTTPException(401, "The token is not valid.", {"WWW-Authenticate": "Bearer"})
    return Person(token.label, token.role, token.id)


def who_asks(request: Request, role: Role) -> Person:
    """Return who a request is of: by its token, else by its session.

    Parameters
    ----------
    role
        What it is about to be asked for.

    Raises
    ------
    HTTPException
        401 for a token that is none; 403 for a change that does not come from the page.
    """
    state = request.app.state
    header = request.headers.get("authorization")
    if header is not None:
        known: Person = state.known.check(state.store, header, role)
        return known
    sessions: Sessions = state.sessions
    secret = request.cookies.get(state.cookie)
    session = sessions.find(secret)
    if session is None or secret is None:
        return ANYBODY
    token: Token | None = state.store.find_token(session.token)
    if token is None or token.revoked_at is not None:
        sessions.end(secret)
        return ANYBODY
    if request.method not in SAFE:
        refuse_foreign(request.headers)
        if not hmac.compare_digest(
            request.headers.get(CSRF_HEADER, "").encode(), csrf_of(secret).encode()
        ):
            raise HTTPException(403, "The page is out of date; load it again.")
    return Person(token.label, token.role, token.id, secret)


def refuse_foreign(headers: Headers) -> None:
    """Refuse what another site's page has caused: 403.

    Without an Origin a request is not a browser's, or comes from nowhere that can be named.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    is_own = origin is not None and urlsplit(origin).netloc.lower() == host.lower()
    if not is_own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise HTTPException(403, "This request does not come from the service's own page.")


def requires(role: Role, *, is_free: bool | None = None) -> Callable[[Request], Person]:
    """Return what lets in whoever has at least a role; to read, anybody where configured so.

    Parameters
    ----------
    is_free
        Whether anybody may be let in where so configured; left out: to read.
    """
    is_free = role == "read" if is_free is None else is_free

    def check(request: Request, _: Any = BEARER) -> Person:
        person = who_asks(request, role)
        if person.role is None:
            if is_free and request.app.state.anonymous_read:
                return person
            raise HTTPException(
                401,
                "This needs a token (Authorization: Bearer …); fanwise serve token makes one.",
                {"WWW-Authenticate": "Bearer"},
            )
        if ROLES.index(person.role) < ROLES.index(role):
            raise HTTPException(403, f"This needs the role {role}; the token has {person.role}.")
        return person

    DOORS.add(check)
    return check


def let_in(request: Request) -> None:
    """Check who asks before anything is said of the question.

    Raises
    ------
    HTTPException
        401 or 403 for whoever may not ask.
    """
    dependant = getattr(request.scope.get("route"), "dependant", None)
    for one in () if dependant is None else dependant.dependencies:
        if one.call in DOORS:
            one.call(request)
