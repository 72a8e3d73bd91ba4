"""The problem of Zhao and Wu: attach users to brokers so that carrying all traffic costs least."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import IntArray
from fanwise.errors import InfeasibleError, ParameterError, WorkloadError
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run
from fanwise.wire.arrays import WiringArrays, build_arrays
from fanwise.workload.content import ContentWorkload

if TYPE_CHECKING:
    from fanwise.wire.bounds import BoundParts

LARGEST_COST = 1e100
TOPOLOGIES = ("mesh", "tree")
GRACE_SHARE, GRACE = 0.05, 0.3
"""Of a time limit that is used up, and in seconds: what a bound may take all the same."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Wiring(Problem):
    """Attach every user to one broker.

    A user wants the channels that its rectangle shares a volume with, as a whole, and may publish
    on any. Messages that nobody but their publisher wants are removed first. The objective is
    C1 + C2: C1 adds up, over users, their traffic in and out times the cost of their link; C2 adds
    up, over publishers and channels, the rate times the cost of the minimum spanning tree over the
    publisher's broker and those of the channel's other subscribers. A message crosses a link once.

    With ``candidates`` a user may be attached to those brokers alone.

    Between brokers, costs that break the triangle inequality are replaced by those of the cheapest
    ways. A broker's load is the traffic of its users; what passes through is not counted.

    Attributes
    ----------
    topology
        ``"mesh"``: a tree for each broker and channel. ``"tree"``: the paper's variant where the
        brokers form one tree, here the minimum spanning tree of all of them, and every message
        follows it, through brokers without subscribers as well.
    core_factor, capacity_factor
        What if: all costs between brokers, and all capacities, times this.

    References
    ----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.ContentWorkload.from_arrays(
    ...     lo=[[0, 0], [5, 5]], hi=[[2, 2], [9, 9]],  # what ann and bob want
    ...     positions=[[0, 0], [10, 0]], broker_positions=[[1, 0], [9, 0]],
    ...     subscriber_names=["ann", "bob"], broker_names=["west", "east"],
    ...     channels=([[0, 0]], [[9, 9]]), rates=([0], [0], [3.0]),
    ... )
    >>> fw.Wiring(workload).solve("migration").to_pandas()
      subscriber broker
    0        ann   west
    1        bob   east
    """

    workload: ContentWorkload
    topology: str = "mesh"
    core_factor: float = 1.0
    capacity_factor: float = 1.0

    family: ClassVar[str] = "wire"

    @classmethod
    def example(cls, workload: Any) -> Wiring:
        """Return a typical problem on a workload, for warming kernels and trying things out."""
        return cls(workload)

    @classmethod
    def examples(cls, workload: Any) -> tuple[Problem, ...]:
        """Return one problem of each topology."""
        return tuple(cls(workload, topology=topology) for topology in TOPOLOGIES)

    def __post_init__(self) -> None:
        self.workload.need("channels", "rates")
        if self.topology not in TOPOLOGIES:
            raise ParameterError("topology", "'mesh' or 'tree'", self.topology)
        for name in ("core_factor", "capacity_factor"):
            object.__setattr__(self, name, _check_factor(name, getattr(self, name)))
        if self.workload.num_subscribers and not self.workload.num_brokers:
            raise InfeasibleError(
                "brokers.parquet has no rows: users have nothing to attach to; add a broker."
            )

        self._check_candidates()

    def _check_candidates(self) -> None:
        """Raise where somebody may take no broker at all."""
        workload = self.workload
        if workload.candidates is None or not workload.num_subscribers:
            return
        lonely = np.flatnonzero(np.diff(workload.candidates.indptr) == 0)
        if len(lonely):
            name = workload.subscriber_names[lonely[0]]
            raise InfeasibleError(
                f"candidates.parquet has no broker for {len(lonely)} users, {name!r} first; add a "
                "pair for each, or leave the file out to allow all brokers."
            )

    @property
    def num_pairs(self) -> int:
        """How large the question is: pairs of a user and a broker."""
        return self.workload.num_subscribers * self.workload.num_brokers

    @cached_property
    def _laid_out(self) -> tuple[WiringArrays, int]:
        arrays, num_shortened = build_arrays(
            self.workload,
            is_tree=self.topology == "tree",
            core_factor=self.core_factor,
            capacity_factor=self.capacity_factor,
        )
        _check_size(arrays)
        if num_shortened:
            logger.warning(
                "broker_costs: %d links cost more than a way around them; the cheapest way is used",
                num_shortened,
            )
        return arrays, num_shortened

    @property
    def arrays(self) -> WiringArrays:
        """The problem as arrays, all of them read-only: what algorithms work on."""
        return self._laid_out[0]

    @property
    def num_shortened(self) -> int:
        """Links between brokers that cost more than a way around them."""
        return self._laid_out[1]

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        if not self.workload.num_subscribers:
            return "there are no users"
        return None if self.arrays.demand.any() else "no message has a receiver"

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.wire.measuring import measure

        return measure(self, read_attachments(self.arrays, tables))

    @cached_property
    def bound_parts(self) -> BoundParts:
        """Proven lower bounds on C1, on C2 and on their sum."""
        from fanwise.wire.bounds import bound_parts

        return bound_parts(self.arrays, Run())

    @cached_property
    def proved(self) -> Bound:
        """A proven lower bound on C1 + C2, whatever an algorithm finds, with its certificate."""
        from fanwise.wire.proving.certificates import prove

        return prove(self, Run())

    def bound(self) -> float:
        return self.proved.value

    def prove(self, outcome: Outcome, run: Run) -> Bound:
        if outcome.bound is not None:
            return Bound(outcome.bound, outcome.proof)
        return self.prove_within(run)

    def prove_within(self, run: Run) -> Bound:
        """Return a proven lower bound on C1 + C2; where time is short one that takes less of it."""
        if run.time_limit is None or "proved" in self.__dict__:
            return self.proved
        from fanwise.wire.proving.certificates import prove

        seconds = max(run.time_left(), GRACE_SHARE * run.time_limit + GRACE)
        return prove(self, Run(time_limit=seconds))

    def trivial_bound(self) -> float:
        """Return the bound that says nothing: that a wiring costs no less than nothing."""
        return 0.0


def _check_factor(name: str, value: Any) -> float:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or float(value) < 0:
        raise ParameterError(name, "a finite number >= 0", value)
    return float(value)


def _check_size(arrays: WiringArrays) -> None:
    """Raise where rates times costs are too large for a number, or for a sum of them."""
    with np.errstate(over="ignore", invalid="ignore"):
        dearest = arrays.access.max(initial=0.0) + arrays.core.sum()
        total = (arrays.demand.sum() + arrays.rates.sum()) * dearest
    if not total < LARGEST_COST:
        raise WorkloadError(
            f"rates times costs come to {total:.3g}, above {LARGEST_COST:g}, the most that can be "
            "summed safely; give rates, costs or positions in larger units, or a smaller "
            "core_factor."
        )


def read_attachments(arrays: WiringArrays, tables: Mapping[str, pa.Table]) -> IntArray:
    """Return the broker of each user out of a plan's tables."""
    given = tables["attachments"]
    brokers = np.full(arrays.num_users, -1, dtype=np.int32)
    brokers[given.column("subscriber").to_numpy()] = given.column("broker").to_numpy()
    return brokers


def make_tables(arrays: WiringArrays, broker_of_user: IntArray) -> dict[str, pa.Table]:
    """Return a plan's tables.

    Links are those with traffic, and with one tree all of its links; the smaller id first.
    """
    from fanwise.wire.state import link_traffic, make_state

    traffic = link_traffic(arrays, make_state(arrays, broker_of_user))
    is_kept = traffic > 0
    if arrays.is_tree:
        below, above = arrays.tree_order[1:], arrays.tree_parent[arrays.tree_order[1:]]
        is_kept[arrays.links.rank[below, above]] = True
    kept = np.flatnonzero(is_kept)
    low, high = arrays.links.low[kept], arrays.links.high[kept]
    order = np.lexsort((high, low))
    users = np.arange(arrays.num_users, dtype=np.int32)
    return {
        "attachments": pa.table({"subscriber": users, "broker": broker_of_user.astype(np.int32)}),
        "links": pa.table(
            {"broker": low[order], "other": high[order], "traffic": traffic[kept][order]}
        ),
    }
