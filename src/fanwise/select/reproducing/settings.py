"""The settings of the paper's experiments, and the numbers it gives."""

from __future__ import annotations

from fanwise.select.problem import Metric

SOURCE = (
    "V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of "
    "satisfied subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014."
)
TAUS = (27, 87, 276, 874, 2763)
NAMED_TAUS = (27, 276, 2763)
"""Those that the paper gives numbers for."""
CAPACITY = "10%"
LAZY, SLOW = "ModifiedGreedyFB3M", "ModifiedGreedyFB3MSlow"
"""The paper's names for its fractional algorithm with and without laziness."""
REPEATS = 3
SLOW_SCALE = 0.05
"""Share of the paper's size up to which the Slow algorithm is run: its time grows with the square
of the size, and at all of it one run would take an hour."""
HOURS, FIRST_HOUR = 10, 12
HOUR_TAU = 20
HOUR_CAPACITIES = (1, 5, 10, 20, 30, 40, 50)

PAPER_RATIOS: dict[tuple[Metric, int], str] = {
    ("binary", 27): "0.87 (figure), 0.83 (text)",
    ("binary", 276): "0.75",
    ("binary", 2763): "0.82",
    ("fractional", 2763): "0.9",
}
PAPER_SECONDS = {LAZY: "< 20", SLOW: "<= 33"}
