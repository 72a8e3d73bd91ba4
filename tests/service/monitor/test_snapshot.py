"""Files that say who subscribes to what at first."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fanwise.errors import InputError
from fanwise.service.monitor.snapshot import read_snapshot

PAIRS = [("ann", "a/b"), ("007", "x,y"), ("bob", "a/b")]


def test_csv_keeps_names_that_look_like_numbers(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text('other,subscriber,topic\n1,ann,a/b\n2,007,"x,y"\n3,bob,a/b\n')
    assert list(read_snapshot(path)) == PAIRS


def test_json_lines(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(f'{{"topic": "{topic}", "subscriber": "{who}"}}\n' for who, topic in PAIRS)
    )
    assert list(read_snapshot(path)) == PAIRS


def test_parquet_of_any_type(tmp_path):
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"subscriber": [1, 2], "topic": ["a", "b"]}), path)
    assert list(read_snapshot(path)) == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "who,topic\nann,a\n", "no column 'subscriber'; it has who, topic"),
        ("a.csv", "subscriber,topic\nann,a\nbob,\n", "row 2 has no topic"),
        ("a.csv", "subscriber,topic\n,a\n", "row 1 has no subscriber"),
        ("a.jsonl", '{"subscriber": "ann", "topic": null}\n', "row 1 has no topic"),
        ("a.csv", "", "cannot be read"),
        ("a.jsonl", "{", "cannot be read"),
        ("a.parquet", "PAR1", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as told:
        list(read_snapshot(path))
    assert "\n" not in str(told.value)
    assert name in str(told.value)


def test_a_file_that_is_gone_is_said(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_snapshot(tmp_path / "gone.csv"))
