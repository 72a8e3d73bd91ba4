"""What traffic between pairs of users costs at least, for checking certificates: plain NumPy.

A message costs at least the mean way from its publisher to those who want it, and the mean way
between two of these, halved: with the publisher as half of all weight, a link of its tree that
splits the weights W to 1 - W counts 4 W (1 - W) <= 1. Users pass on in turn what they cost at each
broker to the pairs that they share with others; what they keep at their cheapest brokers is a bound
after each turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.wire.verify_facts import TOLERANCE, Question, access_rows


def pairs_bound(question: Question, prices: Any, ways: Any, rounds: int) -> float:
    """Return what all users pay at least, each where that is least, after some rounds.

    ``ways`` are prices of others' load at each broker, by the broker of a user (row).
    """
    demand = question.traffic.demand
    users, count = len(demand), len(question.room)
    owed = _owed(question.traffic.rates, question.traffic.wants.astype(np.float64))
    shares = owed.sum(axis=1) / max(owed.sum(), np.finfo(float).tiny)
    held = np.where(np.isfinite(question.room), question.room, 0.0)
    alone = demand[:, None] * (access_rows(question.workload, np.arange(users)) + prices)
    alone -= shares[:, None] * (ways @ held - demand[:, None] * np.diag(ways))
    links = question.costs * (1 - TOLERANCE)
    told = np.zeros((users, users, count))
    total = 0.0
    for turn in range(2 * rounds):
        total = 0.0
        for at in range(users):
            i = users - 1 - at if turn % 2 else at
            later = slice(0, i) if turn % 2 else slice(i + 1, users)
            costs = (owed[i] + owed[:, i])[:, None, None] * links
            costs += (shares[i] * demand)[:, None, None] * ways
            costs += (shares * demand[i])[:, None, None] * ways.T
            told[i] = (costs - told[:, i, None, :]).min(axis=2)
            told[i, i] = 0.0
            paid = alone[i] + told[i].sum(axis=0)
            left = users - 1 - at
            part = 1 / max(at, left, 1)
            told[i, later] -= part * paid
            total += (1 - part * left) * float(paid.min())
    return total


def _owed(rates: Any, wants: Any) -> Any:
    """Return what each user (row) owes for a unit of cost between its broker and each other's.

    All of its messages' ways to others, and half of the ways between it and who wants the same.
    """
    others = wants.sum(axis=0) - wants
    parts = np.where(rates > 0, rates / np.maximum(others, 1), 0.0)
    owed = parts @ wants.T
    parts /= np.maximum(others, 1)
    own = wants * parts
    owed += ((wants * parts.sum(axis=0) - own) @ wants.T - wants @ own.T) / 2
    np.fill_diagonal(owed, 0.0)
    return owed
