"""Who may do what: bearer tokens with roles, each of which may do what the ones before it may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from fanwise.service.records import ROLES, Role
from fanwise.service.store.people import opens, read_token
from fanwise.service.store.store import Store


@dataclass(frozen=True)
class Person:
    """Whoever asks: the label of a token, its role and its id; no role without a token."""

    name: str
    role: Role | None
    token: str | None = None


ANYBODY = Person("anybody", None)
BEARER = Depends(HTTPBearer(auto_error=False, description="Made by fanwise serve token create."))
"""Puts the token into the description; who has one is found out below."""


DOORS: set[Any] = set()
"""Everything that :func:`requires` has returned."""


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
    parts = read_token(text) if scheme.lower() == "bearer" else None
    token = None if parts is None else store.find_token(parts[0])
    if parts is None or token is None or not opens(token, parts[1]):
        raise HTTPException(401, "The token is not valid.", {"WWW-Authenticate": "Bearer"})
    return Person(token.label, token.role, token.id)


def requires(role: Role, *, is_free: bool | None = None) -> Callable[[Request], Person]:
    """Return what lets in whoever has at least a role; to read, anybody where configured so.

    Parameters
    ----------
    is_free
        Whether anybody may be let in where so configured; left out: to read.
    """
    is_free = role == "read" if is_free is None else is_free

    def check(request: Request, _: Any = BEARER) -> Person:
        state = request.app.state
        header = request.headers.get("authorization")
        person: Person = state.known.check(state.store, header, role)
        if person.role is None:
            if is_free and state.anonymous_read:
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
