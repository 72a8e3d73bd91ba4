"""Settings of the executor: what may be applied, where to, and how long it is tried."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import time
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

import httpx
from pydantic import AfterValidator, Field, model_validator

from fanwise.service.configuration.values import (
    Amount,
    Count,
    Duration,
    File,
    Length,
    Port,
    Section,
    Share,
    Size,
    Some,
    written,
)
from fanwise.service.records import Mode

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_WILDCARDS = frozenset("+#\0")
_MOST_TOPIC_BYTES = 65_535
"""Of the name of an MQTT topic."""


def read_span(written: str) -> tuple[time, time]:
    """Return the two times of day of a span such as ``22:00-06:00``."""
    found = _SPAN.fullmatch(written.strip())
    if found is None or (found[1], found[2]) == (found[3], found[4]):
        raise ValueError("must be a span of the day such as '22:00-06:00'")
    return time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))


def _check_span(written: str) -> str:
    read_span(written)
    return written


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # not found, no name at all, a folder
        raise ValueError("must be a time zone such as 'UTC' or 'Europe/Berlin'") from None
    return name


def _check_url(written: str) -> str:
    try:
        url = httpx.URL(written)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("must be an address such as 'https://example.org/decisions'")
    if url.userinfo:
        raise ValueError("must hold no name or password; sign with secret_file or secret_variable")
    return written


def _check_topic(name: str) -> str:
    is_long = len(name.encode(errors="replace")) > _MOST_TOPIC_BYTES
    if not name or is_long or _WILDCARDS & set(name) or name.startswith("$"):
        raise ValueError("must be the name of an MQTT topic, without + and #, not below $")
    return name


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
"""Of an output: in keys, messages and metrics."""
Span = Annotated[str, AfterValidator(_check_span)]
Zone = Annotated[str, AfterValidator(_check_zone)]
Address = Annotated[str, AfterValidator(_check_url)]
Topic = Annotated[str, AfterValidator(_check_topic)]


class Guardrails(Section):
    """What mode auto may apply without a person."""

    most_changes: Count | None = Field(None, description="Most topics switched at once.")
    least_improvement: Amount | None = Field(
        None,
        description="Least gain over what is in force, as a share of its value on the same window.",
    )
    largest_gap: Share | None = Field(
        None, description="Largest certified gap; decisions without a proven bound have none."
    )
    quiet_hours: list[Span] = Field(
        [], description="Spans of the day without changes, such as '22:00-06:00'."
    )
    time_zone: Zone = Field("UTC", description="Time zone of the quiet hours.")


class Retries(Section):
    """How often and how long an output is tried until an application has failed."""

    first_wait: Length = written("1s", "Wait after the first failure; it doubles.")
    longest_wait: Length = written("30s", "Longest wait between two attempts.")
    jitter: Share = Field(0.2, description="Share by which waits are shortened at random.")
    attempts: Some = Field(100, description="Attempts after which an output has failed.")
    give_up_after: Length = written("10m", "Time after which an output has failed.")


class Output(Section):
    """What all outputs have."""

    name: Name


class FileOutput(Output):
    """A file that is replaced as a whole."""

    name: Name = Field("file", description="Name of this output; each has its own.")
    path: File = Field(description="The file; JSON with hash, epoch, window and served topics.")
    text_path: File | None = Field(
        None,
        description="Second file with one served topic a line; in names, \\ is written \\\\ and "
        "line breaks \\n and \\r.",
    )

    @model_validator(mode="after")
    def check_paths(self) -> Self:
        """One file cannot hold both."""
        if self.text_path == self.path:
            raise ValueError("path and text_path must differ")
        return self


class WebhookOutput(Output):
    """An address that is told by POST, in JSON."""

    name: Name = Field("webhook", description="Name of this output; each has its own.")
    url: Address = Field(description="Where to post to.")
    secret_file: File | None = Field(
        None, description="File with the secret that signs; left out, with no variable: unsigned."
    )
    secret_variable: str | None = Field(
        None, description="Environment variable with that secret, instead of a file."
    )
    timeout: Length = written("10s", "Longest wait for the receiver.")
    largest_body: Size = written("32 MB", "Larger decisions are not sent: they fail.")
    tls_ca: File | None = Field(
        None, description="PEM file of the authority of the receiver; left out: the usual ones."
    )

    @model_validator(mode="after")
    def check_secret(self) -> Self:
        """A secret has one place."""
        if self.secret_file is not None and self.secret_variable is not None:
            raise ValueError("secret_file and secret_variable exclude each other: give one")
        return self


class MqttOutput(Output):
    """A retained topic of an MQTT broker, and one for changes."""

    name: Name = Field("mqtt", description="Name of this output; each has its own.")
    host: str = Field("127.0.0.1", description="The broker.", min_length=1)
    port: Port = Field(1883, description="Its port.")
    topic: Topic = Field("fanwise/decision", description="Retained: the whole decision.")
    delta_topic: Topic | None = Field(
        "fanwise/decision/delta", description="Not retained: what changes; empty: none is sent."
    )
    username: str | None = Field(None, description="Who to be at the broker.")
    password_file: File | None = Field(None, description="File that holds the password.")
    password_variable: str | None = Field(
        None, description="Environment variable that holds it, instead of a file."
    )
    tls_ca: File | None = Field(None, description="PEM file of the authority; turns TLS on.")
    timeout: Length = written("10s", "Longest wait for the broker.")
    largest_body: Size = written("32 MB", "Larger decisions are not sent: they fail.")

    @model_validator(mode="before")
    @classmethod
    def drop_empty(cls, entries: Any) -> Any:
        """An empty topic for changes is none."""
        if isinstance(entries, dict) and entries.get("delta_topic") == "":
            return {**entries, "delta_topic": None}
        return entries

    @model_validator(mode="after")
    def check_pairs(self) -> Self:
        """A password has one place, and topics differ."""
        if self.password_file is not None and self.password_variable is not None:
            raise ValueError("password_file and password_variable exclude each other: give one")
        if self.delta_topic == self.topic:
            raise ValueError("topic and delta_topic must differ")
        return self


class ForwarderOutput(Output):
    """Forwarders, which must report that they have a decision before it is in force."""

    name: Name = Field("forwarder", description="Name of this output; each has its own.")
    host: str = Field("127.0.0.1", description="The ingress.", min_length=1)
    port: Port = Field(1883, description="Its port.")
    names: list[Name] = Field(
        ["forwarder"], min_length=1, description="Forwarders that must have each decision."
    )
    username: str | None = Field(None, description="Who to be at the broker.")
    password_file: File | None = Field(None, description="File that holds the password.")
    password_variable: str | None = Field(
        None, description="Environment variable that holds it, instead of a file."
    )
    tls_ca: File | None = Field(None, description="PEM file of the authority; turns TLS on.")
    timeout: Length = written("10s", "Longest wait for the broker and all forwarders.")
    largest_body: Size = written("32 MB", "Larger decisions are not sent: they fail.")

    @model_validator(mode="after")
    def check_password(self) -> Self:
        """A password has one place."""
        if self.password_file is not None and self.password_variable is not None:
            raise ValueError("password_file and password_variable exclude each other: give one")
        return self


class Execute(Section):
    """What happens to decisions."""

    mode: Mode = Field(
        "dry-run",
        description="dry-run: nothing is applied. approve: what a person approves. auto: what the "
        "guardrails allow.",
    )
    guardrails: Guardrails = Field(Guardrails(), description=Guardrails.__doc__)
    retries: Retries = Field(Retries(), description=Retries.__doc__)
    resend: Duration = written(
        "10m", "How often an output that misses what is in force is told again."
    )
    file: list[FileOutput] = Field([], description=FileOutput.__doc__)
    webhook: list[WebhookOutput] = Field([], description=WebhookOutput.__doc__)
    mqtt: list[MqttOutput] = Field([], description=MqttOutput.__doc__)
    forwarder: list[ForwarderOutput] = Field([], description=ForwarderOutput.__doc__)

    @property
    def outputs(self) -> Iterator[FileOutput | WebhookOutput | MqttOutput | ForwarderOutput]:
        """All outputs."""
        yield from self.file
        yield from self.webhook
        yield from self.mqtt
        yield from self.forwarder

    @model_validator(mode="after")
    def check_names(self) -> Self:
        """Outputs are told apart by their names."""
        names = [output.name for output in self.outputs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two outputs are named {twice!r}: give each its own name")
        return self


def digest(output: Output) -> str:
    """Return what tells whether an output still leads where it did; it holds no secret."""
    return hashlib.sha256(output.model_dump_json().encode()).hexdigest()
