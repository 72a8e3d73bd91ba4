"""What it costs at least to publish, for checking certificates: plain NumPy.

For each publisher and each broker that it may have, all others choose anew. A message's way costs
at least a weighted mean of the links from there to the brokers of its other subscribers, so each
subscriber owes its share of the link to its own broker, beside the access of what it receives, and
takes the broker where that and prices come to least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.wire.verify_facts import TOLERANCE, Question, access_rows


def publishing_bound(
    question: Question, prices: Any, weights: Any, ways: Any, own: dict[tuple[int, int], Any]
) -> float:
    """Return what all users pay at least for what they publish, each where that is least.

    ``ways`` are prices of load for a message sent, by the publisher's broker (row); ``own`` those
    of pairs of a publisher and a broker that have prices of their own.
    """
    rates, wants, demand = question.traffic
    everybody = np.arange(len(demand))
    access = access_rows(question.workload, everybody)
    links = question.costs * (1 - TOLERANCE)
    total = 0.0
    for user in everybody:
        paid = demand[user] * prices
        sent = rates[user].sum()
        if sent > 0:
            others = np.flatnonzero(everybody != user)
            received, owed = _messages(rates[user], wants[others], weights[others])
            served = received[:, None] * access[others]
            for root in range(len(links)):
                asked = own.get((int(user), root), sent * ways[root])
                costs = served + owed[:, None] * links[root] + demand[others, None] * asked
                taken_off = np.dot(asked[asked > 0], question.room[asked > 0])
                paid[root] += sent * access[user, root] + demand[user] * asked[root]
                paid[root] += costs.min(axis=1).sum() - taken_off
        total += float(paid.min())
    return total


def _messages(rates: Any, wants: Any, weights: Any) -> tuple[Any, Any]:
    """Return what others receive of a publisher's messages, and owe for the way of each."""
    sent = np.flatnonzero(rates)
    wanted = wants[:, sent].astype(np.float64)
    return wanted @ rates[sent], weights * (wanted @ (rates[sent] / (weights @ wanted)))
