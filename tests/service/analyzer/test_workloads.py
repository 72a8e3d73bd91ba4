"""Windows become the workloads that a plain count gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.service.analyzer.closed_windows import closed_window

from fanwise.service.analyzer.workloads import make_workload, traffic_of

NAMES = st.sampled_from(["a", "b", "ä", "Z", "", "😀", "a b", "#"])


@given(
    events=st.dictionaries(NAMES, st.integers(0, 5)),
    pairs=st.sets(st.tuples(NAMES, NAMES)),
    sizes=st.dictionaries(NAMES, st.floats(1, 1000)),
)
def test_any_window_gives_the_plain_workload(events, pairs, sizes):
    closed = closed_window(events, pairs, size=sizes)
    made = make_workload(traffic_of(closed), closed.pairs, closed.window, message_bytes=7.0)
    kept = {(who, topic) for who, topic in pairs if events.get(topic, 0) > 0}
    topics = sorted({topic for _, topic in kept})
    subscribers = sorted({who for who, _ in kept})
    assert made.topic_names.to_pylist() == topics
    assert made.subscriber_names.to_pylist() == subscribers
    assert made.rates.tolist() == [events[topic] for topic in topics]
    assert made.message_bytes.tolist() == [sizes.get(topic, 7.0) for topic in topics]
    indptr, indices = made.interests
    found = {
        (subscribers[row], topics[topic])
        for row in range(len(subscribers))
        for topic in indices[indptr[row] : indptr[row + 1]]
    }
    assert found == kept
    assert made.num_pairs == len(kept)
    assert made.period_seconds == 3600


def test_row_order_does_not_matter():
    pairs = [("u", "b"), ("v", "a"), ("u", "a"), ("w", "b")]
    rng = np.random.default_rng(0)
    hashes = set()
    for _ in range(5):
        rng.shuffle(pairs)
        closed = closed_window({"a": 1, "b": 2}, [tuple(pair) for pair in pairs])
        made = make_workload(traffic_of(closed), closed.pairs, closed.window, message_bytes=1.0)
        hashes.add(made.hash)
    assert len(hashes) == 1
