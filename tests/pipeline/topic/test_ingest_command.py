"""``fanwise ingest``: what it prints, its exit statuses, and what is left when it is killed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tests.pipeline import traces

PLAYS = [
    {"topic": topic, "timestamp": f"2024-01-01T0{hour}:00:00Z"}
    for hour in range(4)
    for topic in "ab"
]
FOLLOWS = [{"subscriber": who, "topic": topic} for who, topic in ("ua", "ub", "va", "va", "wz")]


@pytest.fixture
def files(tmp_path):
    return (
        "--publications", traces.write_csv(tmp_path / "plays.csv", PLAYS),
        "--subscriptions", traces.write_csv(tmp_path / "follows.csv", FOLLOWS),
    )  # fmt: skip


@pytest.fixture
def run(capsys):
    """Run ``fanwise ingest`` inside this process and its Spark session."""
    from fanwise.cli.main import main

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(["ingest", *map(str, arguments)])
        printed = capsys.readouterr()
        return stopped.value.code, printed.out, printed.err

    return run


@pytest.mark.spark
def test_report_for_people_and_for_programs(spark, run, files, tmp_path):
    status, out, err = run(*files, "--out", tmp_path / "one")
    assert (status, err) == (0, "")
    for words in ("duplicates merged", "dropped, without events", "kept", f"written to {tmp_path}"):
        assert words in out
    status, out, err = run(*files, "--out", tmp_path / "two", "--window", "2h", "--json")
    assert (status, err) == (0, "")
    printed = json.loads(out)
    assert printed["subscriptions"]["duplicates"] == 1
    assert [window["folder"] for window in printed["windows"]] == [
        "20240101T000000Z", "20240101T020000Z"
    ]  # fmt: skip
    assert [window["pairs"] for window in printed["windows"]] == [3, 3]


@pytest.mark.spark
def test_all_options_reach_the_pipeline(spark, run, tmp_path):
    traces.write_text(tmp_path / "plays.txt", "a;2024-01-01;5\nb;2024-01-02;\n;1;1\n")
    traces.write_text(tmp_path / "graph.txt", "# who follows whom\na b\nc a\n")
    status, out, err = run(
        "--publications", tmp_path / "plays.txt", "--publications-format", "csv",
        "--columns", "song, when, bytes", "--rename", "song=topic", "--rename", "when=timestamp",
        "--delimiter", ";", "--edges", tmp_path / "graph.txt", "--mutual",
        "--from", "2024-01-01", "--to", "2024-01-03", "--period", "1d", "--message-bytes", "64",
        "--keep-empty", "--max-bad-rows", "1", "--master", "local[2]",
        "--conf", "spark.sql.shuffle.partitions=2", "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert json.loads(out)["publications"]["bad"] == {"no topic": 1}
    assert traces.tables(tmp_path / "out") == {
        "topics": [("a", 1.0, 5.0), ("b", 1.0, 64.0)],
        "subscribers": ["a", "b", "c"],
        "pairs": {("a", "b"), ("b", "a"), ("c", "a")},
    }
    assert json.loads((tmp_path / "out" / "workload.json").read_text())["period_seconds"] == 86400


def test_usage_errors_are_one_line_and_need_no_spark(run, files, tmp_path):
    (tmp_path / "there").mkdir()

    def refused(*arguments, says):
        status, out, err = run(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert says in err

    new = ("--out", tmp_path / "new")
    refused(*files, "--out", tmp_path / "there", says="there: exists already")
    refused(*files[:2], *new, says="--edges")
    refused(*files, "--edges", "x", *new, says="not both")
    refused(*files, *new, "--window", "soon", says="a duration > 0")
    refused(*files, *new, "--from", "then", says="'from' parameter")
    refused(*files, *new, "--from", "5", "--to", "4", says="later than --from")
    refused(*files, *new, "--max-bad-rows", "some", says="max-bad-rows")
    refused(*files, *new, "--rename", "user", says="OLD=NEW")
    refused(*files, *new, "--conf", "spark", says="KEY=VALUE")
    refused(*files, *new, "--publications-format", "xml", says="csv, json, parquet, edges")
    refused(*files, *new, "--columns", "a,a", says="different names")
    refused(*files, *new, "--message-bytes", "-1", says="message-bytes")
    refused(*new, says="--publications")
    assert traces.remains(tmp_path) == ["follows.csv", "plays.csv", "there"]


@pytest.mark.spark
def test_existing_output_and_bad_input(spark, run, files, tmp_path):
    status, _, err = run(
        "--publications", tmp_path / "no.csv", *files[2:], "--out", tmp_path / "out"
    )
    assert (status, err.count("\n")) == (2, 1)
    assert "no.csv: no such file" in err
    assert run(*files, "--out", tmp_path / "out")[0] == 0
    (tmp_path / "out" / "notes").write_text("mine")
    assert run(*files, "--out", tmp_path / "out")[0] == 2
    status, _, err = run(*files, "--out", tmp_path / "out", "--overwrite")
    assert (status, err.count("\n")) == (2, 1)
    assert "has notes in it, which is not part of a workload" in err
    assert (tmp_path / "out" / "notes").read_text() == "mine"
    (tmp_path / "out" / "notes").unlink()
    stale = tmp_path / "out" / "topics.parquet" / "part-stale.parquet"
    stale.write_text("")
    assert run(*files, "--out", tmp_path / "out", "--window", "1h", "--overwrite")[0] == 2
    assert run(*files, "--out", tmp_path / "out", "--overwrite")[0] == 0
    assert not stale.exists()


QUICK = (  # for a Spark that does next to nothing
    "--conf", "spark.driver.extraJavaOptions=-Xss8m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "--conf", "spark.sql.shuffle.partitions=2",
)  # fmt: skip
PLAIN = (
    "--conf", "spark.sql.adaptive.enabled=false",
    "--conf", "spark.sql.codegen.wholeStage=false",
)  # fmt: skip


def command(*arguments):
    return [sys.executable, "-m", "fanwise", "ingest", *map(str, arguments), *QUICK]


@pytest.mark.spark
def test_on_the_wheels_java_and_nothing_but_the_result_is_printed(files, tmp_path):
    """Spark generates code and adapts its plans here, as it does for users."""
    tools = tmp_path / "bin"  # all that this machine has, but no Java
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for name in os.listdir(folder):
            if name != "java":
                with contextlib.suppress(FileExistsError):
                    (tools / name).symlink_to(os.path.join(folder, name))
    assert shutil.which("java", path=str(tools)) is None
    environment = {
        **{name: value for name, value in os.environ.items() if name != "JAVA_HOME"},
        "PATH": str(tools),
        "FANWISE_JAVA": "wheel",
    }
    done = subprocess.run(
        command(*files, "--out", tmp_path / "out", "--json"),
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["pairs"] == {"dropped": 1, "kept": 3}
    assert len(traces.tables(tmp_path / "out")["pairs"]) == 3


@pytest.mark.spark
def test_failure_on_a_spark_of_its_own_is_one_line(tmp_path):
    plays = traces.write_csv(tmp_path / "plays.csv", [*PLAYS, {"topic": "", "timestamp": "1"}])
    follows = traces.write_csv(tmp_path / "follows.csv", FOLLOWS)
    done = subprocess.run(
        command(
            *PLAIN, "--publications", plays, "--subscriptions", follows, "--out", tmp_path / "out"
        ),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "1 bad row, more than --max-bad-rows 0; most often 'no topic' (1)" in done.stderr
    assert traces.remains(tmp_path) == ["follows.csv", "plays.csv"]


@pytest.mark.spark
def test_a_killed_ingest_leaves_nothing_behind(files, tmp_path):
    ways = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    running = {}
    for way in ways:
        home = tmp_path / way.name
        home.mkdir()
        log = (tmp_path / f"{way.name}.log").open("w")
        running[way] = subprocess.Popen(
            command(*PLAIN, *files, "--out", home / "out"), stdout=log, stderr=log
        )
    waiting = set(ways)
    while waiting:
        for way in list(waiting):
            staging = [path for path in (tmp_path / way.name).iterdir() if path.name != "out"]
            assert running[way].poll() is None, "it ended before it could be killed"
            if any(path.is_dir() and any(path.iterdir()) for path in staging):
                running[way].send_signal(way)
                waiting.remove(way)
        time.sleep(0.01)
    for way, status in ways.items():
        assert running[way].wait() == status
    # Python is gone; what it could not remove, Spark's JVM does as it ends.
    deadline = time.monotonic() + 120
    left = True
    while left and time.monotonic() < deadline:
        left = [name for way in ways for name in traces.remains(tmp_path / way.name)]
        time.sleep(0.1)
    assert not left
    time.sleep(2)  # a task that still ran would make the folder anew
    assert not [name for way in ways for name in traces.remains(tmp_path / way.name)]
    for way in ways:
        said = (tmp_path / f"{way.name}.log").read_text()
        assert "Traceback" not in said
        assert said.count("\n") <= 1
