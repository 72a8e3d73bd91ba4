"""The certificate of a bound on mu, evaluated from the workload alone: plain NumPy, in chunks.

The tables hold prices: a share of each topic, a price of a link at each node, of any link, and of a
unit of cost, on top of links S that are taken for granted. Whatever they are, the inequality proven
in :mod:`fanwise.connect.bounds` holds, so nothing that stands in a table can prove what is false. A
table ``tree`` splits the question into cases instead (:mod:`fanwise.connect.verify_leaves`); with
``levels`` shares are on trees (:mod:`fanwise.connect.verify_trees`). Two bounds need no table: a
link joins no more topics than either end wants.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.connect.verify_components import Ints, component_roots, cuts, slots_of
from fanwise.planning.proof import Proof, ProofError
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
TABLES = ("topics", "nodes", "budgets", "start", "levels", "tree")
BOUND_MARGIN = 1e-10
"""What sums may be off by; bounds are raised by it."""
MOST_SUMS = 1 << 22
"""Entries of a table of sums."""
MOST_PAIRS = 4_000_000_000
"""Pairs of followers above which nobody waits for the end of a check."""
MOST_SOLVED_PAIRS = 2_000
"""Pairs that share a topic, up to which an integer programme is searched."""
SPARSE = 16
"""Entries of a table of sums per entry filled, above which sums are sorted instead."""


class Question(NamedTuple):
    """What limits an overlay, and what it is worth to join components."""

    weight: Floats
    limits: Ints
    max_edges: int
    max_cost: float


class Prices(NamedTuple):
    """The contents of the tables, zeros filled in."""

    topic: Floats
    node: Floats
    link: float
    cost: float


def may_rest_on_solver(workload: TopicWorkload, plan: Plan) -> bool:
    """Whether a bound may rest on the word of HiGHS: of exact, for some thousand pairs of nodes."""
    followers = np.bincount(slots_of(workload)[1], minlength=1)
    largest = int(followers.max(initial=0))
    return plan.algorithm == "exact" and largest * (largest - 1) // 2 <= MOST_SOLVED_PAIRS


def proven_bound(workload: TopicWorkload, plan: Plan) -> float:
    """Return the upper bound on mu that a plan's certificate proves.

    Raises
    ------
    ProofError
        For tables that are malformed.
    """
    proof = plan.proof
    if proof is None:
        raise ProofError("there is none")
    unknown = [name for name in proof.tables if name not in TABLES]
    if unknown:
        raise ProofError(f"there is a table {unknown[0]!r} that such certificates do not have")
    if (proof.kind == "leaves") != ("tree" in proof.tables):
        raise ProofError("its kind must be 'leaves' with a table 'tree', and only then")
    if "levels" in proof.tables and ("tree" in proof.tables or "topics" in proof.tables):
        raise ProofError("a table 'levels' stands with neither 'tree' nor 'topics'")
    question = question_of(workload, plan.parameters)
    prices = read_prices(proof, workload.num_topics, workload.num_subscribers)
    if prices.cost and math.isinf(question.max_cost):
        raise ProofError("there is a price of cost, but no budget of it")
    bound = bound_by_sizes(workload, question)
    u, v = _start_of(proof, plan, workload.num_subscribers)
    if "tree" in proof.tables:
        from fanwise.connect.verify_leaves import bound_by_leaves

        if len(u):
            raise ProofError("a tree begins without links")
        pair = proof.table("tree", {"pair": "id"}).column("pair").to_numpy()
        bound = min(bound, bound_by_leaves(workload, question, prices, pair))
    elif "levels" in proof.tables:
        from fanwise.connect.verify_trees import bound_by_trees

        bound = min(bound, bound_by_trees(workload, question, prices, proof, u, v))
    else:
        bound = min(bound, bound_by_prices(workload, question, prices, u, v))
    return round_down(bound, question.weight)


def question_of(workload: TopicWorkload, parameters: Any) -> Question:
    """Return the limits that a plan was made under, as numbers: the parameters are checked."""
    num_nodes = workload.num_subscribers
    every_link = num_nodes * (num_nodes - 1) // 2
    degree, edges = parameters.get("max_degree"), parameters.get("max_edges")
    cost = parameters.get("max_link_cost")
    limits = np.full(num_nodes, max(0, num_nodes - 1), dtype=np.int64)
    if degree == "column" and workload.max_degree is not None:
        limits = np.minimum(limits, workload.max_degree)
    elif degree is not None:
        limits = np.minimum(limits, int(degree))
    is_weighted = parameters.get("topic_weight") == "rate"
    return Question(
        weight=np.array(workload.rates) if is_weighted else np.ones(workload.num_topics),
        limits=np.maximum(limits, 0),
        max_edges=every_link if edges is None else min(int(edges), every_link),
        max_cost=math.inf if cost is None else float(cost) * (1 + RELATIVE_TOLERANCE),
    )


def read_prices(proof: Proof, num_topics: int, num_nodes: int) -> Prices:
    """Return the prices of a certificate, refusing what is none."""
    topic = _read_priced(proof, "topics", "topic", "share", num_topics)
    if (topic > 1).any():
        raise ProofError("proof/topics.parquet: a share is above 1")
    node = _read_priced(proof, "nodes", "node", "price", num_nodes)
    link = cost = 0.0
    if "budgets" in proof.tables:
        columns = {"first_links": "id", "link_price": "number", "cost_price": "number"}
        table = proof.table("budgets", columns)
        if table.num_rows != 1:
            raise ProofError("proof/budgets.parquet must have one row")
        link, cost = (float(table.column(name)[0].as_py()) for name in list(columns)[1:])
        if not (0 <= link < math.inf and 0 <= cost < math.inf):
            raise ProofError("proof/budgets.parquet: prices must be numbers >= 0")
    return Prices(topic, node, link, cost)


def _read_priced(proof: Proof, name: str, key: str, value: str, size: int) -> Floats:
    prices = np.zeros(size)
    if name not in proof.tables:
        return prices
    table = proof.table(name, {key: "id", value: "number"})
    ids, values = table.column(key).to_numpy(), table.column(value).to_numpy().astype(np.float64)
    check_ids(f"proof/{name}.parquet", ids, size)
    if len(np.unique(ids)) != len(ids):
        raise ProofError(f"proof/{name}.parquet: a {key} stands twice")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ProofError(f"proof/{name}.parquet: every {value} must be a number >= 0")
    prices[ids] = values
    return prices


def check_ids(place: str, ids: npt.NDArray[Any], size: int) -> None:
    """Refuse ids that are not below ``size``."""
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= size):
        raise ProofError(f"{place}: an id is unknown")


def _start_of(proof: Proof, plan: Plan, num_nodes: int) -> tuple[Ints, Ints]:
    """Return the links S: the first ones of the plan, and those of the table ``start``."""
    ends = [np.empty((2, 0), dtype=np.int64)]
    if "budgets" in proof.tables:
        first = int(proof.tables["budgets"].column("first_links")[0].as_py())
        edges = plan.tables["edges"]
        if not 0 <= first <= edges.num_rows:
            raise ProofError("proof/budgets.parquet: first_links is no number of links")
        rows = [edges.column(name).to_numpy()[:first].astype(np.int64) for name in ("u", "v")]
        ends.append(np.array(rows))
    if "start" in proof.tables:
        table = proof.table("start", {"u": "id", "v": "id"})
        rows = [table.column(name).to_numpy() for name in ("u", "v")]
        for ids in rows:
            check_ids("proof/start.parquet", ids, num_nodes)
        ends.append(np.array([ids.astype(np.int64) for ids in rows]).reshape(2, -1))
    u, v = np.concatenate(ends, axis=1)
    if (u == v).any():
        raise ProofError("proof/start.parquet: a link from a node to itself")
    return u, v


def round_down(bound: float, weight: Floats) -> float:
    """Raise a bound by what sums may be off; mu is whole where weights are."""
    raised = bound * (1 + BOUND_MARGIN)
    is_whole = bool((weight == np.floor(weight)).all()) and raised < 2**50
    return float(math.floor(raised)) if is_whole else raised


def bound_by_sizes(workload: TopicWorkload, question: Question) -> float:
    """Bound mu by the weight of interests: a link joins no more than either end has.

    Half of it at each end gives half the sum, over nodes, of weight x degree limit. And of the
    pairs of a node with heavier ones there are as many as heavier ones: the lightest end of the
    heaviest ``max_edges`` pairs, if all pairs were as good as their lighter end.
    """
    nodes, topics = slots_of(workload)
    limits = question.limits
    sizes = np.bincount(nodes, weights=question.weight[topics], minlength=len(limits))
    half = float(np.dot(sizes, limits)) / 2
    lighter = np.sort(sizes[limits > 0])[::-1]
    heavier = np.arange(len(lighter), dtype=np.float64)
    before = np.cumsum(heavier) - heavier
    taken = np.clip(question.max_edges - before, 0.0, heavier)
    return min(half, float(np.dot(lighter, taken)))


def bound_by_prices(
    workload: TopicWorkload, question: Question, prices: Prices, u: Ints, v: Ints
) -> float:
    """Bound mu by what S is worth, what its topics can still gain, and what links can pay."""
    nodes, topics = slots_of(workload)
    root = component_roots(workload, u, v)
    num_topics = workload.num_topics
    wanted = np.bincount(topics, minlength=num_topics)
    left = np.bincount(topics[root == np.arange(len(root))], minlength=num_topics)
    worth = math.fsum((wanted - left) * question.weight)
    is_free = np.zeros(len(root), dtype=bool)
    is_free[root[question.limits[nodes] > 0]] = True
    components = np.bincount(topics[is_free], minlength=num_topics)
    room = np.bincount(topics, weights=question.limits[nodes], minlength=num_topics) // 2
    joins = np.minimum(np.minimum(np.maximum(components - 1, 0), room), question.max_edges)
    bound = worth + math.fsum((1 - prices.topic) * question.weight * joins)
    bound += math.fsum(prices.node * question.limits) + prices.link * question.max_edges
    if prices.cost:
        bound += prices.cost * question.max_cost
    return bound + _surplus(workload, question, prices, root)


def _surplus(workload: TopicWorkload, question: Question, prices: Prices, root: Ints) -> float:
    """Add up, over all pairs of nodes, what their priced gain is above their prices."""
    num_nodes = workload.num_subscribers
    nodes, topics = slots_of(workload)
    gain = (prices.topic * question.weight)[topics]
    has_start = bool((root != np.arange(len(root))).any())
    is_priced = gain > 0
    nodes, topics, root = nodes[is_priced], topics[is_priced], root[is_priced]
    gain = gain[is_priced]
    if not len(gain):
        return 0.0
    by_topic = np.argsort(topics, kind="stable")  # nodes of a topic stay in ascending order
    rank = np.empty_like(by_topic)
    rank[by_topic] = np.arange(len(by_topic))
    end = np.cumsum(np.bincount(topics, minlength=workload.num_topics))[topics]
    ahead = end - rank - 1
    if ahead.sum() > MOST_PAIRS:
        raise ProofError(f"it prices {ahead.sum()} pairs of followers, too many to look at")
    node_at, root_at = nodes[by_topic].astype(np.int32), root[by_topic]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=num_nodes))])
    work = np.concatenate([[0], np.cumsum(ahead)])[indptr]
    least = prices.link + 2 * float(prices.node.min(initial=math.inf))
    total = 0.0
    for first, last in cuts(work):
        for low, high in _rows_within(first, last, num_nodes, int(work[last] - work[first])):
            slots = slice(int(indptr[low]), int(indptr[high]))
            length = ahead[slots]
            before = np.cumsum(length) - length
            other = np.arange(int(length.sum())) + np.repeat(rank[slots] + 1 - before, length)
            key = np.repeat((nodes[slots] - low) * num_nodes, length) + node_at[other]
            worth = np.repeat(gain[slots], length)
            if has_start:
                is_split = np.repeat(root[slots], length) != root_at[other]
                key, worth = key[is_split], worth[is_split]
            u, v, sums = _sum_by_pair(key, worth, least, low, high, num_nodes)
            rest = sums - prices.link - prices.node[u] - prices.node[v]
            is_above = rest > 0
            u, v, rest = u[is_above], v[is_above], rest[is_above]
            if prices.cost and workload.positions is not None:
                steps = workload.positions[u] - workload.positions[v]
                rest = np.maximum(0.0, rest - prices.cost * np.sqrt((steps**2).sum(axis=1)))
            total += float(rest.sum())
    return total


def _rows_within(first: int, last: int, num_nodes: int, work: int) -> list[tuple[int, int]]:
    """Cut a block of nodes further where a table of its sums would be large and well filled."""
    if (last - first) * num_nodes > SPARSE * max(work, 1):
        return [(first, last)]  # sums are sorted: no table
    step = max(1, MOST_SUMS // max(num_nodes, 1))
    return [(low, min(low + step, last)) for low in range(first, last, step)]


def _sum_by_pair(
    key: Ints, gain: Floats, least: float, low: int, high: int, num_nodes: int
) -> tuple[Ints, Ints, Floats]:
    """Add up gains by pair of nodes; pairs with no more than ``least`` may be left out."""
    size = (high - low) * num_nodes
    if size > SPARSE * max(len(key), 1):
        found, index = np.unique(key, return_inverse=True)
        sums: Floats = np.bincount(index, weights=gain).astype(np.float64)
    else:
        table = np.bincount(key, weights=gain, minlength=size)
        found = np.flatnonzero(table > least).astype(np.int64)
        sums = table[found].astype(np.float64)
    return found // num_nodes + low, found % num_nodes, sums
