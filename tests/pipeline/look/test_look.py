"""``fanwise ingest --look``: what it takes files for, and that the command it prints works."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipeline import traces

from fanwise.cli.main import main
from fanwise.errors import InputError
from fanwise.pipeline.look.command import command_of, look_at

NOON = 1_704_110_400


def look(*paths):
    return look_at([str(path) for path in paths])


def run(capsys, *arguments):
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(["ingest", *map(str, arguments)])
    printed = capsys.readouterr()
    return stopped.value.code, printed.out, printed.err


def nested_plays(path):
    return traces.write_json(
        path,
        [
            {"event": {"topic": "ab"[n % 2], "ts": (NOON + n) * 1000, "size": 5}, "id": f"e{n % 9}"}
            for n in range(10)
        ],
    )


def test_the_printed_command_ingests_what_was_looked_at(tmp_path, capsys, monkeypatch):
    from fanwise.pipeline import engine

    monkeypatch.setattr(engine, "spark_runs", lambda: False)
    plays = nested_plays(tmp_path / "plays.json")
    follows = tmp_path / "who follows.txt"
    follows.write_bytes("user_id;artist\nJosé;a\nu;b\n".encode("latin-1"))
    status, out, err = run(capsys, "--look", plays, follows, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    first, second = found["files"]
    assert (first["role"], first["times"]) == ("publications", ["ms"])
    assert first["columns"] == {
        "topic": "event.topic", "timestamp": "event.ts", "bytes": "event.size", "event_id": "id",
    }  # fmt: skip
    assert (second["role"], second["delimiter"], second["encoding"]) == (
        "subscriptions", ";", "latin-1",
    )  # fmt: skip
    assert "is not UTF-8" in second["problems"][0]
    words = found["command"][2:]
    assert words[words.index("--event-id") + 1] == "id"
    words[words.index("--out") + 1] = str(tmp_path / "out")
    status, out, err = run(capsys, *words, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["publications"]["duplicates"] == 1
    assert traces.tables(tmp_path / "out") == {
        "topics": [("a", 5.0, 5.0), ("b", 4.0, 5.0)],
        "subscribers": ["José", "u"],
        "pairs": {("José", "a"), ("u", "b")},
    }


def test_people_see_columns_rows_and_the_command(tmp_path, capsys):
    status, out, err = run(capsys, "--look", nested_plays(tmp_path / "plays.json"))
    assert (status, err) == (0, "")
    for words in (
        "event.topic", "times in ms", "The first 10 rows", "--event-id id",
        "--publications-rename event.ts=timestamp", "--subscriptions SUBSCRIPTIONS",
    ):  # fmt: skip
        assert words in out
    assert [path.name for path in tmp_path.iterdir()] == ["plays.json"]


@pytest.mark.parametrize(
    ("text", "name", "role", "columns"),
    [
        ("user,artist,op,at\nu,a,follow,1704110400\n", "log.csv", "log",
         {"subscriber": "user", "topic": "artist", "action": "op", "timestamp": "at"}),
        ("u\ta\t1704110400\nv\tb\t1704110401\n", "x.tsv", "publications", {"timestamp": "column3"}),
        ("song,plays\na,3\nb,4\n", "counts.csv", "publications",
         {"topic": "song", "events": "plays"}),
        ("# SNAP\n0 1\n2 3\n", "graph.txt", "edges",
         {"subscriber": "subscriber", "topic": "topic"}),
        ("follower,followee,since\nu,a,2024-01-01\n", "f.csv", "subscriptions",
         {"subscriber": "follower", "topic": "followee", "since": "since"}),
    ],
)  # fmt: skip
def test_roles_and_columns(tmp_path, text, name, role, columns):
    [found] = look(traces.write_text(tmp_path / name, text))
    assert found.guess.role == role
    assert columns.items() <= found.guess.columns.items()


def test_problems_are_told(tmp_path):
    rows = [{"topic": "a", "timestamp": NOON + n} for n in range(200)]
    rows += [{"topic": "a", "timestamp": 5}, {"topic": "", "timestamp": "noon"}]
    path = traces.write_csv(tmp_path / "p.csv", rows)
    path.write_text(path.read_text() + "1,2,3\n")
    [found] = look(path)
    problems = " | ".join(found.guess.problems)
    for words in (
        "1 rows cannot be taken apart, as '1,2,3'", "1 of 202 rows have no topic",
        "1 times cannot be read, as 'noon'", "1 of 201 times are far from the others, as 1970",
    ):  # fmt: skip
        assert words in problems
    dates = [{"topic": "a", "timestamp": f"202401{day}"} for day in range(10, 20)]
    [found] = look(traces.write_csv(tmp_path / "d.csv", dates))
    assert "dates without dashes" in " | ".join(found.guess.problems)


def test_typed_columns_and_structs(tmp_path):
    event = pa.array([{"topic": "a", "at": NOON * 10**9}])
    pq.write_table(pa.table({"event": event, "bytes": [1.5]}), tmp_path / "p.parquet")
    [found] = look(tmp_path / "p.parquet")
    assert found.guess.columns == {
        "topic": "event.topic", "timestamp": "event.at", "bytes": "bytes",
    }  # fmt: skip
    assert found.guess.times == ["ns"]
    assert "event.at=timestamp" in command_of([found])


def test_what_cannot_be_looked_at_is_one_line(tmp_path, capsys):
    traces.write_text(tmp_path / "lake" / "_delta_log" / "0.json", "{}")
    traces.write_parquet(tmp_path / "lake" / "a.parquet", topic=["a"])
    for paths, says in (((), "FILE"), (["no.csv"], "no such file"), ([tmp_path / "lake"], "Delta")):
        status, out, err = run(capsys, "--look", *paths)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert says in err
    status, _, err = run(capsys, "plays.csv", "--publications", "p", "--out", "o")
    assert (status, err.count("\n")) == (2, 1)
    assert "--look" in err
    (tmp_path / "u.csv").write_bytes("topic\na\n".encode("utf-16"))
    with pytest.raises(InputError, match="iconv"):
        look(tmp_path / "u.csv")


def test_a_look_needs_no_spark(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)  # an import of it fails
    assert run(capsys, "--look", nested_plays(tmp_path / "plays.json"))[0] == 0
