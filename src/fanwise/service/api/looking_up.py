"""The last window, ready to be asked: names by an index, what is served now, what was explained.

Everything is made once a window or a decision, when somebody asks.
"""

from __future__ import annotations

import bisect
import difflib
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanwise.errors import FanwiseError, InputError
from fanwise.planning.plan import Plan, read_plan
from fanwise.service.analyzer.deciding import Decided
from fanwise.service.executor.errors import ConflictError
from fanwise.workload.topic.files import read_workload

if TYPE_CHECKING:
    from fanwise.service.supervisor import Supervisor

log = logging.getLogger(__name__)

MOST_COMPARED = 200
"""Names that a misspelt one is compared with: its neighbours in the order of names."""
LONGEST_COMPARED = 200
"""Characters of a name that is compared with others; comparing takes their square."""
MOST_EXPLAINED = 500
"""Explanations of a window that are kept."""
MOST_TRIED = 5
"""Newest decisions whose plan is looked for on disk."""


class Names:
    """Where each name is."""

    def __init__(self, names: pa.Array, kind: str) -> None:
        self._kind = kind
        self._number = {name: number for number, name in enumerate(names.to_pylist())}
        self._sorted = sorted(self._number)

    def find(self, name: str) -> int:
        """Return the number of a name.

        Raises
        ------
        InputError
            If there is none; close ones are suggested.
        """
        number = self._number.get(name)
        if number is not None:
            return number
        short = name[:LONGEST_COMPARED]
        place = bisect.bisect(self._sorted, short)
        near = self._sorted[max(0, place - MOST_COMPARED // 2) : place + MOST_COMPARED // 2]
        close = difflib.get_close_matches(short, [one[:LONGEST_COMPARED] for one in near], n=3)
        hint = "no name is close to it."
        if close:
            hint = f"did you mean {', '.join(map(repr, close))}?"
        raise InputError(f"{self._kind} {short!r} is not in the workload; {hint}")


class LastWindow:
    """A window that was decided, with indexes."""

    def __init__(self, decided: Decided) -> None:
        self.decided = decided
        self._explained: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def topics(self) -> Names:
        """Topics by their names."""
        return Names(self.decided.workload.topic_names, "topic")

    @cached_property
    def subscribers(self) -> Names:
        """Subscribers by their names."""
        return Names(self.decided.workload.subscriber_names, "subscriber")

    def explain(self, plan: Plan, topic: str) -> Mapping[str, Any]:
        """Return why a topic is served or offloaded: one pass over the pairs, then kept."""
        self.topics.find(topic)
        with self._lock:
            facts = self._explained.get(topic)
            if facts is None:
                facts = plan.explain(self.decided.workload, topic=topic).facts
                self._explained[topic] = facts
                if len(self._explained) > MOST_EXPLAINED:
                    self._explained.popitem(last=False)
        return facts


class LookingUp:
    """Finds the last window, in memory or on disk, and what is served now."""

    def __init__(self, service: Supervisor) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._last: LastWindow | None = None
        self._served: tuple[str, frozenset[str]] | None = None
        self._missed: int | None = None

    def last(self) -> LastWindow:
        """Return the last window.

        Raises
        ------
        ConflictError
            Where there is none yet.
        """
        with self._lock:
            decided = self._service.latest.get()
            if decided is None and self._last is None:
                decided = self._read()
            if decided is not None and (self._last is None or self._last.decided is not decided):
                self._last = LastWindow(decided)
            if self._last is None:
                raise ConflictError(
                    "No window has closed since the service started, and none is kept on disk; "
                    "wait for one."
                )
            return self._last

    def is_in_force(self, topic: str) -> bool:
        """Whether a topic is served now."""
        current = self._service.store.current()
        if current is None and self._service.executor.mode == "dry-run":
            current = self._service.store.newest_standing()
        if current is None:
            return False
        with self._lock:
            if self._served is None or self._served[0] != current.hash:
                served = self._service.store.served_by(current.hash) or ()
                self._served = (current.hash, frozenset(served))
            return topic in self._served[1]

    def _read(self) -> Decided | None:
        """Return the newest decision that is kept whole on disk: the service was started again."""
        newest = self._service.store.newest()
        if newest is None or self._missed == newest.number:
            return None
        for decision in self._service.store.decisions(MOST_TRIED).rows:
            folder = self._service.plan_folder(decision)
            place = self._service.folder.workloads / folder.name
            if not folder.is_dir() or not place.is_dir():
                continue
            try:
                workload = read_workload(place)
                plan = read_plan(folder, workload)
            except (FanwiseError, OSError) as error:
                log.warning("the plan of the last window cannot be read: %s", error)
                continue
            served = self._service.store.served_by(decision.hash) or ()
            return Decided(decision, [], pa.array(served, pa.string()), workload, plan)
        self._missed = newest.number
        return None
