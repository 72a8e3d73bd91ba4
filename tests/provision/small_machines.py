"""Provisioning problems with machines of a few bytes, for tests."""

import numpy as np
from tests.strategies import Instance

import fanwise as fw
from fanwise.provision.catalogue import Instance as Machine

PERIOD = 8.0  # seconds: a machine of c / 1e6 mbps moves c bytes in a period


def machine(capacity, rent=1.0, name="small", **limits):
    return Machine(name, rent * 3600.0, capacity / 1e6, **limits)


def pose(case, catalogue, price=0.01, sizes=1.0, **options):
    workload = case.workload(message_bytes=sizes, period_seconds=PERIOD)
    tau = "column" if isinstance(case.tau, list) else case.tau
    given = {"instance": catalogue[0].instance, "horizon_seconds": 1.0, **options}
    price_gb = price * PERIOD * 1e9
    return fw.Provisioning(
        workload, tau=tau, catalogue=catalogue, price_gb_in=price_gb, price_gb_out=price_gb, **given
    )


def tens_of_topics(seed, num_topics):
    rng = np.random.default_rng(seed)
    rates = np.floor(rng.pareto(1.2, num_topics) * 10 + 1).clip(max=200)
    interests = [
        sorted(rng.choice(num_topics, size=int(rng.integers(1, 6)), replace=False).tolist())
        for _ in range(int(rng.integers(20, 50)))
    ]
    capacity = max(2 * int(rates.max()), int(rng.integers(400, 900)))
    return Instance(rates.tolist(), interests, tau=60.0), capacity
