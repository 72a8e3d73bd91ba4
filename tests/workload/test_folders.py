"""Outputs appear whole or not at all, and replace nothing that is not ours."""

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InputError, OutputExistsError
from fanwise.planning.outputs import PLAN
from fanwise.report.page import PAGE, Report
from fanwise.workload import folders
from fanwise.workload.folders import atomic_file, atomic_folder, refuse_existing
from fanwise.workload.outputs import PICTURES, TRACE, WINDOWS, WORKLOAD

OTHERS = (PLAN, WINDOWS, TRACE, PICTURES)


def small(rate=1.0):
    return Instance([rate, 2.0], [[0], [0, 1]], tau=1).workload()


def snapshot(folder):
    """Everything in a folder, byte for byte; links by where they lead."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            content = os.readlink(path)
        else:
            content = path.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode)
        found[str(path.relative_to(folder))] = content
    return found


def refused(destination, kind=WORKLOAD, *, inputs=(), error=OutputExistsError):
    with pytest.raises(error) as caught:
        refuse_existing(destination, kind, overwrite=True, inputs=inputs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(params=["at once", "in two steps"])
def swap(request, monkeypatch):
    """Both ways to let folders change places."""
    if request.param == "in two steps":
        monkeypatch.setattr(folders, "exchange", lambda one, other: False)


def test_our_own_is_replaced(tmp_path, swap):
    fw.write_workload(small(1.0), tmp_path / "w")
    fw.write_workload(small(5.0), tmp_path / "w", overwrite=True)
    assert fw.read_workload(tmp_path / "w").rates.tolist() == [5.0, 2.0]
    assert sorted(snapshot(tmp_path)) == sorted(
        ["w", *(f"w/{name}" for name in os.listdir(tmp_path / "w"))]
    )


def test_the_old_one_stays_until_the_new_one_is_whole(tmp_path, swap):
    fw.write_workload(small(), tmp_path / "w")
    before = snapshot(tmp_path)
    for error in (RuntimeError, KeyboardInterrupt, SystemExit):
        with (  # noqa: PT012
            pytest.raises(error),
            atomic_folder(tmp_path / "w", WORKLOAD, overwrite=True) as folder,
        ):
            (folder / "workload.json").write_text("half of it")
            assert fw.read_workload(tmp_path / "w").num_topics == 2
            raise error
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("failing", ["rename", "_refuse_strange"])
def test_a_failure_between_the_two_steps_puts_the_old_one_back(tmp_path, monkeypatch, failing):
    monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    fw.write_workload(small(), tmp_path / "w")
    before = snapshot(tmp_path)
    if failing == "rename":
        original = Path.rename

        def rename(self, target):
            if Path(target).name == "w" and not self.name.endswith("-old"):
                raise OSError(28, "No space left on device")
            return original(self, target)

        monkeypatch.setattr(Path, "rename", rename)
    else:
        original = folders._refuse_strange

        def refuse(given, place, kind):
            if place.name != "w":
                raise KeyboardInterrupt
            original(given, place, kind)

        monkeypatch.setattr(folders, "_refuse_strange", refuse)
    with pytest.raises((InputError, KeyboardInterrupt)):
        fw.write_workload(small(7.0), tmp_path / "w", overwrite=True)
    assert snapshot(tmp_path) == before


def test_what_appears_meanwhile_stays(tmp_path, swap):
    """Somebody's file comes while we write: before the swap, and in the very last moment."""
    fw.write_workload(small(), tmp_path / "w")
    with (
        pytest.raises(OutputExistsError, match=r"has notes\.txt in it"),
        atomic_folder(tmp_path / "w", WORKLOAD, overwrite=True),
    ):
        (tmp_path / "w" / "notes.txt").write_text("mine")
    assert (tmp_path / "w" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["w"]
    (tmp_path / "new").mkdir()
    with (  # noqa: PT012
        pytest.raises(OutputExistsError, match="exists already"),
        atomic_folder(tmp_path / "new" / "w", WORKLOAD),
    ):
        (tmp_path / "new" / "w").mkdir()
        (tmp_path / "new" / "w" / "notes.txt").write_text("mine")
    assert snapshot(tmp_path / "new") == {"w": stat.S_IFDIR, "w/notes.txt": b"mine"}
    with (  # noqa: PT012
        pytest.raises(OutputExistsError, match="exists already"),
        atomic_file(tmp_path / "page.html", PAGE) as staging,
    ):
        staging.write_text("<!DOCTYPE html>")
        (tmp_path / "page.html").write_text("mine")
    assert (tmp_path / "page.html").read_text() == "mine"


def test_a_stranger_in_the_last_moment_comes_back(tmp_path, monkeypatch, swap):
    fw.write_workload(small(), tmp_path / "w")
    original, calls = folders.refuse_existing, []

    def refuse(*arguments, **options):
        original(*arguments, **options)
        calls.append(None)
        if len(calls) == 2:  # the last look before the swap
            (tmp_path / "w" / "notes.txt").write_text("mine")

    monkeypatch.setattr(folders, "refuse_existing", refuse)
    with pytest.raises(OutputExistsError, match="notes"):
        fw.write_workload(small(3.0), tmp_path / "w", overwrite=True)
    assert (tmp_path / "w" / "notes.txt").read_text() == "mine"
    assert fw.read_workload(tmp_path / "w").rates.tolist() == [1.0, 2.0]
    assert os.listdir(tmp_path) == ["w"]


def test_killed_between_the_two_steps(tmp_path, monkeypatch):
    """The next run puts back what was set aside, and only then looks at what it may do."""
    fw.write_workload(small(), tmp_path / "w")
    before = snapshot(tmp_path / "w")
    aside = tmp_path / ".w.fanwise-999999999-0123abcd-old"
    (tmp_path / "w").rename(aside)
    (tmp_path / ".w.fanwise-999999999-0123abcd").mkdir()
    folders.remove_leftovers(tmp_path / "w")
    assert snapshot(tmp_path / "w") == before
    assert os.listdir(tmp_path) == ["w"]


def test_leftovers_are_known_by_their_whole_name(tmp_path):
    kept = [".w.fanwise-notes", ".w.fanwise-999999999", ".w.fanwise-999999999-xyz",
            ".v.fanwise-999999999-abc", f".w.fanwise-{os.getpid()}-abc"]  # fmt: skip
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".w.fanwise-999999999-abc").mkdir()
    (tmp_path / ".w.fanwise-999999999-def").symlink_to(tmp_path / kept[0])
    folders.remove_leftovers(tmp_path / "w")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, ".w.fanwise-999999999-def"])


def test_files_links_pipes_and_sockets_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    fw.write_workload(small(), tmp_path / "w")
    Report("Mine").save(tmp_path / "page.html")
    (tmp_path / "link").symlink_to(tmp_path / "w")
    (tmp_path / "page-link").symlink_to(tmp_path / "page.html")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    before = snapshot(tmp_path)
    for kind in (WORKLOAD, PAGE):
        wanted = "a folder" if kind is WORKLOAD else "a file"
        names = {"pipe": "a pipe", "socket": "a socket", "link": "a symbolic link",
                 "page-link": "a symbolic link", "nowhere": "a symbolic link"}  # fmt: skip
        names |= {"file": "a file"} if kind is WORKLOAD else {"w": "a folder"}
        for name, what in names.items():
            assert f"is {what}, not {wanted}" in refused(tmp_path / name, kind)
        assert "is a device" in refused("/dev/null", kind)
    assert "not a report that fanwise wrote" in refused(tmp_path / "file", PAGE)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("stranger", "named"),
    [("notes.txt", "notes.txt"), ("topics.csv", "topics.csv"), ("empty/", "empty/"),
     ("topics2.parquet", "topics2.parquet"), (".hidden", ".hidden"), ("quarantine/a.txt", "a.txt"),
     ("plan.json", "plan.json"), ("Workload.json", "Workload.json")],
)  # fmt: skip
def test_a_folder_with_other_files_beside_ours(tmp_path, stranger, named):
    fw.write_workload(small(), tmp_path / "w")
    place = tmp_path / "w" / stranger
    place.parent.mkdir(exist_ok=True)
    if stranger.endswith("/"):
        place.mkdir()
    else:
        place.write_text("mine")
    before = snapshot(tmp_path)
    assert named in refused(tmp_path / "w")
    with pytest.raises(OutputExistsError):
        fw.write_workload(small(), tmp_path / "w", overwrite=True)
    assert snapshot(tmp_path) == before


def test_links_inside_are_strangers(tmp_path):
    (tmp_path / "mine.parquet").write_text("mine")
    fw.write_workload(small(), tmp_path / "w")
    (tmp_path / "w" / "topics.parquet").unlink()
    (tmp_path / "w" / "topics.parquet").symlink_to(tmp_path / "mine.parquet")
    assert "topics.parquet" in refused(tmp_path / "w")


def test_part_files_are_ours_and_what_is_beside_them_is_not(tmp_path):
    fw.write_workload(small(), tmp_path / "w")
    table = tmp_path / "w" / "topics.parquet"
    part = table.read_bytes()
    table.unlink()
    table.mkdir()
    (table / "part-0.parquet").write_bytes(part)
    (table / "_SUCCESS").write_text("")
    refuse_existing(tmp_path / "w", WORKLOAD, overwrite=True)
    (table / "notes.txt").write_text("mine")
    assert "topics.parquet/notes.txt" in refused(tmp_path / "w")


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.what)
def test_of_another_kind(tmp_path, kind):
    fw.write_workload(small(), tmp_path / "w")
    assert f"is not {kind.what}" in refused(tmp_path / "w", kind)
    plan = fw.Selection(small(), tau=1, capacity="50%").solve("greedy")
    plan.save(tmp_path / "plan")
    if kind is not PLAN:
        assert f"is not {kind.what}" in refused(tmp_path / "plan", kind)
    assert "is not a workload" in refused(tmp_path / "plan")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"fanwise.workload"', "{}", '{"format": null}', '{"format": ["x"]}',
     '{"format": "fanwise.plan"}', "[" * 100_000, "\xff"],
    ids=range(11),
)  # fmt: skip
@pytest.mark.parametrize("kind", [WORKLOAD, PLAN, TRACE], ids=lambda kind: kind.what)
def test_json_files_that_say_something_else(tmp_path, kind, text):
    name = kind.missing.split()[1]
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / name).write_bytes(text.encode("latin-1"))
    assert f"is not {kind.what}" in refused(tmp_path / "x", kind)


def test_windows(tmp_path):
    folder = tmp_path / "windows"
    fw.write_workload(small(), folder / "20240101T000000Z")
    header = [{"start": "a", "end": "b", "folder": "20240101T000000Z"}]
    (folder / "windows.json").write_text(json.dumps(header))
    refuse_existing(folder, WINDOWS, overwrite=True)
    (folder / "20240101T000000Z" / "plan").mkdir()
    assert "20240101T000000Z/plan/" in refused(folder, WINDOWS)
    for odd in ([{"folder": ".."}], [{"folder": 3}], [3], {"folder": "x"}, [{}]):
        (folder / "windows.json").write_text(json.dumps(odd))
        assert "is not a folder of windows" in refused(folder, WINDOWS)


def test_important_folders(tmp_path, monkeypatch):
    fw.write_workload(small(), tmp_path / "home")
    home = tmp_path / "home"
    monkeypatch.chdir(home)
    for spelling in (".", home, "../home", home / "x" / ".."):
        assert "the folder this runs in" in refused(spelling)
    (home / "inner").mkdir()
    monkeypatch.chdir(home / "inner")
    assert "the folder this runs in" in refused(home)
    assert "the folder this runs in" in refused("..")
    monkeypatch.chdir(tmp_path)
    (home / "inner").rmdir()
    refuse_existing(home, WORKLOAD, overwrite=True)
    monkeypatch.setenv("HOME", str(home))
    assert "home folder" in refused(home)
    assert "mount point" in refused("/")
    assert "mount point" in refused("/proc")


def test_mounted_folders(tmp_path, monkeypatch):
    fw.write_workload(small(), tmp_path / "w")
    inside = tmp_path / "w" / "topics.parquet"
    cases = {tmp_path / "w": "is a mount point", inside: "has a mount point in it"}
    for mounted, says in cases.items():
        monkeypatch.setattr(folders, "mount_points", lambda mounted=mounted: [mounted])
        assert says in refused(tmp_path / "w")
    monkeypatch.undo()
    assert Path("/") in folders.mount_points() or sys.platform != "linux"


def test_inputs_are_neither_replaced_nor_disturbed(tmp_path):
    fw.write_workload(small(), tmp_path / "w")
    assert "is what is read" in refused(tmp_path / "w", inputs=[tmp_path / "w"])
    inside = tmp_path / "w" / "topics.parquet"
    assert f"holds what is read ({inside})" in refused(tmp_path / "w", inputs=[None, inside])
    refuse_existing(tmp_path / "w" / "plan", PLAN, overwrite=False, inputs=[tmp_path / "w"])
    assert "is inside" in refused(inside / "plan", PLAN, inputs=[tmp_path / "w"])
    (tmp_path / "logs").mkdir()
    assert "is inside" in refused(tmp_path / "logs" / "w", inputs=[tmp_path / "logs"])
    (tmp_path / "link").symlink_to(tmp_path / "w")
    assert "is what is read" in refused(tmp_path / "w", inputs=[(tmp_path / "link").resolve()])


def test_places_where_nothing_can_be(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "is not a folder" in refused(tmp_path / "file" / "a" / "w", error=InputError)
    refused(tmp_path / "loop" / "w", error=InputError)
    refused(tmp_path / ("n" * 300), error=InputError)
    assert not (tmp_path / "missing").exists()


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed)  # root may always
    assert "does not permit it" in refused(closed / "w", error=InputError)
    assert "does not permit it" in refused(closed / "a" / "b", error=InputError)


def test_unfinished_outputs_go_with_the_process(tmp_path):
    script = (
        "from fanwise.workload.folders import atomic_folder\n"
        "from fanwise.workload.outputs import WORKLOAD\n"
        "import sys\n"
        "begun = [atomic_folder(sys.argv[1], WORKLOAD)]\n"
        "(begun[0].__enter__() / 'half').write_text('')\n"
        "sys._kept = begun\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "a" / "w"], check=True)
    assert not list(tmp_path.rglob("*w*"))


NAMES = st.sampled_from(
    ["notes.txt", "workload.json", "plan.json", "topics.parquet", "proof", "report.html", ".x",
     "windows.json", "trace.json", "tables.json", "curve.png", "points.csv", "a.png", "photo.png"]
)  # fmt: skip
TEXTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"{}", b"[]", b'{"format": "fanwise.plan"}', b'{"format": "fanwise.plan", "problem": 1}',
         b'{"format": "fanwise.other"}', b"<!DOCTYPE html><p>mine", b"\x89PNG\r\n\x1a\n",
         b'{"generator": "mine"}', b"[{}]"]
    ),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=5), st.data())
def test_documents_of_any_names_survive(tmp_path_factory, documents, data):
    """Whatever somebody keeps, under names like ours too: not one of the kinds takes it."""
    place = tmp_path_factory.mktemp("documents") / "mine"
    place.mkdir()
    for name, text in documents.items():
        (place / name).write_bytes(text)
    before = snapshot(place)
    kind = data.draw(st.sampled_from([WORKLOAD, *OTHERS]))
    if kind is WINDOWS and before == {"windows.json": b"[]"}:
        return  # an ingest without a single window
    with pytest.raises(OutputExistsError), atomic_folder(place, kind, overwrite=True):
        pass
    assert snapshot(place) == before
    assert [path.name for path in place.parent.iterdir()] == ["mine"]
