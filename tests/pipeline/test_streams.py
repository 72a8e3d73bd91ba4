"""Checks and transforms on streaming DataFrames give what they give on batches.

A stream reads a folder file by file. Steps on rows run on it as they are; steps that add up do so
in complete mode, and those that add up windows in append mode, where each window is written once.
What needs all rows at once (the first of several, ids) belongs into ``foreachBatch``.
"""

import shutil
from collections import Counter

import numpy as np
import pytest
from tests.pipeline import content_traces, traces

from fanwise.pipeline import build_workload
from fanwise.pipeline.content import checks as content_checks
from fanwise.pipeline.content import transforms as content
from fanwise.pipeline.content.cells import cut_by_width
from fanwise.pipeline.content.tables import cell_table
from fanwise.pipeline.shared import quarantine
from fanwise.pipeline.shared.readers import Trace, read_trace
from fanwise.pipeline.shared.schema import MALFORMED
from fanwise.pipeline.shared.windows import wait_for_late_events
from fanwise.pipeline.topic import checks, transforms

pytestmark = pytest.mark.spark

HOUR = 3600 * 10**6
ATTRIBUTES = ("price", "size")
EVENTS = [
    {"topic": topic, "timestamp": str(second), "bytes": size}
    for topic, second, size in [
        ("a", 10, "5"), ("b", 20, ""), ("a", 4000, "7"), ("", 30, "1"), ("a", "noon", "1"),
        ("b", 7300, "-1"), ("c", 9000, "2"), ("c", 99999, "2"), ("a", 40, "9"),
    ]
]  # fmt: skip
FOLLOWS = [
    {"subscriber": who, "topic": topic, "since": since, "until": until}
    for who, topic, since, until in [
        ("u", "a", "", ""), ("u", "a", "", ""), ("v", "b", "10", "5000"), ("v", "b", "3600", ""),
        ("", "a", "", ""), ("w", "c", "9", "8"), ("w", "a", "soon", ""), ("x", "c", "99999", ""),
    ]
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Each trace as a folder of two files, of which one ends in a row that is cut."""
    events, boxes, positions = content_traces.random_traces(5, num_events=30)
    events[3]["price"], boxes[0]["lo_size"], positions[1]["net_0"] = "dear", "9", ""
    found = {}
    for name, rows in {
        "events": EVENTS,
        "follows": FOLLOWS,
        "content": events,
        "boxes": boxes,
        "positions": positions,
    }.items():
        folder = tmp_path_factory.mktemp(name)
        for part in range(2):
            cut = [{"_malformed": "cut"}] if part == 1 else []
            traces.write_csv(folder / f"{part}.csv", rows[part::2] + cut, list(rows[0]))
        found[name] = folder
    return found


def as_batch(spark, folder):
    return read_trace(spark, Trace(str(folder)), ())


def as_stream(spark, folder):
    """Read what ``as_batch`` reads, one file after the other."""
    return (
        spark.readStream.schema(as_batch(spark, folder).schema)
        .options(header=True, escape='"', columnNameOfCorruptRecord=MALFORMED)
        .option("maxFilesPerTrigger", 1)
        .csv(str(folder))
    )


def run_stream(frame, each_batch, mode="append"):
    query = (
        frame.writeStream.outputMode(mode)
        .foreachBatch(each_batch)
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()


def rows_of(frame):
    return Counter(tuple(map(str, row)) for row in frame.collect())


def chain(*steps):
    def transform(frame):
        for step in steps:
            frame = frame.transform(step)
        return frame

    return transform


def check_boxes(frame):
    return content_checks.check_rectangles(frame, ATTRIBUTES)


def check_positions(frame):
    return content_checks.check_positions(frame, 2)


def check_content(frame):
    return content_checks.check_content_events(frame, ATTRIBUTES, end=1_700_005_000 * 10**6)


def check_events(frame):
    return checks.check_events(frame, start=0, end=50_000 * 10**6)


def check_follows(frame):
    return checks.check_subscriptions(frame, start=0, end=50_000 * 10**6)


CELLS = cut_by_width(*(np.full(2, end) for end in (-20.0, 20.0)), 8)
BY_ROW = {
    "events": ("events", check_events),
    "bad rows": ("events", chain(check_events, lambda f: quarantine.bad_rows(f, "publications"))),
    "follows both ways": ("follows", chain(check_follows, checks.mutual)),
    "cells of events": (
        "content",
        chain(check_content, content.slim_events(2, HOUR), content.find_cells(2, CELLS, None)),
    ),
    "rectangles": ("boxes", chain(check_boxes, content.rectangles(2))),
}
ADDED_UP = {
    "rates": (
        "events", chain(check_events, transforms.count_events(HOUR), transforms.publish_rates(200))
    ),
    "spans of pairs": ("follows", chain(check_follows, transforms.distinct_pairs(HOUR))),
    "extent of events": (
        "content", chain(check_content, content.slim_events(2, None), content.measure_events(2))
    ),
}  # fmt: skip


DELAY = 20_000  # seconds: later than any event is after another
BY_WINDOW = {
    "rates of topics": (
        "events",
        chain(
            check_events,
            wait_for_late_events(DELAY * 10**6),
            transforms.count_events(HOUR),
            transforms.publish_rates(200),
        ),
        49_999,
    ),
    "density": (
        "content",
        chain(
            lambda f: content_checks.check_content_events(f, ATTRIBUTES),
            wait_for_late_events(DELAY * 10**6),
            content.slim_events(2, HOUR),
            content.find_cells(2, CELLS, None),
            lambda f: f.transform(
                content.densities(cell_table(f.sparkSession, CELLS, "cell"), HOUR)
            ),
        ),
        1_700_050_000,
    ),
}


@pytest.mark.parametrize("case", BY_ROW)
def test_steps_on_rows_run_on_streams(spark, folders, case):
    trace, transform = BY_ROW[case]
    found, batches = Counter(), []

    def add(frame, number):
        found.update(rows_of(frame))
        batches.append(number)

    run_stream(as_stream(spark, folders[trace]).transform(transform), add)
    assert found == rows_of(as_batch(spark, folders[trace]).transform(transform))
    assert len(batches) == 2
    assert found.total() > 3


@pytest.mark.parametrize("case", ADDED_UP)
def test_steps_that_add_up_run_on_streams_in_complete_mode(spark, folders, case):
    trace, transform = ADDED_UP[case]
    states = []
    run_stream(
        as_stream(spark, folders[trace]).transform(transform),
        lambda frame, number: states.append(rows_of(frame)),
        "complete",
    )
    assert states[-1] == rows_of(as_batch(spark, folders[trace]).transform(transform))
    assert states[0] != states[-1]


@pytest.mark.parametrize("case", BY_WINDOW)
def test_windows_are_written_once_in_append_mode(spark, folders, tmp_path, case):
    trace, transform, later = BY_WINDOW[case]
    folder = shutil.copytree(folders[trace], tmp_path / trace)
    before = as_batch(spark, folder)
    columns = [name for name in before.columns if name != MALFORMED]
    wanted = rows_of(before.transform(transform))
    # An event so late that all windows before it are complete; its own is not.
    traces.write_csv(
        folder / "2.csv", [{**dict.fromkeys(columns, "1"), "timestamp": str(later)}], columns
    )
    found = []
    run_stream(
        as_stream(spark, folder).transform(transform),
        lambda frame, number: found.append(rows_of(frame)),
    )
    assert sum(found, Counter()) == wanted
    assert len(wanted) > 3


def test_subscribers_without_a_position_are_found_by_joining_a_table(spark, folders):
    located = as_batch(spark, folders["positions"]).transform(
        chain(check_positions, content.positions(2))
    )
    mark = chain(check_boxes, content.mark_lost_subscribers(located.where("name < 'a'")))
    found = Counter()
    run_stream(
        as_stream(spark, folders["boxes"]).transform(mark),
        lambda frame, number: found.update(rows_of(frame)),
    )
    assert found == rows_of(as_batch(spark, folders["boxes"]).transform(mark))


def test_a_builder_builds_from_each_batch(spark, folders):
    follows = as_batch(spark, folders["follows"])
    reports = []

    def build(frame, number):
        frames = build_workload(frame, follows, max_bad_rows="100%")
        reports.append(frames.report.as_dict())
        frames.release()

    run_stream(as_stream(spark, folders["events"]), build)
    batch = build_workload(as_batch(spark, folders["events"]), follows, max_bad_rows="100%")
    batch.release()
    whole = batch.report.as_dict()["publications"]
    assert sum(report["publications"]["rows"] for report in reports) == whole["rows"]
    assert sum(report["publications"]["events"] for report in reports) == whole["events"]
    bad = Counter()
    for report in reports:
        bad.update(report["publications"]["bad"])
    assert bad == whole["bad"]
