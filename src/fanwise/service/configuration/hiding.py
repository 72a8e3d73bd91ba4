"""Values of a configuration as they may be shown: without what may be a secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SECRET_NAMES = re.compile(r"pass|secret|token|key|credential|jaas|user|auth", re.IGNORECASE)
_FREE = frozenset({"options", "conf"})
"""Tables whose names are those of others: any of them may hold a secret."""
_USERINFO = re.compile(r"://.*@")
_ASSIGNED = re.compile(r"((?:pass|pwd|secret|token|key|auth)\w*\s*=\s*)[^&;\s]+", re.IGNORECASE)


def show(place: Sequence[str | int], value: Any) -> str:
    """Return a value that was refused as a message may show it."""
    names = [part for part in place if isinstance(part, str)]
    is_secret = bool(names) and _SECRET_NAMES.search(names[-1]) is not None
    if is_secret or _FREE & set(names):
        return "a value that is not shown"
    return hide(repr(value))


def hide(text: str) -> str:
    """Return a text without names and passwords in addresses, and without what is assigned."""
    return _ASSIGNED.sub(r"\1…", _USERINFO.sub("://…@", text))
