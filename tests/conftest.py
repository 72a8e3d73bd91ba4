"""Fixtures that all tests share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import settings

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


@pytest.hookimpl(hookwrapper=True)  # before xdist looks at what stays together
def pytest_collection_modifyitems(items):
    """Share out files among several workers, so that none waits for another at the end.

    All that needs the one Spark session goes to one worker, first: a second session would start
    and warm another Java. Every other file stays whole, so that few kernels are compiled twice;
    files that wait are spread among those that compute, all of them in the first four fifths: what
    is left at the end is short.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    on_spark = [
        file for file, tests in files.items()
        if any("spark" in getattr(test, "fixturenames", ()) for test in tests)
    ]  # fmt: skip
    others = [file for file in files if file not in set(on_spark)]
    waits = [file for file in others if str(file.relative_to(TESTS)).startswith(FOLDERS)]
    computes = [file for file in others if file not in set(waits)]
    step = max(1, int(0.8 * len(others) / max(1, len(waits))))
    order = list(on_spark)
    while waits or computes:
        order += waits[:1]
        order += computes[: step - 1] if waits else computes
        computes = computes[step - 1 :] if waits else []
        waits = waits[1:]
    for number, file in enumerate(order):
        group = "spark" if number < len(on_spark) else str(file.relative_to(TESTS))
        for item in files[file]:
            item.add_marker(pytest.mark.xdist_group(group))
    items[:] = [item for file in order for item in files[file]]
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    has_data = bool(os.environ.get("FANWISE_DATA"))
    may_skip = item.get_closest_marker("data") is not None and not has_data
    if STRICT and report.skipped and not hasattr(report, "wasxfail") and not may_skip:
        report.outcome = "failed"
        report.longrepr = f"skipped in strict mode: {report.longrepr}"
