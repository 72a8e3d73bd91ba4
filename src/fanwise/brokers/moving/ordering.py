"""In which order clients move so that every broker stays within its capacity at every moment.

While a client is on its way, both brokers keep room for it: its home until it is gone, the foreign
one from before. So room that a move makes can be used once that move has ended.

A client whose broker-to-be is full waits for others to leave it. Where clients wait for each other
in a ring, one of them goes to a third broker with room first, the one with the least demand that
unties the knot; and from there to where it belongs when there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.tolerance import fits


class Step(NamedTuple):
    """A client moves to a broker; ``is_final``: which is where it belongs."""

    client: int
    broker: int
    is_final: bool


class Order(NamedTuple):
    """Steps one after the other, and the clients for whom no way was found."""

    steps: tuple[Step, ...]
    stuck: tuple[int, ...]


class Moving:
    """Where clients are, where they belong, and the room that brokers have meanwhile.

    Parameters
    ----------
    demand, at, target
        Of each client: its load, its broker, and the one where it belongs.
    capacity
        Of each broker.

    Attributes
    ----------
    at, load
        Where clients are, and what brokers carry; a client on its way counts at both.
    """

    def __init__(
        self, demand: FloatArray, at: IntArray, target: IntArray, capacity: FloatArray
    ) -> None:
        self._demand, self._target, self._capacity = demand, target, capacity
        self.at = np.array(at, dtype=np.int64)
        self.load = np.bincount(self.at, weights=demand, minlength=len(capacity))
        self._on_the_way: dict[int, int] = {}
        self._given_up: set[int] = set()
        self._parked: set[int] = set()
        # Those with most demand first: what is small finds room in the end as well.
        self._order = np.argsort(-demand, kind="stable")

    def waiting(self) -> list[int]:
        """Clients that are not where they belong, nor on the way, nor given up."""
        away = np.flatnonzero(self.at[self._order] != self._target[self._order])
        return [
            client
            for client in self._order[away].tolist()
            if client not in self._on_the_way and client not in self._given_up
        ]

    @property
    def num_moving(self) -> int:
        return len(self._on_the_way)

    def begin(self, step: Step) -> None:
        """A client sets out: it takes room at both ends."""
        self._on_the_way[step.client] = step.broker
        self.load[step.broker] += self._demand[step.client]

    def end(self, client: int, *, has_moved: bool) -> None:
        """A client has arrived, or stays where it was."""
        broker = self._on_the_way.pop(client)
        left = self.at[client] if has_moved else broker
        self.load[left] -= self._demand[client]
        if has_moved:
            self.at[client] = broker

    def give_up(self, client: int) -> None:
        """A client stays where it is, whatever the plan says."""
        self._given_up.add(client)

    def next_step(self) -> Step | None:
        """Return a step that keeps capacities, None if there is none just now."""
        waiting = self.waiting()
        for client in waiting:
            if self._has_room(client, int(self._target[client])):
                return Step(client, int(self._target[client]), True)
        if self._on_the_way or not waiting:
            return None  # those on their way may make room
        return self._untie(waiting)

    def _has_room(self, client: int, broker: int) -> bool:
        return bool(fits(self.load[broker] + self._demand[client], self._capacity[broker]))

    def _untie(self, waiting: list[int]) -> Step | None:
        """Return a step to a third broker that lets somebody else move, or leads there."""
        wanted = {int(self._target[client]) for client in waiting}
        for client in reversed(waiting):
            if self.at[client] not in wanted or client in self._parked:
                continue
            brokers = np.argsort(self.load - self._capacity, kind="stable").tolist()
            for broker in brokers:
                # Not where others wait for room, as long as there is anywhere else.
                if broker != self.at[client] and self._has_room(client, broker):
                    self._parked.add(client)
                    return Step(client, broker, False)
        return None


def order_moves(
    demand: FloatArray,
    at: IntArray,
    target: IntArray,
    capacity: FloatArray,
    may_move: npt.NDArray[np.bool_] | None = None,
) -> Order:
    """Return all steps of a plan, one at a time, each within the capacities."""
    moving = Moving(demand, at, target, capacity)
    if may_move is not None:
        for client in np.flatnonzero(~may_move).tolist():
            moving.give_up(client)
    steps = tuple(_walk(moving))
    return Order(steps, tuple(sorted(moving.waiting())))


def _walk(moving: Moving) -> Iterator[Step]:
    while (step := moving.next_step()) is not None:
        moving.begin(step)
        moving.end(step.client, has_moved=True)
        yield step
