"""A bare install works: what the core dependencies bring runs everything but Spark.

Every distribution that is not among the core dependencies, or needed by one of them, is made
invisible to a fresh interpreter; then all commands and all algorithms run in it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from tests.assign.small_places import content_of
from tests.families import ALGORITHMS
from tests.strategies import Instance
from tests.wire.small_wirings import wiring_of

import fanwise as fw

ROOT = Path(__file__).parents[1]
NOT_CORE = (
    *("pandas", "networkx", "psutil", "scipy", "hypothesis", "jsonschema", "pyspark", "pytest"),
    "py4j",
)
INSTANCE = Instance([30.0, 20.0, 50.0, 7.0], [[0, 1], [1, 2], [2], [0, 3], [3], [1, 3]], tau=25.0)

RUN = """
import contextlib, importlib.machinery, io, json, sys

blocked = set(json.loads(sys.argv[1]))

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            return None
        return super().find_spec(name, path, target)

at = sys.meta_path.index(importlib.machinery.PathFinder)
sys.meta_path[at] = Finder
before = set(sys.modules)  # some load themselves with the interpreter

from fanwise.cli.main import main

for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as done:
            status = done.code
    sys.__stdout__.write(json.dumps([arguments, status, out.getvalue(), err.getvalue()]) + "\\n")
    sys.__stdout__.flush()
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not loaded & blocked, loaded & blocked
"""


def name_of(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def core_distributions():
    """The core dependencies of pyproject.toml and all that they need, without any extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [name_of(text) for text in project["dependencies"]]
    found = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needed = requires(name) or []
        except PackageNotFoundError:  # of another platform
            continue
        waiting += [name_of(text) for text in needed if "extra ==" not in text]
    return found


def blocked_modules():
    core = core_distributions() | {"fanwise"}
    return sorted(
        module
        for module, distributions in packages_distributions().items()
        if not {name_of(name) for name in distributions} & core
    )


def run_bare(commands):
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(blocked_modules())],
        input=json.dumps([[str(word) for word in command] for command in commands]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_is_not_core_is_blocked():
    blocked = blocked_modules()
    assert set(NOT_CORE) <= set(blocked)
    assert not {"numpy", "pyarrow", "numba", "highspy", "matplotlib", "typer"} & set(blocked)


FAMILIES = {
    "select": ("topics", ("--tau", 25, "--capacity", "50%")),
    "provision": ("topics", ("--tau", 25)),
    "connect": ("topics", ()),
    "assign": ("content", ("--max-delay", 1e6, "--lbf", 4, "--lbf-max", 4)),
    "wire": ("wiring", ()),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("bare")
    fw.write_workload(INSTANCE.workload(), home / "topics")
    fw.write_workload(content_of(INSTANCE), home / "content")
    fw.write_workload(wiring_of(INSTANCE), home / "wiring")
    return home


def solve(home, family, algorithm):
    workload, options = FAMILIES[family]
    chosen = ("-a", algorithm)
    if family == "provision":
        select, pack = algorithm.split("+")
        chosen = ("--select", select, "--pack", pack)
    if family == "connect" and algorithm not in ("gm", "minmax-oda"):
        by_links = algorithm in ("gpa", "random-average")
        options = ("--max-edges", 5) if by_links else ("--max-degree", 2)
    out = home / f"{family}-{algorithm}"
    return (family, home / workload, *options, *chosen, "--time-limit", 5, "--out", out), out


@pytest.mark.parametrize("family", FAMILIES)
def test_every_algorithm_solves_proves_and_verifies(home, family):
    workload, options = FAMILIES[family]
    commands, kept = [], []
    for _, algorithm in (entry for entry in ALGORITHMS if entry[0] == family):
        command, out = solve(home, family, algorithm)
        commands += [command, ("verify", home / workload, out, "--json")]
        kept.append(out)
    some = ("--workload", home / workload)
    commands += [
        ("report", *some, *kept, "--out", home / f"{family}.html"),
        ("explain", kept[0], *some),
        ("diff", kept[0], kept[-1]),
        ("plot", home / workload, kept[0], "--out", home / f"{family}-pictures"),
        ("export", kept[0], *some, "--csv", home / f"{family}-tables"),
        ("compare", family, home / workload, *options, "--time-limit", 5,
         "--plots", home / f"{family}-comparison"),
        ("stats", home / workload, "--plots", home / f"{family}-stats"),
        ("sweep", family, home / workload, *SWEEPS[family], "--out", home / f"{family}-sweep"),
    ]  # fmt: skip
    if family == "connect":
        commands += [("export", kept[0], *some, "--graphml", home / "o.graphml",
                      "--dot", home / "o.dot", "--forests", home / "o.csv")]  # fmt: skip
    for arguments, status, _, err in run_bare(commands):
        assert status in (0, 1), (arguments, status, err)
        # 1 only where a plan breaks a limit, as some of the papers' do, or where none is reached
        assert status == 0 or "feasible" in err or "verif" in err, (arguments, err)
    for out in kept:
        assert fw.read_plan(out).bound is not None or family == "connect"


SWEEPS = {
    "select": ("--tau", 25, "--capacities", "10%,50%"),
    "provision": ("--taus", "10,25"),
    "connect": ("--max-degrees", "2,3"),
    "assign": ("--alphas", "1,2", "--max-delay", 1e6, "--lbf", 4, "--lbf-max", 4),
    "wire": ("--core-factors", "0.5,1"),
}


def test_workloads_are_generated(tmp_path):
    generators = {
        "spotify": ("--scale", 0.0001),
        "twitter": ("--scale", 0.0001),
        "music-trace": ("--topics", 20, "--subscribers", 50, "--events", 100, "--pairs", 80),
        "zipf": ("--nodes", 12, "--topics", 8),
        "follow": ("--nodes", 60),
        "grid": ("--subscribers", 50),
        "sparse": ("--subscribers", 50),
    }
    commands = [
        ("generate", name, *options, "--out", tmp_path / name)
        for name, options in generators.items()
    ]
    for arguments, status, _, err in run_bare([*commands, ("doctor",)]):
        if arguments[0] != "doctor":
            assert status == 0, (arguments, err)


def small_traces(folder):
    (folder / "plays.csv").write_text("topic,timestamp\na,1\n")
    (folder / "follows.csv").write_text("subscriber,topic\nu,a\n")
    return ("--publications", folder / "plays.csv", "--subscriptions", folder / "follows.csv")


def test_small_traces_are_ingested_without_spark(tmp_path):
    traces = small_traces(tmp_path)
    commands = [
        ("ingest", *traces, "--out", tmp_path / "out"),
        ("ingest", "--look", tmp_path / "plays.csv"),
    ]
    for arguments, status, _, err in run_bare(commands):
        assert (status, err) == (0, ""), arguments
    assert fw.read_workload(tmp_path / "out").num_pairs == 1


def test_what_needs_spark_says_how_to_get_it(home, tmp_path):
    traces = small_traces(tmp_path)
    out = ("--out", tmp_path / "out")
    commands = [
        ("ingest", *traces, "--engine", "spark", *out),
        ("ingest", "--content", *traces, "--attributes", "x", "--positions", tmp_path / "plays.csv",
         "--brokers", tmp_path / "plays.csv", *out),
        ("sample", home / "topics", "--nodes", 2, *out),
        ("select", home / "topics", "--tau", 25, "--capacity", "50%", "--engine", "spark", *out),
        ("provision", home / "topics", "--tau", 25, "--engine", "spark", *out),
    ]  # fmt: skip
    for arguments, status, out_text, err in run_bare(commands):
        assert (status, out_text) == (2, ""), arguments
        assert "pip install 'fanwise[spark]'" in err
        assert err.splitlines()[-1].startswith("fanwise: this needs PySpark")
        assert "Traceback" not in err
    assert not (tmp_path / "out").exists()
