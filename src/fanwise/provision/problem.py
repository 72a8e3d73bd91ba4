"""The problem of Setty et al.: machines and bandwidth for everybody, as cheaply as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run
from fanwise.planning.proof import Proof
from fanwise.provision.catalogue import (
    AUTO,
    BUILT_IN,
    Catalogue,
    Instance,
    describe_catalogue,
    find_instance,
    resolve_catalogue,
    restore_catalogue,
)
from fanwise.provision.description import DESCRIPTION
from fanwise.workload.topic import Tau, TopicWorkload

if TYPE_CHECKING:
    from fanwise.provision.bounds import Proven
    from fanwise.provision.machines.packing import Bin

NAIVE = "rsp+ffbp"
"""The plan that savings are measured against: random pairs, first-fit packing."""

SOLVER_TOLERANCE = RELATIVE_TOLERANCE * (1 - 1e-3)
"""What algorithms allow themselves: the tolerance of every check, less a thousandth of it for sums
that are added up in another order."""


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


@dataclass(frozen=True, eq=False)
class Provisioning(Problem):
    """Rent machines and place (topic, subscriber) pairs on them so that everybody is satisfied.

    A subscriber is satisfied when its placed pairs carry tau_v events per period. A machine takes
    in each of its topics once and sends it out once per pair; both together stay within its
    bandwidth, less the reserve. The objective, to be minimised, is the money for rent and traffic
    over the horizon (MCSS).

    A first stage chooses pairs, a second packs them: ``solve("gsp+cbp")``.

    Attributes
    ----------
    tau
        Events per period a subscriber wants, or ``"column"``; never more than it could get.
    instance
        The type of machine to rent, a name from the catalogue, or ``"auto"`` for whichever type
        or mix of types is cheapest.
    catalogue
        A CSV file with ``instance,usd_per_hour,mbps`` and maybe ``max_topics`` and
        ``max_connections``, entries, or None for the built-in one.
    reserve
        The share of each machine's bandwidth that is to stay free: 0.2 or ``"20%"``.
    price_gb_in, price_gb_out
        Dollars per 1e9 bytes.
    message_bytes
        One message size for all topics; None for each topic's own.
    horizon_seconds
        How long the machines run; None for the workload's period.
    max_cost
        The decision question: is there a plan for this much money? The answer is the metric
        ``decision``: yes (this plan), no (by the bound) or unknown.

    References
    ----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.TopicWorkload.from_edges(
    ...     [("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")], rate={"rock": 30, "jazz": 10}
    ... )
    >>> plan = fw.Provisioning(workload, tau=10, horizon_seconds=3600).solve("gsp+ffbp")
    >>> plan.to_pandas("vms")[["vm", "instance"]]
       vm  instance
    0   0  c3.large
    >>> plan.bound <= plan.objective
    True
    """

    workload: TopicWorkload
    tau: Tau
    instance: str = "c3.large"
    catalogue: str | Path | Iterable[Instance] | None = None
    price_gb_in: float = 0.12
    price_gb_out: float = 0.12
    message_bytes: float | None = None
    horizon_seconds: float | None = None
    reserve: float | str = 0.0
    max_cost: float | None = None

    family: ClassVar[str] = "provision"

    @classmethod
    def example(cls, workload: TopicWorkload) -> Provisioning:
        """Return a typical problem on a workload, for warming kernels and trying things out.

        Its machines hold hardly more than one topic, so that there are several.
        """
        largest = float((workload.rates * workload.message_bytes).max(initial=1.0))
        mbps = 2.5 * largest * 8 / 1e6 / workload.period_seconds
        return cls(workload, tau=5, instance="tiny", catalogue=[Instance("tiny", 0.15, mbps)])

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
        object.__setattr__(self, "reserve", _parse_reserve(self.reserve))
        if self.max_cost is not None:
            object.__setattr__(self, "max_cost", _check_number("max_cost", self.max_cost))
        _ = self.machine, self.demand  # both raise what is wrong with them

    @cached_property
    def types_allowed(self) -> Catalogue:
        """The types of machine that may be rented: one, or with ``"auto"`` the whole catalogue."""
        return self.types if self.instance == AUTO else (find_instance(self.types, self.instance),)

    @cached_property
    def machine(self) -> Instance:
        """The allowed type that carries most, of equals the cheapest: what topics must fit."""
        return max(self.types_allowed, key=lambda entry: (entry.mbps, -entry.usd_per_hour))

    @cached_property
    def allowed_bins(self) -> tuple[Bin, ...]:
        """The allowed types as packing sees them, in the catalogue's order."""
        from fanwise.provision.machines.packing import NO_LIMIT, Bin

        return tuple(
            Bin(
                entry,
                self.usable_bytes(entry) * (1 + SOLVER_TOLERANCE),
                self.costs(entry.usd_per_hour, 0.0, 0.0).total,
                entry.max_topics or NO_LIMIT,
                entry.max_connections or NO_LIMIT,
            )
            for entry in self.types_allowed
        )

    @cached_property
    def bins(self) -> tuple[Bin, ...]:
        """The allowed types that no other beats, by rising rent."""
        kept: list[Bin] = []
        for kind in sorted(self.allowed_bins, key=lambda kind: (kind.rent, -kind.limit)):
            if not any(other.holds(kind) for other in kept):
                kept.append(kind)
        return tuple(kept)

    @cached_property
    def largest(self) -> Bin:
        """The allowed type that carries most, as packing sees it."""
        return next(kind for kind in self.allowed_bins if kind.machine == self.machine)

    @property
    def types(self) -> Catalogue:
        """The catalogue's entries."""
        return cast(Catalogue, self.catalogue)

    @property
    def horizon(self) -> float:
        """How long the machines run, in seconds."""
        return cast(float, self.horizon_seconds)

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
    def reserve_share(self) -> float:
        """The share of each machine's bandwidth that stays free."""
        return cast(float, self.reserve)

    def usable_bytes(self, machine: Instance) -> float:
        """Bytes per period that one machine of a type may move: its capacity less the reserve."""
        return machine.capacity_bytes(self.workload.period_seconds) * (1 - self.reserve_share)

    @property
    def capacity_bytes(self) -> float:
        """Bytes per period that one machine may move; of several types, the largest."""
        return self.usable_bytes(self.machine)

    @cached_property
    def is_usable(self) -> npt.NDArray[np.bool_]:
        """Whether each topic fits an allowed machine, with one incoming copy and one outgoing."""
        return self.fits(self.machine)

    def fits(self, machine: Instance) -> npt.NDArray[np.bool_]:
        """Whether each topic fits a machine of a type."""
        return 2 * self.needs <= self.usable_bytes(machine) * (1 + SOLVER_TOLERANCE)

    def resolved(self) -> dict[str, Any]:
        """Return the catalogue's entries, unless they are the built-in ones."""
        is_built_in = self.types == BUILT_IN
        return {"catalog": None if is_built_in else describe_catalogue(self.types)}

    @classmethod
    def restored(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Return the catalogue out of its entries."""
        return {"catalogue": restore_catalogue(recorded.get("catalog"))}

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        return None if np.any(self.demand > 0) else "no subscriber needs anything"

    def trivial_bound(self) -> float:
        """Return no money: everything costs at least that."""
        return 0.0

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

    def judge(self, cost: float, bound: float | None) -> dict[str, Any]:
        """Return the distance of a cost to the bound, and the answer to the decision question."""
        above = None if bound is None else cost - bound
        if above is not None and abs(above) <= RELATIVE_TOLERANCE * abs(cost):
            above = 0.0
        judged: dict[str, Any] = {"cost_above_bound": above}
        if self.max_cost is not None:
            enough = most_within(self.max_cost)
            is_out = bound is not None and bound > enough
            judged["decision"] = "yes" if cost <= enough else "no" if is_out else "unknown"
        return judged

    def naive_cost(self, seed: int = 0) -> float:
        """Return what the naive plan costs that others are compared with: RSP and FFBP."""
        from fanwise.provision.stages import run_stages

        algorithms = tuple(entry.load() for entry in DESCRIPTION.algorithms(NAIVE))
        return run_stages(self, algorithms, Run(seed=seed)).cost

    def run(self, algorithms: tuple[Callable[..., Any], ...], run: Run) -> Outcome:
        """Choose pairs, then pack them."""
        from fanwise.provision.allocation import make_tables
        from fanwise.provision.stages import run_stages

        packed = run_stages(self, algorithms, run)
        with run.timed("allocate"):
            tables = make_tables(self, packed.pairs, packed.packing)
        is_optimal = packed.packing.is_optimal
        bound = packed.bound
        return Outcome(
            tables,
            bound=None if bound is None else bound.value,
            metrics={} if is_optimal is None else {"packing_is_optimal": is_optimal},
            is_interrupted=packed.stopped == "interrupted",
            proof=None if bound is None else bound.proof,
            stopped=packed.stopped,
        )

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.provision.measuring import measure

        return measure(self, tables)

    def bound(self) -> float:
        return self._proven.value

    @cached_property
    def _proven(self) -> Proven:
        """Proven once, for all plans of this problem."""
        from fanwise.provision.bounds import prove_bound

        return prove_bound(self)

    def prove(self, outcome: Outcome, run: Run) -> Bound:
        """Return the bound with its certificate, improved no further once it is good enough.

        Where an algorithm solved the whole question, its bound is the one that counts. What shares
        of incoming copies do not prove is proven by all plans there are, if they are few; else it
        rests on the solver's word.
        """
        from fanwise.provision.proving.leaves import prove_by_leaves

        vms = outcome.tables["vms"]
        names = ("usd_per_hour", "in_bytes", "out_bytes")
        paid = (float(vms.column(name).to_numpy().sum()) for name in names)
        proven = self.prove_within(self.costs(*paid).total, run)
        solved = outcome.bound
        if solved is None or solved <= proven.value * (1 + SOLVER_TOLERANCE):
            return Bound(max(proven.value, solved or 0.0), proven.proof)
        return Bound(
            solved,
            prove_by_leaves(self, solved)
            or Proof(kind="solver", tables=proven.tables, proves=proven.value),
        )

    def prove_within(self, cost: float, run: Run) -> Proven:
        """Return a bound for plans of a cost, as good as a run asks for and has time for."""
        from fanwise.provision.bounds import BoundSearch, prove_bound
        from fanwise.provision.time_shares import AFTER_TABLES, keep_time, share_bound_time

        if "_proven" in self.__dict__ or (run.time_limit is None and run.gap is None):
            return self._proven
        part = keep_time(run, AFTER_TABLES * run.seconds.get("allocate", 0.0))
        with run.progress.step("proving the bound") as step:
            sharing, deadlines = share_bound_time(self, part)
            return prove_bound(self, BoundSearch(sharing, step, cost), deadlines)


def _check_number(name: str, value: Any, *, is_positive: bool = False) -> float:
    constraint = "a finite number > 0" if is_positive else "a finite number >= 0"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ParameterError(name, constraint, value)
    number = float(value)
    if not math.isfinite(number) or number < 0 or (is_positive and number == 0):
        raise ParameterError(name, constraint, value)
    return number


def _parse_reserve(reserve: float | str) -> float:
    constraint = "a share from 0 to below 1, or a percentage such as 20%"
    try:
        percent = isinstance(reserve, str) and reserve.strip().endswith("%")
        share = float(reserve.strip()[:-1]) / 100 if percent else float(reserve)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise ParameterError("reserve", constraint, reserve) from None
    if isinstance(reserve, bool) or not 0 <= share < 1:
        raise ParameterError("reserve", constraint, reserve)
    return share
