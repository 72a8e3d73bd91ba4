"""A workload's hash without its interests on the driver, and what is refused on the way."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fanwise as fw
from fanwise.distributed import fingerprint, inputs, partitions, subscribers
from fanwise.distributed.inputs import open_inputs
from fanwise.errors import WorkloadError
from fanwise.planning.problem import Run


def full_workload():
    """Every optional column, odd names, gaps of subscribers without interests, and of tau 0."""
    random = np.random.default_rng(2)
    num_topics, num_subscribers = 30, 90
    follows = random.random((num_subscribers, num_topics)) < 0.1
    follows[:4] = False
    follows[40:50] = False
    follows[-3:] = False
    subscriber, topic = np.nonzero(follows)
    return fw.TopicWorkload.from_arrays(
        random.lognormal(1, 1, num_topics),
        subscriber.astype(np.int32),
        topic.astype(np.int32),
        num_subscribers=num_subscribers,
        message_bytes=random.random(num_topics),
        topic_names=[f"tópico {i}" for i in range(num_topics)],
        subscriber_names=["", *(f"é{i}" * (i % 4 + 1) for i in range(1, num_subscribers))],
        period_seconds=0.1,
        cost=random.random(num_topics),
        tau=np.where(random.random(num_subscribers) < 0.2, 0.0, random.lognormal(2, 1, 90)),
        weight=random.random(num_subscribers),
        max_degree=random.integers(0, 9, num_subscribers),
        positions=random.random((num_subscribers, 3)),
    )


def bare_workload():
    return fw.TopicWorkload.from_arrays([3, 1, 2], [0, 0, 2, 4], [0, 2, 1, 2])


def empty_workload():
    return fw.TopicWorkload.from_arrays([], [], [])


def silent_workload():
    """Topics and subscribers, and no interest at all."""
    return fw.TopicWorkload.from_arrays([3.0, 1.0], [], [], num_subscribers=5)


def shuffle(folder, name, num_parts, random):
    """Write a table anew as part files with rows in no order."""
    file = folder / f"{name}.parquet"
    table = pq.read_table(file)
    table = table.take(pa.array(random.permutation(table.num_rows)))
    file.unlink()
    file.mkdir()
    starts = np.linspace(0, table.num_rows, num_parts + 1).astype(int)
    for part, (start, stop) in enumerate(itertools.pairwise(starts)):
        pq.write_table(table.slice(start, stop - start), file / f"part-{part}.parquet")


def taken(spark, folder, num_partitions, tau=5.0):
    with open_inputs(spark, folder, tau, Run(), num_partitions) as read:
        return read.fingerprint


@pytest.mark.spark
@pytest.mark.parametrize("make", [full_workload, bare_workload, empty_workload, silent_workload])
def test_it_equals_the_workloads_hash(spark, tmp_path, monkeypatch, make):
    workload = make()
    folder = tmp_path / "workload"
    fw.write_workload(workload, folder)
    assert taken(spark, folder, 2) == workload.hash == fw.read_workload(folder).hash
    random = np.random.default_rng(3)
    for name in ("topics", "subscribers", "interests"):
        shuffle(folder, name, 3, random)
    monkeypatch.setattr(subscribers, "ROWS_PER_PART", 25)
    monkeypatch.setattr(fingerprint, "AT_ONCE", 2)
    monkeypatch.setattr(partitions, "AT_ONCE", 2)
    tau = "column" if workload.tau is not None else 0.0  # some need nothing, or all
    assert taken(spark, folder, 5, tau) == workload.hash


@pytest.mark.spark
def test_it_sees_every_column(spark, tmp_path):
    workload = full_workload()
    fw.write_workload(workload, tmp_path / "before")
    for name, column in (("subscribers", "name"), ("subscribers", "weight"), ("topics", "bytes")):
        folder = tmp_path / column
        fw.write_workload(workload, folder)
        file = folder / f"{name}.parquet"
        table = pq.read_table(file)
        values = table.column(column).to_pylist()
        values[7] = values[7] + type(values[7])(1)
        place = table.column_names.index(column)
        table = table.set_column(place, column, pa.array(values, table.column(column).type))
        pq.write_table(table, file)
        changed = taken(spark, folder, 3)
        assert changed == fw.read_workload(folder).hash != workload.hash


def spoil(folder, name, change):
    file = folder / f"{name}.parquet"
    table = pq.read_table(file)
    columns = table.to_pydict()
    change(columns)
    pq.write_table(pa.table(columns, schema=table.schema), file)


def put(column, row, value):
    def change(columns):
        columns[column][row] = value

    return change


def repeat_a_pair(columns):
    for column in ("subscriber", "topic"):
        columns[column][0] = columns[column][1]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("interests", put("topic", 0, 30), "topic 30 is not in"),
        ("interests", put("topic", 0, None), "column 'topic' has an empty cell"),
        ("interests", put("subscriber", 0, 90), "subscriber 90 is not in"),
        ("interests", put("subscriber", 0, -1), "subscriber -1 is not in"),
        ("interests", put("subscriber", 0, None), "column 'subscriber' has an empty cell"),
        ("interests", repeat_a_pair, "stand more than once"),
        ("subscribers", put("subscriber", 3, 4), "ids must be dense"),
        ("subscribers", put("subscriber", 0, 90), "ids must be dense"),
        ("subscribers", put("weight", 3, -1.0), "column 'weight': must be >= 0, got -1.0"),
        ("subscribers", put("tau", 3, float("nan")), "column 'tau': must be finite"),
        ("subscribers", put("name", 3, None), "column 'name': is null"),
        ("topics", put("rate", 3, 0.0), "must be > 0"),
        ("topics", put("name", 3, "tópico 4"), "is there already"),
    ],
)
def test_broken_tables_are_refused(spark, tmp_path, name, change, told):
    folder = tmp_path / "workload"
    fw.write_workload(full_workload(), folder)
    spoil(folder, name, change)
    with pytest.raises(WorkloadError, match=told) as refused:
        taken(spark, folder, 3)
    assert f"{name}.parquet" in str(refused.value)


@pytest.mark.spark
@pytest.mark.parametrize("entry", ["topics", "subscribers", "pairs"])
def test_counts_must_agree(spark, tmp_path, entry):
    folder = tmp_path / "workload"
    fw.write_workload(full_workload(), folder)
    header = json.loads((folder / "workload.json").read_text())
    header[entry] += 1
    (folder / "workload.json").write_text(json.dumps(header))
    with pytest.raises(WorkloadError, match=f"{entry} = {header[entry]}, but"):
        taken(spark, folder, 3)


@pytest.mark.spark
def test_the_driver_never_reads_the_interests(spark, tmp_path, monkeypatch):
    """Only parts of a block travel: the largest piece on the driver is one of eight."""
    workload = full_workload()
    folder = tmp_path / "workload"
    fw.write_workload(workload, folder)
    sizes = []
    original = inputs.Blocks.interests

    def watch(self):
        for topics in original(self):
            sizes.append(len(topics))
            yield topics

    monkeypatch.setattr(inputs.Blocks, "interests", watch)
    assert taken(spark, folder, 8) == workload.hash
    assert sum(sizes) == workload.num_pairs
    assert max(sizes) < workload.num_pairs / 3
