"""What requests and answers look like that the page alone needs so far."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fanwise.service.api.bodies import Body, Time, WindowBody
from fanwise.service.records import Role, State


class CurveQuestion(Body):
    """Which curve: what is left out is as configured."""

    tau: float | None = Field(None, ge=1e-9, allow_inf_nan=False, le=1e30, examples=[30])
    metric: Literal["binary", "fractional"] | None = None


class CurvePoint(Body):
    """What some capacity is worth."""

    capacity: float
    value: float
    bound: float | None
    served: int


class Curve(Body):
    """Value against capacity in the last window, by one greedy run, with proven bounds."""

    window: WindowBody
    tau: float
    metric: str
    everything: float = Field(description="Capacity that serving every topic takes.")
    points: list[CurvePoint]
    seconds: float


class Found(Body):
    """Names in the last window that contain what was asked for."""

    topics: list[str]
    subscribers: list[str]


class Series(Body):
    """Decisions over time, oldest first: one entry of each list is one decision."""

    end: list[Time] = Field(description="Ends of their windows.")
    state: list[State]
    value: list[float]
    bound: list[float | None]
    in_force: list[float | None] = Field(description="Value of what was in force before.")
    used: list[float | None]
    in_force_used: list[float | None] = Field(description="What that would have taken.")
    capacity: list[float | None]
    changes: list[int]


class NodeBody(Body):
    """A broker of the offload network."""

    name: str
    address: str
    links: int
    entries: int = Field(description="Topics whose messages enter here.")


class LinkBody(Body):
    """A bridge between two brokers."""

    source: str
    target: str
    topics: int
    events: float | None = Field(description="Of its topics in the last window.")


class NetworkBody(Body):
    """The offload network."""

    configured: bool
    generation: str = ""
    nodes: list[NodeBody] = Field(default_factory=list)
    links: list[LinkBody] = Field(default_factory=list)
    num_nodes: int = 0
    num_links: int = 0


class SignIn(Body):
    """With what somebody signs in: a token, or the code of a link that works once."""

    token: str | None = Field(None, max_length=200)
    code: str | None = Field(None, max_length=200)


class SessionBody(Body):
    """Who you are."""

    name: str
    role: Role | None
    csrf: str = Field(description="X-Fanwise-CSRF of what changes something; not with Bearer.")
    until: Time | None = Field(description="When to sign in again.")
