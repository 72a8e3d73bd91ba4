"""An overlay whose links come and go, with the components of every topic kept up to date.

The links of all topics are one graph over slots (see :mod:`fanwise.connect.improving.ground`): an
overlay link u-v is one slot link for each topic that both want. A component of the slot graph is a
component of a topic, and carries a label.

- A new slot link between two labels relabels the smaller side.
- A slot link taken away is followed from both of its ends at once, a step on each side in turn.
  Where the walks meet, nothing changes. Where one side runs out first, it is the smaller one up to
  a constant and gets a label of its own.

So both cost what the smaller side costs, not what the topic costs. Slot links are records in two
doubly linked lists, one per end, and in the chain of their overlay link.
"""

from __future__ import annotations

from typing import NamedTuple

from fanwise.arrays.csr import FloatArray, IntArray, LongArray

FREE_LABELS, FREE_RECORDS, FIRST_FREE, FREE_EDGES, NUM_EDGES, STAMP, LOGGED = range(7)
VALUE, COST = range(2)
NOTHING = -1
LOG_LENGTH = 1 << 20
"""Changes of labels that can be taken back without walking; 8 bytes each."""


class Live(NamedTuple):
    """The state of an overlay.

    Attributes
    ----------
    label, size
        Component of each slot, and slots in each component.
    head, to, onward, back
        Slot links: first half link of each slot; where a half link leads, the next and the one
        before at the same slot. Half links 2r and 2r + 1 make record r.
    chain, first
        Next record of the same overlay link (or next free record), and first of each link.
    ends, worth
        Nodes of each overlay link, and what it added to mu when it was made.
    node_head, node_onward, node_back
        Overlay links of each node: half links 2e and 2e + 1 make link e.
    degree
        Links of each node.
    alive, place
        The links there are, in no order, and where each stands in that list; behind them the free
        ones.
    counters, totals
        Sizes of the free lists and such; mu and cost of the overlay.
    mark, near, far
        Room for walks.
    log
        What labels, sizes and free labels were before they changed: (where, what) in the order of
        the changes, so that a move can be taken back. Changes beyond its length are not noted.
    """

    label: IntArray
    size: IntArray
    free_labels: IntArray
    head: IntArray
    to: IntArray
    onward: IntArray
    back: IntArray
    chain: IntArray
    first: IntArray
    ends: IntArray
    worth: FloatArray
    node_head: IntArray
    node_onward: IntArray
    node_back: IntArray
    degree: IntArray
    alive: IntArray
    place: IntArray
    counters: LongArray
    totals: FloatArray
    mark: LongArray
    near: IntArray
    far: IntArray
    log: IntArray
