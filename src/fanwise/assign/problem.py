"""The problem of Yu et al.: give each subscriber a broker so that little travels between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.flows import Flow, Groups, group_alike, least_lbf, load_limits
from fanwise.arrays.latencies import shortest_latencies
from fanwise.arrays.tolerance import is_enough
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.errors import ParameterError, WorkloadError
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.latency import allowed_brokers, path_latencies

if TYPE_CHECKING:
    from fanwise.assign.bounds import Evidence
    from fanwise.assign.fractional import Fractional

DEFAULTS: Mapping[str, Any] = {"alpha": 3, "max_delay": 0.3, "lbf": 1.5, "lbf_max": 1.8}
"""Where neither the caller nor the workload says anything: the paper's settings for set #1."""
MOST, MOST_RECTANGLES = 1e15, 10_000
"""The largest factor or delay, and the most rectangles of a filter, that are taken."""


@dataclass(frozen=True, eq=False)
class Assignment(Problem):
    """Assign every subscriber to a leaf broker, and give all brokers filters.

    A filter is a union of at most ``alpha`` rectangles. That of a leaf holds what its subscribers
    want, that of an inner broker the filters of its children. The objective Q(T) adds up, over all
    brokers, the measure of the union: the events that travel to it.

    Attributes
    ----------
    alpha
        Most rectangles of a filter. This and the following three: None takes what the workload is
        meant for, else the paper's setting.
    max_delay
        A subscriber may be later by this share than the quickest way to it. The workload's
        ``max_latency`` or ``candidates``, where it has them, take its place.
    lbf, lbf_max
        Load-balance factors, desired and allowed: a broker serves at most
        floor(lbf x share x subscribers).
    latency
        ``"path"``: from the publisher through the tree; ``"last-hop"``: from the broker alone.

    References
    ----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe.
    IEEE ICDE 2011.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.ContentWorkload.from_arrays(
    ...     lo=[[0, 0], [5, 5]], hi=[[2, 2], [9, 9]],  # what ann and bob want
    ...     positions=[[0, 0], [10, 0]], broker_positions=[[1, 0], [9, 0]],
    ...     subscriber_names=["ann", "bob"], broker_names=["west", "east"],
    ...     publisher=[5, 0], parent=[-1, -1], share=[0.5, 0.5],
    ... )
    >>> fw.Assignment(workload, lbf=1.0, lbf_max=1.0).solve("closest").to_pandas()
      subscriber broker
    0        ann   west
    1        bob   east
    """

    workload: ContentWorkload
    alpha: int = None  # type: ignore[assignment]
    max_delay: float = None  # type: ignore[assignment]
    lbf: float = None  # type: ignore[assignment]
    lbf_max: float = None  # type: ignore[assignment]
    latency: str = "path"

    family: ClassVar[str] = "assign"

    @classmethod
    def example(cls, workload: Any) -> Assignment:
        """Return a typical problem on a workload, for warming kernels and trying things out.

        Two rectangles a filter, so that ``exact`` takes it.
        """
        return cls(workload, alpha=2)

    def __post_init__(self) -> None:
        self.workload.need("publisher", "parent", "share")
        if self.latency not in ("path", "last-hop"):
            raise ParameterError("latency", "'path' or 'last-hop'", self.latency)
        for name in DEFAULTS:
            if getattr(self, name) is None:
                object.__setattr__(self, name, self._default(name))
        is_whole = isinstance(self.alpha, int | np.integer) and not isinstance(self.alpha, bool)
        if not is_whole or not 1 <= self.alpha <= MOST_RECTANGLES:
            constraint = f"a whole number >= 1, at most {MOST_RECTANGLES:,}"
            raise ParameterError("alpha", constraint, self.alpha)
        object.__setattr__(self, "alpha", int(self.alpha))
        for name in ("max_delay", "lbf", "lbf_max"):
            object.__setattr__(self, name, _check_number(name, getattr(self, name)))
        _refuse_dense(self.workload)
        if self.lbf_max < self.lbf:
            raise ParameterError("lbf_max", f"at least lbf ({self.lbf:g})", self.lbf_max)

    def _default(self, name: str) -> Any:
        """Return what the workload is meant for; a bound on the load follows one that was given."""
        value = self.workload.settings.get(name, DEFAULTS[name])
        if name == "lbf_max" and self.lbf is not None:
            return max(value, self.lbf) if _is_number(value) and _is_number(self.lbf) else value
        if name == "lbf" and self.lbf_max is not None:
            return min(value, self.lbf_max) if _is_number(value) else value
        return value

    def changed(self, change: Mapping[str, Any]) -> Problem:
        """Return the question with other parameters; the desired load stays below the allowed."""
        if _is_number(change.get("lbf_max")) and "lbf" not in change:
            change = {**change, "lbf": min(self.lbf, float(change["lbf_max"]))}
        return super().changed(change)

    @property
    def num_pairs(self) -> int:
        """How large the question is: pairs of a subscriber and a broker that is in time."""
        return len(self.candidates.indices)

    @cached_property
    def path(self) -> FloatArray:
        """Latency from the publisher to each broker; zeros where only the last hop counts."""
        workload = self.workload
        if self.latency == "last-hop":
            return np.zeros(workload.num_brokers)
        assert workload.publisher is not None
        assert workload.parent is not None
        return path_latencies(workload.publisher, workload.broker_positions, workload.parent)

    @cached_property
    def candidates(self) -> Csr:
        """The leaf brokers that reach each subscriber in time."""
        last_hop = self.latency == "last-hop"
        return allowed_brokers(self.workload, self.max_delay, last_hop=last_hop)

    @cached_property
    def groups(self) -> Groups:
        """Subscribers with the same candidates, taken together."""
        return group_alike(self.candidates, self.workload.num_brokers)

    @cached_property
    def arrays(self) -> AssignmentArrays:
        """The problem as arrays, all of them read-only: what algorithms work on."""
        workload = self.workload
        assert workload.parent is not None
        assert workload.share is not None
        read_only(workload.leaves)
        return AssignmentArrays(
            workload.lo,
            workload.hi,
            *self.candidates,
            workload.parent,
            workload.share,
            workload.leaves,
            workload.event_density,
            self.alpha,
        )

    @cached_property
    def shortest(self) -> FloatArray:
        """Least latency to each subscriber over all leaf brokers."""
        workload = self.workload
        return shortest_latencies(
            workload.positions, workload.broker_positions, self.path, workload.leaves
        )

    def limits(self, lbf: float) -> LongArray:
        """Return the most subscribers of each broker under a load-balance factor."""
        assert self.workload.share is not None
        return load_limits(lbf, self.workload.share, self.workload.num_subscribers)

    @cached_property
    def least(self) -> tuple[float | None, Flow]:
        """The least load-balance factor that serves everybody in time, by max-flow, and how."""
        assert self.workload.share is not None
        return least_lbf(self.groups, self.workload.share)

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        wants = self.arrays.lo[:, 0] <= self.arrays.hi[:, 0]
        return None if wants.any() else "no subscriber wants anything"

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.assign.measuring import measure

        return measure(self, *read_tables(self.arrays, tables))

    def bound(self) -> float:
        return self.proven.value

    @cached_property
    def evidence(self) -> Evidence:
        """What bounds every plan without prices."""
        from fanwise.assign.bounds import gather

        return gather(self)

    @cached_property
    def proven(self) -> Bound:
        """A proven bound on every plan, with its certificate."""
        from fanwise.assign.bounds import lower_bound

        return lower_bound(self)

    def run(self, algorithms: tuple[Callable[..., Any], ...], run: Run) -> Outcome:
        """Run the algorithm; what it says is proven has a certificate, or is not said."""
        outcome = super().run(algorithms, run)
        if not outcome.metrics.get("proven") or outcome.proof is not None:
            return outcome
        with run.timed("bound"):
            found = self.prove(outcome, run)
        is_proven = outcome.bound is not None and is_enough(found.value, outcome.bound)
        metrics = {**outcome.metrics, "proven": is_proven}
        return replace(outcome, bound=found.value, proof=found.proof, metrics=metrics)

    def prove(self, outcome: Outcome, run: Run) -> Bound:
        """Return the best bound that has a certificate, given what an algorithm claims."""
        from fanwise.assign.proving.certificate import prove

        return prove(self, outcome.bound, run)

    def trivial_bound(self) -> float:
        """Return the bound that says nothing: no bandwidth at all."""
        return 0.0

    @cached_property
    def fractional(self) -> Fractional:
        """The relaxation's value for everybody where it is small enough, and what that proves."""
        from fanwise.assign.fractional import fractional

        return fractional(self)


def make_tables(broker_of_subscriber: IntArray, filters: Filters) -> dict[str, pa.Table]:
    """Return a plan's tables; rectangles in the order of their slots."""
    num_brokers, slots, dims = filters.lo.shape
    taken = np.arange(slots) < filters.counts[:, None]
    lo, hi = filters.lo[taken], filters.hi[taken]
    sides = {}
    for axis in range(dims):
        sides[f"lo_{axis}"] = np.ascontiguousarray(lo[:, axis])
        sides[f"hi_{axis}"] = np.ascontiguousarray(hi[:, axis])
    broker = np.repeat(np.arange(num_brokers, dtype=np.int32), filters.counts)
    subscriber = np.arange(len(broker_of_subscriber), dtype=np.int32)
    return {
        "assignment": pa.table(
            {"subscriber": subscriber, "broker": broker_of_subscriber.astype(np.int32)}
        ),
        "filters": pa.table({"broker": broker, **sides}),
    }


def read_tables(
    arrays: AssignmentArrays, tables: Mapping[str, pa.Table]
) -> tuple[IntArray, Filters]:
    """Return a plan's tables as the broker of each subscriber and filters."""
    given = tables["assignment"]
    assigned = np.full(arrays.num_subscribers, -1, dtype=np.int32)
    assigned[given.column("subscriber").to_numpy()] = given.column("broker").to_numpy()
    table = tables["filters"]
    broker = table.column("broker").to_numpy()
    order = np.argsort(broker, kind="stable")
    counts = np.bincount(broker, minlength=arrays.num_brokers).astype(np.int64)
    slots = max(int(counts.max(initial=0)), arrays.alpha)
    shape = arrays.num_brokers, slots, arrays.event_dims
    filters = Filters(np.zeros(shape), np.zeros(shape), counts)
    first = np.cumsum(counts) - counts
    slot = np.arange(len(broker)) - first[broker[order]]
    for axis in range(arrays.event_dims):
        filters.lo[broker[order], slot, axis] = table.column(f"lo_{axis}").to_numpy()[order]
        filters.hi[broker[order], slot, axis] = table.column(f"hi_{axis}").to_numpy()[order]
    return assigned, filters


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _check_number(name: str, value: Any) -> float:
    if not _is_number(value) or not 0 <= value <= MOST:
        raise ParameterError(name, f"a number from 0 to {MOST:g}", value)
    return float(value)


def _refuse_dense(workload: ContentWorkload) -> None:
    """Raise where events in a cell are denser than a number can hold."""
    if workload.density is None:
        return
    lo, hi, rate = workload.density
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        dense = rate / (hi - lo).prod(axis=1)
    if not np.isfinite(dense).all():
        row = int(np.argmin(np.isfinite(dense)))
        raise WorkloadError(
            f"density.parquet: {rate[row]:g} events in a cell from {lo[row].tolist()} to "
            f"{hi[row].tolist()} are too dense to be measured; use larger units."
        )
