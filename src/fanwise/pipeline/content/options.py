"""What shapes a content workload, checked before Spark takes its seconds to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from fanwise.errors import ParameterError
from fanwise.pipeline.content.cells import By, check_cells
from fanwise.pipeline.shared.options import MESSAGE_BYTES, check_message_bytes

CELLS = 256
LARGEST_COORDINATE = 1e150
"""So that products of two differences stay finite."""

Space = Sequence[tuple[float, float]]
_RESERVED = ("publisher", "timestamp", "bytes")


@dataclass(frozen=True)
class ContentOptions:
    """What shapes a content workload.

    Attributes
    ----------
    attributes
        Columns of the publications that are the axes of the event space, in this order.
    num_channels
        How many channels to cut the space into; None: none, and publishers are no users.
    channels_by, cells_by
        ``width``: equal volumes; ``depth``: equally many events.
    num_cells
        How many cells the density has, of which those with events are written.
    space
        Least and greatest value on each axis; None: from the least to the greatest of the events.
    publisher
        The point where events enter the network, for ``assign``.
    root
        The name of a position that is that point.
    message_bytes
        Mean size of messages where no event has one.
    """

    attributes: Sequence[str]
    num_channels: int | None = None
    channels_by: By = "width"
    num_cells: int = CELLS
    cells_by: By = "width"
    space: Space | None = None
    publisher: Sequence[float] | None = None
    root: str | None = None
    message_bytes: float = MESSAGE_BYTES

    def __post_init__(self) -> None:
        if isinstance(self.attributes, str):
            raise ParameterError("attributes", "a list of columns", self.attributes)
        names = [name.lower() for name in self.attributes]
        if not names or "" in names or len(set(names)) != len(names) or {*names} & {*_RESERVED}:
            wanted = f"different columns, none of them {', '.join(_RESERVED)}"
            raise ParameterError("attributes", wanted, ",".join(self.attributes))
        if self.num_channels is not None:
            check_cells(self.num_channels, self.channels_by, "channels")
        check_cells(self.num_cells, self.cells_by, "cells")
        if self.space is not None:
            if len(self.space) != len(names) or not all(lo < hi for lo, hi in self.space):
                wanted = "one pair lo:hi with lo < hi for each attribute"
                raise ParameterError("space", wanted, list(self.space))
            if not all(abs(end) <= LARGEST_COORDINATE for ends in self.space for end in ends):
                raise ParameterError("space", "made of finite numbers", list(self.space))
        if self.publisher is not None and self.root is not None:
            raise ParameterError("root", "left out with --publisher", self.root)
        if self.publisher is not None and not all(map(isfinite, self.publisher)):
            raise ParameterError("publisher", "made of finite numbers", list(self.publisher))
        check_message_bytes(self.message_bytes)
