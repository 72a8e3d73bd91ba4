"""Blocks of subscribers without Spark: what the driver asks of them, done in this process."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from fanwise.distributed.blocks import TOTALS, Block, Facts
from fanwise.distributed.inputs import Inputs
from fanwise.distributed.select import share_scale
from fanwise.distributed.select_bounds import Proof
from fanwise.distributed.select_rounds import Rounds
from fanwise.distributed.select_search import SparkSearch
from fanwise.planning.problem import Run
from fanwise.progress import Step


class Everywhere:
    """A broadcast variable."""

    def __init__(self, value):
        self.value = value


class NearBlocks:
    """Stands in for :class:`fanwise.distributed.blocks.Blocks`."""

    def __init__(self, blocks, num_topics, ids=()):
        self.blocks = blocks
        self.num_topics = num_topics
        self.ids = ids

    @contextmanager
    def broadcast(self, value):
        yield Everywhere(value)

    def sums(self, work, num_vectors=1):
        length = num_vectors * self.num_topics
        sums = np.zeros(length + TOTALS, dtype=np.int64)
        for block in self.blocks:
            totals = work(block, sums[:length])
            sums[length : length + len(totals)] += np.array(totals)
        return sums[:length], sums[length:]

    def refit(self, function):
        return NearBlocks([function(block) for block in self.blocks], self.num_topics)

    def listings(self):
        yield from self.ids

    def hints(self, function):
        yield from map(function, self.blocks)

    def release(self):
        pass


def cut(problem, pieces=1):
    """Cut the subscribers that need something into blocks, every so-manieth to the same one."""
    indptr, indices = problem.workload.interests
    needing = np.flatnonzero(problem.demand > 0)
    nothing = np.empty(0, dtype=np.float32)
    blocks, ids = [], []
    for piece in range(pieces):
        mine = needing[piece::pieces]
        idle = np.flatnonzero(problem.demand <= 0)[piece::pieces]
        listed = np.append(mine, idle)
        ids.append((listed, np.diff(indptr)[listed], np.arange(len(listed)) < len(mine)))
        rows = [indices[indptr[row] : indptr[row + 1]] for row in mine]
        starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        topics = np.concatenate([np.empty(0, dtype=np.int32), *rows])
        blocks.append(
            Block(starts, topics, problem.demand[mine], problem.weight[mine], *[nothing] * 5)
        )
    return NearBlocks(blocks, problem.workload.num_topics, ids)


def inputs_of(problem, pieces=1):
    """Return what a solve on Spark would read."""
    workload, needs = problem.workload, problem.demand > 0
    heaviest = float(problem.weight[needs].max(initial=0.0))
    return Inputs(
        rates_everywhere=Everywhere(workload.rates),
        cost=problem.cost,
        followers=workload.num_followers,
        blocks=cut(problem, pieces),
        facts=Facts(int(needs.sum()), heaviest, 0, 0, workload.num_subscribers - 1),
        header={},
        topics=None,
        tau=problem.tau,
        has_costs=workload.cost is not None,
        has_weights=workload.weight is not None,
        num_subscribers=workload.num_subscribers,
        fingerprint=workload.hash,
    )


def search_nearby(problem, pieces=1, **limits):
    """Solve a problem as on Spark."""
    inputs, is_binary = inputs_of(problem, pieces), problem.metric == "binary"
    search = SparkSearch(
        Run(**limits),
        Step(),
        scale=share_scale(inputs.facts.num_subscribers * inputs.facts.heaviest),
        counts_heads=is_binary and not inputs.has_weights,
    )
    rounds = Rounds(inputs, problem.limit, is_binary=is_binary, search=search)
    rounds.fill(rounds.begin())
    rounds.improve()
    Proof(inputs, problem.limit, is_binary=is_binary, search=search).run()
    return search
