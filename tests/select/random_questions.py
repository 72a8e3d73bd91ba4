"""Random tiny questions of select with odd features, each with its optimum by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import numpy as np
from tests.oracles import select_oracle
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InfeasibleError
from fanwise.planning.problem import Problem
from fanwise.select.stability.previous import Previous

KINDS_OF_RATES = (
    lambda rng: float(rng.randint(1, 9)),
    lambda rng: float(rng.choice([1, 10, 100])),
    lambda rng: rng.choice([0.1, 0.2, 0.3, 0.7, 1 / 3]),
    lambda rng: rng.choice([1e6, 1.0, 3.0, 1e-3]),
    lambda rng: rng.lognormvariate(1, 2),
)


def draw_instance(rng: random.Random) -> Instance:
    """Return a few topics and subscribers, with ties, empty rows and optional columns."""
    num_topics, num_subscribers = rng.randint(3, 9), rng.randint(2, 12)
    if rng.random() < 0.05:
        num_topics, num_subscribers = rng.randint(0, 2), rng.randint(0, 2)
    draw_rate = rng.choice(KINDS_OF_RATES)
    rates = [draw_rate(rng) for _ in range(num_topics)]
    density = rng.choice([0.15, 0.35, 0.7])
    interests = [
        [t for t in range(num_topics) if rng.random() < density] for _ in range(num_subscribers)
    ]
    total = sum(rates) or 1.0
    taus = [total / 20, total / 10, total / 5, total / 3, 10 * total, *rates[:2]]
    tau: float | list[float] = rng.choice(taus)
    if rng.random() < 0.2:
        tau = [rng.choice([0.0, *taus]) for _ in range(num_subscribers)]
    cost = weight = None
    if rng.random() < 0.25:
        cost = [rng.choice([0.0, 1.0, 2.5, rng.random(), 7.0]) for _ in range(num_topics)]
    if rng.random() < 0.25:
        weight = [rng.choice([0.0, 1.0, 0.5, 3.0, rng.random()]) for _ in range(num_subscribers)]
    return Instance(rates, interests, tau, cost, weight)


def draw_capacity(rng: random.Random, instance: Instance) -> float | str:
    """Return a percentage, or the cost of some topics: exactly, or by a hair more or less."""
    if rng.random() < 0.5:
        return f"{rng.choice([0, 10, 20, 30, 45, 60, 75, 100])}%"
    cost = instance.cost or list(map(float, select_oracle.normal_cost(*instance_pairs(instance))))
    some = sum(one for one in cost if rng.random() < 0.5)
    return some * rng.choice([1.0, 1.0, 1 - 1e-6, 1 + 1e-7])


def instance_pairs(instance: Instance) -> tuple[list[float], list[list[int]]]:
    return instance.rates, instance.interests


def draw_limits(rng: random.Random, num_topics: int) -> dict:
    """Return pins, exclusions and a previous plan with a limit on changes, or none of these."""
    roles = [rng.choice(["free"] * 6 + ["pin", "exclude"]) for _ in range(num_topics)]
    limits: dict = {}
    if rng.random() < 0.25:
        for role in ("pin", "exclude"):
            limits[role] = [f"t{t}" for t in range(num_topics) if roles[t] == role]
    if rng.random() < 0.25:
        before = np.array([rng.random() < 0.5 for _ in range(num_topics)], dtype=bool)
        limits["previous"] = Previous("before", before, rng.randint(0, 2))
        if rng.random() < 0.7:
            limits["max_changes"] = rng.randint(0, 5)
    return limits


def draw_question(rng: random.Random) -> tuple[Problem, Callable[[Problem], float | None]]:
    """Return a question, and what gives the true optimum of it (None: there is no plan)."""
    while True:
        instance = draw_instance(rng)
        limits = draw_limits(rng, len(instance.rates))
        try:
            problem = fw.Selection(
                instance.workload(),
                tau="column" if isinstance(instance.tau, list) else instance.tau,
                capacity=draw_capacity(rng, instance),
                metric=rng.choice(["binary", "binary", "fractional"]),
                **limits,
            )
        except InfeasibleError:
            continue  # what is pinned does not fit
        return problem, partial(optimum_of, instance=instance)


def optimum_of(problem: fw.Selection, instance: Instance) -> float | None:
    """Return the most that a selection reaches, less the price of changes if they have one."""
    names = {f"t{t}": t for t in range(len(instance.rates))}
    return select_oracle.best_of_all(
        instance.rates,
        instance.interests,
        instance.tau,
        problem.parameters()["capacity"],
        problem.metric,
        cost=instance.cost,
        weight=instance.weight,
        pinned=[names[name] for name in problem.pin],
        excluded=[names[name] for name in problem.exclude],
        before=[] if problem.previous is None else problem.previous.was_served.tolist(),
        max_changes=problem.max_changes,
        change_price=problem.change_price or 0.0,
    )
