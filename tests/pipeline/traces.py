"""Writing traces in every format, and comparing what was ingested with the oracle."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fanwise as fw

REPORTED = ("publications", "subscriptions", "topics", "subscribers", "pairs", "period_seconds")


def write_csv(path: Path, rows, columns=None, *, delimiter=",", header=True) -> Path:
    columns = columns or list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(columns)
    for row in rows:
        if "_malformed" in row:
            text.write(row["_malformed"] + "\n")
        else:
            writer.writerow(["" if row.get(name) is None else row[name] for name in columns])
    return write_text(path, text.getvalue())


def write_json(path: Path, rows) -> Path:
    return write_text(
        path,
        "".join(
            row["_malformed"] + "\n"
            if "_malformed" in row
            else json.dumps(row, ensure_ascii=False) + "\n"
            for row in rows
        ),
    )


def write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path: Path, **columns) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def tables(folder: Path):
    """What a workload folder holds, by names; checks that ids follow their code-point order."""
    workload = fw.read_workload(folder)
    topics = workload.topic_names.to_pylist()
    subscribers = workload.subscriber_names.to_pylist()
    assert topics == sorted(topics)
    assert subscribers == sorted(subscribers)
    indptr, indices = workload.interests.indptr, workload.interests.indices
    return {
        "topics": list(zip(topics, workload.rates, workload.message_bytes, strict=True)),
        "subscribers": subscribers,
        "pairs": {
            (name, topics[topic])
            for row, name in enumerate(subscribers)
            for topic in indices[indptr[row] : indptr[row + 1]]
        },
    }


def check_folder(folder: Path, expected) -> None:
    found = tables(folder)
    assert [topic[:2] for topic in found["topics"]] == [topic[:2] for topic in expected["topics"]]
    sizes = [topic[2] for topic in expected["topics"]]
    assert [topic[2] for topic in found["topics"]] == pytest.approx(sizes, rel=1e-12)
    assert found["subscribers"] == expected["subscribers"]
    assert found["pairs"] == expected["pairs"]


def check(folder: Path, report, expected) -> None:
    """Compare a written ingest and its report with the oracle's answer."""
    reported = report.as_dict()
    assert {name: reported[name] for name in REPORTED} == {
        name: expected[name] for name in REPORTED
    }
    if "windows" not in expected:
        check_folder(folder, expected["workload"])
        header = json.loads((folder / "workload.json").read_text())
        assert header["ingest"] == reported
        assert header["period_seconds"] == expected["period_seconds"]
        return
    listed = json.loads((folder / "windows.json").read_text())
    assert [window["folder"] for window in listed] == list(expected["windows"])
    for window in listed:
        one = expected["windows"][window["folder"]]
        check_folder(folder / window["folder"], one)
        assert [window[name] for name in ("topics", "subscribers", "pairs")] == [
            len(one["topics"]),
            len(one["subscribers"]),
            len(one["pairs"]),
        ]
        header = json.loads((folder / window["folder"] / "workload.json").read_text())
        assert header["period_seconds"] == expected["period_seconds"]


def remains(folder: Path) -> list[str]:
    """Everything in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())
