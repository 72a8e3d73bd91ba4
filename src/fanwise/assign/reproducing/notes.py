"""What was run on what, in paragraphs."""

from __future__ import annotations

from fanwise.assign.reproducing.settings import Course
from fanwise.wording import number

PAPER_RUNS = 5


def notes(scale: float, course: Course) -> list[str]:
    """Say what was run on what, and how the paper was read."""
    size = (
        "Sizes are the paper's."
        if scale >= 1
        else f"Instances have {100 * scale:.3g}% of the paper's subscribers and "
        f"{100 * scale**0.5:.3g}% of its brokers, at least a few hundred and eight; figures have "
        "fewer points."
    )
    runs = (
        f"SLP and best ran {course.runs} times on each workload of sets #1 to #3 instead of the "
        f"paper's {PAPER_RUNS}, which its time forbids here, and once elsewhere. "
        if 1 < course.runs < PAPER_RUNS
        else f"SLP and best ran {'once' if course.runs == 1 else f'{course.runs} times'} on each "
        "workload of sets #1 to #3, and once elsewhere. "
    )
    return [
        "All workloads are generated. The paper's generator for set #1 is not public, and it tells "
        "neither extents nor widths nor places: ours were fitted to the Gr* columns of Tables I "
        "and II, so that ratios between algorithms are what can be compared.",
        size,
        f"{runs}Other algorithms draw nothing. Gr takes subscribers in the order of their ids. "
        "best, ours, is not in the paper; it searched with an effort of "
        f"{number(course.best_effort)}. All numbers but seconds depend on the seed alone.",
        "Settings: filters of 3 rectangles, delay 0.3, load-balance factor 1.5 to 1.8 (#1), 2.3 to "
        "2.5 (#2), 1.3 to 1.5 (#3). Where no assignment at all holds such a factor the generator "
        "takes the least possible one, and the tables say which.",
        "Trees: 200 brokers at the paper's size, out-degree 15; tight is delay 0.2 with 7 to 8, "
        "loose is delay 1 with 1.3 to 1.5. The paper's tight trees allow no factor below about 6. "
        "Ours do, so that 7 and 8 say little about load; one workload is therefore there again "
        "with factors that stand to its own least one as the paper's do to 6.",
        "SLP is ours in one respect: where the paper's stops because its flow fails, filters are "
        "enlarged along the minimum cut, and the number of such repairs is kept. Its relaxations "
        "are limited in number and size; what the paper's lemmas ask for takes days.",
        "Closest, Closest-b and Balance define no filters: all three get the same fitting "
        "afterwards.",
        "The paper's figures are drawings without numbers: what is compared is its tables and the "
        "numbers and words of its text. Figs. 19 to 21 are on a page that our copy lacks. The "
        "difficult workload is drawn against brokers and against alpha without them.",
    ]
