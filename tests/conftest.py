"""Fixtures that all tests share."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Kernels compile inside the first example: a deadline would measure the compiler. Without the
# compiler they are there to show reads out of bounds, which few examples do.
EXAMPLES = 20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 50
STRICT = os.environ.get("FANWISE_STRICT") == "1"
"""Nothing may be skipped for want of a tool; set by CI."""

# CI judges a change by the same examples every time; anew they are drawn at a desk and in the soak.
settings.register_profile(
    "fanwise", deadline=None, max_examples=EXAMPLES, derandomize=STRICT, print_blob=True
)
settings.load_profile("fanwise")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets and test vectors."""
    folder = os.environ.get("FANWISE_DATA")
    if not folder:
        pytest.skip("FANWISE_DATA is not set")
    if not Path(folder, "data").is_dir():
        pytest.fail(f"FANWISE_DATA={folder} has no folder data")
    return Path(folder)


@pytest.fixture(scope="session")
def spark():
    """The one Spark session of all tests, started by the first that needs it."""
    from fanwise.pipeline.shared.session import start

    session = start(
        "local[2]",
        {
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            # Code runs a few times only: the thorough compiler would cost more than it saves.
            "spark.driver.extraJavaOptions": "-Xss8m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
    )
    yield session
    session.stop()


TESTS = Path(__file__).parent
SOAKED = TESTS.parent / "benchmarks" / "results" / "soak.json"


@pytest.fixture
def keep_counts(request):
    """Keep what a long check has counted, by its name, beside the results of benchmarks."""

    def keep(**counts: int) -> None:
        kept = json.loads(SOAKED.read_text()) if SOAKED.exists() else {}
        kept[request.node.nodeid] = counts
        SOAKED.write_text(json.dumps(dict(sorted(kept.items())), indent=2) + "\n")

    return keep


WAITING = ("brokers/network", "client", "offload", "service")
"""Rooms whose tests wait more than they compute: for servers and other processes."""


FOLDERS = tuple(f"{room}/" for room in WAITING)


USES_SESSION = re.compile(r"def \w+\([^)]*\bspark\b")


@cache
def needs_session(file: Path) -> bool:
    """Whether a test or fixture of a file takes the one Spark session."""
    return USES_SESSION.search(file.read_text()) is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put files in the order in which workers take them, so that none waits for another at the end.

    What needs the Spark session comes first. Files that wait are spread among those that compute,
    all of them in the first four fifths: what is left at the end is short.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = [file for file in files if needs_session(file)]
    others = [file for file in files if not needs_session(file)]
    waits = [file for file in others if str(file.relative_to(TESTS)).startswith(FOLDERS)]
    computes = [file for file in others if file not in set(waits)]
    step = max(1, int(0.8 * len(others) / max(1, len(waits))))
    while waits or computes:
        order += waits[:1]
        order += computes[: step - 1] if waits else computes
        computes = computes[step - 1 :] if waits else []
        waits = waits[1:]
    items[:] = [item for file in order for item in files[file]]


class FilesAndOneSession(LoadScopeScheduling):
    """A worker takes a file; all that needs the Spark session goes to one of them.

    A second session would start and warm another Java, and half a file would compile its kernels
    once more.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "spark" if needs_session(TESTS.parent / file) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FilesAndOneSession(config, log)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    has_data = bool(os.environ.get("FANWISE_DATA"))
    may_skip = item.get_closest_marker("data") is not None and not has_data
    if STRICT and report.skipped and not hasattr(report, "wasxfail") and not may_skip:
        report.outcome = "failed"
        report.longrepr = f"skipped in strict mode: {report.longrepr}"
