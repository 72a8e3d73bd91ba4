"""The package as executors get it, and what a session takes from outside; without Spark."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fanwise.errors import InputError
from fanwise.pipeline.shared import session
from fanwise.pipeline.shared.shipping import is_single_machine, write_archive


@pytest.fixture
def shipped(tmp_path):
    """A folder of shipped files, and a function that runs code where fanwise is broken."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    archive, stand_in = write_archive(folder)
    broken = tmp_path / "installed" / "fanwise"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('not installed here')\n")
    (tmp_path / "tmp").mkdir()

    def run(code, paths=(folder,)):
        # -S and -P: nothing is installed but what these folders hold.
        environment = {
            "PYTHONPATH": os.pathsep.join(map(str, (*paths, broken.parent))),
            "TMPDIR": str(tmp_path / "tmp"),
        }
        command = [sys.executable, "-S", "-P", "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    return archive, stand_in, run, tmp_path / "tmp"


def test_what_is_shipped_comes_before_what_is_installed(shipped):
    _, _, run, place = shipped
    code = "import fanwise.errors, fanwise.durations; print(fanwise.__file__, fanwise.errors)"
    assert "not installed here" in run(code, ()).stderr
    for _ in range(2):
        done = run(code)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(place))
    (unpacked,) = next(place.iterdir()).iterdir()
    assert (unpacked / "fanwise" / "select" / "__init__.py").exists()


def test_a_folder_that_others_can_write_to_is_not_trusted(shipped):
    _, stand_in, run, place = shipped
    theirs = place / f"fanwise-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)
    done = run("import fanwise.errors; print(fanwise.errors.__file__)")
    assert done.stdout.startswith(str(stand_in.parent)), done.stderr
    assert not list(theirs.iterdir())


def test_the_same_sources_have_the_same_name(shipped, tmp_path):
    archive, _, _, _ = shipped
    other = tmp_path / "other"
    other.mkdir()
    assert write_archive(other)[0].name == archive.name
    assert write_archive(other)[0].read_bytes() == archive.read_bytes()


@pytest.mark.parametrize(
    ("master", "is_single"),
    [
        ("local", True),
        ("local[2]", True),
        ("local[*, 4]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://host:7077", False),
        ("yarn", False),
        ("k8s://https://host", False),
    ],
)
def test_masters_that_run_in_the_driver(master, is_single):
    assert is_single_machine(master) is is_single


def test_defaults_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text(
        "# a remark\n\nspark.master  yarn\nspark.hadoop.fs.s3a.endpoint=http://host:1/?a=b\n"
        "other.key 1\nspark.executor.extraJavaOptions -Da=b -Dc=d\n"
    )
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert session._configured() == {
        "spark.master": "yarn",
        "spark.hadoop.fs.s3a.endpoint": "http://host:1/?a=b",
        "spark.executor.extraJavaOptions": "-Da=b -Dc=d",
    }
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "none"))
    assert session._configured() == {}


def test_spark_connect_is_refused_before_anything_starts():
    with pytest.raises(InputError, match="Spark Connect"):
        session.start("sc://localhost:15002")
