"""Bad rows on disk, within their limits."""

from __future__ import annotations

import json

from fanwise.service.monitor.aside import MOST_SHOWN, Aside


def test_rows_are_kept_within_two_files(tmp_path):
    aside = Aside(tmp_path / "bad.jsonl", 1000)
    for number in range(100):
        aside.write(
            [{"reason": "why", "number": number, "raw": "x" * 9999 if number == 7 else None}]
        )
    aside.write([])
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["bad-before.jsonl", "bad.jsonl"]
    assert all(path.stat().st_size <= 1000 for path in files)
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [row["number"] for row in rows] == list(range(100 - len(rows), 100))


def test_long_texts_are_shortened(tmp_path):
    aside = Aside(tmp_path / "bad.jsonl")
    aside.write([{"raw": "\u00e9" * 9999}])
    assert json.loads(aside.path.read_text()) == {"raw": "\u00e9" * MOST_SHOWN}
