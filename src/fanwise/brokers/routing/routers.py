"""Routers: by costs alone, by the channels of a `wire` plan, and along one tree.

All of them keep what they have found for the last few thousand questions. A broker that they do not
know, because it joined later, gets its copies directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.brokers.matching.rectangle_index import RectangleIndex
from fanwise.brokers.routing.trees import LinkOrder, Tree, branches

MOST_REMEMBERED = 4096
Hops = dict[str, frozenset[str]]
Question = tuple[str, int, frozenset[str], frozenset[str]]


class _Memory:
    """Answers to the last questions."""

    def __init__(self) -> None:
        self._answers: dict[Question, Hops] = {}

    def ask(self, question: Question, find: Callable[[], Hops]) -> Hops:
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= MOST_REMEMBERED:
                self._answers.clear()
            answer = self._answers[question] = find()
        return answer


def with_strangers(
    found: Hops, strangers: frozenset[str], alive: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Return hops, with direct ones to brokers that no tree knows."""
    return found | {name: frozenset((name,)) for name in sorted(strangers & alive)}


class CostRouter:
    """The minimum spanning tree over the publisher's broker and the destinations: the paper's C2.

    Nobody passes on what it does not want itself, so no broker that is down is on any way.

    Parameters
    ----------
    links
        Of all brokers, in their order.
    """

    def __init__(self, links: LinkOrder) -> None:
        self._links, self._memory = links, _Memory()

    def next_hops(
        self, here: str, point: Sequence[float], destinations: frozenset[str], alive: frozenset[str]
    ) -> Hops:
        return self._memory.ask(
            (here, 0, destinations, alive), lambda: self._find(here, destinations, alive)
        )

    def _find(self, here: str, destinations: frozenset[str], alive: frozenset[str]) -> Hops:
        known = frozenset(name for name in destinations & alive if name in self._links)
        tree = self._links.spanning_tree({here, *known}) if here in self._links else {}
        strangers = destinations - known if tree else destinations
        return with_strangers(branches(tree, here, known, alive), strangers, alive)


class ChannelFinder:
    """Which channel a point is on; cells hold their lower ends, the last ones their upper ends too.

    Parameters
    ----------
    lo, hi
        Of the channels.
    """

    def __init__(self, lo: FloatArray, hi: FloatArray) -> None:
        self._hi = hi
        self._index = RectangleIndex.build(np.arange(len(lo)), lo, hi)

    def channel_of(self, point: npt.ArrayLike) -> int:
        """Return the channel of a point, -1 where there is none."""
        found = sorted(self._index.match(point))
        if len(found) > 1:
            # A point on faces is of the channel above them, if there is one.
            place = np.asarray(point, dtype=np.float64)
            found.sort(key=lambda channel: (int((self._hi[channel] == place).sum()), channel))
        return found[0] if found else -1


class ChannelRouter:
    """The tree of the point's channel in a mesh plan: over all brokers that the plan has on it.

    Branches that nobody wants this publication in are left out. Destinations that are not in the
    plan's tree, because a client has moved there since, join it; the tree is the minimum spanning
    tree of all of them and the publisher's broker.

    Parameters
    ----------
    links
        Of all brokers, in their order.
    channels
        Finds the channel of a point.
    brokers_of_channel
        Those with subscribers of each channel in the plan.
    """

    def __init__(
        self,
        links: LinkOrder,
        channels: ChannelFinder,
        brokers_of_channel: Sequence[frozenset[str]],
    ) -> None:
        self._links, self._channels, self._memory = links, channels, _Memory()
        self._brokers_of_channel = brokers_of_channel

    def next_hops(
        self, here: str, point: Sequence[float], destinations: frozenset[str], alive: frozenset[str]
    ) -> Hops:
        channel = self._channels.channel_of(point)
        return self._memory.ask(
            (here, channel, destinations, alive),
            lambda: self._find(here, channel, destinations, alive),
        )

    def _find(
        self, here: str, channel: int, destinations: frozenset[str], alive: frozenset[str]
    ) -> Hops:
        known = frozenset(name for name in destinations & alive if name in self._links)
        if here not in self._links:
            return with_strangers({}, destinations, alive)
        planned = self._brokers_of_channel[channel] if channel >= 0 else frozenset[str]()
        tree = self._links.spanning_tree({here, *known, *planned})
        return with_strangers(branches(tree, here, known, alive), destinations - known, alive)


class TreeRouter:
    """One tree of brokers for everything, through brokers that want nothing as well.

    Parameters
    ----------
    tree
        The neighbours of each broker. A name that is no broker's is passed over like one that is
        down: the publisher's side of an `assign` plan.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree, self._memory = tree, _Memory()

    def next_hops(
        self, here: str, point: Sequence[float], destinations: frozenset[str], alive: frozenset[str]
    ) -> Hops:
        return self._memory.ask(
            (here, 0, destinations, alive), lambda: self._find(here, destinations, alive)
        )

    def _find(self, here: str, destinations: frozenset[str], alive: frozenset[str]) -> Hops:
        known = frozenset(name for name in destinations & alive if name in self._tree)
        if here not in self._tree:
            return with_strangers({}, destinations, alive)
        found = branches(self._tree, here, known, alive)
        return with_strangers(found, destinations - known, alive)
