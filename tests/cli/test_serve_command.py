"""``fanwise serve`` short of running: configurations, tokens, history."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import is_one_line
from tests.service.services import close_hour, supervise

from fanwise.service.store.store import Store

WRONG = """\
state = "s"

[source]
kind = "mqtt"
prot = 1883

[decide]
tau = 0
capacity = "much"

[windows]
length = "soon"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(here, text=None):
    path = here / "fanwise.toml"
    (here / "events").mkdir(exist_ok=True)
    path.write_text(
        text
        or '[source]\nkind = "folder"\npublications = "events"\n\n'
        '[decide]\ntau = 2\ncapacity = "10%"\n'
    )
    return path


def test_init_writes_a_configuration_that_is_valid(run, here):
    done = run("serve", "--init", "fanwise.toml")
    assert (done.status, done.out) == (0, "")
    assert is_one_line(done.err)
    assert "fanwise serve --config fanwise.toml --check" in done.err
    checked = run("serve", "--check")
    assert (checked.status, checked.out) == (0, "fanwise.toml: nothing is wrong with it.\n")
    found = run("serve", "--config", "fanwise.toml", "--check", "--json").json
    assert found == {"file": "fanwise.toml", "valid": True, "mistakes": []}
    assert not (here / "fanwise-state").exists(), "nothing was started"


def test_init_overwrites_nothing(run, here):
    assert run("serve", "--init", "a.toml", "--json").json == {"file": "a.toml"}
    (here / "a.toml").write_text("mine\n")
    for place in ("a.toml", here, here / "gone" / "c.toml"):
        refused = run("serve", "--init", place)
        assert (refused.status, refused.out) == (2, "")
        assert is_one_line(refused.err)
    assert (here / "a.toml").read_text() == "mine\n"


def test_check_tells_every_mistake_with_its_line(run, here):
    path = write(here, WRONG)
    done = run("serve", "--config", path, "--check")
    assert (done.status, done.out) == (2, "")
    lines = done.err.splitlines()
    assert len(lines) == 4
    for number, word in ((5, "did you mean port?"), (8, "tau"), (9, "capacity"), (12, "length")):
        assert any(f"line {number}: " in line and word in line for line in lines), done.err
    done = run("serve", "--config", path, "--check", "--json")
    assert (done.status, done.err) == (2, "")
    assert done.json["valid"] is False
    assert [one["line"] for one in done.json["mistakes"]] == [5, 8, 9, 12]


def test_check_looks_for_what_the_configuration_names(run, here):
    path = write(here)
    assert run("serve", "--check").status == 0
    (here / "events").rmdir()
    done = run("serve", "--check")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "source.publications: there is no folder" in done.err
    path.unlink()
    done = run("serve", "--check", "--json")
    assert done.status == 2
    assert "--init" in done.json["mistakes"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "fanwise serve --init fanwise.toml writes one"),
        (["--config", "gone.toml"], "gone.toml: cannot be read"),
        (["--demo", "--config", "fanwise.toml"], "'config' parameter must be left out with --demo"),
        (["--demo", "--check"], "exclude each other"),
        (["--init", "a", "--export", "b"], "--init and --export exclude each other"),
        (["--port", "70000"], "--port"),
        (["token", "create", "--role", "king", "--state", "."], "one of read, approve, admin"),
        (["token", "create", "--role", "read"], "fanwise.toml"),
        (["token", "list", "--state", "gone"], "there is no such state folder"),
        (["token", "revoke", "0" * 12, "--state", "."], "token list shows them"),
        (["--export", "out"], "fanwise.toml"),
    ],
)
def test_mistakes_are_one_line(run, here, arguments, words):
    done = run("serve", *arguments)
    assert (done.status, done.out) == (2, "")
    assert is_one_line(done.err), done.err
    assert words in done.err
    assert [path.name for path in here.iterdir()] in ([], ["store.sqlite"]), "nothing was begun"


def test_a_wrong_configuration_does_not_start(run, here):
    done = run("serve", "--config", write(here, WRONG))
    assert (done.status, done.out) == (2, "")
    assert is_one_line(done.err)
    assert "line 5" in done.err


def test_tokens_are_made_listed_and_revoked(run, here):
    write(here)
    text = run("serve", "token", "create", "--role", "approve", "--label", "ann").out.strip()
    made = run("serve", "token", "create", "--role", "read", "--json").json
    assert (made["role"], made["label"]) == ("read", f"read token {made['id'][:4]}")
    store = Store(here / "fanwise-state" / "store.sqlite")
    kept = {token.label: token for token in store.tokens()}
    store.close()
    assert text.startswith(f"fw_{kept['ann'].id}_")
    secret = text.rsplit("_", 1)[1]
    listed = run("serve", "token", "list")
    assert kept["ann"].id in listed.out
    assert secret not in listed.out
    assert secret.encode() not in (here / "fanwise-state" / "store.sqlite").read_bytes()
    done = run("serve", "token", "revoke", made["id"], "--state", "fanwise-state", "--json")
    assert done.json == {"id": made["id"], "revoked": True}
    assert run("serve", "token", "revoke", made["id"]).status == 2, "it is worthless already"
    assert "worthless" in run("serve", "token", "revoke", kept["ann"].id).out
    rows = run("serve", "token", "list", "--json").json["tokens"]
    assert {(row["label"], row["revoked"]) for row in rows} == {
        ("ann", True), (made["label"], True),
    }  # fmt: skip


def test_history_is_exported_as_parquet(run, here):
    service = supervise(here)
    close_hour(service, 0)
    close_hour(service, 1, {"cats": 3})
    service.stop()
    path = write(here)
    path.write_text(f'state = "{here}/state"\n' + path.read_text())
    done = run("serve", "--export", "history", "--json")
    assert done.status == 0, done.err
    assert done.json["rows"]["decisions"] == 2
    table = pq.read_table(here / "history" / "decisions.parquet")
    assert table["state"].to_pylist() == ["superseded", "pending"]
    again = run("serve", "--export", "history")
    assert again.status == 2
    assert is_one_line(again.err)
    assert json.loads((here / "history" / "history.json").read_text())["format"]


def test_the_demo_runs_below_its_state_folder(run, here, monkeypatch):
    from fanwise.service import running

    asked = []

    def run_service(configuration, ready, *, is_demo):
        asked.append((configuration, is_demo))
        ready("http://127.0.0.1:9", configuration.state, "fw_1_2")

    monkeypatch.setattr(running, "run_service", run_service)
    told = run("serve", "--demo", "--state", "s", "--port", "0", "--json").json
    assert told == {"url": "http://127.0.0.1:9", "state": str(here / "s"), "token": "fw_1_2"}
    configuration, is_demo = asked[0]
    assert is_demo
    assert (configuration.server.host, configuration.server.port) == ("127.0.0.1", 0)
    assert configuration.source.publications.startswith(str(here / "s"))
    text = run("serve", "--demo", "--state", "s").out
    assert "FANWISE_TOKEN=fw_1_2 fanwise decisions list --url http://127.0.0.1:9\n" in text
    write(here)
    told = run("serve", "--port", "0", "--state", "other", "--json").json
    assert told["state"] == str(here / "other")
    assert asked[-1][1] is False


def test_a_day_is_replayed_once_in_a_folder(run, here):
    (here / "s").mkdir()
    (here / "s" / "stream.sqlite").touch()
    done = run("serve", "--demo", "--state", "s")
    assert done.status == 2
    assert is_one_line(done.err)
    assert "s: a day was replayed there already" in done.err


def test_history_is_exported_without_a_configuration(run, here):
    service = supervise(here)
    close_hour(service, 0)
    service.stop()
    done = run("serve", "--export", "history", "--state", "state", "--json")
    assert done.status == 0, done.err
    assert done.json["rows"]["decisions"] == 1
    done = run("serve", "--export", "other", "--state", "gone")
    assert (done.status, is_one_line(done.err)) == (2, True)
    assert "there is no such state folder" in done.err
    assert not (here / "gone").exists()


def test_options_before_a_subcommand_are_obeyed(run, here):
    write(here)
    (here / "other.toml").write_text('state = "elsewhere"\n' + (here / "fanwise.toml").read_text())
    made = run("serve", "--config", "other.toml", "token", "create", "--role", "read", "--json")
    assert (here / "elsewhere").is_dir()
    assert not (here / "fanwise-state").exists()
    listed = run("serve", "token", "list", "--config", "other.toml", "--json").json["tokens"]
    assert [one["id"] for one in listed] == [made.json["id"]]
    listed = run("serve", "--state", "elsewhere", "token", "list", "--json").json["tokens"]
    assert [one["id"] for one in listed] == [made.json["id"]]
    both = run("serve", "--config", "fanwise.toml", "token", "list", "--config", "other.toml")
    assert made.json["id"] in both.out, "the nearer one counts"
    for given in (["--demo"], ["--check"], ["--port", "1"], ["--init", "a"], ["--export", "b"]):
        refused = run("serve", *given, "token", "list")
        assert (refused.status, refused.out) == (2, "")
        assert is_one_line(refused.err)
        assert given[0] in refused.err


def test_labels_that_are_taken_are_refused(run, here):
    write(here)
    done = run("serve", "token", "create", "--role", "read", "--label", "policy")
    assert (done.status, is_one_line(done.err)) == (2, True)


def test_check_lists_everything_that_is_not_there_with_its_line(run, here):
    path = write(
        here,
        """\
[store]
url = "mysql://bob:hunter2@host/x?password=hunter2"

[source]
kind = "folder"
publications = "gone"
subscriptions = "gone too"

[monitor]
snapshot = "nothing.csv"

[decide]
tau = 2
capacity = "10%"

[price]
catalog = "prices.csv"

[execute]
mode = "auto"

[[execute.webhook]]
url = "https://example.org/"
secret_file = "secret"

[[execute.mqtt]]
password_file = "password"
tls_ca = "ca.pem"
""",
    )
    (here / "password").write_text("\n")
    done = run("serve", "--check", "--json")
    assert done.status == 2
    lines = {one["line"]: one["text"] for one in done.json["mistakes"]}
    assert sorted(lines) == [2, 6, 7, 10, 17, 24, 27, 28]
    assert "hunter2" not in done.out
    for line, words in (
        (2, "store.url: "), (6, "source.publications: there is no folder"), (7, "gone too"),
        (10, "monitor.snapshot"), (17, "prices.csv"), (24, "execute.webhook.0.secret_file"),
        (27, "there is no secret in"), (28, "ca.pem cannot be read"),
    ):  # fmt: skip
        assert words in lines[line], lines[line]
    refused = run("serve", "--config", path)
    assert (refused.status, is_one_line(refused.err)) == (2, True)


def test_check_passes_where_everything_is_there(run, here):
    (here / "secret").write_text("s3cret\n")
    (here / "prices.csv").write_text("name,price,bandwidth\nsmall,0.1,1e9\n")
    path = write(here)
    path.write_text(
        path.read_text() + '[store]\nurl = "sqlite:///history.sqlite"\n[[execute.webhook]]\n'
        'url = "https://example.org/"\nsecret_file = "secret"\n'
    )
    done = run("serve", "--check")
    assert done.status == 0, done.err
    assert not (here / "history.sqlite").exists()
    assert run("serve", "token", "create", "--role", "read").status == 0
    assert (here / "history.sqlite").exists()


@pytest.mark.parametrize("more", [[], ["--demo"]])
def test_other_machines_are_not_served_in_the_clear_by_an_option(run, here, more):
    write(here)
    done = run("serve", *more, "--host", "0.0.0.0", "--port", "0")
    assert (done.status, done.out) == (2, "")
    assert is_one_line(done.err)
    assert "plain_http" in done.err
    assert not (here / "fanwise-state").exists()


def test_a_folder_that_was_there_keeps_its_permissions(run, here):
    shared = here / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    path = write(here)
    path.write_text('state = "shared"\n' + path.read_text())
    assert run("serve", "token", "create", "--role", "read").status == 0
    assert shared.stat().st_mode & 0o777 == 0o755
    assert (shared / "store.sqlite").stat().st_mode & 0o777 == 0o600, "digests of tokens"
    path.write_text(path.read_text().replace("shared", "ours"))
    assert run("serve", "token", "create", "--role", "read").status == 0
    assert (here / "ours").stat().st_mode & 0o777 == 0o700
