"""What followers pay that are satisfied together, for the check of certificates: plain NumPy.

Only satisfied subscribers need pay, so a topic brings in no more than the followers pay that can be
satisfied together with it. The page on certificates has the formula and why it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import ProofError
from fanwise.select.verify_question import Question
from fanwise.select.verify_reach import Case, Floats

if TYPE_CHECKING:
    from fanwise.planning.proof import Proof


def read_together(question: Question, proof: Proof, name: str) -> npt.NDArray[np.int64] | None:
    """Return the topics whose followers are to pay together; None where there are none."""
    if name not in proof.tables:
        return None
    if not question.is_binary:
        raise ProofError(f"proof/{name}.parquet is for the binary metric")
    topics = proof.table(name, {"topic": "id"}).column("topic").to_numpy().astype(np.int64)
    if len(topics) and (topics.min() < 0 or topics.max() >= len(question.cost)):
        raise ProofError(f"proof/{name}.parquet names a topic that there is not")
    return np.unique(topics)


def lower_to_together(
    question: Question,
    case: Case,
    prices: Floats,
    paid_for: Floats,
    constants: Floats,
    topics: npt.NDArray[np.int64],
    profit: Floats,
) -> None:
    """Lower, in place, what some topics bring in to what is paid by those satisfied together.

    Parameters
    ----------
    paid_for, constants
        Per pair what is paid, and per subscriber what its constants give back of its price.
    """
    indptr, indices = question.indptr, question.indices
    pairs = np.flatnonzero(paid_for > 0)
    pairs = pairs[np.argsort(indices[pairs], kind="stable")]
    ends = np.searchsorted(indices[pairs], [topics, topics + 1])
    for topic, first, last in zip(topics.tolist(), *ends.tolist(), strict=True):
        if first == last:
            continue
        own = pairs[first:last]
        followers = np.searchsorted(indptr, own, side="right") - 1
        part = paid_for[own] / prices[followers]
        degree = indptr[followers + 1] - indptr[followers]
        offsets = np.repeat(indptr[followers + 1] - np.cumsum(degree), degree)
        reached = offsets + np.arange(len(offsets))
        passed = np.repeat(part, degree) * paid_for[reached]
        found: Floats = np.bincount(indices[reached], passed, len(profit)).astype(np.float64)
        is_served = case.served.copy()
        is_served[topic] = True
        room = case.room - (0.0 if case.served[topic] else float(question.cost[topic]))
        total = float(np.sum(part * constants[followers]) + np.sum(found[is_served]))
        found[is_served | case.dropped] = 0.0
        total += _fill(found, question.cost, room)
        profit[topic] = min(profit[topic], total)


def _fill(profit: Floats, cost: Floats, room: float) -> float:
    """Return the most profit within room, the last topic taken in part."""
    chosen = np.flatnonzero(profit > 0)
    profit, cost = profit[chosen], cost[chosen]
    if float(np.sum(cost)) <= room:
        return float(np.sum(profit))
    free = cost <= 0
    order = np.argsort(-profit[~free] / cost[~free], kind="stable")
    gain, spent = profit[~free][order], np.append(0.0, np.cumsum(cost[~free][order]))
    share = np.clip((room - spent[:-1]) / np.diff(spent), 0.0, 1.0)
    return float(np.sum(profit[free]) + np.sum(gain * share))
