"""The page about the protocol names every message, outcome and code that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fanwise.brokers.messages import MESSAGES, REFUSALS, Hello, Ping, as_tuple, from_tuple
from fanwise.brokers.protocol.effects import NOTES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "brokers" / "protocol.md").read_text()
PROTOCOL = ROOT / "src" / "fanwise" / "brokers" / "protocol"


@pytest.mark.parametrize("name", sorted(kind.__name__ for kind in MESSAGES.values()))
def test_every_message_is_on_the_page(name):
    assert re.search(rf"\b{name}\b", PAGE), name


@pytest.mark.parametrize("code", REFUSALS)
def test_every_code_is_on_the_page(code):
    assert f"`{code}`" in PAGE


def calls(name: str) -> set[str]:
    """Texts that are given first to calls of this name anywhere in the protocol."""
    found = set()
    for path in PROTOCOL.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called == name:
                    texts = [n for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant)]
                    found.update(text.value for text in texts)
    return found


def test_every_note_is_described_and_made():
    assert calls("note") | calls("Noted") == set(NOTES)


def test_refusals_are_those_described():
    assert calls("Refused") <= set(REFUSALS)
    assert calls("NotDone") == {"full disk", "name", "left", "unknown", "role"}


def test_numbers_are_not_given_twice():
    assert len(MESSAGES) == len({kind.__name__ for kind in MESSAGES.values()})
    assert all(number == kind.TYPE for number, kind in MESSAGES.items())


def test_messages_and_tuples():
    hello = Hello(1, "client", "c")
    assert from_tuple((*as_tuple(hello), "of a later version")) == hello
    assert from_tuple(as_tuple(Ping())) == Ping()
    with pytest.raises(ValueError, match="no message has the type 999"):
        from_tuple((999,))
    with pytest.raises(ValueError, match="no message has the type None"):
        from_tuple(())
    with pytest.raises(ValueError, match="Hello"):
        from_tuple((Hello.TYPE, 1))
