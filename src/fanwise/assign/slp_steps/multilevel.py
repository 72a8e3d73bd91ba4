"""Down the tree: at each inner node its subscribers are shared out among its children.

A child is allowed where a part gamma of the leaves below it reach the subscriber in time; where no
child is, gamma halves until one is. A child's share is that of the leaves below it, and the factor
at a node is the l-th root of what is left of the global one, l levels above the leaves. Trees
whose leaves lie at different depths take l for each child by itself.

Guarantee
    Where all goes well, within the global factor at every leaf; somebody may be left over, whom
    :mod:`fanwise.assign.slp` assigns afterwards.

Complexity
    That of one level for each inner node, over the subscribers that it was given.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. V. IEEE ICDE 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, build_csr, take_rows
from fanwise.arrays.flow_kernels import BoolArray
from fanwise.arrays.tolerance import most_within
from fanwise.assign.arrays import Filters
from fanwise.assign.problem import Assignment
from fanwise.assign.slp_steps.assigning import assign
from fanwise.assign.slp_steps.coreset import Knobs, RelaxedTypes, preliminary_filters
from fanwise.assign.slp_steps.level import STEPS, Level, make_level
from fanwise.planning.problem import Run


@dataclass
class Descent:
    """What the way down has found.

    Attributes
    ----------
    broker_of_subscriber
        A leaf each; -1: left over by the limits somewhere.
    leaf_boxes
        Broker, lower and upper sides of preliminary filters of leaves, in parts.
    fractional
        The relaxation's value at the root.
    whole, children
        That relaxation, if it was of everybody, and the brokers that it is about.
    """

    broker_of_subscriber: IntArray
    leaf_boxes: list[tuple[LongArray, FloatArray, FloatArray]] = field(default_factory=list)
    fractional: float = 0.0
    is_whole: bool = True
    relaxations: int = 0
    grown: int = 0
    repairs: int = 0
    whole: RelaxedTypes | None = None
    children: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """Children, leaves below, shares and heights of the brokers; the publisher is the last row."""

    children: Csr
    leaves_below: BoolArray
    share_below: FloatArray
    height: IntArray


def make_tree(problem: Assignment) -> Tree:
    """Return the tree of brokers with the publisher as one more node. O(brokers x depth)."""
    arrays = problem.arrays
    n = arrays.num_brokers
    above = np.where(arrays.parent < 0, n, arrays.parent).astype(np.int32)
    children = build_csr(above, np.arange(n, dtype=np.int32), n + 1)
    below = np.zeros((n + 1, n), dtype=np.bool_)
    height = np.zeros(n + 1, dtype=np.int32)
    is_useful = arrays.share > 0
    below[arrays.leaves, arrays.leaves] = is_useful[arrays.leaves]
    for broker in arrays.bottom_up:
        below[above[broker]] |= below[broker]
        height[above[broker]] = max(height[above[broker]], height[broker] + 1)
    return Tree(children, below, below @ arrays.share, height)


def descend(
    problem: Assignment, allowed: Csr, knobs: Knobs, run: Run, rng: np.random.Generator
) -> Descent:
    """Share everybody out from the publisher down to the leaves."""
    arrays = problem.arrays
    tree = make_tree(problem)
    found = Descent(np.full(arrays.num_subscribers, -1, dtype=np.int32))
    waiting: list[tuple[int, LongArray]] = [(arrays.num_brokers, np.arange(arrays.num_subscribers))]
    with run.progress.step("Sharing out", total=int((tree.height > 0).sum())) as step:
        while waiting:
            node, subscribers = waiting.pop()
            step.advance()
            for child, own in _share_out(
                problem, tree, allowed, node, subscribers, knobs, rng, found
            ):
                if tree.height[child] > 0:
                    waiting.append((child, own))
                else:
                    found.broker_of_subscriber[own] = child
    return found


def _share_out(
    problem: Assignment,
    tree: Tree,
    allowed: Csr,
    node: int,
    subscribers: LongArray,
    knobs: Knobs,
    rng: np.random.Generator,
    found: Descent,
) -> list[tuple[int, LongArray]]:
    """Give the subscribers of a node to its children."""
    ids = tree.children.indices[tree.children.indptr[node] : tree.children.indptr[node + 1]]
    ids = ids[tree.share_below[ids] > 0]
    if len(subscribers) == 0 or len(ids) == 0:
        return []
    level = _level(problem, tree, allowed, node, ids, subscribers, knobs.gamma)
    chosen = preliminary_filters(level, knobs, rng)
    done = assign(level, chosen.filters)
    found.relaxations += chosen.rounds
    found.grown += chosen.grown
    found.repairs += done.repairs
    if node == problem.arrays.num_brokers:
        found.fractional, found.is_whole = chosen.fractional, chosen.is_whole
        found.whole, found.children = chosen.whole, ids
    _keep_leaf_boxes(tree, ids, done.filters, found)
    return [
        (int(child), subscribers[done.broker_of_subscriber == i]) for i, child in enumerate(ids)
    ]


def _level(
    problem: Assignment,
    tree: Tree,
    allowed: Csr,
    node: int,
    ids: IntArray,
    subscribers: LongArray,
    gamma: float,
) -> Level:
    arrays = problem.arrays
    rows = take_rows(allowed, subscribers)
    inner = allowed_children(rows, tree.leaves_below[ids], gamma)
    return make_level(
        arrays.lo[subscribers],
        arrays.hi[subscribers],
        problem.workload.positions[subscribers],
        inner,
        node_limits(problem, tree, node, ids, len(subscribers)),
        arrays.alpha,
        arrays.density,
    )


def allowed_children(rows: Csr, leaves_below: BoolArray, gamma: float) -> Csr:
    """Return the children with enough leaves in time, gamma halved where there are none.

    Parameters
    ----------
    rows
        The leaves that reach each subscriber in time.
    leaves_below
        Of the shape (children, brokers).
    """
    num_rows, num_children = rows.num_rows, len(leaves_below)
    child_of = np.full(leaves_below.shape[1], -1, dtype=np.int64)
    for which, leaves in enumerate(leaves_below):
        child_of[leaves] = which
    child = child_of[rows.indices]
    row = np.repeat(np.arange(num_rows), np.diff(rows.indptr))
    cells = (row * num_children + child)[child >= 0]
    key, in_time = np.unique(cells, return_counts=True)
    part = in_time / leaves_below.sum(axis=1)[key % num_children]
    most = np.zeros(num_rows)
    np.maximum.at(most, key // num_children, part)
    with np.errstate(divide="ignore", invalid="ignore"):
        # How often gamma has to be halved until the best child is allowed, at once.
        halvings = np.maximum(np.ceil(np.log2(gamma) - np.log2(most)), 0)
    needed = np.where(most > 0, gamma * 2.0**-halvings, np.inf)
    keep = part >= np.minimum(needed, most)[key // num_children]
    key = key[keep]
    return build_csr(
        (key // num_children).astype(np.int32), (key % num_children).astype(np.int32), num_rows
    )


def node_limits(
    problem: Assignment, tree: Tree, node: int, ids: IntArray, num_here: int
) -> LongArray:
    """Return the most subscribers of each child, a row for each step of the factor."""
    share = tree.share_below[ids]
    here = tree.share_below[node]
    whole = problem.arrays.num_subscribers
    # Sec. V: beta(B) = (beta / (m(B) / (K(B) |S|)))^(1/l). What a node got beyond its share is
    # taken off the factors below it, spread evenly over the l levels that are left.
    excess = num_here / (here * whole)
    height = tree.height[ids] + 1
    rows = []
    for lbf in np.linspace(problem.lbf, problem.lbf_max, STEPS + 1):
        factor = (lbf / excess) ** (1 / height)
        exact = factor * share / here * num_here
        rows.append(np.floor(most_within(exact)))
    return np.array(rows).astype(np.int64)


def _keep_leaf_boxes(tree: Tree, ids: IntArray, filters: Filters, found: Descent) -> None:
    is_leaf = tree.height[ids] == 0
    taken = (np.arange(filters.lo.shape[1]) < filters.counts[:, None]) & is_leaf[:, None]
    whose = np.repeat(ids.astype(np.int64), taken.sum(axis=1))
    found.leaf_boxes.append((whose, filters.lo[taken], filters.hi[taken]))
