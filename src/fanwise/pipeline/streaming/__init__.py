"""The steps of a build on streams: counts window by window, and who is subscribed now.

Made of the same checks and transforms as batches. What needs all rows at once, ids in the order of
names and totals on the driver, stays with the builders: use these inside ``foreachBatch``.
"""

from fanwise.pipeline.streaming.subscriptions import check_changes, latest_changes, open_pairs
from fanwise.pipeline.streaming.windows import windowed_counts, windowed_rates

__all__ = [
    "check_changes",
    "latest_changes",
    "open_pairs",
    "windowed_counts",
    "windowed_rates",
]
