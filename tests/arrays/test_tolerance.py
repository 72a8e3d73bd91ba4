import numpy as np
import pytest

from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import (
    RELATIVE_TOLERANCE,
    fits,
    is_enough,
    least_enough,
    most_within,
)

pytestmark = pytest.mark.kernels


def test_the_contract_states_this_tolerance():
    assert RELATIVE_TOLERANCE == 1e-9


def test_a_limit_is_passed_by_more_than_the_tolerance():
    limits = np.array([1.0, 1e12, 0.0])
    assert fits(limits * (1 + 0.9e-9), limits).all()
    assert fits(limits * (1 + 1.1e-9), limits).tolist() == [False, False, True]
    assert not fits(1e-300, 0.0)
    assert is_enough(limits * (1 - 0.9e-9), limits).all()
    assert is_enough(limits * (1 - 1.1e-9), limits).tolist() == [False, False, True]


def test_the_edges_themselves_are_within():
    for limit in (3.0, 0.1, 1e-9, 7e15):
        assert fits(most_within(limit), limit)
        assert is_enough(least_enough(limit), limit)
        assert not fits(np.nextafter(most_within(limit), np.inf), limit)
        assert not is_enough(np.nextafter(least_enough(limit), 0.0), limit)


@kernel
def look(amount, limit):
    return fits(amount, limit), is_enough(amount, limit), most_within(limit), least_enough(limit)


def test_kernels_see_the_same():
    for limit in (3.0, 0.1, 0.7):
        for amount in (limit, most_within(limit), least_enough(limit), limit * 1.1, limit / 1.1):
            expected = fits(amount, limit), is_enough(amount, limit)
            assert look(amount, limit) == (*expected, most_within(limit), least_enough(limit))
