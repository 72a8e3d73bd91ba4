"""What operators and programs can set, with times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from fanwise.brokers.messages import Point
from fanwise.errors import ParameterError


def _check_positive(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if not value > 0:
            raise ParameterError(name, "a number > 0", value)


@dataclass(frozen=True)
class BrokerSettings:
    """Of a broker.

    Attributes
    ----------
    directory
        Its address.
    capacity
        Sum of its clients' demands that it takes.
    default_demand
        Of a client that does not say.
    dimensions
        Of the event space.
    redirect_seconds
        The paper's TTL: how long a home redirects at least.
    ask_seconds
        For a client to answer `RequestToMove`.
    replicate_seconds
        For a foreign broker to answer `Replicate`.
    prepared_seconds
        A foreign broker keeps room for a client that does not come.
    resend_seconds
        Without progress in a stream, what is not confirmed is sent again.
    confirm_seconds
        Confirmations of streams are sent together.
    routes_seconds
        Changes of routes are told together.
    routes_rest_seconds
        At least between two tellings: one change is told at once, many are told together.
    dial_seconds
        Between two tries to reach a broker or the directory.
    heartbeat_seconds
        Between two reports to the directory.
    absent_seconds
        A client that stays away for so long is given up, with what waits for it.
    window
        Deliveries to a client, and resent entries to a broker, that are on their way at once.
    most_waiting
        Entries that may wait for a broker; above, publications to it are rejected.
    most_replicated
        Undelivered publications that `Replicate` carries; the others follow by `Redirect`.
    covers
        Rectangles of an ``assign`` plan that are told instead of subscriptions inside them.
    """

    name: str
    address: str
    directory: str = ""
    capacity: float = float("inf")
    default_demand: float = 1.0
    position: Point = ()
    dimensions: int = 2
    redirect_seconds: float = 5.0
    ask_seconds: float = 5.0
    replicate_seconds: float = 5.0
    prepared_seconds: float = 30.0
    resend_seconds: float = 2.0
    confirm_seconds: float = 0.02
    routes_seconds: float = 0.01
    routes_rest_seconds: float = 0.0
    dial_seconds: float = 1.0
    heartbeat_seconds: float = 1.0
    absent_seconds: float = 3600.0
    window: int = 256
    most_waiting: int = 100_000
    most_replicated: int = 1_000
    covers: tuple[tuple[Point, Point], ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise ParameterError("name", "a text that is not empty", self.name)
        _check_positive(
            self,
            *("capacity", "default_demand", "dimensions", "window", "most_waiting"),
            *("ask_seconds", "replicate_seconds", "prepared_seconds", "resend_seconds"),
            *("dial_seconds", "heartbeat_seconds", "absent_seconds"),
        )
        for name in (
            *("redirect_seconds", "confirm_seconds", "routes_seconds", "routes_rest_seconds"),
            "most_replicated",
        ):
            if getattr(self, name) < 0:
                raise ParameterError(name, "a number >= 0", getattr(self, name))
        for lo, hi in self.covers:
            if len(lo) != self.dimensions or len(hi) != self.dimensions:
                raise ParameterError("covers", f"of {self.dimensions} dimensions", (lo, hi))


@dataclass(frozen=True)
class ClientSettings:
    """Of a client.

    Attributes
    ----------
    directory
        Its address.
    brokers
        ``(name, address)`` of brokers to try when the directory does not answer.
    demand
        Load that the client means to a broker; 0 if it does not know.
    connect_seconds
        For a broker to answer.
    home_seconds
        A home that cannot be reached is tried for so long, then another broker is asked.
    retry_seconds
        Between two tries; waits grow up to eight times.
    confirm_seconds, confirm_count
        Deliveries are confirmed after so long, or when so many wait.
    most_unanswered
        Publications that wait for an answer; more are refused to the application.
    most_remembered
        Ids of publications that are remembered to drop doubles.
    first_sequence
        Of its publications. A program that starts anew under the same name, and has not kept its
        log, must begin above all that it used before: by the clock, say.
    is_durable
        Whether to give records at all.
    """

    name: str
    directory: str = ""
    brokers: tuple[tuple[str, str], ...] = ()
    position: Point = ()
    demand: float = 0.0
    connect_seconds: float = 2.0
    home_seconds: float = 1.0
    retry_seconds: float = 0.1
    confirm_seconds: float = 0.05
    confirm_count: int = 64
    most_unanswered: int = 10_000
    most_remembered: int = 100_000
    first_sequence: int = 1
    is_durable: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise ParameterError("name", "a text that is not empty", self.name)
        if not self.directory and not self.brokers:
            raise ParameterError("directory", "an address, or brokers be given", self.directory)
        _check_positive(
            self,
            *("connect_seconds", "home_seconds", "retry_seconds", "confirm_count"),
            *("most_unanswered", "most_remembered"),
        )


@dataclass(frozen=True)
class DirectorySettings:
    """Of the directory.

    Attributes
    ----------
    alive_seconds
        A broker that was not heard for so long is taken for dead.
    most_told
        Brokers in an answer to a client.
    view_seconds
        Changes are told together.
    """

    name: str = "directory"
    alive_seconds: float = 3.0
    most_told: int = 8
    view_seconds: float = 0.05

    def __post_init__(self) -> None:
        _check_positive(self, "alive_seconds", "most_told", "view_seconds")
