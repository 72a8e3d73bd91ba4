"""A flag that is raised in time, and seen by a kernel that is running."""

from __future__ import annotations

import time

import numpy as np
import pytest

from fanwise.arrays.deadlines import lowered_flag, raised_after
from fanwise.arrays.jit import kernel

pytestmark = pytest.mark.kernels


@kernel
def count_up(counted, is_late):
    while not is_late[0] and counted[0] < 1e15:
        counted[0] += 1.0


def test_a_running_kernel_sees_the_flag():
    count_up(np.zeros(1), np.ones(1, dtype=np.bool_))  # compiled
    counted = np.zeros(1)
    with raised_after(0.05) as flag:
        count_up(counted, flag)
        assert flag[0]
    assert 0 < counted[0] < 1e15


def test_a_flag_stays_down_once_the_block_has_ended():
    with raised_after(0.02) as flag:
        pass
    time.sleep(0.1)
    assert not flag[0]
    assert not lowered_flag()[0]


def test_there_may_be_any_amount_of_time():
    with raised_after(1e300) as flag:
        assert not flag[0]
