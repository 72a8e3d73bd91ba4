"""Numbers, shares, sizes and spans of time as people read them."""

from __future__ import annotations

import unicodedata
from typing import Any

ABSENT = "–"  # noqa: RUF001


def number(value: Any) -> str:
    """Write a number for people: thousands apart, few digits."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return f"{int(value):,}"
        return f"{value:,.2f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)


def percent(share: float | None) -> str:
    """Write a share in percent; what is too little to matter is said to be."""
    if share is None:
        return ABSENT
    if 0 < abs(share) < 1e-6:
        return "<0.0001%"
    return f"{100 * share:.3g}%"


def money(usd: float | None) -> str:
    """Write dollars: cents for sums that people pay, digits for those that would round to 0."""
    if usd is None:
        return ABSENT
    return f"${usd:,.2f}" if usd == 0 or abs(usd) >= 1 else f"${usd:.4g}"


def size(num_bytes: float | None) -> str:
    """Write an amount of data in decimal units, as traffic is billed."""
    if num_bytes is None:
        return ABSENT
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if abs(num_bytes) < 1000:
            return f"{num_bytes:.4g} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:,.4g} EB"


def span(seconds: float) -> str:
    """Write a length of time in its largest whole unit: ``10 days``, ``1 hour``, ``90 seconds``."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count = seconds / length
        if count >= 1 and count.is_integer():
            return f"{int(count):,} {unit}{'' if count == 1 else 's'}"
    return f"{number(float(seconds))} seconds"


def looks_numeric(text: str) -> bool:
    """Whether a cell of a table should stand to the right."""
    digits = text.strip(ABSENT + "-+%$ ").replace(",", "").replace(".", "").replace("e", "")
    return text == ABSENT or digits.replace("-", "").replace("+", "").isdigit()


def printable(text: str) -> str:
    r"""Return a text as one harmless line: what terminals obey is written ``\x1b``, ``\n``."""
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    is_obeyed = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return ascii(character)[1:-1] if is_obeyed else character
