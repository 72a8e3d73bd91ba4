"""What else the machines of a plan have room for, tried out without changing the plan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.provision.explain.facts import Emptying
from fanwise.provision.explain.money import byte_prices, rents
from fanwise.provision.explain.placement import Placement


class SpareCapacity:
    """What machines have left, which pairs can be taken from and put into.

    Parameters
    ----------
    closed
        A machine that takes nothing.
    """

    def __init__(self, placement: Placement, closed: int | None = None) -> None:
        self._placement = placement
        self._closed = closed
        self._bytes = placement.free_bytes.copy()
        self._topics = placement.free_topics.copy()
        self._pairs = placement.free_pairs.copy()
        self._carriers: dict[int, set[int]] = {}

    def take_out(self, topic: int, vm: int, *, is_last: bool) -> None:
        """Take a pair from its machine; with the last one goes the incoming copy."""
        need = float(self._placement.problem.needs[topic])
        self._bytes[vm] += need * (2 if is_last else 1)
        self._pairs[vm] += 1
        if is_last:
            self._topics[vm] += 1
            self._carries(topic).discard(vm)

    def put_in(self, topic: int, count: int) -> tuple[int, int]:
        """Put pairs on machines; return how many found no room, and how many copies that takes.

        Machines that carry the topic come first, then those that hold most.
        """
        need = float(self._placement.problem.needs[topic])
        carriers = self._carries(topic)
        is_carrier = np.zeros(len(self._bytes), dtype=bool)
        is_carrier[list(carriers)] = True
        held = self._held(need, is_carrier)
        new_copies = 0
        takers = np.flatnonzero(held >= 1)
        for vm in takers[np.lexsort((-held[takers], ~is_carrier[takers]))].tolist():
            if count == 0:
                break
            moved = int(min(count, held[vm]))
            is_new = vm not in carriers
            self._bytes[vm] -= need * (moved + is_new)
            self._pairs[vm] -= moved
            self._topics[vm] -= is_new
            carriers.add(vm)
            count -= moved
            new_copies += is_new
        return count, new_copies

    def _held(self, need: float, is_carrier: npt.NDArray[np.bool_]) -> FloatArray:
        """Return how many further pairs of a topic each machine holds."""
        held = self._pairs.copy()
        if need > 0:
            np.minimum(held, np.floor(self._bytes / need) - ~is_carrier, out=held)
        held[~is_carrier & (self._topics < 1)] = 0.0
        if self._closed is not None:
            held[self._closed] = 0.0
        return held

    def _carries(self, topic: int) -> set[int]:
        if topic not in self._carriers:
            parts = self._placement.parts_of_topic(topic)
            self._carriers[topic] = set(self._placement.parts.vm[parts].tolist())
        return self._carriers[topic]


def try_emptying(placement: Placement, vm: int) -> Emptying:
    """Try to put all pairs of a machine on the others, topics with most bytes first.

    Where that fails, other machines may still do with other pairs: it is a trial, no proof.
    O(topics on the machine x machines).
    """
    room = SpareCapacity(placement, closed=vm)
    parts = placement.parts_of_machine(vm)
    topics, num_pairs = placement.parts.topic[parts], placement.parts.num_pairs[parts]
    needs = placement.needs[parts]
    left: LongArray = np.zeros(len(topics), dtype=np.int64)
    copies: LongArray = np.zeros(len(topics), dtype=np.int64)
    for i in np.argsort(-needs * (num_pairs + 1), kind="stable").tolist():
        left[i], copies[i] = room.put_in(int(topics[i]), int(num_pairs[i]))
    in_price, _ = byte_prices(placement)
    is_empty = not left.any()
    saved = float(rents(placement)[vm] + in_price * (needs * (1 - copies)).sum())
    return Emptying(
        machine=vm,
        pairs=int(num_pairs.sum()),
        left_over=int(left.sum()),
        missing_bytes=float((needs * left).sum()),
        new_copies=int(copies.sum()),
        saves=saved if is_empty else None,
    )
