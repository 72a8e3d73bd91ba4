"""How brokers are reached and protected: hosts, ports, TLS, passwords; from a small TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fanwise.errors import InputError

FIRST_PORT = 18830
LOOPBACK = "127.0.0.1"
NODE = "{node}"
"""Stands for the name of a node's file in paths of certificates and keys."""


@dataclass(frozen=True)
class Tls:
    """Certificates of brokers, as absolute paths; ``{node}`` in them is the node's file name.

    Attributes
    ----------
    require_certificate
        Whether clients need certificates, too; bridges then show their broker's.
    """

    ca: str
    certificate: str
    key: str
    require_certificate: bool = False


@dataclass(frozen=True)
class Passwords:
    """The password file of all brokers, as ``mosquitto_passwd`` writes it, and who bridges are."""

    file: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Options:
    """How brokers are reached and protected.

    Attributes
    ----------
    host
        Where nodes listen that ``places`` does not tell.
    first_port
        From which port on; None: where they were, or from ``FIRST_PORT`` on.
    listen
        Address to bind to, if it is not the host.
    places
        Host and port of single nodes.
    """

    host: str = LOOPBACK
    first_port: int | None = None
    listen: str | None = None
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tls: Tls | None = None
    passwords: Passwords | None = None

    def with_first_port(self, port: int | None) -> Options:
        return self if port is None else replace(self, first_port=port)


def read_options(path: Path) -> Options:
    """Read options from a TOML file; paths in it are relative to its folder.

    Raises
    ------
    InputError
        With what is wrong.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}.") from None
    table = _Table(path, "", found)
    options = Options(
        host=table.text("host", LOOPBACK),
        first_port=table.port("first_port"),
        listen=table.text("listen", "") or None,
        places={
            name: _place(path, name, place) for name, place in table.table("nodes").content.items()
        },
        tls=_tls(table.table("tls")) if "tls" in found else None,
        passwords=_passwords(table.table("passwords")) if "passwords" in found else None,
    )
    table.refuse_rest()
    return options


def _tls(table: _Table) -> Tls:
    made = Tls(
        ca=table.file("ca"),
        certificate=table.file("certificate"),
        key=table.file("key"),
        require_certificate=table.flag("require_certificate"),
    )
    table.refuse_rest()
    return made


def _passwords(table: _Table) -> Passwords:
    made = Passwords(
        file=table.file("file"), username=table.text("username"), password=table.text("password")
    )
    table.refuse_rest()
    return made


def _place(path: Path, name: str, place: Any) -> tuple[str, int]:
    host, colon, port = place.rpartition(":") if isinstance(place, str) else ("", "", "")
    if not (host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise InputError(f'{path}: nodes.{name} must be "HOST:PORT", got {place!r}.')
    return _Table(path, "nodes.", {name: host}).text(name), int(port)


class _Table:
    """A table of the file, of which everything must be asked for."""

    def __init__(self, path: Path, place: str, content: Mapping[str, Any]) -> None:
        self._path, self._place, self.content = path, place, content
        self._asked: set[str] = set()

    def _get(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        value = self.content.get(name, default)
        if value is None:
            raise InputError(f"{self._path}: {self._place}{name} is missing.")
        return value

    def _wrong(self, name: str, what: str) -> InputError:
        return InputError(
            f"{self._path}: {self._place}{name} must be {what}, got {self.content[name]!r}."
        )

    def text(self, name: str, default: str | None = None) -> str:
        value = self._get(name, default)
        # A line of Mosquitto's configuration holds neither.
        if not isinstance(value, str) or not value.isprintable() or value != value.strip():
            raise self._wrong(name, "a text of one line without spaces around it")
        if not value and default != "":
            raise self._wrong(name, "a text that is not empty")
        return value

    def file(self, name: str) -> str:
        return str(self._path.parent.absolute() / self.text(name))

    def port(self, name: str) -> int | None:
        if name not in self.content:
            self._asked.add(name)
            return None
        value = self._get(name, None)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 65536:
            raise self._wrong(name, "a port, 1 to 65535")
        return value

    def flag(self, name: str) -> bool:
        value = self._get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def table(self, name: str) -> _Table:
        value = self._get(name, {})
        if not isinstance(value, dict):
            raise self._wrong(name, "a table")
        return _Table(self._path, f"{self._place}{name}.", value)

    def refuse_rest(self) -> None:
        unknown = sorted(set(self.content) - self._asked)
        if unknown:
            raise InputError(
                f"{self._path}: {self._place}{unknown[0]} is unknown; known are "
                f"{', '.join(sorted(self._asked))}."
            )
