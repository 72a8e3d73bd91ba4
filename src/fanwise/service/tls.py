"""TLS: whom to trust, what to serve with, and what is wrong with a certificate, in words."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

from fanwise.errors import InputError

_EXPIRED, _NOT_YET_VALID = 10, 9
_OTHER_NAMES = frozenset({62, 64})
"""Another host, another address."""
_UNKNOWN_AUTHORITIES = frozenset({2, 18, 19, 20, 21})
"""An issuer that is not among the trusted ones, or nobody but itself."""
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})


class TlsFileError(InputError, OSError):
    """A file of certificates or keys that is of no use; the message names setting and file."""


def trust(file: Path, setting: str = "tls_ca") -> ssl.SSLContext:
    """Return what trusts the authorities in a PEM file, and nobody else.

    Raises
    ------
    TlsFileError
        Where it cannot be read, or holds none.
    """
    _check_readable(file, setting)
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError:  # what OpenSSL says of it helps nobody
        raise TlsFileError(f"{setting}: {file} holds no certificate in PEM") from None


class TrustOfNow(ssl.SSLContext):
    """Trusts the authorities that are in a PEM file at the time of each connection."""

    _file: Path

    def __new__(cls, file: Path) -> TrustOfNow:
        made = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        made._file = file
        return made

    def wrap_socket(self, sock: socket.socket, *arguments: Any, **more: Any) -> ssl.SSLSocket:
        """Begin TLS with whoever is at the other end."""
        return trust(self._file).wrap_socket(sock, *arguments, **more)


def check_served(certificate: Path, key: Path) -> None:
    """Refuse a certificate and a key that cannot be served with.

    Raises
    ------
    TlsFileError
        Also where the key has a password: nobody is there to type it.
    """
    trust(certificate, "server.tls_certificate")  # reads it
    _check_readable(key, "server.tls_key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            said = f"is not the key of the certificate in {certificate}"
        else:
            said = "holds no key in PEM without a password"
        raise TlsFileError(f"server.tls_key: {key} {said}") from None


def explain(
    error: BaseException,
    host: str,
    file: Path | None = None,
    remedy: str = "set tls_ca to the PEM file of its authority",
) -> str | None:
    """Say why TLS with a server failed; None where TLS was not the reason.

    Parameters
    ----------
    error
        That, or what it was the cause of.
    host
        Whom we wanted to talk to.
    file
        Holds the authorities that are trusted; left out: the usual ones are.
    remedy
        How to trust another authority.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError | TlsFileError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    if isinstance(cause, TlsFileError):
        return str(cause)
    if not isinstance(cause, ssl.SSLCertVerificationError):
        if cause.reason in _NO_TLS:
            return "does not speak TLS there"
        return f"TLS failed: {_plain(cause.reason or type(cause).__name__)}"
    if cause.verify_code in _OTHER_NAMES:
        return f"its certificate is for another name than {host}"
    if cause.verify_code == _EXPIRED:
        return "its certificate has expired"
    if cause.verify_code == _NOT_YET_VALID:
        return "its certificate is not valid yet; look at the clocks"
    if cause.verify_code in _UNKNOWN_AUTHORITIES:
        why = (
            _plain(cause.verify_message)
            if file is None
            else f"it comes from no authority in {file}"
        )
        return f"its certificate is not trusted: {why}; {remedy}"
    return f"its certificate is refused: {_plain(cause.verify_message)}"


def _check_readable(file: Path, setting: str) -> None:
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except OSError as error:
        raise TlsFileError(f"{setting}: {file} cannot be read: {error.strerror}") from None


def _plain(text: str) -> str:
    """Return what OpenSSL says as words."""
    return text.replace("_", " ").rstrip(".").lower() if text.isupper() else text.rstrip(".")
