import json

import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.cli.main import main
from fanwise.provision.streamed import needs

INSTANCE = Instance([13.0, 29.0, 53.0], [[0, 2], [1], [0, 1, 2], [2]], tau=40.0)


@pytest.fixture
def folder(tmp_path):
    fw.write_workload(INSTANCE.workload(), tmp_path / "workload")
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def plan_with(capsys, folder, name, *options):
    status, text, told = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--select", "gsp", "--pack", "cbp",
        "--json", "--out", folder / name, *options,
    )  # fmt: skip
    return status, json.loads(text) if text else None, told


def test_streaming_says_what_it_needs_and_makes_the_same_plan(folder, capsys):
    _, local, told = plan_with(capsys, folder, "local")
    assert told == ""
    status, streamed, told = plan_with(capsys, folder, "streamed", "--engine", "stream")
    assert status == 0
    assert "streaming takes about" in told
    assert "of disk for the interests" in told
    assert streamed["id"] == local["id"]
    assert streamed["workload"] == local["workload"]
    assert run(capsys, "verify", folder / "workload", folder / "streamed")[0] == 0
    assert run(capsys, "diff", folder / "local", folder / "streamed")[0] == 0
    assert {entry.name for entry in folder.iterdir()} == {"workload", "local", "streamed"}


def test_a_plan_for_people_in_a_folder_to_be_made(folder, capsys):
    status, text, told = run(
        capsys, "provision", folder / "workload", "--tau", 40, "--engine", "stream",
        "--out", folder / "deep" / "er" / "plan",
    )  # fmt: skip
    assert status == 0
    assert "made by gsp+cbp: best needs all pairs in memory (--engine local)." in told
    assert "provision by gsp+cbp" in text
    assert "1 x c3.large" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "stream", "--pack", "ffbp"), "gsp + cbp|most-free|expensive-first|group"),
        (("--engine", "stream", "--select", "rsp"), "gsp + cbp|most-free|expensive-first|group"),
        (("--engine", "stream", "--baseline"), "left out with --engine stream"),
        (("--engine", "stream", "--set", "a=1"), "left out with --engine stream"),
        (("--engine", "abacus"), "one of local, stream, spark"),
        (("--engine", "spark", "--pack", "ffbp"), "gsp + cbp|most-free|expensive-first|group"),
        (("--engine", "stream", "--master", "local[1]"), "left out without --engine spark"),
        (("--conf", "a=b"), "left out without --engine spark"),
        (("--engine", "stream", "--tau", "column"), "no column 'tau'"),
    ],
)
def test_what_streaming_cannot_do_is_refused(folder, capsys, options, words):
    status, result, told = plan_with(capsys, folder, "plan", *options)
    assert (status, result) == (2, None)
    assert words in told
    assert [entry.name for entry in folder.iterdir()] == ["workload"]


def test_memory_decides_where_nothing_is_said(folder, capsys, monkeypatch):
    monkeypatch.setattr(needs, "memory_of_machine", lambda: 1e6)
    status, result, told = plan_with(capsys, folder, "plan")
    assert status == 0
    assert "so pairs stay on disk (--engine stream)" in told
    assert (folder / "plan" / "allocation.parquet").is_dir()
    status, _, told = plan_with(capsys, folder, "other", "--pack", "ffbp")
    assert status == 0
    assert "but gsp+ffbp runs nowhere else" in told
    assert (folder / "other" / "allocation.parquet").is_file()
    _, chosen, told = plan_with(capsys, folder, "local", "--engine", "local")
    assert told == ""
    assert chosen["id"] == result["id"]


@pytest.mark.spark
def test_spark_makes_the_same_plan(spark, folder, capsys):
    _, local, _ = plan_with(capsys, folder, "local")
    status, plan, told = plan_with(capsys, folder, "spark", "--engine", "spark")
    assert (status, told) == (0, "")
    assert plan["id"] == local["id"]
    assert run(capsys, "verify", folder / "workload", folder / "spark")[0] == 0


def test_the_decision_question(folder, capsys):
    status, result, _ = plan_with(capsys, folder, "plan", "--engine", "stream", "--max-cost", 1)
    assert (status, result["metrics"]["decision"]) == (1, "no")


def test_a_limit_of_the_container_counts(monkeypatch):
    class Limit:
        def __init__(self, path):
            self.path = path

        def read_text(self, encoding):
            return "1000\n"

    monkeypatch.setattr(needs, "Path", Limit)
    assert needs.memory_of_machine() == 1000
