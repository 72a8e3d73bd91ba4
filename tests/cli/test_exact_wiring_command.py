from __future__ import annotations

import pytest
from tests.cli.conftest import is_one_line


@pytest.fixture
def network(run, tmp_path):
    def make(*options):
        done = run("generate", "sparse", "--channels", 8, *options, "--out", tmp_path / "w")
        assert done.status == 0
        return tmp_path / "w"

    return make


def test_a_small_network_is_solved_to_optimality(run, network, tmp_path):
    sizes = "--subscribers", 10, "--brokers", 3, "--audience", 1
    workload = network(*sizes, "--capacity-factor", 2.5)
    done = run("wire", workload, "--algorithm", "exact", "--out", tmp_path / "p", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.json["gap"] == 0
    assert done.json["metrics"]["proven"] is True
    assert run("verify", workload, tmp_path / "p").status == 0


def test_a_large_network_is_refused(run, network, tmp_path):
    workload = network("--subscribers", 60, "--audience", 3)
    done = run("wire", workload, "--algorithm", "exact", "--out", tmp_path / "p")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "'best' above 20 users (here 60)" in done.err
    assert not (tmp_path / "p").exists()
