"""The settings of the paper's experiments, ours beside them, and what the paper says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

SOURCE = (
    "Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe "
    "overlays. IEEE SECON 2011."
)

RANDOM = "random"
PAPERS = ("packing", "clustering", "steiner-mixing")
"""From the worst to the best, by the paper."""
LABELS = {
    "random": "random",
    "packing": "greedy packing",
    "clustering": "clustering",
    "steiner-mixing": "Steiner-tree mixing",
    "migration": "migration",
    "best": "best (ours)",
}
YARDSTICK = PAPERS[0]
"""Runs on all networks, and what ran on some of them only is measured by it."""
DEEP = "best"

SIZES = tuple(range(1000, 10_001, 1000))
FEW_SIZES = (1000, 4000, 10_000)
SPARSE_SIZES = (200, 400, 600, 800, 1000)
FEW_SPARSE_SIZES = (400, 1000)
RATIOS = (0.1, 0.5, 0.9, 1.0, 2.0, 10.0, 100.0)
FEW_RATIOS = (0.1, 0.5, 1.0, 10.0)
SPARSE_RATIOS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
FEW_SPARSE_RATIOS = (0.1, 1.0, 10.0, 50.0)
AUDIENCES = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
FEW_AUDIENCES = (1.0, 3.0, 10.0)
RATIO_USERS, SPARSE_RATIO_USERS, AUDIENCE_USERS = 10_000, 400, 400
SPARSE_CORE = 50.0

FEWEST_USERS = 40
"""No instance is made smaller than this."""
INSTANCES: Mapping[str, int] = {"9": 100, "10": 25, "audience": 100}
"""Networks for each point of a figure; the paper has 100 for all of its own."""
MOST_INSTANCES: Mapping[str, int] = {"migration": 20, "best": 3}
"""What takes long runs on the first few of them only."""
FEWEST_INSTANCES: Mapping[str, int] = {"migration": 3, "best": 1}
BEST_EFFORT, FEW_BEST_EFFORT = 0.05, 0.01
"""Share of its usual work that ``best`` does for a wiring, at the paper's scale and below."""

PAPER_SECONDS = {
    "random": "0.9",
    "packing": "91.445",
    "clustering": "100.235",
    "steiner-mixing": "179.654",
}
"""Table I."""


@dataclass(frozen=True)
class Regime:
    """A kind of network.

    Attributes
    ----------
    name, words
        For panels, and for the page.
    make
        ``(users, seed) -> workload`` at the regime's own core-to-access ratio.
    core_ratio
        Mean cost of a link between brokers over that of an access link.
    sizes, ratios, few_sizes, few_ratios
        Users of Fig. 9 and ratios of Fig. 10, at the paper's scale and below.
    ratio_users
        Users of Fig. 10.
    """

    name: str
    words: str
    make: Callable[[int, int], ContentWorkload]
    core_ratio: float
    sizes: tuple[int, ...]
    ratios: tuple[float, ...]
    few_sizes: tuple[int, ...]
    few_ratios: tuple[float, ...]
    ratio_users: int


def make_quadratic(cost_law: str, users: int, seed: int) -> ContentWorkload:
    """Generate one of the paper's networks: 100 users for each broker, equal mean link costs."""
    return quadratic(users, cost_law=cost_law, seed=seed)


def make_sparse(users: int, seed: int, audience: float = 2.0) -> ContentWorkload:
    """Generate a network with few subscribers for each broker and channel."""
    return sparse(users, audience=audience, core_ratio=SPARSE_CORE, seed=seed)


def _papers(name: str, words: str, cost_law: str) -> Regime:
    return Regime(
        name=name,
        words=words,
        make=partial(make_quadratic, cost_law),
        core_ratio=1.0,
        sizes=SIZES,
        ratios=RATIOS,
        few_sizes=FEW_SIZES,
        few_ratios=FEW_RATIOS,
        ratio_users=RATIO_USERS,
    )


REGIMES: Mapping[str, Regime] = {
    regime.name: regime
    for regime in (
        _papers(
            "paper, distances",
            "the paper's networks, links cost their length in a square",
            "euclidean",
        ),
        _papers(
            "paper, independent costs",
            "the paper's networks, the cost of every link drawn on its own",
            "uniform",
        ),
        Regime(
            name="sparse",
            words="20 users for each broker, about two subscribers for each broker and channel, "
            "links cost their length, between brokers 50 times as much",
            make=make_sparse,
            core_ratio=SPARSE_CORE,
            sizes=SPARSE_SIZES,
            ratios=SPARSE_RATIOS,
            few_sizes=FEW_SPARSE_SIZES,
            few_ratios=FEW_SPARSE_RATIOS,
            ratio_users=SPARSE_RATIO_USERS,
        ),
    )
}
DENSE, SPARSE = "paper, distances", "sparse"


def users_at(scale: float, users: int) -> int:
    """Return the users of an instance at a scale.

    The scale is the share of the work. Half of its logarithm is saved on instances, the other half
    on the pairs of a user and a broker, which grow with the square of the users: a hundredth has a
    tenth of the instances, with a third of the users.
    """
    return min(users, max(FEWEST_USERS, round(users * math.sqrt(math.sqrt(scale)))))


def instances_at(scale: float, instances: int, fewest: int = 3) -> int:
    """Return how many networks an average is of."""
    return max(fewest, round(instances * math.sqrt(scale)))
