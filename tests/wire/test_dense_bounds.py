"""Bounds of networks with too many users for kernels without the compiler."""

from __future__ import annotations

from fanwise.planning.problem import Run
from fanwise.wire.bounds import bound_parts
from fanwise.wire.packing import pack
from fanwise.wire.problem import Wiring
from fanwise.wire.state import attachment_cost
from fanwise.workload.generators.quadratic import quadratic


def test_access_is_almost_all_of_a_dense_network():
    arrays = Wiring(quadratic(300, brokers=6, channels=8, seed=2)).arrays
    parts = bound_parts(arrays, Run())
    c1, c2 = attachment_cost(arrays, pack(arrays))
    assert 0.9 * c1 <= parts.access <= c1
    assert 0 < parts.core <= c2
    assert parts.access + parts.core <= parts.together <= c1 + c2
