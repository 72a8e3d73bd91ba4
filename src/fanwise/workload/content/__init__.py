"""Content workloads: subscribers with rectangles of an event space, brokers, and a network."""

from fanwise.workload.content.model import (
    SETTINGS,
    Cells,
    Channels,
    ContentWorkload,
    PublishRates,
)

__all__ = ["SETTINGS", "Cells", "Channels", "ContentWorkload", "PublishRates"]
