"""Why a user is on its broker, and what every other one would cost."""

from __future__ import annotations

import numpy as np

from fanwise.planning.explanation import MOST_LISTED, find_name, finite
from fanwise.wire.arrays import may_take
from fanwise.wire.explain.facts import Choice, SubscriberFacts
from fanwise.wire.explain.reasons import REASONS, WORDS, find_reasons, slack_of
from fanwise.wire.move_costs import changes_by_moving
from fanwise.wire.problem import Wiring
from fanwise.wire.state import State, has_room


def explain_subscriber(problem: Wiring, state: State, name: str) -> SubscriberFacts:
    """Say why a user is on its broker, and what every other one would cost.

    Raises
    ------
    InputError
        If no subscriber has that name; close ones are suggested.
    """
    workload, arrays = problem.workload, problem.arrays
    user = find_name(workload.subscriber_names, name, "subscriber")
    own = int(state.broker_of_user[user])
    reason = int(find_reasons(arrays, state, np.array([user]), slack_of(state))[0])
    touched = slice(int(arrays.indptr[user]), int(arrays.indptr[user + 1]))
    wanted = arrays.channels[touched][arrays.wants[touched]]
    rates = arrays.rates[touched]
    return SubscriberFacts(
        subscriber=name,
        broker=str(workload.broker_names[own]),
        reason=REASONS[reason],
        says=WORDS[reason],
        traffic_out=float(rates.sum()),
        traffic_in=float(max(arrays.demand[user] - rates.sum(), 0.0)),
        wants=len(wanted),
        publishes=int(np.count_nonzero(rates)),
        alone=int(np.count_nonzero(state.subscribers[wanted, own] == 1)),
        access=float(arrays.demand[user] * arrays.access[user, own]),
        rank=int(np.count_nonzero(arrays.access[user] < arrays.access[user, own])),
        num_brokers=arrays.num_brokers,
        choices=choices_of(problem, state, user),
    )


def choices_of(problem: Wiring, state: State, user: int) -> list[Choice]:
    """Return a user's broker, then the brokers that would be cheapest in all."""
    arrays, names = problem.arrays, problem.workload.broker_names
    own = int(state.broker_of_user[user])
    changes = changes_by_moving(arrays, state, user)
    access = arrays.demand[user] * (arrays.access[user] - arrays.access[user, own])
    others = (b for b in np.argsort(changes, kind="stable").tolist() if b != own)
    order = [own, *(b for b in others if may_take(arrays, user, b))]
    return [
        Choice(
            broker=str(names[b]),
            is_own=b == own,
            price=float(arrays.access[user, b]),
            access=float(access[b]),
            core=float(changes[b] - access[b]),
            cost=float(changes[b]),
            has_room=b == own or bool(has_room(arrays, state, user, b)),
            load=float(state.load[b]),
            capacity=finite(arrays.capacity[b]),
        )
        for b in order[:MOST_LISTED]
    ]
