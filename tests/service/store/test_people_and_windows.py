"""Audit trail, tokens, pins and windows."""

from __future__ import annotations

import pytest
from tests.service.decisions import HOUR, NOON, entry

from fanwise.errors import ParameterError
from fanwise.service.records import AuditEntry, Window
from fanwise.service.store.people import opens, read_token
from fanwise.service.store.rows import WindowTotals


def test_the_audit_trail_is_paged(store):
    for index in range(5):
        store.add_audit(AuditEntry(NOON + index, "ann", "approve", f"h{index % 2}", f"n{index}"))
    page = store.audit(2)
    assert [one.note for one in page.rows] == ["n4", "n3"]
    page = store.audit(2, page.cursor)
    assert [one.note for one in page.rows] == ["n2", "n1"]
    page = store.audit(2, page.cursor)
    assert ([one.note for one in page.rows], page.cursor) == (["n0"], None)
    assert [one.note for one in store.audit(about="h1").rows] == ["n3", "n1"]
    assert store.audit(1).rows[0] == AuditEntry(NOON + 4, "ann", "approve", "h0", "n4", 5)


def test_tokens_are_shown_once_and_can_be_revoked(store):
    token, text = store.create_token("approve", "Ann", who="root", at=NOON)
    id, secret = read_token(text)
    assert id == token.id
    assert text.startswith(f"fw_{token.id}_")
    assert store.find_token(id) == token
    assert secret not in str(store.tokens())
    assert opens(token, secret)
    assert not opens(token, secret[:-1] + ("0" if secret[-1] != "0" else "1"))
    assert store.revoke_token(id, who="root", at=NOON + 1)
    assert not store.revoke_token(id, who="root", at=NOON + 2)
    assert not opens(store.find_token(id), secret)
    assert store.find_token("unknown") is None
    assert [one.what for one in store.audit().rows] == ["revoke-token", "create-token"]
    assert secret not in str(store.audit().rows)


@pytest.mark.parametrize(("role", "label"), [("root", "Ann"), ("read", " ")])
def test_tokens_have_a_role_and_a_label(store, role, label):
    with pytest.raises(ParameterError):
        store.create_token(role, label, who="root", at=NOON)
    assert store.tokens() == ()


@pytest.mark.parametrize("text", ["", "fw_", "fw_1_2", "fw_' OR 1_x", "Bearer", "fw_\0_\0"])
def test_what_is_no_token_is_none(text):
    assert read_token(text) is None


def test_pins_are_replaced_and_removed(store):
    store.set_pin("b", "pin", who="ann", at=NOON)
    store.set_pin("a", "pin", who="ann", at=NOON)
    store.set_pin("b", "exclude", who="bob", at=NOON + 1)
    assert [(pin.topic, pin.kind, pin.who) for pin in store.pins()] == [
        ("a", "pin", "ann"),
        ("b", "exclude", "bob"),
    ]
    assert store.remove_pin("b", who="ann", at=NOON + 2)
    assert not store.remove_pin("b", who="ann", at=NOON + 3)
    assert [pin.topic for pin in store.pins()] == ["a"]
    assert [one.what for one in store.audit().rows] == ["unpin", "exclude", "pin", "pin"]
    with pytest.raises(ParameterError):
        store.set_pin("a", "drop", who="ann", at=NOON)


def test_windows_are_paged_and_may_be_put_again(store):
    windows = [Window(NOON + index * HOUR, NOON + (index + 1) * HOUR) for index in range(4)]
    windows.insert(2, Window(windows[1].start, windows[1].end + HOUR))  # the length was changed
    for window in windows:
        store.put_window(WindowTotals(window, 10, 0, 1, "watermark", window.end))
    store.put_window(WindowTotals(windows[0], 10, 3, 1, "watermark", windows[0].end))
    seen, cursor = [], None
    while True:
        page = store.windows(2, cursor)
        seen += page.rows
        if (cursor := page.cursor) is None:
            break
    assert [one.window for one in seen] == windows[::-1]
    assert (seen[-1].late, seen[0].late) == (3, 0)


def test_entries_of_the_trail_need_no_note(store):
    store.add_audit(entry("approve", "x"))
    assert store.audit().rows[0].note == ""


@pytest.mark.parametrize("label", ["policy", "service", "command line", "anybody", " Policy "])
def test_labels_of_whom_no_token_is_are_refused(store, label):
    with pytest.raises(ParameterError, match="label"):
        store.create_token("read", label, who="ann", at=NOON)
    assert store.tokens() == ()


def test_tokens_without_a_label_are_told_apart(store):
    first, _ = store.create_token("approve", None, who="ann", at=NOON)
    second, _ = store.create_token("approve", None, who="ann", at=NOON)
    assert first.label == f"approve token {first.id[:4]}"
    assert second.label.startswith("approve token ")
    assert store.audit().rows[0].note.endswith(second.label)


def test_entries_of_the_trail_have_the_token(store):
    store.set_pin("a", "pin", who="ann", at=NOON, token="3fa9")
    store.remove_pin("a", who="ann", at=NOON, token="3fa9")
    assert [one.token for one in store.audit().rows] == ["3fa9", "3fa9"]
