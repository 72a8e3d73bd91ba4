"""A workload on which the offline greedy algorithm fails by orders of magnitude [1]_.

.. [1] Yu, Agarwal, Yang: Subscriber assignment for wide-area content-based publish/subscribe,
   Sec. VI, "A difficult workload for Gr*".

There are (alpha + 1) n interests for n brokers: unit squares along the diagonal, the distance of
neighbours growing tenfold alpha times over before it starts again. The first alpha n interests may
go to two brokers each: one takes runs of neighbours, which is cheap, the other deals them round,
which leaves every broker with one rectangle more than its filter may have. The formula printed for
those two contradicts the paper's Table III; with i0 = i - 1, brokers floor(i0 / (alpha + 1)) + 1
and (i0 mod n) + 1 give the table, where equal ones are joined by the lowest-numbered other broker.

Subscribers are numbered in the paper's order: interests 1 to alpha n, then the others downwards.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.instances import certify, check_subscribers

MOST_ALPHA = 8
"""Beyond it the gaps no longer fit the digits of coordinates."""


def difficult(
    subscribers: int = 1200,
    *,
    brokers: int = 3,
    alpha: int = 3,
    seed: int = 0,
) -> ContentWorkload:
    """Generate the difficult workload; its load limit allows exactly what everybody needs.

    Parameters
    ----------
    subscribers
        Rounded down to as many for each of the (alpha + 1) x brokers interests.
    brokers
        At least 2.
    alpha
        Rectangles of a filter it is difficult for.
    seed
        Kept for the record: nothing is random here.
    """
    check_subscribers(subscribers)
    if brokers < 2:
        raise ParameterError("brokers", "a whole number >= 2", brokers)
    if not 1 <= alpha <= MOST_ALPHA:
        raise ParameterError("alpha", f"a whole number from 1 to {MOST_ALPHA}", alpha)
    num_interests = (alpha + 1) * brokers
    each = subscribers // num_interests
    if each == 0:
        must = f"at least {num_interests}, one for each of (alpha + 1) x brokers interests"
        raise ParameterError("subscribers", must, subscribers)
    restricted = alpha * brokers
    sequence = np.concatenate(
        [np.arange(restricted), np.arange(num_interests - 1, restricted - 1, -1)]
    )
    interest = np.repeat(sequence, each)
    lo = interest_corners(alpha, brokers)[interest]
    allowed = [
        candidate_brokers(i, alpha, brokers) if i < restricted else list(range(brokers))
        for i in range(num_interests)
    ]
    counts = np.array([len(allowed[i]) for i in interest])
    pairs = (
        np.repeat(np.arange(len(interest), dtype=np.int32), counts),
        np.concatenate([np.tile(allowed[i], each) for i in sequence]).astype(np.int32),
    )
    points = _circle(brokers)
    middle = np.array([points[allowed[i]].mean(axis=0) for i in range(num_interests)])
    workload = ContentWorkload.from_arrays(
        lo,
        lo + 1,
        middle[interest],
        points,
        publisher=np.zeros(2),
        parent=np.full(brokers, -1, dtype=np.int32),
        share=np.full(brokers, 1 / brokers),
        candidates=pairs,
        origin={
            "generator": "difficult",
            "seed": seed,
            "subscribers_per_interest": each,
            "lbf": 1.0,
            "lbf_max": 1.0,
            "max_delay": 0.3,
            "alpha": alpha,
        },
    )
    assert workload.candidates is not None
    if certify(workload.candidates, workload, 1.0) > 1.0:
        raise InfeasibleError("the difficult workload is not feasible at lbf 1; report this.")
    return workload


def interest_corners(alpha: int, brokers: int) -> FloatArray:
    """Lower corners of the interests; neighbours i and i + 1 lie 10 ** (i mod alpha + 1) apart.

    Interests count from 1 here, as in the paper, and the distance is along each axis.
    """
    i = np.arange(1, (alpha + 1) * brokers)
    at = np.concatenate([[0.0], np.cumsum(10.0 ** (i % alpha + 1))])
    return np.column_stack([at, at])


def candidate_brokers(interest: int, alpha: int, brokers: int) -> IntArray | list[int]:
    """Return the two brokers of one of the first alpha x brokers interests, all from 0."""
    run, deal = interest // (alpha + 1), interest % brokers
    if run == deal:
        deal = 0 if run > 0 else 1
    return sorted((run, deal))


def _circle(brokers: int) -> FloatArray:
    angle = 2 * np.pi * np.arange(brokers) / brokers
    return 100 * np.column_stack([np.cos(angle), np.sin(angle)])
