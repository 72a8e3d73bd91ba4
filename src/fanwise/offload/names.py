"""Names that go elsewhere: nodes as names of files, topics as Mosquitto's configuration takes them.

What a topic may be was found out on Mosquitto 2.0.11: it ends the connection of a bridge whose
topics it does not like, and tries again for ever, so that such topics are refused before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fanwise.errors import InputError

CONTROL = "fanwise/"
"""Topics below are for messages about the system itself."""
MAX_TOPIC_BYTES = 65_535
MAX_SLASHES = 200
"""Mosquitto's own limit on the levels of a topic."""
MAX_FILE_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""What Windows keeps for devices."""
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
_FLAWS = (
    (re.compile(r"\A\Z"), "is empty"),
    (re.compile(r"[+#]"), "has a wildcard of MQTT (+ or #)"),
    (re.compile(r" "), "has a space, which Mosquitto's configuration cannot hold"),
    (re.compile(r"[\x00-\x1f\x7f-\x9f]"), "has a control character, which Mosquitto refuses"),
    (
        re.compile(f"[{_NONCHARACTERS}]"),
        "has a code point that is no character, which Mosquitto refuses",
    ),
    (re.compile(r'\A""\Z'), "means no topic in Mosquitto's configuration"),
    (re.compile(r"\A\$"), "begins with $, which MQTT keeps for brokers"),
    (re.compile(rf"\A{CONTROL}"), f"is below {CONTROL}, which is kept for control messages"),
)


def find_topic_flaw(name: str) -> str | None:
    """Say in words why a topic cannot be bridged, None if it can."""
    for pattern, flaw in _FLAWS:
        if pattern.search(name):
            return flaw
    if len(name.encode()) > MAX_TOPIC_BYTES:
        return f"is longer than {MAX_TOPIC_BYTES} bytes"
    if name.count("/") > MAX_SLASHES:
        return f"has more than {MAX_SLASHES} slashes, Mosquitto's limit"
    return None


def check_topics(names: Iterable[str]) -> None:
    """Raise for the first topic that cannot be bridged."""
    for name in names:
        flaw = find_topic_flaw(name)
        if flaw is not None:
            shown = name if len(name) <= 80 else name[:77] + "…"
            raise InputError(f"topic {shown!r} {flaw}; leave it out of the workload or rename it.")


def name_files(nodes: Iterable[str], kept: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each node's file, without its ending.

    Safe on any file system, as an instance of a systemd unit and as a service of a compose file,
    and different even where large and small letters are the same.

    Parameters
    ----------
    kept
        Names that nodes have already.
    """
    nodes = list(nodes)
    names = {node: kept[node] for node in nodes if node in kept}
    taken = {name.casefold() for name in names.values()}
    for node in nodes:
        if node in names:
            continue
        plain = _UNSAFE.sub("_", node)[:MAX_FILE_NAME]
        if not plain or plain[0] in ".-" or _RESERVED.fullmatch(plain):
            plain = f"n{plain}"
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        names[node] = name
        taken.add(name.casefold())
    return names
