"""What it costs at least to bring messages to all their subscribers, for checking certificates.

Dual ascent for all channels side by side. In every channel subscribers take turns. Whoever is not
reached from the broker with the least total pays more for everything that it could be reached by,
until one more link is paid for in full. A link between brokers is paid for by all subscribers of
the channel together, each link of a subscriber by itself. What a subscriber pays is owed to a tree
from any broker that did not reach it yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.wire.verify_facts import CHUNK, Question, access_rows


def gathering_bound(question: Question, prices: Any, trees: Any, parts: Any) -> float:
    """Return what all messages cost at least, each publisher where its own cost least.

    ``trees`` are by broker and channel; ``parts`` say by which part of the core users gather, the
    rest pays for the trees.
    """
    rates, wants, _ = question.traffic
    stars = star_costs(question, prices, parts) + (1 - parts)[:, None] * trees.T
    total = 0.0
    for start in range(0, len(rates), CHUNK):
        rows = slice(start, start + CHUNK)
        alone = np.where(wants[rows], 0.0, rates[rows]).sum(axis=1)
        costs = access_rows(question.workload, rows) + prices
        costs *= alone[:, None]
        costs += rates[rows] @ stars
        total += float(costs.min(axis=1).sum())
    return total


def star_costs(question: Question, prices: Any, parts: Any) -> Any:
    """Return by channel and broker what a message from there costs at least to all subscribers."""
    wants = question.traffic.wants
    user = np.nonzero(wants.T)[1]
    counts = wants.sum(axis=0)
    starts = np.cumsum(counts) - counts
    links = access_rows(question.workload, user) + prices
    core = parts[:, None, None] * question.costs
    owed = np.zeros((len(counts), len(prices)))
    is_reaching = np.zeros(links.shape, dtype=bool)
    going = np.flatnonzero(counts)
    while len(going):
        is_raised = np.zeros(len(counts), dtype=bool)
        for turn in range(int(counts[going].max())):
            now = going[counts[going] > turn]
            touch = starts[now] + turn
            now, touch = _not_reached(now, touch, owed, is_reaching)
            if len(now):
                _find_reaching(links[touch], core, now, is_reaching, touch)
                now, touch = _not_reached(now, touch, owed, is_reaching)
            if len(now):
                _raise_prices(links, core, owed, is_reaching, now, touch)
                is_raised[now] = True
        going = np.flatnonzero(is_raised)
    return owed


def _not_reached(now: Any, touch: Any, owed: Any, is_reaching: Any) -> tuple[Any, Any]:
    """Keep the channels whose user on turn is not reached from where a tree is cheapest so far."""
    is_left = ~is_reaching[touch, owed[now].argmin(axis=1)]
    return now[is_left], touch[is_left]


def _find_reaching(paid: Any, core: Any, now: Any, is_reaching: Any, touch: Any) -> None:
    """Mark the brokers from which every link to the user on turn is paid for."""
    found = is_reaching[touch] | (paid <= 0.0)
    is_free = core[now] <= 0.0
    while True:
        wider = found | (is_free & found[:, None, :]).any(axis=2)
        if (wider == found).all():
            break
        found = wider
    is_reaching[touch] = found


def _raise_prices(links: Any, core: Any, owed: Any, is_reaching: Any, now: Any, touch: Any) -> None:
    """Let the users on turn pay until one more link is paid for."""
    inside = is_reaching[touch]
    is_cut = ~inside[:, :, None] & inside[:, None, :]  # from a broker outside to one inside
    ways = core[now]
    least = np.minimum(
        np.where(inside, np.inf, links[touch]).min(axis=1),
        np.where(is_cut, ways, np.inf).min(axis=(1, 2)),
    )
    owed[now] += np.where(inside, 0.0, least[:, None])
    links[touch] -= np.where(inside, 0.0, least[:, None])
    core[now] = ways - np.where(is_cut, least[:, None, None], 0.0)
