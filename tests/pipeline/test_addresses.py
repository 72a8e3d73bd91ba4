"""Everything on Spark at addresses that are no paths of this machine: Hadoop's viewfs.

``viewfs://box/`` shows folders of this machine under names of its own, so whatever takes an address
for a path finds nothing there.
"""

from __future__ import annotations

import random

import pytest
from tests.oracles import ingest_oracle
from tests.pipeline import traces

import fanwise as fw
from fanwise.distributed import provision, select
from fanwise.errors import OutputExistsError, WorkloadError
from fanwise.pipeline import ingest, sample
from fanwise.pipeline.shared.store import Store
from fanwise.workload.topic.sampling import Request, sample_workload

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def box(spark, tmp_path_factory):
    """A folder, and the address under which Hadoop knows it."""
    folder = tmp_path_factory.mktemp("box")
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.box.link./data", f"file://{folder}")
    return folder, "viewfs://box/data"


@pytest.fixture(scope="module")
def music(box):
    """A workload that was ingested from an address to an address, and what it should be."""
    folder, address = box
    draw = random.Random(2)
    users = [f"u{number}" for number in range(25)]
    events = [{"topic": draw.choice(users), "timestamp": str(9000 + at)} for at in range(90)]
    follows = [
        {"subscriber": one, "topic": other} for one in users for other in draw.sample(users, 4)
    ]
    traces.write_csv(folder / "events.csv", events)
    traces.write_csv(folder / "follows.csv", follows)
    ingest(f"{address}/events.csv", f"{address}/follows.csv", f"{address}/music")
    return {**ingest_oracle.build(events, follows), "rows": (events, follows)}


def test_ingest(music, box):
    folder, address = box
    traces.check_folder(folder / "music", music["workload"])
    files = [f"{address}/{name}.csv" for name in ("events", "follows")]
    with pytest.raises(OutputExistsError, match="viewfs://box/data/music: exists already"):
        ingest(*files, f"{address}/music")
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_store_that_does_not_rename(spark, music, box, monkeypatch):
    """Windows move tables into their folders, and --overwrite moves what was there away."""
    folder, address = box

    monkeypatch.setattr(Store, "_rename", lambda self, path, to: False)
    files = [f"{address}/{name}.csv" for name in ("events", "follows")]
    ingest(*files, f"{address}/music", overwrite=True)
    traces.check_folder(folder / "music", music["workload"])
    assert not [path for path in folder.iterdir() if path.name.startswith(".music")]
    ingest(*files, f"{address}/windows", window="1m")
    expected = ingest_oracle.build(*music["rows"], window=60)
    for name, one in expected["windows"].items():
        traces.check_folder(folder / "windows" / name, one)


def test_a_sample(music, box):
    folder, address = box
    request = Request(12, seed=1)
    expected = sample_workload(fw.read_workload(folder / "music"), request)
    assert sample(f"{address}/music", request).hash == expected.hash


def test_engines(music, box, tmp_path):
    folder, address = box
    workload = fw.read_workload(folder / "music")
    plan = select.solve_on_spark(f"{address}/music", tau=5.0, capacity="40%", num_partitions=2)
    plan.verify(workload)
    asked = {"tau": 5.0, "instance": "c3.large"}
    found = provision.solve_on_spark(
        f"{address}/music", num_partitions=2, scratch=tmp_path, algorithm="gsp+cbp", **asked
    )
    assert found.id == fw.Provisioning(workload, **asked).solve("gsp+cbp").id


def test_nothing_there(spark, box):
    with pytest.raises(WorkloadError, match=r"viewfs://box/data/none: has no workload\.json"):
        select.solve_on_spark("viewfs://box/data/none", tau=1.0, capacity="10%")
