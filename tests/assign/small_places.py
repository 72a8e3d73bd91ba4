"""Small content workloads: for oracles as plain lists, for fanwise as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import strategies as st

import fanwise as fw
from fanwise.errors import VerificationError


@dataclass(frozen=True)
class Places:
    """Subscribers with rectangles (None: wants nothing), brokers and the tree between them."""

    at: list
    boxes: list
    brokers: list
    parent: list
    shares: list
    publisher: list
    cells: list | None = None
    candidates: list | None = None
    max_latency: list | None = None

    def workload(self, **columns):
        dims = next((len(box[0]) for box in self.boxes if box is not None), 2)
        nothing = [np.nan] * dims
        lo = [nothing if box is None else box[0] for box in self.boxes]
        hi = [nothing if box is None else box[1] for box in self.boxes]
        share = [np.nan if share is None else share for share in self.shares]
        if self.candidates is not None:
            pairs = [(j, b) for j, row in enumerate(self.candidates) for b in row]
            columns["candidates"] = ([j for j, _ in pairs], [b for _, b in pairs])
        if self.cells is not None:
            columns["density"] = tuple(zip(*self.cells, strict=True))
        return fw.ContentWorkload.from_arrays(
            np.reshape(lo, (len(lo), dims)),
            np.reshape(hi, (len(hi), dims)),
            np.reshape(self.at, (len(self.at), 2)),
            self.brokers,
            publisher=self.publisher,
            parent=self.parent,
            share=share,
            max_latency=self.max_latency,
            **columns,
        )


def verify_plan(plan):
    """Verify a plan; one that says it breaks a limit must be refused for that alone."""
    if plan.feasible:
        plan.verify()
        return
    with pytest.raises(VerificationError, match=r"load|latency"):
        plan.verify()


TREES = [
    ([-1], [1.0]),
    ([-1, -1, -1], [0.25, 0.25, 0.5]),
    ([-1, -1, -1], [0.5, 0.0, 0.5]),
    ([-1, 0, 0, -1], [None, 0.25, 0.25, 0.5]),
    ([-1, 0, 1, 1, 0], [None, None, 0.5, 0.25, 0.25]),
    ([-1, -1, 0, 0, 1, 1], [None, None, 0.25, 0.25, 0.25, 0.25]),
]
"""Parents and shares; one leaf without a share, leaves at different depths."""

spots = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(list)


@st.composite
def boxes(draw, dims=2):
    lo = [draw(st.integers(0, 12)) for _ in range(dims)]
    return tuple(map(float, lo)), tuple(float(a + draw(st.integers(0, 5))) for a in lo)


@st.composite
def places(draw, *, max_subscribers=10, with_cells=False, with_candidates=False):
    """Whole coordinates, points and flat rectangles, equal subscribers, who want nothing."""
    parent, shares = draw(st.sampled_from(TREES))
    count = draw(st.integers(0, max_subscribers))
    wanted = st.one_of(boxes(), boxes(), boxes(), st.none())
    distinct = draw(st.lists(wanted, min_size=1, max_size=max(count, 1)))
    made = Places(
        at=[draw(spots) for _ in range(count)],
        boxes=[draw(st.sampled_from(distinct)) for _ in range(count)],
        brokers=[draw(spots) for _ in parent],
        parent=parent,
        shares=shares,
        publisher=draw(spots),
    )
    if with_cells and draw(st.booleans()):
        corners = ((0.0, 0.0), (8.0, 0.0), (0.0, 9.0))
        sizes = ((8.0, 9.0), (4.0, 16.0), (8.0, 4.0))
        made = replace(
            made,
            cells=[
                (a, (a[0] + b[0], a[1] + b[1]), float(draw(st.integers(0, 3)) * b[0] * b[1]))
                for a, b in zip(corners, sizes, strict=True)
            ],
        )
    if with_candidates and draw(st.booleans()):
        leaves = [b for b in range(len(parent)) if b not in parent]
        row = st.lists(st.sampled_from(leaves), unique=True).map(sorted)
        made = replace(made, candidates=[draw(row) for _ in range(count)])
    return made


def content_of(instance, topic_names=None, subscriber_names=None):
    """Make places of a topic instance that depend on rates, not on ids.

    Who needs nothing wants nothing.
    """
    boxes, at = [], []
    for v, topics in enumerate(instance.interests):
        tau = instance.tau[v] if isinstance(instance.tau, list) else instance.tau
        total = float(sum(instance.rates[t] for t in topics))
        low = (total % 50, len(topics))
        box = (low, (low[0] + 1 + total % 7, low[1] + 1 + total % 3))
        boxes.append(box if topics and tau else None)
        at.append([total % 10, len(topics)])
    made = Places(
        at=at,
        boxes=boxes,
        brokers=[[5.0, 2.0], [1.0, 1.0], [8.0, 3.0], [4.0, 6.0]],
        parent=[-1, 0, 0, -1],
        shares=[None, 0.3, 0.3, 0.4],
        publisher=[0.0, 5.0],
    )
    return made.workload(subscriber_names=subscriber_names)
