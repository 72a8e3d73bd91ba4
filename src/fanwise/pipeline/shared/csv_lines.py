"""Lines of CSV taken apart as Spark does it, for headers and for logs that are read without Spark.

Quotes inside quotes are doubled (RFC 4180), and a backslash is a backslash. A field ends with its
line. Where a quoted field goes on after its closing quote, the field is taken as it stands up to
the next delimiter, quotes and all.
"""

from __future__ import annotations

from collections.abc import Sequence


def split_line(line: str, separator: str) -> list[str]:
    """Return the fields of a line.

    Complexity
        O(length of the line).
    """
    if '"' not in line:
        return line.split(separator)
    fields: list[str] = []
    at, size = 0, len(line)
    while True:
        if at < size and line[at] == '"':
            value, at = _quoted(line, at, separator)
        else:
            end = line.find(separator, at)
            end = size if end < 0 else end
            value, at = line[at:end], end
        fields.append(value)
        if at >= size:
            return fields
        at += len(separator)


def _quoted(line: str, start: int, separator: str) -> tuple[str, int]:
    """Return the field that begins with a quote, and where it ends."""
    parts: list[str] = []
    at = start + 1
    while True:
        end = line.find('"', at)
        if end < 0:  # never closed: all that is left
            parts.append(line[at:])
            return "".join(parts) or '"', len(line)
        parts.append(line[at:end])
        if line.startswith('"', end + 1):
            parts.append('"')
            at = end + 2
            continue
        after = end + 1
        while after < len(line) and line[after] <= " " and not line.startswith(separator, after):
            after += 1
        if after >= len(line) or line.startswith(separator, after):
            return "".join(parts), after
        # It goes on after its closing quote: all of it up to the next delimiter, quotes and all.
        stop = line.find(separator, end + 1)
        stop = len(line) if stop < 0 else stop
        return '"' + "".join(parts) + line[end:stop], stop


def header_names(line: str, separator: str) -> list[str]:
    """Return the names in a header line: different ones, and none of them empty."""
    names = split_line(line.removeprefix("\ufeff"), separator)
    seen: dict[str, int] = {}
    for name in names:
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
    return [
        f"_c{index}" if not name else f"{name}{index}" if seen[name.lower()] > 1 else name
        for index, name in enumerate(names)
    ]


def is_blank(line: str) -> bool:
    """Whether a line is skipped: it has nothing but white space."""
    return not line.strip("".join(map(chr, range(33))))


def common_columns(headers: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of several files: all of them, in the order in which they come."""
    return list(dict.fromkeys(name for header in headers for name in header))
