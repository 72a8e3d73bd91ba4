"""Where the cost of a wiring comes from, which brokers are full, what keeps users there."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.arrays.tolerance import most_within
from fanwise.planning.explanation import finite, largest
from fanwise.planning.plan import Plan
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.explain.facts import BrokerFacts, ChannelFacts, LinkFacts, PlanFacts
from fanwise.wire.explain.reasons import REASONS, WORDS, find_reasons, slack_of
from fanwise.wire.problem import Wiring
from fanwise.wire.state import ACCESS, CORE, State

MOST_PRICED = 50_000
"""Moves that are priced; with more users and brokers than that, those of a sample of users."""


def explain_plan(problem: Wiring, plan: Plan, state: State) -> PlanFacts:
    """Say what costs most, which brokers are full, and what keeps users where they are."""
    arrays, names = problem.arrays, problem.workload.broker_names
    users = sample_users(arrays)
    reasons = np.bincount(find_reasons(arrays, state, users, slack_of(state)), minlength=6)
    over = np.flatnonzero(state.load > most_within(arrays.capacity))
    cheapest = arrays.access.min(axis=1, initial=np.inf) if arrays.num_users else np.zeros(0)
    return PlanFacts(
        cost=state.cost,
        access=float(state.totals[ACCESS]),
        core=float(state.totals[CORE]),
        core_steiner=plan.metrics.get("core_steiner"),
        bound=plan.bound,
        cheapest_access=float(arrays.demand @ cheapest),
        users=arrays.num_users,
        num_brokers=arrays.num_brokers,
        brokers_used=len(np.unique(state.broker_of_user)),
        num_channels=arrays.num_channels,
        reach=float(state.inside.mean()) if state.inside.size else 0.0,
        mean_brokers=float(state.sizes.mean()) if state.sizes.size else 0.0,
        num_links=plan.tables["links"].num_rows,
        full=count_full(arrays, state),
        overloaded=[str(names[b]) for b in over.tolist()],
        reasons={REASONS[code]: int(reasons[code]) for code in WORDS if reasons[code]},
        looked_at=len(users),
        channels=channel_lines(problem, state),
        links=link_lines(problem, plan),
        brokers=broker_lines(problem, state),
    )


def sample_users(arrays: WiringArrays, seed: int = 0) -> LongArray:
    """Return all users, or a sample where pricing all moves takes long; in order."""
    users = np.arange(arrays.num_users)
    most = max(1, MOST_PRICED // max(arrays.num_brokers, 1))
    if len(users) <= most:
        return users
    return np.sort(np.random.default_rng(seed).choice(users, most, replace=False))


def count_full(arrays: WiringArrays, state: State) -> int | None:
    """Count brokers without room for a user of mean traffic; None without capacities."""
    if not np.isfinite(arrays.capacity).any() or not arrays.num_users:
        return None
    room = most_within(arrays.capacity) - state.load
    return int(np.count_nonzero(room < arrays.demand.mean()))


def channel_lines(problem: Wiring, state: State) -> list[ChannelFacts]:
    """Describe the channels that cost most between brokers."""
    channels = problem.workload.channels
    if channels is None:
        return []
    return [
        ChannelFacts(
            channel=c,
            box=np.column_stack([channels.lo[c], channels.hi[c]]).tolist(),
            rate=float(state.published[c].sum()),
            subscribers=int(state.subscribers[c].sum()),
            brokers=int(state.sizes[c, 0]),
            core=float(state.core_costs[c]),
        )
        for c in largest(state.core_costs)
    ]


def link_lines(problem: Wiring, plan: Plan) -> list[LinkFacts]:
    """Describe the links that cost most."""
    table, names = plan.tables["links"], problem.workload.broker_names
    low, high, traffic = (table.column(name).to_numpy() for name in ("broker", "other", "traffic"))
    price = problem.arrays.core[low, high]
    return [
        LinkFacts(
            broker=str(names[int(low[k])]),
            other=str(names[int(high[k])]),
            traffic=float(traffic[k]),
            price=float(price[k]),
            cost=float(traffic[k] * price[k]),
        )
        for k in largest(traffic * price)
    ]


def broker_lines(problem: Wiring, state: State) -> list[BrokerFacts]:
    """Describe the brokers with most load."""
    arrays, names = problem.arrays, problem.workload.broker_names
    own = state.broker_of_user
    access = arrays.demand * arrays.access[np.arange(arrays.num_users), own]
    spent = np.bincount(own, weights=access, minlength=arrays.num_brokers)
    users = np.bincount(own, minlength=arrays.num_brokers)
    return [
        BrokerFacts(
            broker=str(names[b]),
            users=int(users[b]),
            load=float(state.load[b]),
            capacity=finite(arrays.capacity[b]),
            access=float(spent[b]),
            channels=int(state.inside[:, b].sum()),
        )
        for b in largest(state.load)
    ]
