from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import traffic_oracle

from fanwise.errors import WorkloadError
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.traffic import measure_traffic

pytestmark = pytest.mark.kernels

sides = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted).map(tuple)
rates = st.sampled_from([0.0, 0.0, 1.0, 0.1, 1e9, 1 / 3])


@st.composite
def markets(draw):
    dims = draw(st.integers(1, 2))
    boxes = st.lists(sides, min_size=dims, max_size=dims)
    users = draw(st.lists(st.none() | boxes, max_size=5))
    channels = draw(st.lists(boxes, max_size=4))
    rows = [[draw(rates) for _ in channels] for _ in users]
    return dims, users, channels, rows


def build(dims, users, channels, rows):
    def side(boxes, which):
        lists = [[np.nan] * dims if box is None else [pair[which] for pair in box] for box in boxes]
        return np.array(lists, dtype=np.float64).reshape(len(boxes), dims)

    published = [(i, c, rate) for i, row in enumerate(rows) for c, rate in enumerate(row) if rate]
    columns = list(zip(*published, strict=True)) or [[], [], []]
    return ContentWorkload.from_arrays(
        side(users, 0),
        side(users, 1),
        np.zeros((len(users), 1)),
        np.zeros((1, 1)),
        channels=(side(channels, 0), side(channels, 1)),
        rates=columns,
    )


@settings(max_examples=60)
@given(markets())
def test_traffic_is_that_of_the_definition(market):
    _, users, channels, rows = market
    found = measure_traffic(build(*market))
    wanted = [[traffic_oracle.wants(box, channel) for channel in channels] for box in users]
    lists = np.split(found.wanted.indices, found.wanted.indptr[1:-1]) if users else []
    assert [row.tolist() for row in lists] == [np.flatnonzero(row).tolist() for row in wanted]
    assert found.num_wanting.tolist() == [
        sum(row[c] for row in wanted) for c in range(len(channels))
    ]
    useful = traffic_oracle.useful(rows, wanted)
    kept = [useful[i][c] for i, row in enumerate(rows) for c, rate in enumerate(row) if rate]
    assert found.rate.tolist() == kept
    totals = [sum(row[c] for row in useful) for c in range(len(channels))]
    assert found.channel_rate.tolist() == pytest.approx(totals)
    assert found.outbound.tolist() == pytest.approx(traffic_oracle.outbound(rows, wanted))
    received = traffic_oracle.inbound(rows, wanted)
    slack = 1e-12 * (1 + sum(totals))  # a total less one's own rate is rounded
    assert found.inbound.tolist() == pytest.approx(received, abs=slack)
    assert found.demand.tolist() == (found.inbound + found.outbound).tolist()


def test_nobody_receives_its_own_messages():
    market = build(1, [[(0, 2)], [(2, 4)]], [[(0, 2)], [(2, 4)]], [[0.1, 0.3], [0.0, 0.7]])
    found = measure_traffic(market)
    assert found.rate.tolist() == [0.0, 0.3, 0.0]  # the first wants channel 0 alone
    assert found.inbound.tolist() == [0.0, 0.3]
    assert found.outbound.tolist() == [0.3, 0.0]


def test_a_missing_part_is_named():
    bare = ContentWorkload.from_arrays([[0.0]], [[1.0]], [[0.0]], [[0.0]])
    with pytest.raises(WorkloadError, match=r"channels\.parquet"):
        measure_traffic(bare)
