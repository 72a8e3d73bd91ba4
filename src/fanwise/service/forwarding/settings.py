"""The configuration of a forwarder, declared as that of the service is."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fanwise.client.filters import is_filter, overlap
from fanwise.service.configuration.values import File, Length, Port, Section, Size, written
from fanwise.service.executor.settings import Name


class Access(Section):
    """How to be let in by brokers."""

    username: str | None = Field(None, description="Who to be at the broker.")
    password_file: File | None = Field(None, description="File that holds the password.")
    tls_ca: File | None = Field(None, description="PEM file of the authority; turns TLS on.")


class Endpoint(Section):
    """Where a broker is."""

    host: str = Field("127.0.0.1", description="The broker.", min_length=1)
    port: Port = Field(1883, description="Its port.")


class Ingress(Access, Endpoint):
    """The broker that publishers publish to."""

    topics: list[str] = Field(
        ["#"], min_length=1, description="What to forward: filters that do not overlap."
    )

    @model_validator(mode="after")
    def check_topics(self) -> Self:
        """A broker may send what two filters mean twice."""
        for at, one in enumerate(self.topics):
            if not is_filter(one):
                raise ValueError(f"topics: {one!r} is no topic filter such as 'news/#'")
            for other in self.topics[:at]:
                if overlap(one, other):
                    raise ValueError(f"topics: {other!r} and {one!r} overlap: leave one out")
        return self


class BackEnd(Access, Endpoint):
    """The broker of served topics."""

    port: Port = Field(1884, description="Its port.")


class Offload(Access):
    """The edge brokers, which take all other topics."""

    folder: File = Field(
        description="What fanwise export --mosquitto wrote: network.json, entries.csv, ports.csv; "
        "it is read again when it changes."
    )


class LogKeeping(Section):
    """The log of messages."""

    keep: Length = written("10m", "How long clients can have messages sent again.")
    segment: Size = written("16 MB", "Size of the files of the log.")
    limit: Size = written("4 GB", "Most bytes of the log; above, no more messages are taken.")

    @model_validator(mode="after")
    def check_limit(self) -> Self:
        """Whole segments are removed."""
        if self.limit < 2 * self.segment:
            raise ValueError("limit must be at least twice as large as segment")
        return self


class ForwarderConfiguration(Section):
    """Everything that a forwarder is told."""

    name: Name = Field("forwarder", description="Name of this forwarder; each has its own.")
    state: File = written("fanwise-forwarder", "Folder of the log, the places and the decision.")
    undecided: Literal["back-end", "offload"] = Field(
        "back-end", description="Side of all topics while no decision is in force."
    )
    ingress: Ingress = Field(Ingress(), description=Ingress.__doc__)
    back_end: BackEnd = Field(BackEnd(), description=BackEnd.__doc__)
    offload: Offload | None = Field(None, description=Offload.__doc__)
    log: LogKeeping = Field(LogKeeping(), description=LogKeeping.__doc__)
