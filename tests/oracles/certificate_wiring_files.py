"""What a third party reads of a wiring's workload before any mathematics: channels and costs."""

from types import SimpleNamespace

import numpy as np
from tests.oracles.certificate_content_files import corners
from tests.oracles.certificate_files import TOLERANCE, column, read_plan, rows


def read_wiring(folder, plan):
    """Return what users send, want and load, what links cost, and what brokers hold."""
    asked, proof = read_plan(plan)
    users, brokers, channels = (
        rows(folder, name) for name in ("subscribers", "brokers", "channels")
    )
    q = SimpleNamespace(rates=np.zeros((len(users), len(channels))))
    if not q.rates.size:
        return q, proof
    ends = np.minimum(corners(users, "hi")[:, None], corners(channels, "hi"))
    q.wants = (ends > np.maximum(corners(users, "lo")[:, None], corners(channels, "lo"))).all(
        axis=2
    )
    for row in rows(folder, "rates"):
        q.rates[row["subscriber"], row["channel"]] = row["rate"]
    q.rates[q.wants.sum(axis=0) - q.wants == 0] = 0.0  # nobody else wants it
    q.load = q.rates.sum(axis=1) + (q.wants * (q.rates.sum(axis=0) - q.rates)).sum(axis=1)
    places = corners(brokers, "net")
    q.access = np.linalg.norm(corners(users, "net")[:, None] - places, axis=2)
    core = np.linalg.norm(places[:, None] - places, axis=2)
    for row in rows(folder, "access_costs"):
        q.access[row["subscriber"], row["broker"]] = row["cost"]
    for row in rows(folder, "broker_costs"):
        core[row["broker"], row["other"]] = core[row["other"], row["broker"]] = row["cost"]
    q.may = np.full(q.access.shape, not rows(folder, "candidates"))
    for row in rows(folder, "candidates"):
        q.may[row["subscriber"], row["broker"]] = True
    q.access[~q.may] = 1e150
    core, ways = core * asked["core_factor"], core * asked["core_factor"]
    for middle in range(len(core)):
        ways = np.minimum(ways, ways[:, middle, None] + ways[middle])
    q.core = ways if (ways < core * (1 - TOLERANCE)).any() else core
    q.room = column(brokers, "capacity", np.inf) * asked["capacity_factor"] * (1 + TOLERANCE)
    reach = np.cumsum(np.sort(q.room)[::-1])[:-1] * (1 + TOLERANCE)
    q.needed = np.array([1 + (reach < q.load[who].sum()).sum() for who in q.wants.T])
    q.is_mesh = asked["topology"] == "mesh"
    return q, proof
