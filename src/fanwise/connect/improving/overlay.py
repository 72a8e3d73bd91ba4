"""An overlay whose links come and go, with the components of every topic kept up to date.

The links of all topics are one graph over slots (see :class:`fanwise.connect.arrays.Network`): an
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

FREE_LABELS, FREE_RECORDS, FIRST_FREE, FREE_EDGES, NUM_EDGES, STAMP, LOGGED, WORK = range(8)
"""Entries of ``counters``. ``WORK`` adds up steps; see :data:`STEPS_PER_PAIR`."""
VALUE, COST = range(2)
"""Entries of ``totals``."""
STEPS_PER_PAIR, STEPS_PER_CHANGE, READS_PER_STEP = 32, 2, 16
"""Work is counted in steps of walks over slots, about 30 ns each: what a pair that new links are
chosen from takes, and a change of a label; and how many interests are read in the time of one."""
LOG_LENGTH = 1 << 20
"""Changes of labels that can be taken back without walking; 8 bytes each."""


class SlotLabels(NamedTuple):
    """The components of slots.

    Attributes
    ----------
    label, size
        Component of each slot, and slots in each component.
    free_labels
        Labels that no component has; ``counters[FREE_LABELS]`` of them.
    mark, walks
        Scratch for two walks at a time.
    log
        What labels, sizes and free labels were before they changed: (where, what) in the order of
        the changes, so that a move can be taken back. Changes beyond its length are not noted.
    """

    label: IntArray
    size: IntArray
    free_labels: IntArray
    mark: LongArray
    walks: IntArray
    log: IntArray


class SlotLinks(NamedTuple):
    """The links between slots: half links 2r and 2r + 1 make record r.

    Attributes
    ----------
    head, to, onward, back
        First half link of each slot; where a half link leads, the next and the one before at the
        same slot.
    chain, first
        Next record of the same overlay link (or next free record), and first of each link.
    """

    head: IntArray
    to: IntArray
    onward: IntArray
    back: IntArray
    chain: IntArray
    first: IntArray


class Links(NamedTuple):
    """The links of the overlay: half links 2e and 2e + 1 make link e.

    Attributes
    ----------
    ends, worth
        Nodes of each link, and what it added to mu when it was made.
    head, onward, back
        First half link of each node; the next and the one before at the same node.
    degree
        Links of each node.
    alive, rank
        The links there are, in no order, and where each stands in that list; behind them the free
        ones.
    """

    ends: IntArray
    worth: FloatArray
    head: IntArray
    onward: IntArray
    back: IntArray
    degree: IntArray
    alive: IntArray
    rank: IntArray


class ChangingOverlay(NamedTuple):
    """The state of an overlay, in parts: kernels that run for every slot are handed what they need.

    Numba counts references to each array that is handed on, which for all of them takes longer than
    a step of a walk.

    Attributes
    ----------
    counters, totals
        Sizes of the free lists and such; mu and cost of the overlay.
    """

    labels: SlotLabels
    slot_links: SlotLinks
    links: Links
    counters: LongArray
    totals: FloatArray
