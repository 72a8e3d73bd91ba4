"""Certificates for tests: authorities that nobody else knows, and what they sign."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import trustme

LONG_AGO = (datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 2, 1, tzinfo=UTC))


class Pair(NamedTuple):
    """Files of a certificate and its key."""

    certificate: Path
    key: Path

    @property
    def context(self) -> ssl.SSLContext:
        """What a server serves them with."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self.key)
        return context


class Authority:
    """An authority whose certificate is in a file.

    Parameters
    ----------
    name
        Of its files, in the folder.
    """

    def __init__(self, folder: Path, name: str = "ours") -> None:
        self._authority = trustme.CA()
        self._folder, self._name, self._count = folder, name, 0
        self.file = folder / f"{name}-ca.pem"
        self._authority.cert_pem.write_to_path(self.file)

    def issue(self, host: str = "127.0.0.1", *, is_expired: bool = False) -> Pair:
        """Return a certificate for a host, and its key."""
        self._count += 1
        before, after = LONG_AGO if is_expired else (None, None)
        made = self._authority.issue_cert(host, not_before=before, not_after=after)
        stem = f"{self._name}-{self._count}"
        pair = Pair(self._folder / f"{stem}.pem", self._folder / f"{stem}-key.pem")
        made.cert_chain_pems[0].write_to_path(pair.certificate)
        made.private_key_pem.write_to_path(pair.key)
        return pair
