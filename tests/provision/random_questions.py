"""Random tiny provisionings with odd features, and their true optimum by trying everything."""

from __future__ import annotations

import random

from tests.oracles import provision_whole_oracle

import fanwise as fw
from fanwise.provision.catalogue import Instance as Machine

RATES = (
    lambda rng: float(rng.randint(1, 6)),
    lambda rng: float(rng.randint(1, 60)),
    lambda rng: rng.choice([0.01, 0.1, 1 / 3, 1.0, 10.0, 100.0]),
    lambda rng: 10.0 ** rng.uniform(-3, 4),
    lambda rng: rng.choice([1e-6, 1.0, 1e6]),
)
SIZES = (
    lambda rng: 1.0,
    lambda rng: 200.0,
    lambda rng: float(rng.randint(1, 4)),
    lambda rng: rng.choice([0.0, 1.0, 0.5, 3.7]),
)
RENTS = (0.0, 1e-9, 0.01, 1.0, 1.0, 1.0, 2.5, 1000.0)
PRICES = (0.0, 0.0, 0.12, 0.12, 1.0, 1e3, 1e6)
OFF = (0.0, 0.0, 0.0, 0.0, 7e-10, 9e-10, -7e-10, 5e-9, -0.01, 0.3)
"""How far a capacity is below what a load of whole pairs takes: within the tolerance, or not."""


def draw_question(rng: random.Random):
    """Return a problem, and what tells the true optimum of a problem; None where there is none."""
    num_topics = rng.randint(0, 5) if rng.random() < 0.1 else rng.randint(1, 5)
    num_subscribers = rng.randint(1, 5)
    density = rng.uniform(0.2, 0.9)
    pairs = [
        (v, t) for v in range(num_subscribers) for t in range(num_topics) if rng.random() < density
    ]
    rng.shuffle(pairs)
    pairs = sorted(pairs[: rng.randint(1, 11)])
    draw_rate, draw_size = rng.choice(RATES), rng.choice(SIZES)
    rates = [draw_rate(rng) for _ in range(num_topics)]
    if rng.random() < 0.2:
        rates = [rng.choice(rates) for _ in rates]
    sizes = [draw_size(rng) for _ in rates]
    period = rng.choice([8.0, 8.0, 3600.0, 86400.0, 864000.0])
    received = [sum(rates[t] for v, t in pairs if v == who) for who in range(num_subscribers)]
    taus = [_draw_tau(rng, rates, each) for each in received]
    workload = fw.TopicWorkload.from_arrays(
        rates,
        [v for v, _ in pairs],
        [t for _, t in pairs],
        num_subscribers=num_subscribers,
        message_bytes=sizes,
        period_seconds=period,
        tau=taus if rng.random() < 0.5 else None,
    )
    message_bytes = rng.choice([None, None, None, 1.0, 0.3])
    reserve = rng.choice([0.0, 0.0, 0.2, "20%", 0.37])
    share = 1 - (0.2 if reserve == "20%" else reserve)
    needs = [
        rate * (size if message_bytes is None else message_bytes)
        for rate, size in zip(rates, sizes, strict=True)
    ]
    names = ["small", "other", "third"][: rng.choice([1, 1, 1, 2, 2, 3])]
    catalogue = [_draw_machine(rng, name, needs, period, share) for name in names]
    problem = fw.Provisioning(
        workload,
        tau="column" if workload.tau is not None else rng.choice(taus),
        instance="auto" if len(names) > 1 and rng.random() < 0.8 else rng.choice(names),
        catalogue=catalogue,
        price_gb_in=_draw_price(rng),
        price_gb_out=_draw_price(rng),
        message_bytes=message_bytes,
        horizon_seconds=rng.choice([None, None, 1.0, 86400.0]),
        reserve=reserve,
        max_cost=rng.choice([None, None, None, 0.0, 1.0]),
    )
    return problem, true_optimum


def true_optimum(problem) -> float | None:
    """The least money of all plans; None if there is none."""
    return provision_whole_oracle.optimum_of(problem.workload, problem.parameters())


def _draw_tau(rng, rates, received):
    if not rates:
        return rng.choice([0.0, 1.0])
    some = sum(rng.choice(rates) for _ in range(rng.randint(1, 3)))
    return rng.choice([0.0, min(rates), max(rates), some, some, received * rng.random(), 1e9])


def _draw_price(rng):
    return rng.choice(PRICES)


def _draw_machine(rng, name, needs, period, share):
    """A machine that just holds some pairs, or just does not."""
    wanted = [need for need in needs if need > 0] or [1.0]
    load = 2 * max(wanted) if rng.random() < 0.8 else 2 * rng.choice(wanted)
    for _ in range(rng.randint(0, 3)):
        load += rng.randint(1, 3) * rng.choice(wanted)
    usable = load * (1 - rng.choice(OFF))
    limits = {
        limit: rng.choice([None, None, None, None, 1, 2, 3])
        for limit in ("max_topics", "max_connections")
    }
    return Machine(name, rng.choice(RENTS), usable / share / period * 8 / 1e6, **limits)
