"""Topics that a window says nothing of: no events, or nobody who wants them.

Plans know the topics of their window alone. A topic in force that is silent costs nothing, so it
stays served until it has been silent for long: else every topic with few events would be switched
off and on again. Topics that people pinned are served, and those that they excluded are not, silent
or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from fanwise.service.records import Change
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True, eq=False)
class InForce:
    """The decision that is obeyed now.

    Attributes
    ----------
    served
        Names of the topics that it serves.
    heard
        Those of them that had events not long ago: they stay served while they are silent.
    """

    hash: str
    served: pa.Array
    heard: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ByHand:
    """Topics that people have fixed."""

    pin: frozenset[str]
    exclude: frozenset[str]

    @classmethod
    def of(cls, pin: Iterable[str], exclude: Iterable[str]) -> Self:
        """Return what is fixed; a topic that is both is excluded.

        What was switched off by hand must not come back.
        """
        off = frozenset(exclude)
        return cls(frozenset(pin) - off, off)

    def __bool__(self) -> bool:
        return bool(self.pin or self.exclude)


@dataclass(frozen=True)
class Silent:
    """What becomes of topics that the window says nothing of.

    Attributes
    ----------
    stay
        Those that are served, in order.
    leave
        Those that are no longer served, in order.
    begin
        Those of ``stay`` that were not served before.
    excluded
        Those of ``leave`` that people have excluded.
    """

    stay: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    begin: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    @property
    def is_by_hand(self) -> bool:
        """Whether something is switched because people said so."""
        return bool(self.begin or self.excluded)

    def within(self, most: int | None, switched: int) -> Silent:
        """Return the same with no more topics leaving than may be switched beside others.

        Parameters
        ----------
        most
            Most topics that a decision may switch; None for any number.
        switched
            How many it switches already.
        """
        if most is None:
            return self
        spare = max(0, most - switched - len(self.begin) - len(self.excluded))
        idle = [topic for topic in self.leave if topic not in self.excluded]
        kept = frozenset(idle[spare:])
        return replace(
            self,
            stay=tuple(sorted(kept.union(self.stay))),
            leave=tuple(topic for topic in self.leave if topic not in kept),
        )

    def changes(self) -> list[Change]:
        """Return what is switched, with the reasons."""
        return [
            *(
                Change(topic, True, 0.0, 0, "pinned; without traffic now")
                for topic in sorted(self.begin)
            ),
            *(
                Change(
                    topic,
                    False,
                    0.0,
                    0,
                    "excluded; without traffic now"
                    if topic in self.excluded
                    else "nothing came on it for long",
                )
                for topic in self.leave
            ),
        ]


def find_silent(workload: TopicWorkload, in_force: InForce | None, by_hand: ByHand) -> Silent:
    """Return what becomes of topics that a workload does not have."""
    there = set(workload.topic_names.to_pylist())
    served = frozenset() if in_force is None else frozenset(in_force.served.to_pylist())
    heard = frozenset() if in_force is None else in_force.heard
    silent, pinned = served - there, by_hand.pin - there
    stay = ((silent & heard) - by_hand.exclude) | pinned
    leave = silent - stay
    return Silent(
        tuple(sorted(stay)), tuple(sorted(leave)), pinned - served, leave & by_hand.exclude
    )
