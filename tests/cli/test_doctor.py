import pytest

from fanwise.planning import compilation
from fanwise.planning.families import FAMILIES


def test_doctor_finds_what_is_needed(run):
    done = run("doctor", "--json")
    assert done.status == 0
    found = {finding["name"]: finding for finding in done.json["findings"]}
    assert done.json["ok"] is True
    assert {"python", "numba", "pyspark", "java", "kernel cache"} <= set(found)


def test_doctor_compiles(run, monkeypatch):
    """One family; its algorithms are run by other tests as well."""
    monkeypatch.setattr(compilation, "FAMILIES", {"select": FAMILIES["select"]})
    done = run("doctor", "--compile", "--json")
    assert done.status == 0
    count = len(FAMILIES["select"].stages["algorithm"])
    assert 0 < count <= int(done.json["findings"][-1]["what"].split()[0])


@pytest.mark.soak
def test_doctor_compiles_everything(run):
    done = run("doctor", "--compile", "--json")
    assert done.status == 0
    assert "algorithms ready" in done.json["findings"][-1]["what"]


def test_doctor_says_what_is_missing_and_how_to_get_it(run, monkeypatch):
    monkeypatch.setattr("fanwise.cli.doctor.PACKAGES", (("no-such-package", "spark"),))
    done = run("doctor")
    assert done.status == 1
    assert "MISSING" in done.out
    assert "pip install 'fanwise[spark]'" in done.out


@pytest.mark.spark
def test_doctor_runs_spark(run, spark):
    done = run("doctor", "--spark", "--json")
    assert done.status == 0
    assert done.json["findings"][-1]["is_found"] is True
