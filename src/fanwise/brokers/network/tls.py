"""TLS by option: what to serve with, whom to trust, and what is wrong, in words."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from fanwise.errors import InputError


class TlsFileError(InputError):
    """A file of certificates or keys that is of no use; the message names option and file."""


def serve_with(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return what serves with a certificate.

    Raises
    ------
    TlsFileError
        Also where the key has a password: nobody is there to type it.
    """
    _check_readable(certificate, "--tls-certificate")
    _check_readable(key, "--tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            raise TlsFileError(
                f"--tls-key: {key} is not the key of the certificate in {certificate}."
            ) from None
        raise TlsFileError(
            f"--tls-certificate, --tls-key: {certificate} and {key} are no certificate and key in "
            "PEM without a password."
        ) from None
    return context


def trust(authority: Path) -> ssl.SSLContext:
    """Return what trusts the authorities in a PEM file, and nobody else.

    Raises
    ------
    TlsFileError
        Where it cannot be read, or holds none.
    """
    _check_readable(authority, "--tls-ca")
    try:
        return ssl.create_default_context(cafile=str(authority))
    except OSError:  # what OpenSSL says of it helps nobody
        raise TlsFileError(f"--tls-ca: {authority} holds no certificate in PEM.") from None


def explain(error: BaseException) -> str:
    """Say why a connection could not be made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "TLS failed").replace("_", " ").lower()
        if reason in ("wrong version number", "record layer failure", "http request"):
            return "does not speak TLS there"
        return f"TLS failed: {reason}"
    if isinstance(error, TimeoutError):
        return "does not answer"
    if isinstance(error, ConnectionResetError):
        return "the other end closed it; does it speak TLS, and do we?"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()  # asyncio's own text names the address again
    return str(error) or type(error).__name__


def _check_readable(file: Path, option: str) -> None:
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except OSError as error:
        raise TlsFileError(f"{option}: {file} cannot be read: {error.strerror}.") from None
