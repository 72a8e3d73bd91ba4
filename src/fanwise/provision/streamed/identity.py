"""The fingerprint of a plan whose allocation is on disk: that of the same plan in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import IntArray
from fanwise.planning.families import PROVISION
from fanwise.planning.identity import add_column, plain, sort_rows
from fanwise.provision.streamed.allocation import Layout, shelves


def streamed_plan_id(
    algorithm: str,
    parameters: Mapping[str, Any],
    layout: Layout,
    subscribers: Iterable[IntArray],
    vms: pa.Table,
) -> str:
    """Hash what :func:`fanwise.planning.identity.plan_id` would.

    ``subscribers`` are those of the allocation in the order of its rows, in pieces.
    """
    head = {"problem": PROVISION.name, "algorithm": algorithm, "parameters": plain(parameters)}
    text = json.dumps(head, sort_keys=True, ensure_ascii=False, allow_nan=False)
    digest = hashlib.sha256(text.encode())
    digest.update(f"\nallocation {layout.num_rows}".encode())
    pieces = shelves(layout.num_rows)
    columns: tuple[tuple[str, Iterable[IntArray]], ...] = (
        ("subscriber", subscribers),
        ("topic", (layout.spread(layout.topic, *piece) for piece in pieces)),
        ("vm", (layout.spread(layout.vm, *piece) for piece in pieces)),
    )
    for name, values in columns:
        digest.update(f"\n{name} {np.dtype(np.int32).str}".encode())
        for piece in values:
            digest.update(np.ascontiguousarray(piece).data)
    vms = sort_rows(vms, PROVISION.keys["vms"])
    digest.update(f"\nvms {vms.num_rows}".encode())
    for name in sorted(vms.column_names):
        digest.update(f"\n{name} ".encode())
        add_column(digest, vms.column(name))
    return digest.hexdigest()
