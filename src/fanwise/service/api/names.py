"""Names of topics and subscribers in paths: any text, as long as MQTT allows."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor

LONGEST_NAME = 65_535
"""In bytes of UTF-8."""


class AnyText(Convertor[str]):
    """All that follows in a path: slashes, and line breaks too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        """Return the name as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Return the name as it is."""
        return value


def use_any_text() -> None:
    """Make ``{name:text}`` known to routes."""
    register_url_convertor("text", AnyText())


def check_name(name: str) -> str:
    """Refuse names that no topic can have."""
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise ValueError(f"must have at most {LONGEST_NAME:,} bytes")
    return name
