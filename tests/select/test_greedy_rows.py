"""The rows and the queue of the exact greedy, forced into every corner on small instances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.select.benefits import benefit_kernels, bucket_kernels
from fanwise.select.benefits.queue_kernels import entry_key, entry_topic, pack_entry
from fanwise.select.greedy import greedy_binary, share_scale
from fanwise.select.greedy_naive import order_binary

pytestmark = pytest.mark.kernels


def pose(instance, capacity):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity=capacity)


@settings(max_examples=75)
@given(
    instances(with_cost=True, with_weight=True, max_topics=9, max_subscribers=12),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([0.1, 0.6, 0.99]),
    st.sampled_from([5.0, 40.0, 1e9]),
)
def test_the_order_is_the_oracles_whoever_is_heavy(instance, heavy_degree, level, capacity):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benefit_kernels, "HEAVY_DEGREE", heavy_degree)
        patch.setattr(benefit_kernels, "LEVEL", level)
        order = greedy_binary(pose(instance, capacity)).order.tolist()
    assert order == select_oracle.greedy(
        instance.rates,
        instance.interests,
        instance.tau,
        capacity * (1 + 1e-9),
        cost=instance.cost,
        weight=instance.weight,
    )


@pytest.mark.parametrize("heavy_degree", [1, 4, 16])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_goes_on_from_what_is_served(monkeypatch, heavy_degree, seed):
    monkeypatch.setattr(benefit_kernels, "HEAVY_DEGREE", heavy_degree)
    rng = np.random.default_rng(seed)
    rates = np.ceil(rng.pareto(1.1, 60) * 4 + 1)
    sizes = np.minimum(rng.zipf(1.6, 80), 40)
    interests = [sorted(rng.choice(60, size, replace=False).tolist()) for size in sizes]
    problem = pose(Instance(rates.tolist(), interests, tau=50.0), "60%")
    whole = greedy_binary(problem)
    assert whole.order.tolist() == order_binary(problem).tolist()
    for cut in (0, 1, len(whole.order) // 2, len(whole.order)):
        served = np.zeros(60, dtype=bool)
        served[whole.order[:cut]] = True
        rest = greedy_binary(problem, served)
        assert rest.order.tolist() == whole.order[cut:].tolist()
        assert rest.used.tolist() == pytest.approx(whole.used[cut:].tolist())
        assert rest.total + problem.value(served) == pytest.approx(whole.total)


def test_subscribers_with_one_topic_left_may_stay_unsatisfied():
    # Topic 1 is served before the run; what it leaves is more than topic 0 has.
    instance = Instance([1.0, 2.0, 4.0], [[0, 1, 2], [0], [2]], tau=7.0)
    problem = pose(instance, 6.0)
    trajectory = greedy_binary(problem, np.array([False, True, False]))
    assert trajectory.order.tolist() == [0]
    assert trajectory.value.tolist() == [1.0]


def reference_take(entries, keys):
    """The largest entry that counts, by looking at all."""
    counting = [e for e in entries if entry_key(e) == keys[entry_topic(e)]]
    return max(counting, default=np.uint64(0))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 400)), max_size=80))
def test_the_queue_gives_the_largest_entry_that_counts(changes):
    # Every change gives a topic a new key; every third one also takes the largest entry.
    keys = np.full(6, -1.0, dtype=np.float32)
    queue = bucket_kernels.empty_queue(6)
    floor, size, waiting = bucket_kernels.NUM_BUCKETS, 0, 0
    everything = []
    for step, (topic, key) in enumerate(changes):
        keys[topic] = np.float32(key / 7)
        entry = np.uint64(pack_entry(keys[topic], topic))
        everything.append(entry)
        size, waiting = bucket_kernels.free_entries(queue, size, waiting, keys, 1)
        assert max(size, waiting) < len(queue.heap)
        if bucket_kernels.bucket_of(entry) >= floor:
            bucket_kernels.lift_entry(queue.heap, size, entry)
            size += 1
        else:
            bucket_kernels.wait_entry(queue.waiting, queue.link, queue.first, waiting, entry)
            waiting += 1
        if step % 3 == 0:
            expected = reference_take(everything, keys)
            taken = np.uint64(0)
            while taken != expected:
                if size == 0:
                    floor, size = bucket_kernels.lower_floor(
                        queue.heap, queue.waiting, queue.link, queue.first, keys, floor, 0
                    )
                assert size > 0
                taken = queue.heap[0]
                size -= 1
                benefit_kernels.drop_first(queue.heap, size)
                assert taken >= expected
            keys[entry_topic(taken)] = -1.0


def test_the_scale_of_shares_leaves_room_for_their_sum():
    many = 2**18
    interests = [[0]] * many
    problem = fw.Selection(Instance([1.0], interests, tau=1.0).workload(), tau=1, capacity=1)
    assert share_scale(problem) == 2.0**43
    few = fw.Selection(Instance([1.0], [[0]], tau=1.0).workload(), tau=1, capacity=1)
    assert share_scale(few) == 2.0**44
