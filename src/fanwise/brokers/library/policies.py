"""When a client agrees to move: a policy says yes, or why not.

A policy is called with the time in seconds and the request, and returns an empty text to accept, or
the reason to decline. Any function of that form is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fanwise.brokers.messages import RequestToMove
from fanwise.durations import parse_duration
from fanwise.errors import ParameterError

Policy = Callable[[float, RequestToMove], str]

LEAVING = "the broker departs"
"""The reason of a broker that will not be there any longer."""
HOUR = 3600.0


def always(now: float, request: RequestToMove) -> str:
    """Accept each move."""
    return ""


def never(now: float, request: RequestToMove) -> str:
    """Decline each move: a broker that leaves is left only once it is gone."""
    return "never"


def sticky(now: float, request: RequestToMove) -> str:
    """Stay with a broker for as long as it stays."""
    return "" if request.reason == LEAVING else "sticky"


def gain_above(least: float) -> Policy:
    """Accept moves that gain more than so much, and those away from a broker that leaves."""
    if math.isnan(least):
        raise ParameterError("least", "a number", least)

    def judge(now: float, request: RequestToMove) -> str:
        is_enough = request.gain > least or request.reason == LEAVING
        return "" if is_enough else f"gain is not above {least:g}"

    return judge


def at_most_every(seconds: float = HOUR) -> Policy:
    """Accept a move when the last one that was accepted is long ago; of each client its own.

    One that was accepted and came to nothing counts too: it has cost as much.
    """
    if not seconds > 0:
        raise ParameterError("seconds", "a number > 0", seconds)
    last = -math.inf

    def judge(now: float, request: RequestToMove) -> str:
        nonlocal last
        if now - last < seconds and request.reason != LEAVING:
            return f"moved less than {seconds:g} s ago"
        last = now
        return ""

    return judge


def all_of(*policies: Policy) -> Policy:
    """Accept what all accept; they are asked in order, up to the first that declines."""

    def judge(now: float, request: RequestToMove) -> str:
        for policy in policies:
            reason = policy(now, request)
            if reason:
                return reason
        return ""

    return judge


def parse_policy(text: str) -> Policy:
    """Return the policy of a text: ``always``, ``never``, ``sticky``, ``gain>5``, ``every 1h``.

    Several are joined by a comma. Each call makes a new one, for one client.
    """
    policies = [_parse(one.strip()) for one in text.split(",")]
    return policies[0] if len(policies) == 1 else all_of(*policies)


def _parse(text: str) -> Policy:
    plain = {"always": always, "never": never, "sticky": sticky}
    if text in plain:
        return plain[text]
    try:
        if text.startswith("gain>"):
            return gain_above(float(text.removeprefix("gain>")))
        if text.startswith("every "):
            return at_most_every(float(parse_duration(text.removeprefix("every "), "policy")))
    except ValueError:
        pass
    raise ParameterError(
        "policy", "always, never, sticky, gain>NUMBER, every TIME, or several with commas", text
    )
