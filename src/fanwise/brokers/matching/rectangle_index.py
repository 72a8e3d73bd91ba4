"""An index of closed rectangles: which of them hold a point.

A rectangle holds what is between its sides and on them, as everywhere in content workloads; flat
ones and points hold themselves. One with a lower side above the upper one holds nothing.

Complexity
    With n rectangles in d dimensions and s slabs (at most 512) along each axis: a point takes O(d n
    / 4096) steps, one for every 64 neighbours of whom some may hold it, and one comparison for
    every rectangle with a side in the point's own slabs; so O(d n / 64) at worst, however large,
    flat, equal or many on top of each other rectangles are. Adding and removing take O(d s). Cuts
    are quantiles of the sides. When as many rectangles have come and gone as there were, all is
    laid out anew in O(d n log n); spread over those changes that is O(d log n) for each. Memory:
    n d s / 4 bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.brokers.matching.layout import lay_out
from fanwise.brokers.matching.slab_kernels import stab, stab_many, write_slot
from fanwise.errors import ParameterError

REST = 512
"""Changes between two layouts, at least."""


class RectangleIndex:
    """Rectangles under whole-numbered keys.

    Parameters
    ----------
    dims
        Axes of the space.

    Notes
    -----
    Answers are the same whatever the order in which rectangles came; in which order keys are
    listed depends on it, and on nothing else.
    """

    def __init__(self, dims: int) -> None:
        if dims < 1:
            raise ParameterError("dims", "a whole number >= 1", dims)
        self._dims = dims
        self._num_used = self._num_changes = 0
        self._lay_out(np.empty((dims, 0)), np.empty((dims, 0)), np.empty(0, np.int64))

    @classmethod
    def build(cls, keys: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> RectangleIndex:
        """Make an index of many at once; sides of the shape (rectangles, dimensions)."""
        low, high = (np.array(sides, dtype=np.float64, ndmin=2) for sides in (lo, hi))
        ids = np.array(keys, dtype=np.int64)
        if low.shape != high.shape or len(ids) != len(low):
            raise ParameterError(
                "lo", f"of the shape of hi, a row for each of {len(ids)} keys", low.shape
            )
        if np.isnan(low).any() or np.isnan(high).any():
            raise ParameterError("lo", "without NaN", "NaN")
        index = cls(low.shape[1])
        if len(np.unique(ids)) != len(ids):
            raise ParameterError("keys", "different from each other", "the same key twice")
        index._lay_out(low.T, high.T, ids)
        return index

    def __len__(self) -> int:
        return len(self._slot_of_key)

    def __contains__(self, key: int) -> bool:
        return key in self._slot_of_key

    def add(self, key: int, lo: npt.ArrayLike, hi: npt.ArrayLike) -> None:
        """Hold a rectangle; the key is not held yet."""
        if key in self._slot_of_key:
            raise ParameterError("key", "one that is not held yet", key)
        low, high = self._point(lo, "lo"), self._point(hi, "hi")
        if not self._free and self._num_used == len(self._slabs.key_of_slot):
            self._rebuild()
        slot = self._free.pop() if self._free else self._num_used
        self._num_used = max(self._num_used, slot + 1)
        slabs = self._slabs
        slabs.lo[:, slot], slabs.hi[:, slot], slabs.key_of_slot[slot] = low, high, key
        self._slot_of_key[key] = slot
        if (low <= high).all():
            write_slot(slabs, slot, True)
        self._count_change()

    def remove(self, key: int) -> None:
        """Hold a rectangle no more; KeyError if it is not held."""
        slot = self._slot_of_key.pop(key)
        slabs = self._slabs
        if (slabs.lo[:, slot] <= slabs.hi[:, slot]).all():
            write_slot(slabs, slot, False)
        slabs.lo[:, slot], slabs.hi[:, slot] = np.inf, -np.inf
        self._free.append(slot)
        self._count_change()

    def match(self, point: npt.ArrayLike) -> list[int]:
        """Return the keys of the rectangles that hold a point, each once."""
        found: list[int] = self.match_array(point).tolist()
        return found

    def match_array(self, point: npt.ArrayLike) -> LongArray:
        """Return what :meth:`match` does as an array that the next call overwrites."""
        place = np.asarray(point, dtype=np.float64)
        if place.shape != (self._dims,):
            raise ParameterError("point", f"{self._dims} numbers", point)
        return self._found[: stab(self._slabs, place, self._found)]

    def count_matches(self, points: npt.ArrayLike) -> LongArray:
        """Return how many rectangles hold each of many points."""
        places = np.ascontiguousarray(points, dtype=np.float64)
        return stab_many(self._slabs, places, self._found)

    def _point(self, values: npt.ArrayLike, name: str) -> FloatArray:
        found = np.asarray(values, dtype=np.float64)
        if found.shape != (self._dims,) or np.isnan(found).any():
            raise ParameterError(name, f"{self._dims} numbers", values)
        return found

    def _count_change(self) -> None:
        """Make cuts anew once they are those of rectangles of long ago."""
        self._num_changes += 1
        if self._num_changes > max(len(self._slot_of_key), REST):
            self._rebuild()

    def _rebuild(self) -> None:
        """Lay out anew, without gaps, in an order and with cuts that suit what is held now."""
        slots = np.fromiter(self._slot_of_key.values(), np.int64, len(self._slot_of_key))
        old = self._slabs
        self._lay_out(old.lo[:, slots], old.hi[:, slots], old.key_of_slot[slots])

    def _lay_out(self, lo: FloatArray, hi: FloatArray, keys: LongArray) -> None:
        self._slabs = lay_out(lo, hi, keys)
        self._slot_of_key = {
            key: slot for slot, key in enumerate(self._slabs.key_of_slot[: len(keys)].tolist())
        }
        self._free: list[int] = []
        self._num_used, self._num_changes = len(keys), 0
        self._found = np.empty(len(self._slabs.key_of_slot), dtype=np.int64)
