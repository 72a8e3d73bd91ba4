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
    """Whoever asks: the label of a token and its role; no role without a token."""

    name: str
    role: Role | None


ANYBODY = Person("anybody", None)
BEARER = Depends(HTTPBearer(auto_error=False, description="Made by fanwise serve token create."))
"""Puts the token into the description; who has one is found out below."""


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
    return Person(token.label, token.role)


def requires(role: Role) -> Callable[[Request], Person]:
    """Return what lets in whoever has at least a role; to read, anybody where configured so."""

    def check(request: Request, _: Any = BEARER) -> Person:
        store: Store = request.app.state.store
        person = find_person(store, request.headers.get("authorization"))
        if person.role is None:
            if role == "read" and request.app.state.anonymous_read:
                return person
            raise HTTPException(
                401,
                "This needs a token (Authorization: Bearer …); fanwise serve token makes one.",
                {"WWW-Authenticate": "Bearer"},
            )
        if ROLES.index(person.role) < ROLES.index(role):
            raise HTTPException(403, f"This needs the role {role}; the token has {person.role}.")
        return person

    return check
