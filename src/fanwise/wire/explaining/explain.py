"""Where the cost of a wiring comes from, and why a user is on its broker."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.planning.explanation import Explanation, find_name
from fanwise.planning.plan import Plan
from fanwise.wire.explaining.cases import (
    BrokerLine,
    ChannelLine,
    Choice,
    LinkLine,
    PlanCase,
    UserCase,
)
from fanwise.wire.explaining.standings import (
    REASONS,
    WORDS,
    changes_of,
    find_reasons,
)
from fanwise.wire.explaining.wording import plan_passages, user_passages
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.problem import Wiring, posed_by, read_attachments
from fanwise.wire.state import ACCESS, CORE, State, has_room, make_state
from fanwise.workload.content import ContentWorkload

MOST_LISTED = 8
MOST_PRICED = 50_000
"""Moves that are priced; with more users and brokers than that, those of a sample of users."""


def explain(workload: ContentWorkload, plan: Plan, subscriber: str | None = None) -> Explanation:
    """Explain a wiring, or one user of it, for programs and for people."""
    problem = posed_by(workload, plan.parameters)
    state = make_state(problem.ground, read_attachments(problem.ground, plan.tables))
    if subscriber is None:
        whole = explain_plan(problem, plan, state)
        return Explanation(asdict(whole), plan_passages(whole))
    case = explain_user(problem, state, subscriber)
    return Explanation(asdict(case), user_passages(case))


def explain_plan(problem: Wiring, plan: Plan, state: State) -> PlanCase:
    """Say what costs most, which brokers are full, and what keeps users where they are."""
    ground, names = problem.ground, problem.workload.broker_names
    users = some_users(ground)
    reasons = np.bincount(find_reasons(ground, state, users, slack_of(state)), minlength=6)
    over = np.flatnonzero(state.load > ground.capacity * (1 + TOLERANCE))
    cheapest = ground.access.min(axis=1, initial=np.inf) if ground.num_users else np.zeros(0)
    return PlanCase(
        cost=state.cost,
        access=float(state.totals[ACCESS]),
        core=float(state.totals[CORE]),
        core_steiner=plan.metrics.get("core_steiner"),
        bound=plan.bound,
        cheapest_access=float(ground.demand @ cheapest),
        users=ground.num_users,
        num_brokers=ground.num_brokers,
        brokers_used=len(np.unique(state.broker_of_user)),
        num_channels=ground.num_channels,
        reach=float(state.inside.mean()) if state.inside.size else 0.0,
        mean_brokers=float(state.sizes.mean()) if state.sizes.size else 0.0,
        num_links=plan.tables["links"].num_rows,
        full=count_full(ground, state),
        overloaded=[str(names[b]) for b in over.tolist()],
        reasons={REASONS[code]: int(reasons[code]) for code in WORDS if reasons[code]},
        looked_at=len(users),
        channels=channel_lines(problem, state),
        links=link_lines(problem, plan),
        brokers=broker_lines(problem, state),
    )


def some_users(ground: Ground, seed: int = 0) -> LongArray:
    """Return all users, or a sample where pricing all moves takes long; in order."""
    users = np.arange(ground.num_users)
    most = max(1, MOST_PRICED // max(ground.num_brokers, 1))
    if len(users) <= most:
        return users
    return np.sort(np.random.default_rng(seed).choice(users, most, replace=False))


def slack_of(state: State) -> float:
    """Return the change of cost below which a move is no move at all."""
    return TOLERANCE * state.cost


def count_full(ground: Ground, state: State) -> int | None:
    """Count brokers without room for a user of mean traffic; None without capacities."""
    if not np.isfinite(ground.capacity).any() or not ground.num_users:
        return None
    room = ground.capacity * (1 + TOLERANCE) - state.load
    return int(np.count_nonzero(room < ground.demand.mean()))


def channel_lines(problem: Wiring, state: State) -> list[ChannelLine]:
    """Describe the channels that cost most between brokers."""
    channels = problem.workload.channels
    if channels is None:
        return []
    return [
        ChannelLine(
            channel=c,
            box=np.column_stack([channels.lo[c], channels.hi[c]]).tolist(),
            rate=float(state.published[c].sum()),
            subscribers=int(state.subscribers[c].sum()),
            brokers=int(state.sizes[c, 0]),
            core=float(state.core_costs[c]),
        )
        for c in _largest(state.core_costs)
    ]


def link_lines(problem: Wiring, plan: Plan) -> list[LinkLine]:
    """Describe the links that cost most."""
    table, names = plan.tables["links"], problem.workload.broker_names
    low, high, traffic = (table.column(name).to_numpy() for name in ("broker", "other", "traffic"))
    price = problem.ground.core[low, high]
    return [
        LinkLine(
            broker=str(names[int(low[k])]),
            other=str(names[int(high[k])]),
            traffic=float(traffic[k]),
            price=float(price[k]),
            cost=float(traffic[k] * price[k]),
        )
        for k in _largest(traffic * price)
    ]


def broker_lines(problem: Wiring, state: State) -> list[BrokerLine]:
    """Describe the brokers with most load."""
    ground, names = problem.ground, problem.workload.broker_names
    own = state.broker_of_user
    access = ground.demand * ground.access[np.arange(ground.num_users), own]
    spent = np.bincount(own, weights=access, minlength=ground.num_brokers)
    users = np.bincount(own, minlength=ground.num_brokers)
    return [
        BrokerLine(
            broker=str(names[b]),
            users=int(users[b]),
            load=float(state.load[b]),
            capacity=_finite(ground.capacity[b]),
            access=float(spent[b]),
            channels=int(state.inside[:, b].sum()),
        )
        for b in _largest(state.load)
    ]


def explain_user(problem: Wiring, state: State, name: str) -> UserCase:
    """Say why a user is on its broker, and what every other one would cost.

    Raises
    ------
    InputError
        If no subscriber has that name; close ones are suggested.
    """
    workload, ground = problem.workload, problem.ground
    user = find_name(workload.subscriber_names, name, "subscriber")
    own = int(state.broker_of_user[user])
    reason = int(find_reasons(ground, state, np.array([user]), slack_of(state))[0])
    touched = slice(int(ground.indptr[user]), int(ground.indptr[user + 1]))
    wanted = ground.channels[touched][ground.wants[touched]]
    rates = ground.rates[touched]
    return UserCase(
        subscriber=name,
        broker=str(workload.broker_names[own]),
        reason=REASONS[reason],
        says=WORDS[reason],
        traffic_out=float(rates.sum()),
        traffic_in=float(max(ground.demand[user] - rates.sum(), 0.0)),
        wants=len(wanted),
        publishes=int(np.count_nonzero(rates)),
        alone=int(np.count_nonzero(state.subscribers[wanted, own] == 1)),
        access=float(ground.demand[user] * ground.access[user, own]),
        rank=int(np.count_nonzero(ground.access[user] < ground.access[user, own])),
        num_brokers=ground.num_brokers,
        choices=choices_of(problem, state, user),
    )


def choices_of(problem: Wiring, state: State, user: int) -> list[Choice]:
    """Return a user's broker, then the brokers that would be cheapest in all."""
    ground, names = problem.ground, problem.workload.broker_names
    own = int(state.broker_of_user[user])
    changes = changes_of(ground, state, user)
    access = ground.demand[user] * (ground.access[user] - ground.access[user, own])
    order = [own, *(b for b in np.argsort(changes, kind="stable").tolist() if b != own)]
    return [
        Choice(
            broker=str(names[b]),
            is_own=b == own,
            price=float(ground.access[user, b]),
            access=float(access[b]),
            core=float(changes[b] - access[b]),
            cost=float(changes[b]),
            has_room=b == own or bool(has_room(ground, state, user, b)),
            load=float(state.load[b]),
            capacity=_finite(ground.capacity[b]),
        )
        for b in order[:MOST_LISTED]
    ]


def _largest(values: Any) -> list[int]:
    """Return where the largest values are, of those above 0."""
    order = np.argsort(-values, kind="stable")[:MOST_LISTED]
    found: list[int] = order[values[order] > 0].tolist()
    return found


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
