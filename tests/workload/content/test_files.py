from __future__ import annotations

import json
import shutil
from importlib.resources import files

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Instance, odd_names
from tests.workload.topic.test_files import refusal, rewrite, rewrite_json

import fanwise as fw
from fanwise.errors import OutputExistsError, WorkloadError
from fanwise.workload.content import ContentWorkload

NAN = float("nan")


def small(**changes) -> ContentWorkload:
    columns = {
        "lo": [[0.0, 0.0], [NAN, NAN], [2.0, 2.0]],
        "hi": [[1.0, 4.0], [NAN, NAN], [2.0, 3.0]],
        "positions": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
        "broker_positions": [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]],
        "subscriber_names": ["x", "ÿ", "z"],
        "broker_names": ["a", "b", "c"],
        "publisher": [0.0, 1.0, 2.0],
        "parent": [-1, 0, 0],
        "share": [NAN, 0.25, 0.75],
        "max_latency": [5.0, 6.0, 7.0],
        "capacity": [10.0, 20.0, 30.0],
        "candidates": ([2, 0, 0], [1, 2, 1]),
        "density": ([[5.0, 0.0], [0.0, 0.0]], [[9.0, 9.0], [5.0, 9.0]], [3.0, 0.0]),
        "channels": ([[0.0, 0.0], [3.0, 0.0]], [[3.0, 9.0], [9.0, 9.0]]),
        "rates": ([2, 0, 2], [1, 1, 0], [0.5, 2.0, 0.0]),
        "access_costs": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
        "broker_costs": [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]],
        "origin": {"generator": "test", "lbf": 1.5, "alpha": 3},
    }
    return ContentWorkload.from_arrays(**{**columns, **changes})


OPTIONAL = (
    "publisher", "parent", "share", "max_latency", "capacity", "candidates", "density",
    "channels", "rates", "access_costs", "broker_costs",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    fw.write_workload(small(), tmp_path / "w")
    return tmp_path / "w"


def test_round_trip(folder):
    before, after = small(), fw.read_workload(folder)
    assert isinstance(after, ContentWorkload)
    assert after.hash == before.hash
    assert after.subscriber_names.to_pylist() == ["x", "ÿ", "z"]
    assert after.wants_nothing.tolist() == [False, True, False]
    assert after.lo[1].tolist() == [np.inf, np.inf]
    assert after.share.tolist() == [0.0, 0.25, 0.75]
    assert after.leaves.tolist() == [1, 2]
    assert after.candidates.indptr.tolist() == [0, 2, 2, 3]
    assert after.candidates.indices.tolist() == [1, 2, 1]
    assert after.rates.rate.tolist() == [2.0, 0.0, 0.5]
    assert after.density.lo.tolist() == [[0.0, 0.0], [5.0, 0.0]]
    assert after.settings == {"lbf": 1.5, "alpha": 3}
    assert after.origin == {"generator": "test", "lbf": 1.5, "alpha": 3}
    assert "3 subscribers, 3 brokers" in repr(after)


def test_round_trip_without_optional_parts(tmp_path):
    bare = small(**dict.fromkeys(OPTIONAL))
    fw.write_workload(bare, tmp_path / "w")
    again = fw.read_workload(tmp_path / "w")
    assert again.hash == bare.hash
    assert all(getattr(again, name) is None for name in OPTIONAL)
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == [
        "brokers.parquet", "subscribers.parquet", "workload.json",
    ]  # fmt: skip
    for name in ("publisher", "parent", "share", "channels", "rates", "capacity"):
        with pytest.raises(WorkloadError, match=name):
            again.need(name)
    small().need("publisher", "parent", "share", "channels", "rates")


@settings(max_examples=25)
@given(st.data(), st.integers(1, 3), st.integers(0, 3))
def test_round_trip_of_odd_workloads(tmp_path_factory, data, d, t):
    m, n = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    lo = rng.integers(-5, 5, (m, d)).astype(float)
    hi = lo + rng.integers(0, 3, (m, d))
    lo[rng.random(m) < 0.2] = NAN
    hi[np.isnan(lo)] = NAN
    names = st.lists(odd_names, min_size=m, max_size=m, unique=True)
    parent = [data.draw(st.integers(-1, broker - 1)) for broker in range(n)]
    inner = np.isin(np.arange(n), parent)
    share = np.where(inner, NAN, 1 / (~inner).sum())
    workload = ContentWorkload.from_arrays(
        lo, hi, rng.random((m, t)), rng.random((n, t)), subscriber_names=data.draw(names),
        parent=parent, share=share, publisher=np.zeros(t),
        candidates=(np.arange(m), np.full(m, n - 1)),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("odd") / "w"
    fw.write_workload(workload, path)
    assert fw.read_workload(path).hash == workload.hash
    shutil.rmtree(path)


def test_hash_is_free_of_row_order_parts_types_and_compression(folder):
    expected = fw.read_workload(folder).hash
    for file in sorted(folder.glob("*.parquet")):
        table = pq.read_table(file)
        table = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
        file.unlink()
        file.mkdir()
        (file / "_SUCCESS").touch()
        pq.write_table(table.slice(0, 1), file / "part-00000.zstd.parquet", compression="zstd")
        pq.write_table(table.slice(1), file / "part-00001.parquet", compression="gzip")
    assert fw.read_workload(folder).hash == expected
    costs = pq.read_table(folder / "broker_costs.parquet")
    both = {
        "broker": costs["broker"].to_pylist() + costs["other"].to_pylist() + [0],
        "other": costs["other"].to_pylist() + costs["broker"].to_pylist() + [0],
        "cost": costs["cost"].to_pylist() * 2 + [0],
    }
    shutil.rmtree(folder / "broker_costs.parquet")
    pq.write_table(pa.table(both), folder / "broker_costs.parquet")
    assert fw.read_workload(folder).hash == expected


def test_hash_sees_every_part():
    seen = {small().hash}
    changes = [{name: None} for name in OPTIONAL if name != "channels"]
    changes += [
        {"channels": None, "rates": None},
        {"lo": [[0.5, 0.0], [NAN, NAN], [2.0, 2.0]]},
        {"hi": [[1.0, 4.5], [NAN, NAN], [2.0, 3.0]]},
        {"positions": np.zeros((3, 3))},
        {"broker_positions": np.zeros((3, 3))},
        {"subscriber_names": ["x", "y", "z"]},
        {"broker_names": ["a", "b", "d"]},
        {"rates": ([2, 0, 2], [1, 1, 0], [0.5, 2.0, 0.1])},
    ]
    for change in changes:
        seen.add(small(**change).hash)
    assert len(seen) == 1 + len(changes)
    assert small(origin={}).hash in seen


def test_arrays_refuse_writes(folder):
    workload = fw.read_workload(folder)
    for array in (workload.lo, workload.positions, workload.candidates.indices,
                  workload.density.rate, workload.broker_costs):  # fmt: skip
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        workload.lo = None


@pytest.mark.parametrize(
    ("table", "columns", "expected"),
    [
        ("subscribers", {"lo_0": [2.0, None, 2.0]},
         ("subscribers.parquet", "'lo_0'", "row 0", "<= hi_0", "2.0 and 1.0")),
        ("subscribers", {"lo_1": [None, None, 2.0]}, ("'lo_1'", "row 0", "null", "all sides")),
        ("subscribers", {"hi_1": [4.0, 1.0, 3.0]}, ("'lo_0'", "row 1", "null")),
        ("subscribers", {"hi_0": [1.0, None, NAN]}, ("'hi_0'", "row 2", "finite", "nan")),
        ("subscribers", {"hi_0": [1.0, None, float("inf")]}, ("'hi_0'", "row 2", "finite")),
        ("subscribers", {"hi_0": ["1", None, "2"]}, ("'hi_0'", "string", "float64")),
        ("subscribers", {"hi_1": None}, ("subscribers.parquet", "no column 'hi_1'")),
        ("subscribers", {"net_2": [0.0, NAN, 0.0]}, ("'net_2'", "row 1", "finite")),
        ("subscribers", {"net_2": None}, ("no column 'net_2'",)),
        ("subscribers", {"name": ["x", "x", "z"]}, ("'name'", "row 1", "unique")),
        ("subscribers", {"subscriber": [0, 1, 3]}, ("'subscriber'", "row 2", "dense")),
        ("subscribers", {"subscriber": [0, 1, 1]}, ("'subscriber'", "row 1", "once")),
        ("subscribers", {"max_latency": [1.0, -1.0, 1.0]}, ("'max_latency'", "row 1", ">= 0")),
        ("brokers", {"broker": [0, 2, 7]}, ("brokers.parquet", "'broker'", "row 2", "dense")),
        ("brokers", {"parent": [-1, 0, 3]}, ("'parent'", "row 2", "unknown broker", "got 3")),
        ("brokers", {"parent": [-1, 2, 1]}, ("'parent'", "its own ancestor", "-1")),
        ("brokers", {"parent": [-1, 1, 0]}, ("'parent'", "row 1", "its own ancestor")),
        ("brokers", {"parent": [None, 0, 0]}, ("'parent'", "row 0", "null", "-1")),
        ("brokers", {"parent": [-1.0, 0.0, 0.0]}, ("'parent'", "double", "int32")),
        ("brokers", {"parent": [-2, 0, 0]}, ("'parent'", "row 0", "got -2")),
        ("brokers", {"share": [None, 0.25, 0.5]}, ("'share'", "0.75", "not 1")),
        ("brokers", {"share": [None, 0.25, None]}, ("'share'", "row 2", "leaf")),
        ("brokers", {"share": [0.5, 0.25, 0.25]}, ("'share'", "row 0", "inner", "0.5")),
        ("brokers", {"share": [None, -0.5, 1.5]}, ("'share'", "row 1", "from 0 to 1")),
        ("brokers", {"share": [None, NAN, 1.0]}, ("'share'", "row 1", "finite")),
        ("brokers", {"capacity": [1.0, 2.0, -1.0]}, ("'capacity'", "row 2", ">= 0")),
        ("brokers", {"name": None}, ("no column 'name'",)),
        ("candidates", {"broker": [1, 5, 1]},
         ("candidates.parquet", "'broker'", "row 1", "unknown broker")),
        ("candidates", {"subscriber": [0, 3, 2]}, ("'subscriber'", "row 1", "unknown")),
        ("candidates", {"broker": [1, 1, 1]}, ("row 1", "duplicate", "subscriber 0, broker 1")),
        ("candidates", {"broker": [1, 2, 0]}, ("row 2", "broker 0 is an inner one")),
        ("density", {"lo_0": [0.0, 4.0]}, ("density.parquet", "row 1", "overlaps", "row 0")),
        ("density", {"hi_1": [9.0, 0.0]}, ("'lo_1'", "row 1", "< hi_1")),
        ("density", {"rate": [1.0, -1.0]}, ("'rate'", "row 1", ">= 0")),
        ("density", {"rate": [1.0, NAN]}, ("'rate'", "row 1", "finite")),
        ("density", {"rate": None}, ("no column 'rate'",)),
        ("channels", {"channel": [0, 2]}, ("channels.parquet", "'channel'", "row 1", "dense")),
        ("channels", {"lo_0": [0.0, 30.0]}, ("'lo_0'", "row 1", "<= hi_0")),
        ("rates", {"channel": [1, 2, 1]}, ("rates.parquet", "row 1", "unknown channel")),
        ("rates", {"subscriber": [9, 2, 2]}, ("'subscriber'", "row 0", "unknown")),
        ("rates", {"rate": [1.0, 2.0, -3.0]}, ("'rate'", "row 2", ">= 0")),
        ("rates", {"channel": [1, 1, 1], "subscriber": [0, 2, 2]}, ("row 2", "duplicate")),
        ("access_costs", {"cost": [-1.0] * 9}, ("access_costs.parquet", "row 0", ">= 0")),
        ("access_costs", {"broker": [0, 1, 2, 0, 1, 2, 0, 1, 9]}, ("row 8", "unknown broker")),
        ("broker_costs", {"cost": [1.0, 2.0, NAN]}, ("broker_costs.parquet", "row 2", "finite")),
        ("broker_costs", {"other": [1, 2, 3]}, ("row 2", "unknown other")),
        ("broker_costs", {"broker": [0, 1, 1], "other": [1, 0, 2]},
         ("row 0", "both directions")),
        ("broker_costs", {"broker": [0, 0, 1], "other": [1, 2, 1]}, ("row 2", "itself")),
        ("broker_costs", {"broker": [0, 0, 2], "other": [1, 2, 0], "cost": [1.0, 2.0, 2.0]},
         ("no row for brokers 1 and 2",)),
    ],
)  # fmt: skip
def test_bad_columns_are_named(folder, table, columns, expected):
    rewrite(folder / f"{table}.parquet", **columns)
    message = refusal(folder)
    for part in expected:
        assert part in message


def test_the_row_of_a_broker_is_named_when_rows_are_shuffled(folder):
    file = folder / "brokers.parquet"
    pq.write_table(pq.read_table(file).take(pa.array([2, 0, 1])), file)
    rewrite(file, share=[0.75, None, None])
    assert "row 2" in refusal(folder)  # broker 1, a leaf without a share


def test_a_tree_may_be_missing_until_it_is_needed(folder):
    rewrite(folder / "brokers.parquet", parent=None)
    workload = fw.read_workload(folder)
    assert workload.share.tolist() == [0.0, 0.25, 0.75]
    with pytest.raises(WorkloadError, match="no column 'parent'"):
        workload.need("share", "parent")


def test_incomplete_costs_are_named(folder):
    file = folder / "access_costs.parquet"
    pq.write_table(pq.read_table(file).take(pa.array([0, 1, 2, 3, 5, 6, 7, 8])), file)
    assert "no row for subscriber 1 and broker 1" in refusal(folder)


def test_density_without_cells_is_refused(folder):
    file = folder / "density.parquet"
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    assert "no cells" in refusal(folder)


def test_rates_need_channels(folder):
    (folder / "channels.parquet").unlink()
    assert "no channels.parquet" in refusal(folder)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"version": 2}, "newer"),
        ({"event_dims": 0}, "event_dims"),
        ({"event_dims": None}, "event_dims"),
        ({"network_dims": -1}, "network_dims"),
        ({"subscribers": 4}, "subscribers.parquet has 3 rows"),
        ({"brokers": 2}, "brokers.parquet has 3 rows"),
        ({"brokers": True}, "brokers"),
        ({"publisher": [0.0, 1.0]}, "list of 3 finite numbers"),
        ({"publisher": [0.0, 1.0, "2"]}, "publisher"),
        ({"publisher": 5}, "publisher"),
        ({"lbf_max": "high"}, "lbf_max"),
        ({"alpha": -1}, "alpha"),
    ],
)
def test_bad_headers_are_named(folder, entries, expected):
    rewrite_json(folder, **entries)
    message = refusal(folder)
    assert "workload.json" in message
    assert expected in message


def test_kinds_are_told_apart(folder, tmp_path):
    from fanwise.workload.content.files import read_content_workload
    from fanwise.workload.topic.files import read_workload as read_topic_workload

    with pytest.raises(WorkloadError, match=r"not a topic workload.*content workload for assign"):
        read_topic_workload(folder)
    fw.write_workload(Instance([1.0], [[0]], tau=1).workload(), tmp_path / "t")
    with pytest.raises(WorkloadError, match=r"not a content workload.*topic workload for select"):
        read_content_workload(tmp_path / "t")
    assert fw.read_workload(tmp_path / "t").num_topics == 1


def test_header_follows_its_schema(folder):
    schema = json.loads((files("fanwise") / "schemas" / "content.schema.json").read_text())
    header = json.loads((folder / "workload.json").read_text())
    jsonschema.validate(header, schema)
    for broken in ({"brokers": -1}, {"format": "fanwise.workload"}, {"event_dims": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**header, **broken}, schema)


def test_writes_are_whole_or_nothing(folder, tmp_path, monkeypatch):
    with pytest.raises(OutputExistsError, match="overwrite"):
        fw.write_workload(small(), folder)
    fw.write_workload(small(capacity=None), folder, overwrite=True)
    assert fw.read_workload(folder).capacity is None

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanwise.workload.content.files.content_header", fail)
    with pytest.raises(KeyboardInterrupt):
        fw.write_workload(small(), tmp_path / "deep" / "v")
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lo": [[2.0, 0.0], [NAN, NAN], [2.0, 2.0]]}, r"lo_0\[0\]: must be <= hi_0"),
        ({"lo": [[NAN, 0.0], [NAN, NAN], [2.0, 2.0]]}, r"lo\[0\].*finite"),
        ({"lo": [1.0, 2.0]}, "shape"),
        ({"hi": [[1.0, 2.0]]}, "shapes"),
        ({"positions": np.zeros((2, 3))}, r"\(3, 3\) is needed"),
        ({"positions": [[0, 0, 0], [0, NAN, 0], [0, 0, 0]]}, r"positions\[1\].*finite"),
        ({"publisher": [0.0]}, r"publisher: shape \(1,\)"),
        ({"parent": [-1, 2, 1]}, "ancestor"),
        ({"parent": [-1, 0]}, "2 entries for 3"),
        ({"share": [0.5, 0.5]}, "2 entries for 3"),
        ({"candidates": ([0], [1, 2])}, "same length"),
        ({"density": ([[0.0]], [[1.0]], [1.0])}, "1 dimensions where the event space has 2"),
        ({"channels": None}, "give channels as well"),
        ({"broker_costs": [[0, 1, 2], [1, 0, 3], [2, 4, 0]]}, "both directions"),
        ({"subscriber_names": ["a"]}, "1 names for 3"),
    ],
)
def test_from_arrays_checks_like_a_file(changes, message):
    with pytest.raises(WorkloadError, match=message) as caught:
        small(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hi": [[1.0, 1e200], [NAN, NAN], [2.0, 3.0]]}, r"hi\[0\]: must be within 1e\+30"),
        ({"positions": [[0.0, 0.0, 1e200]] * 3}, r"positions\[0\]: must be within"),
        ({"publisher": [0.0, 1e31, 0.0]}, r"publisher\[1\]: must be within"),
        ({"capacity": [1.0, 1e308, 1.0]}, r"capacity\[1\]: must be within"),
        ({"rates": ([2, 0, 2], [1, 1, 0], [0.5, 1e300, 0.0])}, r"rate\[1\]: must be within"),
    ],
    ids=str,
)
def test_numbers_that_would_overflow_are_refused_at_the_door(changes, reason):
    with pytest.raises(WorkloadError, match=reason):
        small(**changes)


def test_volumes_that_would_overflow_are_refused_at_the_door():
    sides = np.full((2, 6), 1e30)
    with pytest.raises(WorkloadError, match=r"span a volume of .*above 1e\+150"):
        ContentWorkload.from_arrays(-sides, sides, [[0.0]] * 2, [[0.0]])


def test_headers_with_wild_numbers_are_refused(folder):
    for entry, value in (("event_dims", 10**9), ("publisher", [0.0, 1e200, 0.0]), ("seed", 2**63)):
        before = (folder / "workload.json").read_text()
        rewrite_json(folder, **{entry: value})
        with pytest.raises(WorkloadError, match=entry):
            fw.read_workload(folder)
        (folder / "workload.json").write_text(before)
