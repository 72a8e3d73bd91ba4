"""What people do, in the store: the audit trail, tokens, pins."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from sqlalchemy import delete, insert, select, update

from fanwise.errors import ParameterError
from fanwise.service.records import ROLES, AuditEntry, Role
from fanwise.service.store import tables
from fanwise.service.store.database import Database
from fanwise.service.store.packing import read_cursor
from fanwise.service.store.reading import check_limit, make_page, to_audit_entry, write_audit
from fanwise.service.store.rows import Page, Pin, PinKind, Token

NOT_PEOPLE = frozenset({"policy", "service", "command line", "anybody"})
"""Who does what no token did; no token has such a label."""
_TOKEN = re.compile(r"fw_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)


class People(Database):
    """Methods about the audit trail, tokens and pins; each is one transaction."""

    def add_audit(self, entry: AuditEntry) -> None:
        """Add an entry to the audit trail."""
        with self.writing() as connection:
            write_audit(connection, entry)

    def audit(
        self, limit: int = 50, cursor: str | None = None, about: str | None = None
    ) -> Page[AuditEntry]:
        """Return a page of the audit trail, newest first; of everything, or about one thing."""
        rows = tables.audit
        after = read_cursor(cursor)
        query = select(rows).order_by(rows.c.number.desc()).limit(check_limit(limit) + 1)
        if after is not None:
            query = query.where(rows.c.number < after[0])
        if about is not None:
            query = query.where(rows.c.about == about)
        with self.reading() as connection:
            found = list(connection.execute(query))
        return make_page(found, limit, ("number",), to_audit_entry)

    def create_token(
        self, role: Role, label: str | None, *, who: str, at: int
    ) -> tuple[Token, str]:
        """Make a token, and return it with its text, which is nowhere else.

        Parameters
        ----------
        label
            Whom it is for; what this person does is signed with it in the audit trail. None for
            one made of the role and the id.
        who
            Whoever makes it.
        """
        if role not in ROLES:
            raise ParameterError("role", f"one of {', '.join(ROLES)}", role)
        identity, secret = secrets.token_hex(6), secrets.token_hex(32)
        if label is None:
            label = f"{role} token {identity[:4]}"
        if not label.strip() or label.strip().casefold() in NOT_PEOPLE:
            raise ParameterError("label", "a name for whoever gets the token", label)
        token = Token(identity, role, label, _digest(secret), at, None)
        with self.writing() as connection:
            connection.execute(
                insert(tables.tokens).values(
                    id=token.id,
                    role=token.role,
                    label=token.label,
                    digest=token.digest,
                    created_at=at,
                )
            )
            note = f"role {role}, for {label}"
            write_audit(connection, AuditEntry(at, who, "create-token", token.id, note))
        return token, f"fw_{token.id}_{secret}"

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, also revoked ones, oldest first."""
        rows = tables.tokens
        with self.reading() as connection:
            found = connection.execute(select(rows).order_by(rows.c.created_at, rows.c.id))
            return tuple(Token(*row) for row in found)

    def find_token(self, id: str) -> Token | None:
        """Return a token by its id."""
        with self.reading() as connection:
            query = select(tables.tokens).where(tables.tokens.c.id == id)
            row = connection.execute(query).one_or_none()
        return None if row is None else Token(*row)

    def revoke_token(self, id: str, *, who: str, at: int) -> bool:
        """Revoke a token; return whether it was valid until now."""
        rows = tables.tokens
        with self.writing() as connection:
            done = connection.execute(
                update(rows).where(rows.c.id == id, rows.c.revoked_at.is_(None)).values(
                    revoked_at=at
                )
            )  # fmt: skip
            if done.rowcount:
                write_audit(connection, AuditEntry(at, who, "revoke-token", id))
        return bool(done.rowcount)

    def pins(self) -> tuple[Pin, ...]:
        """Return what people have pinned and excluded, by the names of topics."""
        rows = tables.pins
        columns = (rows.c.topic, rows.c.kind, rows.c.who, rows.c.at)
        with self.reading() as connection:
            found = [Pin(*row) for row in connection.execute(select(*columns))]
        return tuple(sorted(found, key=lambda pin: pin.topic))

    def set_pin(
        self, topic: str, kind: PinKind, *, who: str, at: int, token: str | None = None
    ) -> Pin:
        """Pin or exclude a topic, whichever it was before."""
        if kind not in ("pin", "exclude"):
            raise ParameterError("kind", "pin or exclude", kind)
        rows = tables.pins
        values = {"topic": topic, "kind": kind, "who": who, "at": at}
        with self.writing() as connection:
            connection.execute(delete(rows).where(rows.c.digest == _digest(topic)))
            connection.execute(insert(rows).values(digest=_digest(topic), **values))
            write_audit(connection, AuditEntry(at, who, kind, topic, token=token))
        return Pin(topic, kind, who, at)

    def remove_pin(self, topic: str, *, who: str, at: int, token: str | None = None) -> bool:
        """Leave a topic to the numbers again; return whether it was pinned or excluded."""
        rows = tables.pins
        with self.writing() as connection:
            done = connection.execute(delete(rows).where(rows.c.digest == _digest(topic)))
            if done.rowcount:
                write_audit(connection, AuditEntry(at, who, "unpin", topic, token=token))
        return bool(done.rowcount)


def read_token(text: str) -> tuple[str, str] | None:
    """Return id and secret of a token; None for what is none."""
    found = _TOKEN.fullmatch(text)
    return None if found is None else (found[1], found[2])


def opens(token: Token, secret: str) -> bool:
    """Whether a token is valid and a secret is its own; takes as long for every wrong one."""
    is_same = hmac.compare_digest(token.digest, _digest(secret))
    return is_same and token.revoked_at is None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
