"""A webhook as output: JSON by POST, signed, with a key that is the same for every attempt."""

from __future__ import annotations

import hashlib
import hmac
import logging
import ssl
from collections.abc import Callable

import httpx

from fanwise.service.executor.announcing import refuse_large, write_whole
from fanwise.service.executor.credentials import read_secret
from fanwise.service.executor.errors import FailureKind, OutputError
from fanwise.service.executor.settings import WebhookOutput, digest
from fanwise.service.store.rows import Announcement
from fanwise.service.tls import TlsFileError, explain, trust

SIGNATURE = "Fanwise-Signature"
_REFUSALS = frozenset({400, 410, 413, 415, 422})
"""Answers that say that this body will never be taken; others may change."""

# It writes whole addresses, and some hold secrets.
logging.getLogger("httpx").setLevel(logging.WARNING)


class ToWebhook:
    """Posts decisions to an address.

    Parameters
    ----------
    now
        Microseconds since the epoch.
    """

    def __init__(self, settings: WebhookOutput, now: Callable[[], int]) -> None:
        self._settings = settings
        self._now = now
        self._host = httpx.URL(settings.url).host
        self.name = settings.name
        self.target = digest(settings)

    def deliver(self, announcement: Announcement) -> None:
        """Return when the receiver has answered with a status from 200 to 299."""
        settings = self._settings
        body = write_whole(announcement)
        refuse_large(body, settings.largest_body)
        headers = {"Content-Type": "application/json", "Idempotency-Key": announcement.key}
        secret = read_secret(settings.secret_file, settings.secret_variable)
        if secret is not None:
            headers[SIGNATURE] = sign(secret, self._now() // 1_000_000, body)
        status, wait = self._post(body, headers)
        if not 200 <= status < 300:
            hint = "; redirects are not followed" if 300 <= status < 400 else ""
            raise OutputError(
                f"{self._host} answered {status}{hint}",
                may_pass=status not in _REFUSALS,
                wait=wait,
                kind="too-large" if status == 413 else "refused",
            )

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, float | None]:
        """Return the status, and how long to wait; what else is answered is not read."""
        settings = self._settings
        try:
            # Surroundings could add a proxy or a password of their own.
            with (
                httpx.Client(
                    timeout=settings.timeout, trust_env=False, verify=self._trust()
                ) as client,
                client.stream("POST", settings.url, content=body, headers=headers) as answer,
            ):
                return answer.status_code, _read_wait(answer.headers.get("Retry-After"))
        except httpx.TimeoutException:
            raise OutputError(
                f"{self._host} did not answer within {settings.timeout:g} seconds", kind="timeout"
            ) from None
        except httpx.HTTPError as error:
            wrong = explain(error, self._host, settings.tls_ca)
            if wrong is None and isinstance(error, httpx.ConnectError):
                raise OutputError(f"{self._host} cannot be reached", kind="unreachable") from None
            kind: FailureKind = "other" if wrong is None else "tls"
            raise OutputError(f"{self._host}: {wrong or _say(error)}", kind=kind) from None

    def _trust(self) -> ssl.SSLContext | bool:
        file = self._settings.tls_ca
        if file is None:
            return True
        try:
            return trust(file)
        except TlsFileError as error:
            raise OutputError(str(error), kind="tls") from None


def sign(secret: bytes, seconds: int, body: bytes) -> str:
    """Return the signature of a body: HMAC-SHA256 over time, a dot, and the body."""
    text = hmac.new(secret, f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={text}"


def _read_wait(written: str | None) -> float | None:
    """Return the seconds that a receiver asks to wait for; dates are left aside."""
    return float(written) if written and written.isascii() and written.isdigit() else None


def _say(error: httpx.HTTPError) -> str:
    """Say what went wrong without what was sent."""
    words = {"RemoteProtocolError": "broke off the connection or does not speak HTTP"}
    return words.get(type(error).__name__, f"the connection failed ({type(error).__name__})")
