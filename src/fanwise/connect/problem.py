"""The problem of Chen et al.: link nodes so that topics are connected over those who want them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import IntArray, read_only
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, fits
from fanwise.connect.arrays import NO_EDGES, NO_LIMIT, Budget, Network, make_network
from fanwise.connect.kernels import TINY_COST
from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run
from fanwise.progress import SILENT, Progress
from fanwise.workload.topic import TopicWorkload

if TYPE_CHECKING:
    from fanwise.connect.complete import Complete

BudgetKind = Literal["edges", "degree"]
BUDGET_OF: Mapping[str, BudgetKind | None] = {
    "gpa": "edges",
    "random-average": "edges",
    "gpm": "degree",
    "spidercast": "degree",
    "random-maximum": "degree",
    "gossip": "degree",
    "gm": None,
    "minmax-oda": None,
}
"""What an algorithm cannot do without; None for those that connect everything and take no budget.

``best`` and ``exact`` are not here: they take either budget, both or none, and of a budget ratio
the degree.
"""


@dataclass(frozen=True, eq=False)
class Connection(Problem):
    """Choose links between subscribers so that topics are connected over those who want them.

    The sub-overlay of a topic has the nodes that want it and the links between them. The objective
    mu(E) adds up, over topics, how many components the links take away: |V_t| without any link, 1
    where the topic is connected. It is monotone and submodular.

    Attributes
    ----------
    max_degree
        Most links of a node, or ``"column"`` for the workload's own column.
    max_edges
        Most links in all.
    avg_degree
        The same as a mean degree: floor(avg_degree * nodes / 2) links.
    budget_ratio
        A budget as a share of what the complete overlay of ``minmax-oda`` has: of its links for
        ``gpa`` and ``random-average``, of its largest degree for other algorithms.
    budget_of
        Which of the two a budget ratio limits; None leaves it to the algorithm.
    topic_weight
        ``"one"``, or ``"rate"``: a component counts as much as its topic is published.
    link_cost
        None, or ``"distance"``: a link costs the distance of its ends, and greedy algorithms choose
        by gain per cost.
    max_link_cost
        Most that all links cost together.

    References
    ----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016.

    Examples
    --------
    >>> import fanwise as fw
    >>> friends = [("ann", "bob"), ("bob", "cy"), ("cy", "ann")]
    >>> workload = fw.TopicWorkload.from_edges(friends, mutual=True)
    >>> plan = fw.Connection(workload, max_edges=1).solve("gpa")
    >>> plan.to_pandas().shape  # one link, from u to v
    (1, 2)
    """

    workload: TopicWorkload
    max_degree: int | str | None = None
    max_edges: int | None = None
    avg_degree: float | None = None
    budget_ratio: float | None = None
    topic_weight: str = "one"
    link_cost: str | None = None
    max_link_cost: float | None = None
    budget_of: BudgetKind | None = None

    family: ClassVar[str] = "connect"

    @classmethod
    def example(cls, workload: TopicWorkload) -> Connection:
        """Return a typical problem on a workload, for warming kernels and trying things out."""
        return cls(workload, budget_ratio=0.5)

    @classmethod
    def examples(cls, workload: TopicWorkload) -> tuple[Connection, ...]:
        """Return one problem with plain topics and one with weights: they share few kernels."""
        plain = cls.example(workload)
        return plain, replace(plain, topic_weight="rate")

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        return None if self.network.complete_value > 0 else "no topic has two subscribers"

    def posed_for(self, algorithm: str) -> Connection:
        """Return the question with a budget ratio made a limit, without budgets where none fits."""
        wanted = BUDGET_OF.get(algorithm, "degree")
        if wanted is None:
            return replace(self, **dict.fromkeys(_BUDGETS), budget_of=None)  # type: ignore[arg-type]
        if self.budget_ratio is None or self.budget_of is not None:
            return self
        return replace(self, budget_of=wanted)

    def __post_init__(self) -> None:
        if self.topic_weight not in ("one", "rate"):
            raise ParameterError("topic_weight", "'one' or 'rate'", self.topic_weight)
        if self.link_cost not in (None, "distance"):
            raise ParameterError("link_cost", "'distance' or left out", self.link_cost)
        if self.budget_of not in (None, "edges", "degree"):
            raise ParameterError("budget_of", "'edges' or 'degree'", self.budget_of)
        if self.link_cost is not None and self.workload.positions is None:
            raise ParameterError(
                "link_cost", "left out: subscribers.parquet has no columns net_0, …", self.link_cost
            )
        if self.max_link_cost is not None and self.link_cost is None:
            raise ParameterError("max_link_cost", "left out without link_cost", self.max_link_cost)
        self._check_numbers()
        for name in ("max_degree", "max_edges", "avg_degree"):
            if self.budget_ratio is not None and getattr(self, name) is not None:
                raise ParameterError(name, "left out with budget_ratio", getattr(self, name))
        if self.avg_degree is not None and self.max_edges is not None:
            raise ParameterError("avg_degree", "left out with max_edges", self.avg_degree)
        if self.budget_of is not None and self.budget_ratio is None:
            raise ParameterError("budget_of", "left out without budget_ratio", self.budget_of)

    def _check_numbers(self) -> None:
        for name in ("max_degree", "max_edges"):
            value = getattr(self, name)
            if value is None or (name == "max_degree" and value == "column"):
                continue
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not is_whole or value < 0:
                words = "a whole number >= 0" + (" or 'column'" if name == "max_degree" else "")
                raise ParameterError(name, words, value)
            object.__setattr__(self, name, int(value))
        for name in ("avg_degree", "budget_ratio", "max_link_cost"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _check_number(name, value))
        if self.max_degree == "column" and self.workload.max_degree is None:
            raise ParameterError(
                "max_degree", "a number: subscribers.parquet has no column 'max_degree'", "column"
            )

    @cached_property
    def network(self) -> Network:
        """The problem as arrays, all of them read-only: what algorithms work on."""
        workload = self.workload
        weight = workload.rates if self.is_weighted else np.ones(workload.num_topics)
        positions = None if self.link_cost is None else workload.positions
        if positions is None:
            positions = np.zeros((workload.num_subscribers, 0))
        limit, positions = self._degree_limit(), np.ascontiguousarray(positions)
        for array in (weight, limit, positions):
            read_only(array)
        return make_network(workload.interests, workload.followers, weight, limit, positions)

    @property
    def is_weighted(self) -> bool:
        """Whether components count by their topic's rate."""
        return self.topic_weight == "rate"

    @cached_property
    def complete(self) -> Complete:
        """Size of the complete overlay that a budget ratio is a share of."""
        from fanwise.connect.complete import measure_complete

        return measure_complete(self)

    @cached_property
    def edge_limit(self) -> int | None:
        """Most links in all, None without a limit. Budgets round down."""
        if self.avg_degree is not None:
            return floor_share(self.avg_degree, self.workload.num_subscribers, 2)
        if self.budget_ratio is not None and self.budget_of == "edges":
            return floor_share(self.budget_ratio, self.complete.edges)
        return self.max_edges

    @cached_property
    def budget(self) -> Budget:
        """What all links may be together; more than there can be where there is no limit.

        The cost with half of the tolerance, so that no check with the whole one fails for rounding.
        """
        num_nodes = self.workload.num_subscribers
        every_pair = num_nodes * (num_nodes - 1) // 2
        max_edges = every_pair if self.edge_limit is None else min(self.edge_limit, every_pair)
        limit = self.max_link_cost
        slack = 1e10 * TINY_COST  # links of no length count as a little
        max_cost = math.inf if limit is None else limit * (1 + RELATIVE_TOLERANCE / 2) + slack
        return Budget(max_edges, max_cost)

    @cached_property
    def degree_budget(self) -> int | str | None:
        """Most links of a node, "column", or None without a limit."""
        if self.budget_ratio is not None and self.budget_of == "degree":
            return floor_share(self.budget_ratio, self.complete.max_degree)
        return self.max_degree

    def _degree_limit(self) -> IntArray:
        budget = self.degree_budget
        if budget == "column" and self.workload.max_degree is not None:
            return self.workload.max_degree
        limit = min(int(budget), NO_LIMIT) if isinstance(budget, int) else NO_LIMIT
        return np.full(self.workload.num_subscribers, limit, dtype=np.int32)

    def resolved(self) -> dict[str, Any]:
        """Return the limits that a mean degree or a budget ratio comes to."""
        return {"max_degree": self.degree_budget, "max_edges": self.edge_limit}

    @classmethod
    def restored(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question with the limits alone: what they were made of adds nothing."""
        return {"avg_degree": None, "budget_ratio": None}

    def limited_for(self, algorithm: str, *, progress: Progress = SILENT) -> Connection:
        """Return the question with a budget ratio made a limit; refuse a budget that does not fit.

        Raises
        ------
        ParameterError
            For an algorithm that lacks its budget, or that takes none and is given one.
        """
        if BUDGET_OF.get(algorithm, "degree") is None:
            for name in _BUDGETS:
                if getattr(self, name) is not None:
                    raise ParameterError(
                        name,
                        f"left out with algorithm {algorithm}, which connects every topic",
                        getattr(self, name),
                    )
        limited = self.posed_for(algorithm)
        if limited.budget_ratio is not None:
            with progress.step("the complete overlay that the ratio is of"):
                _ = limited.complete
        limited.require_budget(algorithm)
        return limited

    def require_budget(self, algorithm: str) -> None:
        """Raise if the algorithm needs a budget that is not given."""
        wanted = BUDGET_OF.get(algorithm)
        if wanted == "edges" and self.edge_limit is None and self.max_link_cost is None:
            raise ParameterError(
                "max_edges",
                f"given with algorithm {algorithm}, or avg_degree or budget_ratio instead",
                None,
            )
        if wanted == "degree" and self.degree_budget is None:
            raise ParameterError(
                "max_degree", f"given with algorithm {algorithm}, or budget_ratio instead", None
            )

    def value(self, edges: IntArray) -> float:
        """mu(E) of an overlay."""
        return self.network.value(edges)

    def admits(self, edges: IntArray) -> bool:
        """Whether an overlay keeps every budget."""
        return (
            (self.edge_limit is None or len(edges) <= self.edge_limit)
            and bool((self.network.degrees(edges) <= self.network.degree_limit).all())
            and self.affords(float(self.network.costs(edges).sum()))
        )

    def affords(self, cost: float) -> bool:
        """Whether a total link cost is within its budget, up to rounding."""
        limit = self.max_link_cost
        return limit is None or fits(cost, limit)

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.connect.measuring import measure

        return measure(self, edges_of(tables["edges"]))

    def bound(self) -> float:
        from fanwise.connect.bounds import upper_bound

        return upper_bound(self, NO_EDGES).value

    def prove(self, outcome: Outcome, run: Run) -> Bound:
        """Return the bound that the contributions left by an overlay prove."""
        from fanwise.connect.bounds import upper_bound

        return upper_bound(self, edges_of(outcome.tables["edges"]))

    def trivial_bound(self) -> float:
        """Return mu(K), which no overlay exceeds whatever the budgets."""
        return self.network.complete_value


_BUDGETS = ("max_degree", "max_edges", "avg_degree", "budget_ratio", "max_link_cost")


def edge_table(edges: IntArray) -> pa.Table:
    """Return the plan's table for an overlay, rows in the order chosen."""
    return pa.table(
        {"u": np.ascontiguousarray(edges[:, 0]), "v": np.ascontiguousarray(edges[:, 1])}
    )


def edges_of(table: pa.Table) -> IntArray:
    """Return a plan's table as an edge array."""
    columns = [table.column(name).to_numpy().astype(np.int32) for name in ("u", "v")]
    return np.ascontiguousarray(np.column_stack(columns))


def floor_share(share: float, of: int, parts: int = 1) -> int:
    """Return floor(share * of / parts), the share as it was written: 0.29 of 100 is 29."""
    return math.floor(Fraction(repr(share)) * of / parts)


def _check_number(name: str, value: Any) -> float:
    constraint = "a finite number >= 0"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ParameterError(name, constraint, value)
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ParameterError(name, constraint, value)
    return number
