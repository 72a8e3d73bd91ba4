"""Where a grower stands between two calls: entries of its ``cursor`` array."""

from __future__ import annotations

NUM_ENTRIES = 4
LEVEL, ROW, PHASE, STAGE = range(NUM_ENTRIES)
"""The contribution that is looked for, the node whose pairs are looked at, the phase (the degree
that it allows), and what the phase is doing."""
OVER, DESCENDING, FILLING = range(3)
"""Stages of a phase: it has ended; it takes links that add something; links that add nothing."""
