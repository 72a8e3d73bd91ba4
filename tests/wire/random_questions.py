"""Random tiny wiring questions with odd features, and their true optimum by brute force."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.oracles import wiring_brute_oracle as oracle

import fanwise as fw
from fanwise.planning.problem import Problem

logging.getLogger("fanwise.wire.problem").setLevel(logging.ERROR)  # links with a way around

MOST_CASES = 1_100
FORBIDDEN = 1e100
"""Cost of access to what is no candidate; small rates leave it above every other cost."""
RATES = ((0.0, 0.0, 1.0, 2.0), (0.0, 1 / 3, 0.1, 7.0, 1.0), (0.0, 1e-6, 1.0, 1e6), (1.0,), (0.0,))
COSTS = ((0.0, 1.0, 2.0), (1 / 3, 0.5, 7.0, 1.0), (0.0, 0.0, 100.0, 1e-3), (1.0,))
EDGES = (1.0, 1 + 1e-12, 1 - 1e-12, 1 - 5e-10, 1 - 5e-9, 0.999)
"""How much of what users need a capacity is: within the tolerance or just beyond it."""


def draw_question(rng: random.Random) -> tuple[Problem, Callable[[Problem], float | None]]:
    """Return a tiny question, and what gives the optimum of it or of it with other parameters."""
    brokers = rng.choice((1, 2, 2, 3, 3, 4))
    users = rng.randint(0 if rng.random() < 0.05 else 1, 7)
    while brokers**users > MOST_CASES:
        users -= 1
    channels = rng.randint(1, 4)
    menu, likes = rng.choice(RATES), rng.choice((0.2, 0.5, 0.9))
    rates = [[rng.choice(menu) for _ in range(channels)] for _ in range(users)]
    wants = [[rng.random() < likes for _ in range(channels)] for _ in range(users)]
    if users and rng.random() < 0.3:
        wants[rng.randrange(users)] = [False] * channels
    if rng.random() < 0.3:
        nobody = rng.randrange(channels)
        for row in wants:
            row[nobody] = False
    workload = _workload(rng, rates, wants, brokers)
    topology, core_factor = rng.choice(("mesh", "tree")), rng.choice((1.0, 1.0, 0.0, 10.0, 1 / 3))
    capacity_factor = rng.choice((1.0, 1.0, 1.0, 2.0, 0.5))
    problem = fw.Wiring(
        workload, topology=topology, core_factor=core_factor, capacity_factor=capacity_factor
    )

    def optimum(asked: Problem) -> float | None:
        assert isinstance(asked, fw.Wiring)
        return _optimum(asked, rates, wants)

    return problem, optimum


def _workload(
    rng: random.Random, rates: list[list[float]], wants: list[list[bool]], brokers: int
) -> fw.ContentWorkload:
    """Any set of channels can be wanted: there is an event attribute for each of them.

    On its own attribute a channel keeps to [1, 2], and those who do not want it to [0, 1].
    """
    users, channels = len(rates), len(rates[0]) if rates else 1
    lo, hi = np.zeros((users, channels)), np.ones((users, channels))
    for i, row in enumerate(wants):
        hi[i] += 2.0 * np.array(row)
        if not any(row) and rng.random() < 0.5:
            lo[i] = hi[i] = np.nan
    lowest = np.eye(channels)
    given = [(i, c) for i in range(users) for c in range(channels)
             if rates[i][c] > 0 or rng.random() < 0.1]  # fmt: skip
    columns = {
        "channels": (lowest, np.where(lowest > 0, 2.0, 3.0)),
        "rates": (
            np.array([i for i, _ in given], dtype=np.int32),
            np.array([c for _, c in given], dtype=np.int32),
            [rates[i][c] for i, c in given],
        ),
        "access_costs": None,
        "broker_costs": None,
        "capacity": None,
    }
    menu = rng.choice(COSTS)
    if rng.random() < 0.6:
        cells = [[rng.choice(menu) for _ in range(brokers)] for _ in range(users)]
        columns["access_costs"] = np.array(cells).reshape(users, brokers)
    if rng.random() < 0.6:
        core = np.zeros((brokers, brokers))
        for a in range(brokers):
            for b in range(a):
                core[a, b] = core[b, a] = rng.choice(menu)
        columns["broker_costs"] = core
    if rng.random() < 0.7:
        columns["capacity"] = _capacity(rng, rates, wants, brokers)
    if users and rng.random() < 0.3:
        columns["candidates"] = _candidates(rng, users, brokers)
    grid = rng.choice((1, 3, 1000))  # the coarser, the more at one place and the more ties
    at, places = (
        np.array([[rng.randrange(grid + 1) / grid for _ in range(2)] for _ in range(count)])
        for count in (users, brokers)
    )
    return fw.ContentWorkload.from_arrays(
        lo, hi, at.reshape(users, 2), places.reshape(brokers, 2), **columns
    )


def _candidates(rng: random.Random, users: int, brokers: int) -> tuple[Any, ...]:
    """Return pairs of a user and a broker that it may take: some for each user."""
    known = [rng.sample(range(brokers), rng.randint(1, brokers)) for _ in range(users)]
    pairs = [(user, broker) for user in range(users) for broker in known[user]]
    return tuple(np.array(ids, dtype=np.int32) for ids in zip(*pairs, strict=True))


def _capacity(
    rng: random.Random, rates: list[list[float]], wants: list[list[bool]], brokers: int
) -> list[float]:
    """Return capacities: loose, tight, none for some, or what some users need to the last bit."""
    users = range(len(rates))
    channels = range(len(rates[0]) if rates else 0)
    sent = [[rates[p][c] if any(wants[j][c] for j in users if j != p) else 0.0 for c in channels]
            for p in users]  # fmt: skip
    demand = [
        sum(sent[i]) + sum(sent[j][c] for c in channels if wants[i][c] for j in users if j != i)
        for i in users
    ]
    total = sum(demand)
    kind = rng.choice(("loose", "tight", "uneven", "exact", "exact"))
    if kind == "exact":
        return [
            sum(rng.sample(demand, rng.randint(0, len(demand)))) * rng.choice(EDGES)
            for _ in range(brokers)
        ]
    share = {"loose": 2.0, "tight": 1.15, "uneven": 1.5}[kind] * total / brokers
    return [share * (rng.choice((0.0, 0.5, 1.0, 3.0)) if kind == "uneven" else 1.0)
            for _ in range(brokers)]  # fmt: skip


def _optimum(problem: fw.Wiring, rates: list[list[float]], wants: list[list[bool]]) -> float | None:
    workload = problem.workload
    at, places = workload.positions.tolist(), workload.broker_positions.tolist()
    access = [[math.dist(one, place) for place in places] for one in at]
    core = [[math.dist(one, place) for place in places] for one in places]
    if workload.access_costs is not None:
        access = workload.access_costs.tolist()
    if workload.candidates is not None:
        indptr, brokers = workload.candidates
        for user, row in enumerate(access):
            known = set(brokers[indptr[user] : indptr[user + 1]].tolist())
            access[user] = [FORBIDDEN if b not in known else row[b] for b in range(len(row))]
    if workload.broker_costs is not None:
        core = workload.broker_costs.tolist()
    core = [[cost * problem.core_factor for cost in row] for row in core]
    capacity = [math.inf] * len(places)
    if workload.capacity is not None:
        capacity = [limit * problem.capacity_factor for limit in workload.capacity.tolist()]
    found = oracle.optimum(rates, wants, access, core, capacity, problem.topology == "tree")
    return None if found is not None and found > FORBIDDEN / 1e20 else found
