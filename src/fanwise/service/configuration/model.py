"""The configuration: every setting with its meaning, default and limits, declared once.

The commented file of ``--init``, the checks of ``--check`` and the reference page are made from it.
"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fanwise.service.configuration.values import (
    Amount,
    Capacity,
    Count,
    Duration,
    File,
    Length,
    Port,
    Section,
    Share,
    Size,
    Some,
    Tau,
    written,
)
from fanwise.service.executor.settings import Execute


class Server(Section):
    """Where the service listens, and whom it lets in."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Port = Field(8731, description="Port to listen on; 0 for a free one.")
    anonymous_read: bool = Field(
        False, description="Whether reading needs no token. Writing always needs one."
    )
    plain_http: bool = Field(
        False,
        description="Whether other machines may be served without TLS: whoever listens on the way "
        "reads tokens. For a host behind a proxy that does TLS.",
    )
    tls_certificate: File | None = Field(None, description="PEM file; with tls_key: HTTPS.")
    tls_key: File | None = Field(None, description="PEM file with the certificate's key.")
    requests_per_minute: Some = Field(600, description="Most requests of one client a minute.")
    largest_request: Size = written("64 kB", "Larger requests are refused.")
    largest_page: Some = Field(200, description="Most rows of one answer.")
    what_if_seconds: Length = written("10s", "Most time of one what-if question.")
    what_if_at_once: Some = Field(1, description="What-if questions answered at a time.")
    session: Length = written("12h", "Who signed in on the page must do so again after that.")
    network: File | None = Field(
        None,
        description="Folder that fanwise export --mosquitto wrote: the page draws its network.",
    )

    @model_validator(mode="after")
    def check_tls(self) -> Self:
        """A certificate and its key come together, and outside loopback they are needed."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key come together: give both or none")
        if (exposure := self.find_exposure()) is not None:
            raise ValueError(exposure)
        return self

    def find_exposure(self) -> str | None:
        """Return why tokens could be read on their way; None where they could not."""
        try:
            is_here = ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            is_here = self.host == "localhost"
        if is_here or self.plain_http or self.tls_certificate is not None:
            return None
        return (
            f"host {self.host!r} is seen by other machines: give tls_certificate and tls_key, or "
            "plain_http = true where a proxy does TLS"
        )


class Keeping(Section):
    """Where history is kept, and for how long."""

    url: str | None = Field(
        None,
        description="PostgreSQL as postgresql://user@host/database (password in PGPASSWORD or a "
        "pass file), or left out: SQLite in the state folder.",
    )
    keep: Length = written("90d", "Older decisions, windows and audit entries go.")
    keep_decisions: Some = Field(
        2500, description="Decisions kept at most, with the list each served; the oldest go first."
    )
    keep_plans: Some = Field(200, description="Plans kept whole on disk, for fanwise verify.")
    keep_workloads: Count = Field(24, description="Workloads of windows kept for fanwise verify.")


class FolderSource(Section):
    """Files that appear in folders."""

    kind: Literal["folder"] = "folder"
    publications: str = Field(description="Folder where files of events appear.")
    subscriptions: str | None = Field(
        None,
        description="Folder where files of subscription changes appear: subscriber, topic, "
        "timestamp, action (subscribe or unsubscribe).",
    )
    format: Literal["jsonl", "csv", "parquet"] = Field("jsonl", description="Of all files.")


class MqttSource(Section):
    """An MQTT broker."""

    kind: Literal["mqtt"] = "mqtt"
    host: str = Field("127.0.0.1", description="The broker.")
    port: Port = Field(1883, description="Its port.")
    topics: list[str] = Field(["#"], min_length=1, description="What to listen to.")
    client_id: str = Field(
        "fanwise-monitor", description="Name of the persistent session at the broker."
    )
    username: str | None = Field(None, description="Who to be at the broker.")
    password_file: File | None = Field(None, description="File that holds the password.")
    tls_ca: File | None = Field(None, description="PEM file of the authority; turns TLS on.")
    time_field: str | None = Field(
        None,
        description="Field of JSON payloads that has the event's time; left out: when it arrived.",
    )
    id_field: str | None = Field(
        None, description="Field of JSON payloads that identifies an event: doubles are dropped."
    )
    broker_log: bool = Field(
        True,
        description="Whether subscriptions are read from Mosquitto's own log (log_dest topic, "
        "log_type subscribe, unsubscribe, notice).",
    )


class SparkSource(Section):
    """Any streaming source that the Spark at hand has, such as kafka."""

    kind: Literal["spark"] = "spark"
    format: str = Field(description="Name of the source, as in readStream.format(…).")
    options: dict[str, str] = Field({}, description="Options of the source.")
    payload: Literal["json", "columns"] = Field(
        "json",
        description="json: the column value holds one JSON object with topic, timestamp, and for "
        "subscription changes subscriber and action; columns: these are columns.",
    )


Source = Annotated[FolderSource | MqttSource | SparkSource, Field(discriminator="kind")]


class Monitor(Section):
    """How input is read."""

    snapshot: File | None = Field(
        None,
        description="CSV, JSONL or Parquet with subscriber and topic: who wants what at first.",
    )
    trigger: Length = written("1s", "How often new input is looked for.")
    spool_limit: Size = written("2 GB", "Most input waiting on disk.")
    spool_keep: Duration = written("1h", "How long input that is counted is kept.")
    message_limit: Size = written("256 kB", "Larger messages are set aside as bad.")
    master: str | None = Field(None, description="Spark master; left out: this machine.")
    conf: dict[str, str] = Field({}, description="Settings of Spark.")


class Windows(Section):
    """Over which spans of event time traffic is counted."""

    length: Length = written("1h", "Length of a window.")
    slide: Length | None = Field(
        None, description="Distance between windows; left out: one after the other."
    )
    lateness: Duration = written("1m", "How long a window waits for late events.")
    idle: Length = written(
        "5m", "Without any input for so long, open windows close that the clock has passed."
    )
    ahead: Duration | None = Field(
        None,
        description="Events further ahead of the clock are set aside; left out: length and "
        "lateness together, an hour at most.",
    )

    @model_validator(mode="after")
    def check_slide(self) -> Self:
        """Windows are counted in panes of the slide."""
        if self.slide is not None and (
            self.slide > self.length or abs(self.length / self.slide % 1) > 1e-9
        ):
            raise ValueError("slide must divide length, as in length = '1h', slide = '15m'")
        return self


class Forecast(Section):
    """What is planned for."""

    kind: Literal["last", "same-hour", "quantile"] = Field(
        "last",
        description="last: the window that just closed. same-hour: the mean of the windows at the "
        "same time of previous days. quantile: of each topic's events in the last windows.",
    )
    days: Some = Field(7, description="Days that same-hour looks back.")
    windows: Some = Field(12, description="Windows that quantile looks back.")
    quantile: Share = Field(0.9, description="Which quantile.")


class Decide(Section):
    """What is decided when a window closes."""

    tau: Tau = Field(description="Events per window that satisfy a subscriber.")
    capacity: Capacity = Field(
        description="What the back end can carry in a window, in deliveries (events x followers); "
        "or a percentage of all traffic, such as '10%'."
    )
    metric: Literal["binary", "fractional"] = Field(
        "binary", description="Count satisfied subscribers, or add up how far each is satisfied."
    )
    pin: list[str] = Field([], description="Topics that are always served.")
    exclude: list[str] = Field([], description="Topics that are never served.")
    max_changes: Count | None = Field(None, description="Most topics switched by a decision.")
    change_price: Amount | None = Field(
        None, description="How much every switch must gain, in satisfied subscribers."
    )
    give_up: Share | None = Field(
        None,
        description="Share of the value that few switches may cost, as in 0.01, as a mean of many "
        "windows. What a switch must gain follows from it, topic by topic.",
    )
    least_gain: Share = Field(
        0.0, description="Share by which a decision must beat the one in force to be acted on."
    )
    keep_silent: Duration = written(
        "1d", "How long a served topic without any event stays served: meanwhile it costs nothing."
    )
    time_limit: Length = written("5s", "Most time for solving.")
    gap: Share | None = Field(None, description="Certified gap that is good enough.")
    message_bytes: Amount = Field(200.0, description="Size of messages where none is known.")
    forecast: Forecast = Field(Forecast(), description="What is planned for.")

    @model_validator(mode="after")
    def check_changes(self) -> Self:
        """Changes are limited in one way, and no topic is both pinned and excluded."""
        ways = [
            name
            for name in ("max_changes", "change_price", "give_up")
            if getattr(self, name) is not None
        ]
        if len(ways) > 1:
            raise ValueError(f"{ways[0]} and {ways[1]} exclude each other: give one of them")
        both = sorted(set(self.pin) & set(self.exclude))
        if both:
            raise ValueError(f"pin and exclude both name {both[0]!r}: leave it in one of them")
        return self


class Price(Section):
    """What machines for the served part would cost."""

    instance: str = Field("auto", description="Type of machine, or auto for the cheapest mix.")
    catalog: File | None = Field(None, description="CSV of machine types; left out: built in.")
    price_gb: Amount = Field(0.12, description="Dollars per GB of traffic.")


class Configuration(Section):
    """Everything that the service is told."""

    state: File = written(
        "fanwise-state", description="Folder that the service keeps its state in."
    )
    server: Server = Field(Server(), description=Server.__doc__)
    store: Keeping = Field(Keeping(), description=Keeping.__doc__)
    source: Source = Field(description="Where events come from: folder, mqtt or spark.")
    monitor: Monitor = Field(Monitor(), description=Monitor.__doc__)
    windows: Windows = Field(Windows(), description=Windows.__doc__)
    decide: Decide = Field(description=Decide.__doc__)
    price: Price | None = Field(None, description=Price.__doc__)
    execute: Execute = Field(Execute(), description=Execute.__doc__)

    @model_validator(mode="after")
    def check_forecast(self) -> Self:
        """The same hour of another day begins where a window does."""
        slide = self.windows.slide or self.windows.length
        if self.decide.forecast.kind == "same-hour" and abs(86_400 / slide % 1) > 1e-9:
            raise ValueError(
                "decide.forecast.kind = 'same-hour' needs windows that divide a day, such as "
                "length = '1h'; or choose another forecast"
            )
        return self
