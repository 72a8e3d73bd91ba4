"""How values become columns: text of any characters, JSON, long lists, cursors of pages."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

from sqlalchemy import Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from fanwise.errors import ParameterError

_HIDDEN = re.compile(r"[\\\0]")
_SHOWN = re.compile(r"\\([\\0])")
_LONGEST_CURSOR = 64


class AnyText(TypeDecorator[str]):
    r"""Text with any characters, also those that PostgreSQL refuses.

    A zero character is kept as ``\0`` and a backslash as ``\\``; halves of surrogate pairs, which
    are no characters, become question marks.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        whole = value.encode(errors="replace").decode()
        return _HIDDEN.sub(lambda found: "\\0" if found[0] == "\0" else "\\\\", whole)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return _SHOWN.sub(lambda found: "\0" if found[1] == "0" else "\\", value)


class JsonText(TypeDecorator[Any]):
    """A value as JSON in plain ASCII."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, default=_plain, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class PackedJson(TypeDecorator[Any]):
    """A long list as compressed JSON: a tenth of what its rows would take."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes:
        text = json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(text.encode(errors="replace"), level=3)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(zlib.decompress(value))


def _plain(value: Any) -> Any:
    """Return what JSON knows instead of numbers and arrays of NumPy, and mappings."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "items"):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that the store can keep")


def write_cursor(*key: int) -> str:
    """Return the cursor of the page that begins after a row."""
    text = ":".join(map(str, key))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, parts: int = 1) -> tuple[int, ...] | None:
    """Return the key of the row that a page begins after; None for the first page.

    Raises
    ------
    ParameterError
        For a cursor that no page came with.
    """
    if cursor is None:
        return None
    try:
        if len(cursor) > _LONGEST_CURSOR:
            raise ValueError(cursor)
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, b"-_", validate=True).decode("ascii")
    except ValueError:
        text = ""
    if re.fullmatch(rf"-?\d{{1,18}}(?::-?\d{{1,18}}){{{parts - 1}}}", text, re.ASCII) is None:
        raise ParameterError("cursor", "one that came with a page", cursor[:_LONGEST_CURSOR])
    return tuple(map(int, text.split(":")))
