"""The problem of Setty et al.: machines and bandwidth for everybody, as cheaply as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.families import PROVISION
from fanwise.planning.identity import sort_rows
from fanwise.planning.problem import Measurement, Outcome, Problem, Run
from fanwise.provision.catalogue import (
    BUILT_IN,
    Catalogue,
    Instance,
    describe_catalogue,
    find_instance,
    resolve_catalogue,
)
from fanwise.workload.topic import RELATIVE_TOLERANCE, Tau, TopicWorkload

HALF_TOLERANCE = RELATIVE_TOLERANCE / 2
"""What algorithms allow themselves for rounding, so that no check with the whole one fails."""


class Packing(NamedTuple):
    """What a packing algorithm returns: the machine of each pair, and what each machine is."""

    vm_of_pair: IntArray
    machines: Sequence[Instance]


class Costs(NamedTuple):
    """Money for the horizon by what it is paid for."""

    machines: float
    incoming: float
    outgoing: float

    @property
    def bandwidth(self) -> float:
        return self.incoming + self.outgoing

    @property
    def total(self) -> float:
        return self.machines + self.bandwidth


class Traffic(NamedTuple):
    """Bytes per period of each machine, and on how many machines each topic is."""

    in_bytes: FloatArray
    out_bytes: FloatArray
    copies: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Provisioning(Problem):
    """Rent machines and place (topic, subscriber) pairs on them so that everybody is satisfied.

    A subscriber is satisfied when its placed pairs carry tau_v events per period. A machine takes
    in each of its topics once and sends it out once per pair; both together stay within its
    bandwidth. The objective, to be minimised, is the money for rent and traffic over the horizon
    (MCSS).

    A first stage chooses pairs, a second packs them: ``solve("gsp+ffbp")``.

    Attributes
    ----------
    tau
        Events per period a subscriber wants, or ``"column"``; never more than it could get.
    instance
        The type of machine to rent, a name from the catalogue.
    catalogue
        A CSV file with ``instance,usd_per_hour,mbps``, entries, or None for the built-in one.
    price_gb_in, price_gb_out
        Dollars per 1e9 bytes.
    message_bytes
        One message size for all topics; None for each topic's own.
    horizon_seconds
        How long the machines run; None for the workload's period.

    References
    ----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
    """

    workload: TopicWorkload
    tau: Tau
    instance: str = "c3.large"
    catalogue: str | Path | Iterable[Instance] | None = None
    price_gb_in: float = 0.12
    price_gb_out: float = 0.12
    message_bytes: float | None = None
    horizon_seconds: float | None = None

    family: ClassVar[str] = "provision"

    @classmethod
    def example(cls, workload: TopicWorkload) -> Provisioning:
        """Return a typical problem on a workload, for warming kernels and trying things out."""
        return cls(workload, tau=5)

    def __post_init__(self) -> None:
        if not isinstance(self.tau, str):
            object.__setattr__(self, "tau", float(self.tau))
        object.__setattr__(self, "catalogue", resolve_catalogue(self.catalogue))
        for name in ("price_gb_in", "price_gb_out"):
            object.__setattr__(self, name, _check_number(name, getattr(self, name)))
        if self.message_bytes is not None:
            size = _check_number("message_bytes", self.message_bytes, is_positive=True)
            object.__setattr__(self, "message_bytes", size)
        horizon = self.horizon_seconds
        if horizon is None:
            horizon = self.workload.period_seconds
        horizon = _check_number("horizon_seconds", horizon, is_positive=True)
        object.__setattr__(self, "horizon_seconds", horizon)
        _ = self.machine, self.demand  # both raise what is wrong with them

    @cached_property
    def machine(self) -> Instance:
        """The type of machine to rent."""
        return find_instance(self.types, self.instance)

    @property
    def types(self) -> Catalogue:
        """The catalogue's entries."""
        assert isinstance(self.catalogue, tuple)
        return self.catalogue

    @property
    def horizon(self) -> float:
        """How long the machines run, in seconds."""
        assert self.horizon_seconds is not None
        return self.horizon_seconds

    @cached_property
    def demand(self) -> FloatArray:
        """tau_v: what each subscriber needs, in events."""
        return self.workload.demand(self.tau)

    @cached_property
    def sizes(self) -> FloatArray:
        """Message size of each topic."""
        if self.message_bytes is None:
            return self.workload.message_bytes
        return np.full(self.workload.num_topics, self.message_bytes)

    @cached_property
    def needs(self) -> FloatArray:
        """Bytes per period of one copy of each topic, incoming or outgoing."""
        return self.workload.rates * self.sizes

    @property
    def capacity_bytes(self) -> float:
        """Bytes per period that one machine moves."""
        return self.machine.capacity_bytes(self.workload.period_seconds)

    @property
    def packing_limit(self) -> float:
        """The capacity with some allowance for rounding: what algorithms may fill."""
        return self.capacity_bytes * (1 + HALF_TOLERANCE)

    @cached_property
    def is_usable(self) -> npt.NDArray[np.bool_]:
        """Whether each topic fits a machine, with one incoming copy and one outgoing."""
        return self._fits(self.machine)

    def _fits(self, machine: Instance) -> npt.NDArray[np.bool_]:
        capacity = machine.capacity_bytes(self.workload.period_seconds)
        return 2 * self.needs <= capacity * (1 + HALF_TOLERANCE)

    def parameters(self) -> dict[str, Any]:
        return {
            "tau": self.tau,
            "instance": self.instance,
            "catalog": None if self.types == BUILT_IN else describe_catalogue(self.types),
            "price_gb_in": self.price_gb_in,
            "price_gb_out": self.price_gb_out,
            "message_bytes": self.message_bytes,
            "horizon_seconds": self.horizon,
        }

    def costs(self, usd_per_hour: float, in_bytes: float, out_bytes: float) -> Costs:
        """Return the money for machines of this rent together and this traffic per period.

        Hours are not rounded up; traffic repeats every period of the horizon.
        """
        gigabytes = self.horizon / self.workload.period_seconds / 1e9
        return Costs(
            machines=usd_per_hour * self.horizon / 3600,
            incoming=in_bytes * gigabytes * self.price_gb_in,
            outgoing=out_bytes * gigabytes * self.price_gb_out,
        )

    def run(self, algorithms: tuple[Callable[..., Any], ...], run: Run) -> Outcome:
        """Choose pairs, then pack them."""
        choose_pairs, pack = algorithms
        self.refuse_impossible()
        with run.timed("select"):
            pairs: Csr = choose_pairs(self, run)
        with run.timed("pack"):
            packing: Packing = pack(self, pairs, run)
        return Outcome(self.tables(pairs, packing))

    def refuse_impossible(self) -> None:
        """Raise if somebody cannot be satisfied because a topic it needs fits no machine."""
        if self.is_usable.all():
            return
        is_short = self._misses_out(self.machine)
        if not is_short.any():
            return
        indptr, topics = self.workload.interests
        is_needed = np.zeros(self.workload.num_topics, dtype=bool)
        is_needed[topics[np.repeat(is_short, np.diff(indptr))]] = True
        too_large = np.flatnonzero(is_needed & ~self.is_usable)
        names = [repr(self.workload.topic_names[topic].as_py()) for topic in too_large[:3].tolist()]
        named = ", ".join(names) + (", …" if len(too_large) > len(names) else "")
        count = int(np.count_nonzero(is_short))
        raise InfeasibleError(
            f"{_plural(len(too_large), 'topic')} ({named}) too large for one {self.instance}, and "
            f"{_plural(count, 'subscriber')} cannot reach the threshold without; "
            f"{self._way_out(too_large)}."
        )

    def _misses_out(self, machine: Instance) -> npt.NDArray[np.bool_]:
        """Whether each subscriber gets too little even from all topics that fit such a machine."""
        from fanwise.arrays.csr import sum_rows

        rates = np.where(self._fits(machine), self.workload.rates, 0.0)
        reachable: FloatArray = sum_rows(*self.workload.interests, rates)
        return reachable < self.demand * (1 - HALF_TOLERANCE)

    def _way_out(self, too_large: npt.NDArray[np.intp]) -> str:
        for machine in sorted(self.types, key=lambda entry: entry.mbps):
            if machine.mbps > self.machine.mbps and not self._misses_out(machine).any():
                return f"the smallest instance that works is {machine.instance}"
        mbps = 2 * float(self.needs[too_large].max()) * 8 / 1e6 / self.workload.period_seconds
        return (
            "no instance of the catalogue works; one of "
            f"{math.ceil(mbps * 100) / 100:,} mbps would, or a smaller tau"
        )

    def traffic(self, allocation: pa.Table, num_vms: int) -> Traffic:
        """Add up what the pairs of an allocation make machines take in and send out."""
        rows = sort_rows(allocation, PROVISION.keys["allocation"])
        vm, topic = (rows.column(name).to_numpy() for name in ("vm", "topic"))
        is_new = np.ones(len(vm), dtype=bool)
        is_new[1:] = (vm[1:] != vm[:-1]) | (topic[1:] != topic[:-1])
        need = self.needs[topic]
        return Traffic(
            in_bytes=_add_up(vm[is_new], need[is_new], num_vms),
            out_bytes=_add_up(vm, need, num_vms),
            copies=np.bincount(topic[is_new], minlength=self.workload.num_topics),
        )

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.provision.bounds import paper_bound
        from fanwise.provision.kernels import deliver_events

        vms, allocation = tables["vms"], tables["allocation"]
        traffic = self.traffic(allocation, vms.num_rows)
        used = traffic.in_bytes + traffic.out_bytes
        capacity = vms.column("capacity_bytes").to_numpy()
        delivered = deliver_events(
            *self.workload.interests,
            self.workload.rates,
            *(allocation.column(name).to_numpy() for name in ("subscriber", "topic")),
        )
        rent = float(vms.column("usd_per_hour").to_numpy().sum())
        in_bytes, out_bytes = float(traffic.in_bytes.sum()), float(traffic.out_bytes.sum())
        costs = self.costs(rent, in_bytes, out_bytes)
        is_satisfied = delivered >= self.demand * (1 - RELATIVE_TOLERANCE)
        fits = used <= capacity * (1 + RELATIVE_TOLERANCE)
        return Measurement(
            objective=costs.total,
            is_feasible=bool(is_satisfied.all() and fits.all()),
            metrics={
                "vms": vms.num_rows,
                "cost_machines": costs.machines,
                "cost_bandwidth": costs.bandwidth,
                "cost_incoming": costs.incoming,
                "cost_outgoing": costs.outgoing,
                "paper_bound": paper_bound(self),
                "pairs": allocation.num_rows,
                "topics": int(np.count_nonzero(traffic.copies)),
                "split_topics": int(np.count_nonzero(traffic.copies > 1)),
                "split_bytes": float(np.dot(np.maximum(traffic.copies - 1, 0), self.needs)),
                "in_bytes": in_bytes,
                "out_bytes": out_bytes,
                "utilisation": float(used.sum() / capacity.sum()) if len(used) else None,
                "subscribers": int(np.count_nonzero(self.demand > 0)),
            },
        )

    def bound(self) -> float:
        from fanwise.provision.bounds import proven_bound

        return proven_bound(self)

    def tables(self, pairs: Csr, packing: Packing) -> dict[str, pa.Table]:
        """Return the plan's tables for packed pairs, sorted by key."""
        from fanwise.arrays.csr import count_offsets, scatter_rows

        machines = packing.machines
        topics, vms = pairs.indices, packing.vm_of_pair
        subscribers = np.repeat(
            np.arange(self.workload.num_subscribers, dtype=np.int32), np.diff(pairs.indptr)
        )
        # Two stable counting sorts: by topic, then by machine; subscribers ascend already.
        offsets = count_offsets(topics, self.workload.num_topics)
        subscribers = scatter_rows(topics, subscribers, offsets)
        vms = scatter_rows(topics, vms, offsets)
        topics = np.repeat(np.arange(self.workload.num_topics, dtype=np.int32), np.diff(offsets))
        offsets = count_offsets(vms, len(machines))
        allocation = pa.table(
            {
                "vm": np.repeat(np.arange(len(machines), dtype=np.int32), np.diff(offsets)),
                "topic": scatter_rows(vms, topics, offsets),
                "subscriber": scatter_rows(vms, subscribers, offsets),
            }
        )
        traffic = self.traffic(allocation, len(machines))
        period = self.workload.period_seconds
        rows = {
            "vm": pa.array(range(len(machines)), pa.int32()),
            "instance": pa.array([machine.instance for machine in machines], pa.string()),
            "usd_per_hour": pa.array([machine.usd_per_hour for machine in machines], pa.float64()),
            "mbps": pa.array([machine.mbps for machine in machines], pa.float64()),
            "capacity_bytes": pa.array(
                [machine.capacity_bytes(period) for machine in machines], pa.float64()
            ),
            "in_bytes": traffic.in_bytes,
            "out_bytes": traffic.out_bytes,
        }
        return {"vms": pa.table(rows), "allocation": allocation}


def rank_topics(key: FloatArray, is_usable: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Sort usable topics by key, then id: the rank of each topic (-1 if not usable), the order."""
    usable = np.flatnonzero(is_usable).astype(np.int32)
    order = usable[np.argsort(key[usable], kind="stable")]
    rank = np.full(len(key), -1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank, order


def _add_up(groups: npt.NDArray[Any], values: FloatArray, num_groups: int) -> FloatArray:
    # NumPy forgets the type of the weights where there are none.
    return np.bincount(groups, weights=values, minlength=num_groups).astype(np.float64)


def _check_number(name: str, value: Any, *, is_positive: bool = False) -> float:
    constraint = "a finite number > 0" if is_positive else "a finite number >= 0"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ParameterError(name, constraint, value)
    number = float(value)
    if not math.isfinite(number) or number < 0 or (is_positive and number == 0):
        raise ParameterError(name, constraint, value)
    return number


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
