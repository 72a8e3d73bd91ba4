"""The settings of the paper's experiments, and the numbers it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SOURCE = (
    "A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based "
    "publish/subscribe. IEEE ICDE 2011."
)


@dataclass(frozen=True)
class Series:
    """One algorithm with its knobs; ``is_random`` ones are run several times."""

    label: str
    algorithm: str
    is_random: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


SERIES = {
    "slp": Series("SLP", "slp", True),
    "gr-star": Series("Gr*", "gr-star"),
    "gr": Series("Gr", "gr"),
    "gr-no-latency": Series("Gr-l", "gr-no-latency"),
    "closest": Series("Closest", "closest"),
    "closest-no-balance": Series("Closest-b", "closest-no-balance"),
    "balance": Series("Balance", "balance"),
    "best": Series("best (ours)", "best", True),
    "gr-next": Series("Gr, evicted next", "gr", True, {"evict": "next"}),
    "gr-later": Series("Gr, evicted later", "gr", True, {"evict": "later"}),
}
OVERALL = tuple(name for name in SERIES if not name.startswith(("gr-next", "gr-later")))
"""What triangles show: the paper's seven, and ours."""
EVICTING = ("gr-next", "gr-later")
SCATTERED = ("slp", "gr-star", "closest-no-balance", "gr-no-latency")
"""What Fig. 10(b) shows."""
BY_ALPHA = ("slp", "gr", "gr-star", "best")
BY_PLACEMENT = ("slp", "gr-star", "gr", "closest-no-balance", "best")
HARD = ("gr-star", "slp", "best")

SKEWS = {
    "(IS:L, BI:L)": ("L", "L"),
    "(IS:H, BI:L)": ("H", "L"),
    "(IS:L, BI:H)": ("L", "H"),
    "(IS:H, BI:H)": ("H", "H"),
}
"""Workload set #1: interest skewness and broad interests."""
CLOSER_LOOK = "(IS:H, BI:H)"
"""The workload of Figs. 6, 10(b) to (d), 13, and of the knobs."""
LOADS_OF = "(IS:L, BI:H)"
"""The workload of Fig. 12(b)."""

SUBSCRIBERS, BROKERS, TREE_BROKERS, OUT_DEGREE = 100_000, 100, 200, 15
FEWEST_SUBSCRIBERS, FEWEST_BROKERS = 400, 8
"""No instance is made smaller than this."""

TIGHT, LOOSE, TIGHTER = "tight", "loose", "tight, our least factor"
TREES: Mapping[str, Mapping[str, float]] = {
    TIGHT: {"max_delay": 0.2, "lbf": 7.0, "lbf_max": 8.0},
    LOOSE: {"max_delay": 1.0, "lbf": 1.3, "lbf_max": 1.5},
}
LEAST_TIGHT = 6.0
"""The least factor of the paper's tight trees, to which 7 and 8 are set."""

ONE_LEVEL, TREE = "one level", "tree"
PLACEMENTS = ("like", "uniform", "publisher")


@dataclass(frozen=True)
class Course:
    """How many points and runs there are: at the paper's scale, or below.

    Attributes
    ----------
    runs
        Of algorithms with random choices, on workload sets #1 to #3.
    sizes
        Of Fig. 14, as shares of the subscribers of an instance.
    loads, clusters
        Multiples of the number of brokers: |S_b| of Fig. 15 and |Xi| of Figs. 16 and 17.
    hard
        Brokers and alpha of the difficult workload.
    best_effort
        How long ``best`` may search, as a multiple of what is usual.
    """

    runs: int
    alphas: tuple[int, ...]
    sizes: tuple[float, ...]
    loads: tuple[int, ...]
    clusters: tuple[int, ...]
    gammas: tuple[float, ...]
    hard: tuple[tuple[int, int], ...]
    hard_each: int
    best_effort: float


WHOLE = Course(
    runs=3,
    alphas=(1, 2, 3, 4, 5),
    sizes=(0.1, 0.3, 1.0, 3.0),
    loads=(1, 2, 5, 10),
    clusters=(1, 2, 5, 10),
    gammas=(0.1, 0.25, 0.5, 0.75, 1.0),
    hard=tuple((n, 3) for n in (3, 5, 10, 20, 50, 100)) + tuple((10, a) for a in (1, 2, 4, 5)),
    hard_each=100,
    best_effort=0.2,
)
FEW = Course(
    runs=1,
    alphas=(1, 3),
    sizes=(0.5, 1.0),
    loads=(2, 10),
    clusters=(1, 5),
    gammas=(0.1, 0.5, 1.0),
    hard=((3, 3), (6, 3), (6, 1)),
    hard_each=5,
    best_effort=0.2,
)

PAPER_TABLE_1 = {
    "(IS:L, BI:L)": {"fractional": 3.09e9, "slp": 7.12e9, "gr-star": 6.53e9, "gr": 9.50e9},
    "(IS:H, BI:L)": {"fractional": 1.2e9, "slp": 1.86e9, "gr-star": 1.53e9, "gr": 2.09e9},
    "(IS:L, BI:H)": {"fractional": 3.81e9, "slp": 8.48e9, "gr-star": 7.79e9, "gr": 1.05e10},
    "(IS:H, BI:H)": {"fractional": 1.29e9, "slp": 2.13e9, "gr-star": 2.39e9, "gr": 2.78e9},
}
PAPER_TABLE_2 = {
    "#2": {"fractional": 1.01e7, "slp": 1.37e7, "gr-star": 8.5e6, "gr-no-latency": 220.0},
    "#3": {"fractional": 2.48e10, "slp": 5.4e10, "gr-star": 5.3e10, "gr-no-latency": 5.09e10},
}
PAPER_TABLE_3 = {
    (1, 2): (1, 2, 4, 5, 7, 8),
    (1, 3): (3, 9),
    (2, 3): (6,),
    (1, 2, 3): (10, 11, 12),
}
"""Candidate brokers, and the interests that have them, all from 1."""
PAPER_OVER = {"#2": 39.0, "#3": 58.0}
"""How far Gr's largest load is beyond the maximum, in percent."""
PAPER_HOURS = "23 hours at 1M x 100 in one level, 4 hours at 1M x 200 in several"


def subscribers_at(scale: float) -> int:
    """Return the subscribers of an instance at a scale, the share of the paper's subscribers."""
    return max(FEWEST_SUBSCRIBERS, round(SUBSCRIBERS * scale))


def brokers_at(scale: float, brokers: int) -> int:
    """Return the brokers of an instance: fewer by the root of the scale, so that loads remain."""
    return max(FEWEST_BROKERS, round(brokers * math.sqrt(scale)))
