"""What operators can set about moves, with times in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fanwise.errors import ParameterError


@dataclass(frozen=True)
class MovingSettings:
    """Of a broker's proposals.

    Attributes
    ----------
    half_life
        After so long a publication counts half.
    summary_seconds
        Between two summaries told to other brokers; one that is not heard of for three times as
        long takes no clients.
    turn_seconds
        Between two looks at what could move.
    moves_per_minute
        Most clients that a broker asks to move; 0: none, and summaries are told all the same.
    rest_seconds
        A client that was asked is left alone for so long, whatever it answered.
    least_gain
        What a move must save, as a share of what a client costs on average.
    least_rearrangement_gain
        What a rearrangement of many clients must save, as a share of the whole cost.
    wait_seconds
        Between hearing of rearrangements and following the best, so that all know the same ones.
    rearrangement_seconds
        After so long one that is not carried out is given up.
    changes
        That a broker tries for each client when it looks for a rearrangement; 0: it never looks, as
        in the paper.
    busy
        Share of the moves it may ask for: a broker that found as many single moves as that looks
        for no rearrangement in the same turn.
    """

    half_life: float = 300.0
    summary_seconds: float = 5.0
    turn_seconds: float = 10.0
    moves_per_minute: float = 60.0
    rest_seconds: float = 60.0
    least_gain: float = 0.02
    least_rearrangement_gain: float = 0.02
    wait_seconds: float = 15.0
    rearrangement_seconds: float = 600.0
    changes: float = 4.0
    busy: float = 0.5

    def __post_init__(self) -> None:
        for name in ("half_life", "summary_seconds", "turn_seconds", "rearrangement_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ParameterError(name, "a finite number > 0", value)
        for name in (
            *("moves_per_minute", "rest_seconds", "least_gain", "least_rearrangement_gain"),
            *("wait_seconds", "changes", "busy"),
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(name, "a finite number >= 0", value)
