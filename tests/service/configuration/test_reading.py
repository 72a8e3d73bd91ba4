"""The configuration: all mistakes at once with their lines, and files that we write ourselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import InputError
from fanwise.service.configuration.reading import (
    ConfigurationError,
    find_lines,
    read_configuration,
)
from fanwise.service.configuration.template import write_reference, write_template

ROOT = Path(__file__).parents[3]
LEAST = """\
[source]
kind = "mqtt"

[decide]
tau = 20
capacity = "10%"
"""


def read(tmp_path, text):
    path = tmp_path / "fanwise.toml"
    path.write_text(text, encoding="utf-8")
    return read_configuration(path)


def mistakes(tmp_path, text):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    return [(one.line, one.text) for one in caught.value.mistakes]


def test_the_file_that_init_writes_is_valid(tmp_path):
    found = read(tmp_path, write_template())
    assert found.execute.mode == "dry-run"
    assert found.source.kind == "mqtt"
    assert found.server.host == "127.0.0.1"


def test_every_setting_of_the_template_can_be_switched_on(tmp_path):
    """What stands behind a # is valid TOML with a value of the right type."""
    lines = []
    for line in write_template().splitlines():
        bare = line.removeprefix("# ")
        is_setting = line.startswith("# ") and " = " in bare and not bare.startswith("# ")
        is_empty = bare.endswith(' = ""') or "FILL IN" in bare
        is_other_source = bare.startswith(("kind =", "publications", "subscriptions", "format ="))
        is_other_source |= bare.startswith(("options", "payload", "url"))
        skip = is_empty or is_other_source or bare.startswith("Check")
        lines.append(bare if is_setting and not skip and bare[0].islower() else line)
    text = "\n".join(lines)
    # Tables of outputs and prices are off as wholes: their settings are behind two marks.
    found = read(tmp_path, text)
    assert found.windows.length == 3600


def test_defaults_and_paths(tmp_path):
    found = read(tmp_path, 'state = "here"\n' + LEAST)
    assert found.state == tmp_path / "here"
    assert found.windows.length == 3600
    assert found.windows.idle == 300
    assert found.monitor.spool_limit == 2 * 10**9
    assert found.decide.capacity == "10%"


def test_every_mistake_is_told_at_once_with_its_line(tmp_path):
    text = """\
[server]
port = 99999
tls_key = "key.pem"

[source]
kind = "mqtt"
hosst = "x"

[windows]
length = "1x"

[decide]
capacity = "a lot"

[[execute.file]]
name = "one"

[[execute.file]]
name = "two"
path = 3
"""
    found = mistakes(tmp_path, text)
    lines = dict(found)
    assert lines[2].startswith("server.port must be less than or equal to 65535")
    assert lines[7].startswith("source.hosst is no setting")
    assert "did you mean host?" in lines[7]
    assert lines[10].startswith("windows.length must be a duration such as '90s'")
    assert lines[12].startswith("decide.tau is missing")
    assert lines[13].startswith("decide.capacity must be a number >= 0 or a percentage")
    assert lines[15].startswith("execute.file.0.path is missing")
    assert 20 in lines
    assert len(found) == 7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("[windows]\nlength = '1h'\nslide = '7m'", "slide must divide length"),
        ("[decide.forecast]\nkind = 'guess'", "decide.forecast.kind must be 'last'"),
        ("[server]\ntls_key = 'k'", "tls_certificate and tls_key come together"),
        ("[store]\nkeep = 0", "store.keep must be longer than nothing"),
        ("[nonsense]\na = 1", "nonsense is no setting"),
        ("[monitor]\nspool_limit = 'much'", "must be a size such as"),
        ("[server]\nport = true", "server.port must be a number"),
    ],
)
def test_single_mistakes(tmp_path, change, words):
    found = mistakes(tmp_path, f"{LEAST}\n{change}\n")
    assert len(found) == 1
    assert words in found[0][1]


def test_changes_are_limited_in_one_way(tmp_path):
    text = LEAST + "max_changes = 3\nchange_price = 2\n"
    assert "exclude each other" in mistakes(tmp_path, text)[0][1]
    both = LEAST + 'pin = ["a"]\nexclude = ["a"]\n'
    assert "both name 'a'" in mistakes(tmp_path, both)[0][1]


def test_what_is_no_toml_has_its_line_too(tmp_path):
    ((line, words),) = mistakes(tmp_path, LEAST + "what is this\n")
    assert line == 7
    assert words.startswith("is not TOML")
    (tmp_path / "latin").write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_configuration(tmp_path / "latin")
    with pytest.raises(InputError, match="--init"):
        read_configuration(tmp_path / "nowhere")


def test_a_source_without_a_kind_is_told_the_kinds(tmp_path):
    text = "[source]\nhost = 'x'\n[decide]\ntau = 1\ncapacity = 1\n"
    ((line, words),) = mistakes(tmp_path, text)
    assert line == 1
    assert "'folder', 'mqtt' or 'spark'" in words


def test_lines_are_found_through_tables_and_long_strings():
    text = 'a = """\nb = 1\n"""\n[t]\nc = 2\n[[u]]\nd = 1\n[[u]]\n"e" = 2\n[t.v]\nf.g = 3\n'
    lines = find_lines(text)
    assert lines[("a",)] == 1
    assert ("b",) not in lines
    assert lines[("t", "c")] == 5
    assert lines[("u", 0, "d")] == 7
    assert lines[("u", 1, "e")] == 9
    assert lines[("t", "v", "f", "g")] == 11


def test_the_reference_page_is_the_one_of_the_code():
    page = (ROOT / "docs" / "serve" / "configuration.md").read_text(encoding="utf-8")
    assert page == write_reference(), (
        "python -m fanwise.service.configuration.template writes it anew"
    )


def test_the_same_hour_needs_windows_that_divide_a_day(tmp_path):
    text = LEAST + 'forecast = { kind = "same-hour" }\n[windows]\nlength = "7m"\n'
    [(_, said)] = mistakes(tmp_path, text)
    assert "divide a day" in said
    read(tmp_path, text.replace("7m", "15m"))


@pytest.mark.parametrize(
    "change",
    [
        "[[execute.webhook]]\nurl = 'https://bob:hunter2@example.org/x'",
        "[[execute.webhook]]\nurl = 'https://bob:hun/ter2@example.org/hunter2@x'",
        "[[execute.webhook]]\nurl = 'ftp://example.org/?password=hunter2&x=1'",
        "[[execute.webhook]]\nurl = 'https://example.org/'\nsecret_file = ['hunter2']",
        "[[execute.webhook]]\nurl = 'https://example.org/'\nsecret_variable = ['hunter2']",
        "[monitor]\nconf = { 'spark.x' = ['hunter2'] }",
        "[store]\nurl = ['postgresql://bob:hunter2@example.org/x']",
        "[[execute.mqtt]]\npassword_file = ['hunter2']",
        "[[execute.mqtt]]\npassword = 'hunter2'",
    ],
)
def test_secrets_are_in_no_mistake(tmp_path, change):
    found = mistakes(tmp_path, f"{LEAST}\n{change}\n")
    assert found
    assert not any("hunter2" in text or "hun/ter2" in text for _, text in found), found


def test_options_of_sources_may_hold_secrets(tmp_path):
    text = (
        "[source]\nkind = 'spark'\nformat = 'kafka'\n[source.options]\n"
        "'kafka.sasl.jaas.config' = ['password=hunter2']\n[decide]\ntau = 1\ncapacity = 1\n"
    )
    found = mistakes(tmp_path, text)
    assert len(found) == 1
    assert "hunter2" not in found[0][1]


def test_what_is_no_secret_is_shown(tmp_path):
    ((_, text),) = mistakes(tmp_path, f"{LEAST}\n[windows]\nlength = 'soon'\n")
    assert text.endswith("got 'soon'")
    ((_, text),) = mistakes(tmp_path, f"{LEAST}\n[[execute.webhook]]\nurl = 'ftp://a.org/b?c=1'\n")
    assert text.endswith("got 'ftp://a.org/b?c=1'")


def test_all_paths_are_seen_from_the_folder_of_the_file(tmp_path):
    text = (
        "[source]\nkind = 'folder'\npublications = 'in/events'\nsubscriptions = '/abs/subs'\n"
        "[decide]\ntau = 1\ncapacity = 1\n[store]\nurl = 'sqlite:///history.sqlite'\n"
    )
    found = read(tmp_path, text)
    assert found.source.publications == str(tmp_path / "in" / "events")
    assert found.source.subscriptions == "/abs/subs"
    assert found.store.url == f"sqlite:///{tmp_path}/history.sqlite"
    for url in ("sqlite:////abs/history.sqlite", "postgresql://bob:a%40b@host/x?sslmode=require"):
        other = read(tmp_path, text.replace("sqlite:///history.sqlite", url))
        assert other.store.url == url
    far = read(tmp_path, text.replace("in/events", "s3a://bucket/events"))
    assert far.source.publications == "s3a://bucket/events"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_other_machines_are_served_over_tls_or_on_purpose(tmp_path, host):
    open_ = f"{LEAST}\n[server]\nhost = '{host}'\n"
    ((line, text),) = mistakes(tmp_path, open_)
    assert "tls_certificate" in text
    assert "plain_http" in text
    assert read(tmp_path, open_ + "plain_http = true\n").server.host == host
    assert read(tmp_path, open_ + "tls_certificate = 'a'\ntls_key = 'b'\n").server.host == host
    assert line


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_loopback_needs_no_tls(tmp_path, host):
    assert read(tmp_path, f"{LEAST}\n[server]\nhost = '{host}'\n").server.host == host
