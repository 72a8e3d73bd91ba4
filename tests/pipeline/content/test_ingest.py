"""Content traces to content workloads, compared with the plain-Python builder."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracles import content_ingest_oracle as oracle
from tests.pipeline import content_traces, traces

import fanwise as fw
from fanwise.errors import InputError, ParameterError
from fanwise.pipeline import ContentOptions, ContentSources, ingest_content
from fanwise.pipeline.shared.schema import CONTENT_REASONS, REASONS

spark_test = pytest.mark.spark
BOTH = ("price", "size")


def write(folder, publications, subscriptions, positions, brokers=content_traces.BROKERS):
    return ContentSources(
        write_rows(folder / "events.csv", publications),
        write_rows(folder / "ranges.csv", subscriptions),
        write_rows(folder / "places.csv", positions),
        write_rows(folder / "brokers.csv", brokers),
    )


def write_rows(path, rows):
    columns = dict.fromkeys(name for row in rows for name in row if name != "_malformed")
    return traces.write_csv(path, rows, list(columns))


def event(publisher="a", timestamp="1700000000", price="1", size="1", **more):
    return {"publisher": publisher, "timestamp": timestamp, "price": price, "size": size, **more}


def box(subscriber="a", sides="0 1 0 1", **more):
    names = ("lo_price", "hi_price", "lo_size", "hi_size")
    return {"subscriber": subscriber, **dict(zip(names, sides.split(" "), strict=True)), **more}


def place(name="a", net_0="0", net_1="0"):
    return {"name": name, "net_0": net_0, "net_1": net_1}


BAD_EVENTS = [
    event(publisher=""),
    event(publisher="stranger"),
    event(timestamp=""),
    event(timestamp="noon"),
    event(price=""),
    event(size="nan"),
    event(price="1e400"),
    event(price="dear"),
    event(size="inf"),
    event(price="50.01"),
    event(size="-20.5"),
    event(bytes="-1"),
    {"_malformed": "a,1700000000"},
    event(publisher="stranger", timestamp="1600000000"),  # outside, so nobody asks where it is
]
BAD_BOXES = [
    box(""),
    box("stranger"),
    box("stranger"),
    box(sides=" 1 0 1"),
    box(sides="0 1 0 x"),
    box(sides="0 NaN 0 1"),
    box(sides="0 1 2 1"),
    box(sides="9 9 9 9"),
    {"_malformed": "a,1"},
]
BAD_PLACES = [place(""), place("lost", "x"), place("lost", "inf"), place("a", "77"), place("b", "")]


@spark_test
def test_bad_rows_depth_and_the_first_of_several_files(spark, tmp_path):
    publications, subscriptions, positions = content_traces.random_traces(1)
    space = [(-20.0, 50.0), (-20.0, 50.0)]
    publications[20:20] = BAD_EVENTS
    publications.append(event(price="50", size="-20"))  # on the rim, and the only one there
    again = [box("B", "0 0.50 -1 1"), box("B", "0.0 .5 -1 1"), box("new", "1 1 2 2")]
    positions += [*BAD_PLACES, place("new", "3", "4"), place("new", "3.0", "4")]
    # Spark reads the larger file first, but the first rectangle is that of the first name.
    few, many = [box("new", "0 1 0 1"), box("B", "-5 5 -5 5")], subscriptions + BAD_BOXES + again
    write_rows(tmp_path / "ranges" / "1.csv", few)
    write_rows(tmp_path / "ranges" / "2.csv", many)
    found = write(tmp_path, publications, few, positions)
    sources = ContentSources(
        found.publications, tmp_path / "ranges", found.positions, found.brokers
    )
    expected = oracle.build(
        publications,
        few + many,
        positions,
        BOTH,
        space=space,
        start=1_690_000_000,
        end="2030-01-01",
    )
    options = ContentOptions(
        BOTH, num_channels=6, channels_by="depth", num_cells=40, cells_by="depth", space=space
    )
    options_of_time = {"start": 1_690_000_000, "end": "2030-01-01", "period": "1h"}
    num_bad = sum(verdict is not None for verdict in expected["verdicts"])
    with pytest.raises(InputError, match=r"places\.csv: 5 bad rows, .* --max-bad-rows 0; most oft"):
        ingest_content(sources, tmp_path / "out", options, **options_of_time)
    with pytest.raises(InputError, match=rf": {num_bad} bad rows, .* {num_bad - 1}; most often"):
        ingest_content(
            sources, tmp_path / "out", options, max_bad_rows=num_bad - 1, **options_of_time
        )
    assert "out" not in traces.remains(tmp_path)
    report = ingest_content(
        sources, tmp_path / "out", options, max_bad_rows=num_bad, **options_of_time
    )
    workload = content_traces.check(tmp_path / "out", report, expected, space)
    assert workload.origin["period_seconds"] == 3600
    assert workload.origin["attributes"] == list(BOTH)
    assert workload.publisher is None
    assert set(expected["verdicts"]) - {None} == {
        *CONTENT_REASONS, "malformed row", "no subscriber", "no timestamp",
        "timestamp not ISO 8601 or epoch seconds", "bytes not a number >= 0",
    }  # fmt: skip
    assert set(REASONS) & set(CONTENT_REASONS) == set()

    points = [point for _, _, point, _ in expected["events"]]
    per_channel, _ = oracle.count(
        expected["events"], content_traces.sides_of(*workload.channels), (50.0, 50.0)
    )
    assert len(workload.channels.lo) == 6
    assert all(abs(per_channel[c] - len(points) / 6) < 4 for c in range(6))  # a few ties

    kept = [
        json.loads(line)
        for part in sorted((tmp_path / "out" / "quarantine").iterdir())
        for line in part.read_text().splitlines()
    ]
    assert sorted(row["reason"] for row in kept) == sorted(filter(None, expected["verdicts"]))
    others = [row for row in kept if row["reason"] == "another rectangle of the subscriber"]
    assert {row["file"].rsplit("/", 2)[-1] for row in others} == {"2.csv"}
    assert {json.loads(row["row"])["subscriber"] for row in others} == {"B", "a", "new"}


@spark_test
def test_windows_and_typed_columns_by_number(spark, tmp_path):
    publications, subscriptions, positions = content_traces.random_traces(
        2, ("geo.x",), ["7", "70", "8", "9", "11", "1", "5", "-4"], 60
    )
    hour = 3600
    start = 1_700_000_000 // hour * hour
    for row in publications:  # the second of four hours stays silent, the last one ends early
        row["timestamp"] = int(row["timestamp"]) - 1_700_000_000 + start
        row["timestamp"] += 0 if row["timestamp"] < start + hour else hour
    last = max(row["timestamp"] for row in publications)
    pq.write_table(
        pa.table(
            {
                "publisher": [int(row["publisher"]) for row in publications],
                "timestamp": pa.array(
                    [row["timestamp"] * 10**6 for row in publications], pa.timestamp("us", "UTC")
                ),
                "geo.x": [float(row["geo.x"]) for row in publications],
            }
        ),
        tmp_path / "events.parquet",
    )
    numbered = [
        {"subscriber": row["subscriber"], "lo_0": row["lo_geo.x"], "hi_0": row["hi_geo.x"]}
        for row in subscriptions
    ]
    named = [{"subscriber": row.pop("name"), **row} for row in positions]
    sources = ContentSources(
        tmp_path / "events.parquet",
        traces.write_json(tmp_path / "ranges.jsonl.gz", numbered),
        traces.write_json(tmp_path / "places.json", named),
        traces.write_json(tmp_path / "brokers.json", content_traces.BROKERS),
    )
    report = ingest_content(
        sources,
        tmp_path / "out",
        ContentOptions(["geo.x"], num_channels=5, num_cells=9, root="nobody"),
        window="1h",
        end=last + 2 * hour,
    )
    bare = [{**row, "bytes": ""} for row in publications]
    expected = oracle.build(bare, numbered, named, ["geo.x"], sides=[("lo_0", "hi_0")])
    space = content_traces.extent(expected["events"])
    listed = json.loads((tmp_path / "out" / "windows.json").read_text())
    assert traces.remains(tmp_path / "out") == sorted(
        ["windows.json", *(window["folder"] for window in listed)]
    )
    assert [window.start for window in report.windows] == [
        (start + n * hour) * 10**6 for n in range(len(listed))
    ]
    assert len(listed) >= 4
    edges = np.linspace(*space[0], 6)
    for n, window in enumerate(listed):
        workload = fw.read_workload(tmp_path / "out" / window["folder"])
        opens = Fraction(start + n * hour)
        events = [row for row in expected["events"] if opens <= row[1] < opens + hour]
        assert window["events"] == len(events)
        content_traces.check_users(workload, expected)
        content_traces.check_brokers(workload)
        content_traces.check_traffic(workload, events, [space[0][1]])
        assert workload.channels.lo[:, 0] == pytest.approx(edges[:-1])
        assert workload.origin["period_seconds"] == hour
        assert workload.origin["message_bytes"] == 200
        assert workload.publisher.tolist() == [float(named[-1][f"net_{axis}"]) for axis in (0, 1)]
    assert [window["events"] for window in listed][1] == 0
    silent = fw.read_workload(tmp_path / "out" / listed[1]["folder"])
    assert content_traces.sides_of(silent.density.lo, silent.density.hi) == [space]


@spark_test
def test_what_stops_an_ingest_is_one_line(spark, tmp_path):
    good = content_traces.random_traces(3)
    sources = write(tmp_path, *good)

    def refused(match, options=None, start=None, **changed):
        paths = {**vars(sources), **changed}
        with pytest.raises((InputError, ParameterError), match=match) as raised:
            ingest_content(
                ContentSources(**paths),
                tmp_path / "out",
                options or ContentOptions(BOTH),
                start=start,
            )
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "out").exists()

    def brokers(*changes):
        rows = [dict(row) for row in content_traces.BROKERS]
        for row, column, value in changes:
            rows[row][column] = value
        return {"brokers": traces.write_csv(tmp_path / "other.csv", rows)}

    refused("broker 'hub' is there twice", **brokers((1, "broker", "hub")))
    refused("a row without a broker's name", **brokers((1, "broker", "")))
    refused("broker 'é': its parent 'nil' is no broker", **brokers((3, "parent", "nil")))
    refused("'parent': broker 3 is its own ancestor", **brokers((3, "parent", "é")))
    refused("broker '9': net_1 is not a number", **brokers((2, "net_1", "far")))
    refused("broker '9': net_0 is missing", **brokers((2, "net_0", "")))
    refused("broker '9', column 'share': is null, but", **brokers((2, "share", "")))
    refused("add up to 0.75, not 1", **brokers((2, "share", 0.25)))
    refused("broker '9': share is not a number", **brokers((2, "share", "half")))
    refused("broker '10': capacity must be >= 0", **brokers((1, "capacity", -1)))
    none = traces.write_csv(tmp_path / "none.csv", [], list(content_traces.BROKERS[0]))
    refused(r"none\.csv: no brokers", brokers=none)
    malformed = write_rows(
        tmp_path / "cut.csv", [*content_traces.BROKERS[:2], {"_malformed": "b,1"}]
    )
    refused(r"cut\.csv: malformed row 'b,1'", brokers=malformed)
    refused("no column 'net_0'; it has 'publisher'", brokers=sources.publications)
    refused("no column 'net_0'; it has 'subscriber'", positions=sources.subscriptions)
    flat = traces.write_csv(tmp_path / "flat.csv", [{"name": "a", "net_0": 1}])
    refused(
        r"flat\.csv: has 1 of the coordinates net_0, …, but .*brokers\.csv has 2", positions=flat
    )
    refused("'publisher' parameter must be 2 coord", ContentOptions(BOTH, publisher=[1.0]))
    refused("no position of 'Rome', which --root", ContentOptions(BOTH, root="Rome"))
    refused("no column 'depth'; it has 'pub", ContentOptions(("price", "depth")))
    refused("no column 'subscriber'; it has 'pub", subscriptions=sources.publications)
    refused(
        "columns lo_price, hi_price, lo_mass, hi_mass, or lo_0, hi_0, lo_1, hi_1; it has 'subscr",
        ContentOptions(("price", "mass")),
        publications=traces.write_csv(tmp_path / "mass.csv", [event(mass="1")]),
    )
    text = pa.table({"publisher": ["a"], "timestamp": ["1"], "price": [[1]], "size": [2]})
    pq.write_table(text, tmp_path / "lists.parquet")
    refused("column 'price' has type array<bigint>", publications=tmp_path / "lists.parquet")
    refused(r"events\.csv: no event of 150 rows counts \(0 bad, 150 outside", start="2030-01-01")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"attributes": []}, "attributes"),
        ({"attributes": "price"}, "a list of columns"),
        ({"attributes": ["a", "A"]}, "attributes"),
        ({"attributes": ["Publisher"]}, "none of them publisher, timestamp, bytes"),
        ({"num_channels": 0}, "channels"),
        ({"num_channels": 5, "channels_by": "volume"}, "channels-by"),
        ({"num_cells": 10**6}, "cells"),
        ({"space": [(0, 1)]}, "space"),
        ({"space": [(0, 1), (1, 1)]}, "lo < hi"),
        ({"space": [(0, 1), (0, float("inf"))]}, "finite"),
        ({"publisher": [0.0, float("nan")]}, "finite"),
        ({"publisher": [0.0], "root": "x"}, "left out with --publisher"),
        ({"message_bytes": -1.0}, "message-bytes"),
    ],
)
def test_options_are_checked(options, match):
    with pytest.raises(ParameterError, match=match):
        ContentOptions(**{"attributes": BOTH, **options})
