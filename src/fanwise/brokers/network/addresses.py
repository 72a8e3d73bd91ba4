"""Addresses: ``host:port``, with brackets around an IPv6 host."""

from __future__ import annotations

import re

from fanwise.errors import ParameterError

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\s:\[\]/@]+)):(?P<port>\d{1,5})")


def parse_address(text: str, name: str = "address", *, least_port: int = 1) -> tuple[str, int]:
    """Return host and port.

    Raises
    ------
    ParameterError
        Where it is no address.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or not least_port <= int(found["port"]) <= 65_535:
        raise ParameterError(name, "an address as in 127.0.0.1:7400", text)
    return found["six"] or found["host"], int(found["port"])


def format_address(host: str, port: int) -> str:
    """Return host and port as an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
