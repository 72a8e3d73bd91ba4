import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import instances, odd_names, odd_rates

import fanwise as fw
from fanwise.errors import FanwiseError, OutputExistsError, ParameterError, WorkloadError
from fanwise.workload.topic import TopicWorkload


def small() -> TopicWorkload:
    return TopicWorkload.from_arrays(
        [3.0, 5.0, 8.0],
        [2, 0, 0, 1],
        [2, 1, 0, 2],
        topic_names=["a", "b", "ç"],
        subscriber_names=["x", "y", "z"],
        tau=[1.0, 2.0, 3.0],
        cost=[1.0, 1.0, 2.0],
        weight=[1.0, 0.0, 2.5],
        max_degree=[3, 4, 5],
        positions=[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        origin={"generator": "test"},
    )


@pytest.fixture
def folder(tmp_path):
    fw.write_workload(small(), tmp_path / "w")
    return tmp_path / "w"


def rewrite(path, **columns):
    """Replace columns of a Parquet file; None removes one."""
    table = pq.read_table(path)
    for name, values in columns.items():
        if name in table.column_names:
            index = table.column_names.index(name)
            table = table.remove_column(index)
            if values is not None:
                table = table.add_column(index, name, pa.array(values))
        elif values is not None:
            table = table.append_column(name, pa.array(values))
    pq.write_table(table, path)


def rewrite_json(folder, **entries):
    file = folder / "workload.json"
    header = json.loads(file.read_text())
    header.update(entries)
    file.write_text(json.dumps(header))


def refusal(folder):
    with pytest.raises(WorkloadError) as caught:
        fw.read_workload(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_round_trip(folder):
    before, after = small(), fw.read_workload(folder)
    assert after.hash == before.hash
    assert after.origin == {"generator": "test"}
    assert after.topic_names.to_pylist() == ["a", "b", "ç"]
    assert after.positions.tolist() == before.positions.tolist()
    assert after.max_degree.tolist() == [3, 4, 5]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(instances(rates=odd_rates, with_cost=True, with_weight=True), st.data())
def test_round_trip_of_odd_workloads(tmp_path_factory, instance, data):
    def unique(count):
        return data.draw(st.lists(odd_names, min_size=count, max_size=count, unique=True))

    workload = instance.workload(
        topic_names=unique(len(instance.rates)), subscriber_names=unique(len(instance.interests))
    )
    path = tmp_path_factory.mktemp("odd") / "w"
    fw.write_workload(workload, path)
    again = fw.read_workload(path)
    assert again.hash == workload.hash
    assert again.topic_names.to_pylist() == workload.topic_names.to_pylist()
    shutil.rmtree(path)


def test_hash_is_free_of_row_order_parts_types_and_compression(folder):
    expected = fw.read_workload(folder).hash
    for name in ("topics", "subscribers", "interests"):
        file = folder / f"{name}.parquet"
        table = pq.read_table(file)
        table = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
        file.unlink()
        file.mkdir()
        (file / "_SUCCESS").touch()
        pq.write_table(table.slice(0, 2), file / "part-00000.zstd.parquet", compression="zstd")
        pq.write_table(table.slice(2), file / "part-00001.parquet", compression="gzip")
    assert fw.read_workload(folder).hash == expected


def test_hash_sees_every_array():
    base = small()
    seen = {base.hash}
    for change in (
        {"rates": np.array([3.0, 5.0, 9.0])},
        {"message_bytes": np.array([200.0, 200.0, 201.0])},
        {"cost": None},
        {"tau": np.array([1.0, 2.0, 4.0])},
        {"weight": None},
        {"max_degree": np.array([3, 4, 6], dtype=np.int32)},
        {"positions": None},
        {"period_seconds": 60.0},
        {"topic_names": pa.array(["a", "b", "c"])},
        {"subscriber_names": pa.array(["xy", "", "z"])},
    ):
        columns = {name: getattr(base, name) for name in base.__dataclass_fields__}
        seen.add(TopicWorkload(**{**columns, **change}).hash)
    assert len(seen) == 11


def test_arrays_refuse_writes(folder):
    workload = fw.read_workload(folder)
    for array in (workload.rates, workload.interests.indices, workload.followers.indices,
                  workload.tau, workload.received):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        workload.rates = None


def test_transpose_is_lazy(folder):
    workload = fw.read_workload(folder)
    assert "followers" not in vars(workload)
    assert workload.num_followers.tolist() == [1, 1, 2]
    assert "followers" in vars(workload)


def test_demand_is_capped_by_what_there_is():
    workload = small()
    assert workload.demand(6).tolist() == [6.0, 6.0, 6.0]
    assert workload.demand(100).tolist() == [8.0, 8.0, 8.0]
    assert workload.demand("column").tolist() == [1.0, 2.0, 3.0]
    for bad in (-1.0, float("nan"), float("inf"), "col"):
        with pytest.raises(ParameterError):
            workload.demand(bad)


@pytest.mark.parametrize(
    ("table", "columns", "expected"),
    [
        ("topics", {"rate": [1.0, float("nan"), 2.0]},
         ("topics.parquet", "'rate'", "row 1", "finite")),
        ("topics", {"rate": [1.0, 2.0, float("inf")]}, ("'rate'", "row 2", "finite")),
        ("topics", {"rate": [-1.0, 2.0, 3.0]}, ("'rate'", "row 0", "> 0", "-1.0")),
        ("topics", {"rate": [1.0, 0.0, 3.0]}, ("'rate'", "row 1", "> 0")),
        ("topics", {"rate": [1.0, None, 3.0]}, ("'rate'", "row 1", "null")),
        ("topics", {"rate": ["1", "2", "3"]}, ("'rate'", "string", "float64")),
        ("topics", {"rate": None}, ("topics.parquet", "no column 'rate'", "'name'")),
        ("topics", {"bytes": [1.0, -2.0, 3.0]}, ("'bytes'", "row 1", ">= 0")),
        ("topics", {"cost": [1.0, 2.0, -3.0]}, ("'cost'", "row 2", ">= 0")),
        ("topics", {"name": ["a", "b", "a"]}, ("'name'", "row 2", "'a'", "unique")),
        ("topics", {"name": [1, 2, 3]}, ("'name'", "int64", "string")),
        ("topics", {"topic": [0, 1, 3]}, ("'topic'", "row 2", "dense")),
        ("topics", {"topic": [0, 1, 1]}, ("'topic'", "row 1", "once")),
        ("topics", {"topic": [0.0, 1.0, 2.0]}, ("'topic'", "double", "int32")),
        ("topics", {"topic": [0, 1, 2**40]}, ("'topic'", "row 2", "int32")),
        ("subscribers", {"tau": [1.0, -1.0, 1.0]}, ("subscribers.parquet", "'tau'", "row 1")),
        ("subscribers", {"weight": [1.0, 1.0, float("nan")]}, ("'weight'", "row 2")),
        ("subscribers", {"max_degree": [1, -1, 2]}, ("'max_degree'", "row 1")),
        ("subscribers", {"net_1": None, "net_3": [0.0, 0.0, 0.0]}, ("net_0, net_1",)),
        ("subscribers", {"subscriber": ["0", "1", "2"]}, ("'subscriber'", "string")),
        ("interests", {"topic": [2, 1, 0, 7]},
         ("interests.parquet", "'topic'", "row 3", "unknown")),
        ("interests", {"subscriber": np.array([2, -1, 0, 1], dtype=np.int32)},
         ("'subscriber'", "row 1", "unknown")),
        ("interests", {"subscriber": [0, 0, 0, 1], "topic": [1, 0, 1, 1]},
         ("interests.parquet", "row 2", "duplicate")),
    ],
)  # fmt: skip
def test_bad_columns_are_named(folder, table, columns, expected):
    rewrite(folder / f"{table}.parquet", **columns)
    message = refusal(folder)
    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"format": "something"}, "not a topic workload"),
        ({"version": 2}, "newer"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"period_seconds": 0}, "period_seconds"),
        ({"period_seconds": "1h"}, "period_seconds"),
        ({"topics": 4}, "topics.parquet has 3 rows"),
        ({"pairs": None}, "pairs"),
        ({"subscribers": -1}, "subscribers"),
    ],
)
def test_bad_headers_are_named(folder, entries, expected):
    rewrite_json(folder, **entries)
    message = refusal(folder)
    assert "workload.json" in message
    assert expected in message


def test_a_bad_row_of_a_part_file_is_named_by_part_and_row(folder):
    file = folder / "topics.parquet"
    table = pq.read_table(file)
    file.unlink()
    file.mkdir()
    pq.write_table(table.slice(0, 2), file / "part-0.parquet")
    pq.write_table(table.slice(2), file / "part-1.parquet")
    rewrite(file / "part-1.parquet", rate=[-4.0])
    message = refusal(folder)
    assert "part-1.parquet" in message
    assert "row 0" in message


def test_part_files_that_disagree_are_refused(folder):
    file = folder / "topics.parquet"
    table = pq.read_table(file)
    file.unlink()
    file.mkdir()
    pq.write_table(table.slice(0, 2), file / "part-0.parquet")
    pq.write_table(table.slice(2), file / "part-1.parquet")
    rewrite(file / "part-1.parquet", rate=["4"])
    assert "do not agree" in refusal(folder)


def test_truncated_parquet_is_refused(folder):
    file = folder / "interests.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    message = refusal(folder)
    assert "interests.parquet" in message
    assert "cut or damaged" in message


@pytest.mark.parametrize("missing", ["workload.json", "topics.parquet", "interests.parquet"])
def test_missing_files_are_named(folder, missing):
    (folder / missing).unlink()
    assert missing in refusal(folder)


def test_not_a_workload(tmp_path):
    assert "no such folder" in refusal(tmp_path / "nothing")
    (tmp_path / "workload.json").write_text("{")
    assert "JSON" in refusal(tmp_path)
    (tmp_path / "workload.json").write_text("[]")
    assert "object" in refusal(tmp_path)
    (tmp_path / "topics.parquet").mkdir()


def test_a_folder_without_parts_is_refused(folder):
    (folder / "topics.parquet").unlink()
    (folder / "topics.parquet").mkdir()
    assert "without part files" in refusal(folder)


def test_wider_integers_and_extra_columns_are_taken(folder):
    expected = fw.read_workload(folder).hash
    rewrite(folder / "interests.parquet", subscriber=np.array([0, 0, 1, 2]),
            topic=np.array([0, 1, 2, 2]), extra=[1, 2, 3, 4])  # fmt: skip
    assert fw.read_workload(folder).hash == expected


def test_an_existing_folder_is_kept_unless_asked(folder):
    with pytest.raises(OutputExistsError, match="overwrite"):
        fw.write_workload(small(), folder)
    other = TopicWorkload.from_arrays([1.0], [0], [0])
    fw.write_workload(other, folder, overwrite=True)
    assert fw.read_workload(folder).hash == other.hash
    assert [path.name for path in folder.parent.iterdir()] == ["w"]


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanwise.workload.topic.files.write_header", fail)
    with pytest.raises(KeyboardInterrupt):
        fw.write_workload(small(), tmp_path / "deep" / "w")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    dead = tmp_path / ".w.fanwise-999999999-abc"
    alive = tmp_path / ".w.fanwise-1-abc"
    for folder in (dead, alive):
        folder.mkdir()
    fw.write_workload(small(), tmp_path / "w")
    assert not dead.exists()
    assert alive.exists()


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FanwiseError) as caught:
        fw.write_workload(small(), tmp_path / "file" / "w")
    assert "\n" not in str(caught.value)


def test_from_arrays_checks_like_a_file():
    with pytest.raises(WorkloadError, match=r"rate\[1\]"):
        TopicWorkload.from_arrays([1.0, 0.0], [0], [0])
    with pytest.raises(WorkloadError, match="same length"):
        TopicWorkload.from_arrays([1.0], [0, 1], [0])
    with pytest.raises(WorkloadError, match="unknown topic"):
        TopicWorkload.from_arrays([1.0], [0], [1])
    with pytest.raises(WorkloadError, match="2 names for 1"):
        TopicWorkload.from_arrays([1.0], [0], [0], topic_names=["a", "b"])
    with pytest.raises(ParameterError, match="period_seconds"):
        TopicWorkload.from_arrays([1.0], [0], [0], period_seconds=0)
    empty = TopicWorkload.from_arrays([], [], [])
    assert (empty.num_topics, empty.num_subscribers, empty.num_pairs) == (0, 0, 0)


def test_file_addresses_are_read(folder):
    assert fw.read_workload(folder.as_uri()).hash == fw.read_workload(folder).hash


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"rates": [1e308, 1.0]}, r"rates\[0\]: must be within 1e\+30"),
        ({"rates": [1.0, 1e-31]}, r"rate\[1\]: must be at least 1e-30"),
        ({"message_bytes": 1e200}, r"message_bytes\[0\]: must be within"),
        ({"cost": [1.0, 1e31]}, r"cost\[1\]: must be within"),
        ({"tau": [1e300]}, r"tau\[0\]: must be within"),
        ({"period_seconds": 1e300}, "period_seconds must be"),
    ],
    ids=str,
)
def test_numbers_that_would_overflow_are_refused_at_the_door(columns, reason):
    rates = columns.pop("rates", [1.0, 2.0])
    with pytest.raises(WorkloadError, match=reason):
        TopicWorkload.from_arrays(rates, [0, 0], [0, 1], **columns)


def test_a_header_with_numbers_beyond_64_bits_is_refused(tmp_path):
    fw.write_workload(TopicWorkload.from_arrays([1.0], [0], [0]), tmp_path / "w")
    file = tmp_path / "w" / "workload.json"
    for value in ("1" + "0" * 400, "NaN", "1e999"):
        file.write_text(file.read_text().replace('"version": 1', f'"version": 1, "seed": {value}'))
        with pytest.raises(WorkloadError, match=r"workload.json: seed must be"):
            fw.read_workload(tmp_path / "w")
        file.write_text(file.read_text().replace(f', "seed": {value}', ""))
