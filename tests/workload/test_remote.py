"""Workloads and plans at addresses: an object store that can neither rename nor copy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.fs
import pytest
from tests.cli.conftest import run  # noqa: F401
from tests.workload.object_store import ObjectStore

import fanwise as fw
from fanwise.errors import InputError, OutputExistsError, WorkloadError
from fanwise.workload import remote

WORKLOAD = fw.TopicWorkload.from_arrays(
    [3.0, 1.0, 2.0, 5.0], [0, 0, 1, 2, 2], [0, 2, 1, 2, 3], num_subscribers=3
)


@pytest.fixture(scope="module")
def server():
    store = ObjectStore()
    yield store
    store.stop()


@pytest.fixture
def store(server, monkeypatch):
    """The store, empty, as the usual variables name it."""
    server.objects.clear()
    server.log.clear()
    server.failing = ""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return server


def keys(store, verb):
    return [key for done, key in store.log if done == verb]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3a://bucket/a/b", "s3a://bucket/a/b"),
        (Path("s3a://bucket/a/b/"), "s3a://bucket/a/b"),
        (Path("hdfs://name:9000/a"), "hdfs://name:9000/a"),
        (Path("hdfs:///a/b"), "hdfs:///a/b"),
        (
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
        ),
        ("file:///a", None),
        (Path("a/b"), None),
        ("C:/data", None),
        ("/a:b/c", None),
    ],
)
def test_addresses_are_told_from_paths(path, address):
    assert remote.address_of(path) == address


def test_a_workload_and_a_plan_there_and_back(store):
    fw.write_workload(WORKLOAD, "s3a://bucket/music")
    assert keys(store, "PUT")[-1] == "music/workload.json"
    assert fw.read_workload("s3a://bucket/music").hash == WORKLOAD.hash
    plan = fw.Selection(WORKLOAD, tau=2.0, capacity=3.0).solve("greedy")
    plan.save("s3://bucket/plans/first")
    assert keys(store, "PUT")[-1] == "plans/first/plan.json"
    found = fw.read_plan("s3://bucket/plans/first", WORKLOAD)
    found.verify()
    assert found.id == plan.id


def test_a_folder_that_changes_is_copied_again_and_otherwise_once(store):
    fw.write_workload(WORKLOAD, "s3://bucket/music")
    for _ in range(2):
        assert fw.read_workload("s3://bucket/music").hash == WORKLOAD.hash
    assert keys(store, "GET").count("music/topics.parquet") == 1
    other = fw.TopicWorkload.from_arrays([9.0], [0], [0])
    with pytest.raises(OutputExistsError, match="--overwrite"):
        fw.write_workload(other, "s3://bucket/music")
    store.log.clear()
    fw.write_workload(other, "s3://bucket/music", overwrite=True)
    # Nobody takes the folder for a workload while it is half of one and half of the other.
    changes = [entry for entry in store.log if entry[0] != "GET"]
    assert changes[0] == ("DELETE", "music/workload.json")
    assert changes[-1] == ("PUT", "music/workload.json")
    assert fw.read_workload("s3://bucket/music").hash == other.hash


def test_what_fails_half_way_leaves_nothing(store):
    store.failing = "subscribers"
    with pytest.raises(InputError, match="s3://bucket/music: cannot be written"):
        fw.write_workload(WORKLOAD, "s3://bucket/music")
    assert store.objects == {}


def test_only_what_is_ours_is_replaced(store):
    store.objects["music/diary.txt"] = b"mine"
    with pytest.raises(OutputExistsError, match="not a workload"):
        fw.write_workload(WORKLOAD, "s3://bucket/music", overwrite=True)
    fw.write_workload(WORKLOAD, "s3://bucket/other")
    store.objects["other/diary.txt"] = b"mine"
    with pytest.raises(OutputExistsError, match=r"diary\.txt"):
        fw.write_workload(WORKLOAD, "s3://bucket/other", overwrite=True)
    assert store.objects["music/diary.txt"] == store.objects["other/diary.txt"] == b"mine"


def test_what_is_not_there_is_said_with_its_address(store, run):  # noqa: F811
    with pytest.raises(WorkloadError, match="s3a://bucket/nothing: nothing is there"):
        fw.read_workload("s3a://bucket/nothing")
    fw.write_workload(WORKLOAD, "s3a://bucket/music")
    store.objects["music/topics.parquet"] = b"no parquet at all"
    done = run("select", "s3a://bucket/music", "--tau", "2", "--capacity", "50%",
               "--out", "s3a://bucket/plan")  # fmt: skip
    assert done.status == 2
    assert "s3a://bucket/music/topics.parquet: not readable as Parquet" in done.err


def test_commands_read_and_write_addresses(store, run):  # noqa: F811
    fw.write_workload(WORKLOAD, "s3a://bucket/music")
    question = ("--tau", "2", "--capacity", "50%", "--out", "s3a://bucket/plan", "--json")
    done = run("select", "s3a://bucket/music", *question)
    assert (done.status, json.loads(done.out)["feasible"]) == (0, True)
    done = run("select", "s3a://bucket/music", *question)
    assert done.status == 2
    assert "s3a://bucket/plan: exists already" in done.err
    assert run("verify", "s3a://bucket/music", "s3a://bucket/plan").status == 0
    done = run("select", "s3a://bucket/music", "--tau", "2", "--capacity", "50%",
               "--overwrite", "--out", "s3a://bucket/music")  # fmt: skip
    assert done.status == 2
    assert "what is read" in done.err


def test_stores_that_pyarrow_lacks_go_through_fsspec(monkeypatch, tmp_path):
    """A file system of another kind that cannot rename, in place of fsspec's."""

    class NoRename(pyarrow.fs.SubTreeFileSystem):
        def move(self, *names):
            raise OSError("cannot rename")

    system = NoRename(str(tmp_path), pyarrow.fs.LocalFileSystem())
    monkeypatch.setattr(remote, "open_place", lambda address: remote.Place(address, system, "box"))
    fw.write_workload(WORKLOAD, "odd://somewhere/box")
    assert fw.read_workload("odd://somewhere/box").hash == WORKLOAD.hash
    fw.write_workload(WORKLOAD, "odd://somewhere/box", overwrite=True)
    assert sorted(path.name for path in (tmp_path / "box").iterdir()) == [
        "interests.parquet", "subscribers.parquet", "topics.parquet", "workload.json",
    ]  # fmt: skip
