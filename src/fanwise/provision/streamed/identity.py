"""The fingerprint of a plan whose allocation is on disk: that of the same plan in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.planning.families import PROVISION
from fanwise.planning.identity import add_column, plain, sort_rows


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
    head = {"problem": PROVISION.name, "algorithm": algorithm, "parameters": plain(parameters)}
    text = json.dumps(head, sort_keys=True, ensure_ascii=False, allow_nan=False)
    digest = hashlib.sha256(text.encode())
    digest.update(f"\nallocation {num_rows}".encode())
    for name in sorted(allocation):
        kind = np.dtype((kinds or {}).get(name, np.int32))
        digest.update(f"\n{name} {kind.str}".encode())
        for piece in allocation[name]:
            digest.update(np.ascontiguousarray(piece, dtype=kind).data)
    vms = sort_rows(vms, PROVISION.keys["vms"])
    digest.update(f"\nvms {vms.num_rows}".encode())
    for name in sorted(vms.column_names):
        digest.update(f"\n{name} ".encode())
        add_column(digest, vms.column(name))
    return digest.hexdigest()
