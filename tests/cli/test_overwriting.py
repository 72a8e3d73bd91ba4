"""``--overwrite`` in every command that has it: ours is replaced, nothing else ever is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import typer.main
from tests.assign.small_places import content_of
from tests.cli.conftest import is_one_line
from tests.strategies import Instance
from tests.wire.small_wirings import wiring_of

import fanwise as fw
from fanwise.cli.app import app

INSTANCE = Instance([30.0, 20.0, 50.0, 7.0], [[0, 1], [1, 2], [2], [0, 3], [3], [1, 3]], tau=25.0)
SELECT = ("--tau", "25", "--capacity", "50%")
SMALL = ("--nodes", "12", "--topics", "8")

COMMANDS = {
    "select": ("select", "{topics}", *SELECT, "-a", "greedy", "--out", "{out}"),
    "provision": (
        *("provision", "{topics}", "--tau", "25", "--select", "gsp", "--pack", "cbp"),
        *("--out", "{out}"),
    ),
    "connect": ("connect", "{topics}", "-a", "gm", "--out", "{out}"),
    "assign": ("assign", "{content}", "-a", "closest", "--out", "{out}"),
    "wire": ("wire", "{wiring}", "-a", "packing", "--out", "{out}"),
    "compare": (
        *("compare", "select", "{topics}", *SELECT, "--algorithms", "greedy"),
        *("--plots", "{out}"),
    ),
    "sweep": (
        *("sweep", "select", "{topics}", "--tau", "25", "--capacities", "10%,50%"),
        *("--out", "{out}"),
    ),
    "stats": ("stats", "{topics}", "--plots", "{out}"),
    "plot": ("plot", "{topics}", "{plan}", "--out", "{out}", "--format", "svg"),
    "report": ("report", "--workload", "{topics}", "{plan}", "--out", "{out}"),
    "export --csv": ("export", "{plan}", "--workload", "{topics}", "--csv", "{out}"),
    "export --graphml": ("export", "{overlay}", "--workload", "{topics}", "--graphml", "{out}"),
    "export --dot": ("export", "{overlay}", "--workload", "{topics}", "--dot", "{out}"),
    "export --forests": ("export", "{overlay}", "--workload", "{topics}", "--forests", "{out}.csv"),
    "export --forests parquet": (
        *("export", "{overlay}", "--workload", "{topics}", "--forests", "{out}.parquet"),
    ),
    "export --mosquitto": ("export", "{overlay}", "--workload", "{topics}", "--mosquitto", "{out}"),
    "deploy interests": (
        *("deploy", "interests", "{topics}", "--edges", "{edges}", "--out", "{out}"),
    ),
    "generate spotify": ("generate", "spotify", "--scale", "0.0001", "--out", "{out}"),
    "generate twitter": ("generate", "twitter", "--scale", "0.0001", "--out", "{out}"),
    "generate music-trace": (
        *("generate", "music-trace", "--topics", "20", "--subscribers", "50", "--events", "100"),
        *("--pairs", "80", "--out", "{out}"),
    ),
    "generate expo": ("generate", "expo", *SMALL, "--out", "{out}"),
    "generate zipf": ("generate", "zipf", *SMALL, "--out", "{out}"),
    "generate unif": ("generate", "unif", *SMALL, "--out", "{out}"),
    "generate follow": ("generate", "follow", "--nodes", "60", "--out", "{out}"),
    "generate groups": ("generate", "groups", "--subscribers", "50", "--out", "{out}"),
    "generate rss": ("generate", "rss", "--subscribers", "50", "--out", "{out}"),
    "generate grid": ("generate", "grid", "--subscribers", "50", "--out", "{out}"),
    "generate difficult": ("generate", "difficult", "--subscribers", "20", "--out", "{out}"),
    "generate quadratic": ("generate", "quadratic", "--subscribers", "50", "--out", "{out}"),
    "generate sparse": ("generate", "sparse", "--subscribers", "50", "--out", "{out}"),
}
SLOW = {
    "ingest": (
        *("ingest", "--publications", "{plays}", "--subscriptions", "{follows}"),
        *("--out", "{out}"),
    ),
    "sample": ("sample", "{topics}", "--nodes", "2", "--out", "{out}"),
    "broker collect": (
        *("broker", "collect", "--directory", "127.0.0.1:1", "--workload", "{wiring}"),
        *("--out", "{out}"),
    ),
    "reproduce": ("reproduce", "select", "--scale", "0.0001", "--out", "{out}"),
}
"""What takes long, Spark or a running network: documents are put in the way of these, but they are
not run."""
EVERY = COMMANDS | SLOW
FILES = ("report", "export --graphml", "export --dot", "export --forests")
IS_FILE = {name: name.startswith(FILES) for name in EVERY}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """What the commands read."""
    home = tmp_path_factory.mktemp("inputs")
    workload = INSTANCE.workload()
    fw.write_workload(workload, home / "topics")
    fw.write_workload(content_of(INSTANCE), home / "content")
    fw.write_workload(wiring_of(INSTANCE), home / "wiring")
    fw.Selection(workload, tau=25.0, capacity="50%").solve("greedy").save(home / "plan")
    fw.Connection(workload).solve("gm").save(home / "overlay")
    (home / "plays").write_text("topic,timestamp\na,1\n")
    (home / "follows").write_text("subscriber,topic\nx,a\n")
    (home / "edges").write_text("subscriber,edge\ns0,a\ns1,b\n")
    return home


def spell(name, inputs, out):
    words = {path.name: path for path in inputs.iterdir()}
    return [word.format(out=out, **words) for word in EVERY[name]]


def place_of(name, inputs, out):
    """Where the command writes: what its last argument but options is."""
    return Path(next(word for word in spell(name, inputs, out) if word.startswith(str(out))))


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def test_no_command_is_forgotten():
    """Each command with the option is here, and its help says what the option does."""

    def walk(command, name):
        for child_name, child in getattr(command, "commands", {}).items():
            yield from walk(child, [*name, child_name])
        if any(parameter.name == "overwrite" for parameter in command.params):
            yield " ".join(name), command

    found = dict(walk(typer.main.get_command(app), []))
    assert set(found) == {name.partition(" --")[0] for name in EVERY}
    for name, command in found.items():
        (option,) = (one for one in command.params if one.name == "overwrite")
        assert "left alone" in option.help, name


@pytest.mark.parametrize("options", [(), ("--overwrite",)], ids=["plain", "overwrite"])
@pytest.mark.parametrize("name", EVERY)
def test_documents_in_the_way_survive(run, inputs, tmp_path, name, options):
    """Somebody's folder, file, link or device: exit 2, one line, and every byte is there."""
    for what in ("folder", "file", "link", "dangling", "pipe"):
        home = tmp_path / what
        home.mkdir()
        place = place_of(name, inputs, home / "out")
        if what == "folder":
            place.mkdir()
            (place / "thesis.tex").write_text("five years of work")
            (place / "photos").mkdir()
            (place / "photos" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n my dog")
        elif what == "file":
            place.write_text("five years of work")
        elif what == "pipe":
            os.mkfifo(place)
        else:
            (home / "thesis").mkdir()
            (home / "thesis" / "thesis.tex").write_text("five years of work")
            place.symlink_to(home / ("thesis" if what == "link" else "missing"))
        before = snapshot(home)
        done = run(*spell(name, inputs, home / "out"), *options)
        assert done.status == 2, (what, done)
        assert is_one_line(done.err), (what, done.err)
        assert not done.out
        assert str(place) in done.err
        assert snapshot(home) == before, what


@pytest.mark.parametrize("name", EVERY)
def test_devices_roots_and_places_below_files(run, inputs, tmp_path, name):
    (tmp_path / "file").write_text("mine")
    arguments = spell(name, inputs, "/dev/null")
    if "/dev/null" in arguments:
        done = run(*arguments, "--overwrite")
        assert (done.status, is_one_line(done.err)) == (2, True)
        assert "/dev/null: is a device" in done.err
        assert Path("/dev/null").is_char_device()
    for place in ("/", str(tmp_path / "file" / "out")):
        done = run(*spell(name, inputs, place), "--overwrite")
        assert (done.status, is_one_line(done.err)) == (2, True), done
    assert snapshot(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("name", COMMANDS)
def test_ours_is_replaced_and_only_ours(run, inputs, tmp_path, name, monkeypatch):
    """Again with --overwrite; then a crash on the way, and a document beside ours."""
    arguments = [*spell(name, inputs, tmp_path / "out"), "--json"]
    place = place_of(name, inputs, tmp_path / "out")
    done = run(*arguments)
    assert done.status == 0, done.err
    assert os.listdir(tmp_path) == [place.name]
    before = snapshot(tmp_path)
    refused = run(*arguments)
    assert (refused.status, is_one_line(refused.err)) == (2, True)
    assert "pass --overwrite" in refused.err
    again = run(*arguments, "--overwrite")
    assert again.status == 0, again.err
    assert set(snapshot(tmp_path)) == set(before)
    before = snapshot(tmp_path)

    from fanwise.workload import folders

    def crash(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "_put", crash)
    crashed = run(*arguments, "--overwrite")
    assert (crashed.status, is_one_line(crashed.err)) == (2, True)
    assert "No space left on device" in crashed.err
    assert snapshot(tmp_path) == before
    monkeypatch.undo()

    if IS_FILE[name]:
        place.write_text("mine\n" + place.read_text(errors="replace"))
    else:
        (place / "notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    done = run(*arguments, "--overwrite")
    assert (done.status, is_one_line(done.err)) == (2, True)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [name for name in EVERY if not IS_FILE[name]])
def test_an_output_of_another_kind_is_not_replaced(run, inputs, tmp_path, name):
    """A plan is no workload, a workload no plan, a picture neither."""
    kinds = {"topics": ("generate", "ingest", "sample", "broker collect", "deploy interests"),
             "plan": ("select", "provision", "connect", "assign", "wire")}  # fmt: skip
    for other, writers in kinds.items():
        if name.startswith(writers) and name != "generate music-trace":
            continue
        shutil.copytree(inputs / other, tmp_path / other)
        before = snapshot(tmp_path)
        done = run(*spell(name, inputs, tmp_path / other), "--overwrite")
        assert (done.status, is_one_line(done.err)) == (2, True)
        assert "is not" in done.err
        assert snapshot(tmp_path) == before


def test_inputs_are_not_replaced(run, inputs, tmp_path):
    for name in ("topics", "plan"):
        shutil.copytree(inputs / name, tmp_path / name)
    topics, plan = tmp_path / "topics", tmp_path / "plan"
    before = snapshot(tmp_path)
    for arguments in (
        ("sample", topics, "--nodes", 2, "--out", topics),
        ("select", topics, *SELECT, "--previous", plan, "--max-changes", 1, "--out", plan),
        ("select", topics, *SELECT, "--out", topics / "topics.parquet" / "plan"),
        ("ingest", "--publications", topics / "topics.parquet", "--subscriptions",
         topics / "interests.parquet", "--out", topics),
        ("report", "--workload", topics, plan, "--out", plan / "proof" / "page.html"),
    ):  # fmt: skip
        done = run(*arguments, "--overwrite")
        assert (done.status, is_one_line(done.err)) == (2, True), arguments
    assert snapshot(tmp_path) == before


def test_exported_tables_say_of_which_plan_they_are(run, inputs, tmp_path):
    assert run(*spell("export --csv", inputs, tmp_path / "out")).status == 0
    said = json.loads((tmp_path / "out" / "tables.json").read_text())
    plan = fw.read_plan(inputs / "plan")
    assert said == {"format": "fanwise.tables", "plan": plan.id, "workload": plan.workload,
                    "tables": ["topics"]}  # fmt: skip
