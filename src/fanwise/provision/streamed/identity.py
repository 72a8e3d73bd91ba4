"""The fingerprint of a plan whose allocation is on disk: that of the same plan in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.planning.identity import add_table, begin_digest
from fanwise.provision.description import DESCRIPTION


def hash_plan(
    algorithm: str,
    parameters: Mapping[str, Any],
    num_rows: int,
    allocation: Mapping[str, Iterable[npt.NDArray[Any]]],
    vms: pa.Table,
    kinds: Mapping[str, npt.DTypeLike] | None = None,
) -> str:
    """Hash what :func:`fanwise.planning.identity.plan_id` would.

    Parameters
    ----------
    num_rows, allocation
        Of the allocation; its columns sorted by machine, topic and subscriber, in pieces.
    kinds
        Types of its columns where they are not int32.
    """
    digest = begin_digest(DESCRIPTION.name, algorithm, parameters)
    digest.update(f"\nallocation {num_rows}".encode())
    for name in sorted(allocation):
        kind = np.dtype((kinds or {}).get(name, np.int32))
        digest.update(f"\n{name} {kind.str}".encode())
        for piece in allocation[name]:
            digest.update(np.ascontiguousarray(piece, dtype=kind).data)
    add_table(digest, "vms", vms, DESCRIPTION.keys["vms"])
    return str(digest.hexdigest())
