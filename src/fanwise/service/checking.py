"""What can be known to be wrong with a configuration before anything is started."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from fanwise.errors import FanwiseError, InputError
from fanwise.provision.catalogue import read_catalogue
from fanwise.service.configuration.model import Configuration
from fanwise.service.executor.credentials import read_secret
from fanwise.service.state import StateFolder
from fanwise.service.store.database import read_url
from fanwise.service.tls import check_served, trust

Place = tuple[str | int, ...]


class Wrong(NamedTuple):
    """Something that is wrong.

    Attributes
    ----------
    place
        Names that lead to the setting.
    text
        In one line, the setting first.
    may_pass
        Whether the service starts all the same, because it is looked at again when needed.
    """

    place: Place
    text: str
    may_pass: bool = False


def check_source(configuration: Configuration) -> None:
    """Refuse what the service cannot start with.

    Raises
    ------
    InputError
        In one line; the first of all.
    """
    for wrong in find_wrong(configuration):
        if not wrong.may_pass:
            raise InputError(wrong.text)


def find_wrong(configuration: Configuration) -> list[Wrong]:
    """Return everything that is wrong with what a configuration names."""
    return [
        *_look_at_input(configuration),
        *_look_at_server(configuration),
        *_look_at_outputs(configuration),
    ]


def _look_at_input(configuration: Configuration) -> Iterator[Wrong]:
    source = configuration.source
    if source.kind == "folder":
        for name in ("publications", "subscriptions"):
            path = getattr(source, name)
            if path is not None and not is_there(path):
                text = f"source.{name}: there is no folder {path}; make it first."
                yield Wrong(("source", name), text)
    if source.kind == "mqtt":
        if (file := source.tls_ca) is not None:
            yield from _try(("source", "tls_ca"), lambda place: trust(file, place))
        if (secret := source.password_file) is not None:
            yield from _try_secret(("source", "password_file"), secret)
    snapshot = configuration.monitor.snapshot
    if snapshot is not None and not snapshot.exists() and not _has_snapshot(configuration):
        text = f"monitor.snapshot: there is no file {snapshot}."
        yield Wrong(("monitor", "snapshot"), text)


def is_there(folder: str) -> bool:
    """Whether a folder of this machine is there; nobody knows of those elsewhere."""
    return "://" in folder or Path(folder).is_dir()


def _has_snapshot(configuration: Configuration) -> bool:
    """Whether the state folder has taken its snapshot, which is read once."""
    path = StateFolder(configuration.state).ledger
    if not path.exists():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        try:
            found = database.execute("SELECT value FROM about WHERE name = 'snapshot'").fetchone()
        except sqlite3.DatabaseError:
            return False
    return found is not None and bool(found[0])


def _look_at_server(configuration: Configuration) -> Iterator[Wrong]:
    server, url = configuration.server, configuration.store.url
    if (exposure := server.find_exposure()) is not None:
        yield Wrong(("server", "host"), f"server: {exposure}")
    certificate, key = server.tls_certificate, server.tls_key
    if certificate is not None and key is not None:
        yield from _try(("server", "tls_key"), lambda _: check_served(certificate, key))
    if url is not None:
        yield from _try(("store", "url"), lambda _: read_url(url))
    price = configuration.price
    if price is not None and (catalog := price.catalog) is not None:
        yield from _try(("price", "catalog"), lambda _: read_catalogue(catalog))


def _look_at_outputs(configuration: Configuration) -> Iterator[Wrong]:
    """Yield what outputs will miss; it is read for every delivery, so it may still come."""
    execute = configuration.execute
    for kind, outputs in (("webhook", execute.webhook), ("mqtt", execute.mqtt)):
        for index, output in enumerate(outputs):
            place = ("execute", kind, index)
            for name in ("secret_file", "password_file"):
                if (file := getattr(output, name, None)) is not None:
                    yield from _try_secret((*place, name), file)
            if (file := getattr(output, "tls_ca", None)) is not None:
                yield from _try((*place, "tls_ca"), _trusting(file), may_pass=True)


def _trusting(file: Path) -> Callable[[str], object]:
    return lambda setting: trust(file, setting)


def _try_secret(place: Place, file: Path) -> Iterator[Wrong]:
    yield from _try(place, lambda _: read_secret(file, None), may_pass=True)


def _try(place: Place, act: Callable[[str], object], *, may_pass: bool = False) -> Iterator[Wrong]:
    name = ".".join(map(str, place))
    try:
        act(name)
    except FanwiseError as error:
        text = str(error)
        section = str(place[0])
        yield Wrong(place, text if text.startswith(f"{section}.") else f"{name}: {text}", may_pass)
