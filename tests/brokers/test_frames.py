"""Frames: what is sent comes out again, and whatever is no frame is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.brokers.message_strategies import messages

from fanwise.brokers.frames import HEAD, Codec, Decoder, FrameError
from fanwise.brokers.messages import MESSAGES, Publish

CODEC = Codec(MESSAGES)


def feed(data: bytes, limit: int = 1 << 20) -> list[object]:
    return list(Decoder(CODEC, limit).feed(data))


@given(st.lists(messages(), max_size=5), st.data())
def test_what_is_sent_comes_out_again_however_it_is_cut(sent, data):
    stream = b"".join(CODEC.encode(one) for one in sent)
    decoder, found, place = Decoder(CODEC), [], 0
    while place < len(stream):
        size = data.draw(st.integers(1, len(stream) - place))
        found += decoder.feed(stream[place : place + size])
        place += size
    assert found == sent
    assert all(type(one) is type(other) for one, other in zip(found, sent, strict=True))


@given(st.binary(max_size=200))
def test_bytes_from_nowhere_are_refused_or_waited_for(data):
    found, said = [], ""
    try:
        found = feed(data, limit=150)
    except FrameError as error:
        said = str(error)
    assert "\n" not in said
    assert all(type(one) in MESSAGES.values() for one in found)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(),
    st.text(max_size=5), st.binary(max_size=5),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(MESSAGES)), st.lists(VALUES, max_size=8))
def test_fields_of_other_types_are_refused_never_anything_else(number, fields):
    body = msgpack.packb([number, *fields])
    with contextlib.suppress(FrameError):
        feed(HEAD.pack(len(body)) + body)


@given(messages(), st.data())
def test_one_changed_byte_is_a_message_or_refused(message, data):
    frame = bytearray(CODEC.encode(message))
    place = data.draw(st.integers(HEAD.size, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(FrameError):
        feed(bytes(frame))


@given(messages())
def test_fields_that_a_later_version_adds_are_left_aside(message):
    values = msgpack.unpackb(CODEC.encode(message)[HEAD.size :], strict_map_key=False)
    body = msgpack.packb([*values, "later", {"and": [1, 2]}])
    assert feed(HEAD.pack(len(body)) + body) == [message]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "at most"),
        (HEAD.pack(1) + b"\xc1", "not MessagePack"),
        (HEAD.pack(1) + b"\x05", "not an array"),
        (HEAD.pack(1) + b"\x90", "not an array"),
        (HEAD.pack(4) + b"\x91\xcd\x7f\xff", "unknown type 32767"),
        (HEAD.pack(2) + b"\x91\xc3", "not an array"),
        (HEAD.pack(3000) + b"\x91" * 3000, "not MessagePack"),
        (HEAD.pack(6) + b"\xdd\xff\xff\xff\xff\x01", "not MessagePack"),
    ],
)  # fmt: skip
def test_garbage_is_refused_in_one_line(data, said):
    with pytest.raises(FrameError, match=said):
        feed(data)


def test_a_frame_is_refused_before_it_is_read():
    with pytest.raises(FrameError, match="at most 64"):
        feed(HEAD.pack(65), limit=64)


DOCS = Path(__file__).parents[2] / "docs" / "brokers" / "wire-format.md"


def test_the_documented_format_is_the_format():
    text = DOCS.read_text()
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*?) \|", text, re.MULTILINE)
    said = {int(number): (name, re.findall(r"`(\w+)`", names)) for number, name, names in rows}
    assert said == {
        number: (kind.__name__, [field.name for field in dataclasses.fields(kind)])
        for number, kind in MESSAGES.items()
    }
    example = text.split("```\n00")[1].split("```")[0]
    lines = ("00" + example).splitlines()
    data = bytes.fromhex(" ".join(re.match(r" *((?:[0-9a-f]{2} )+)", line)[1] for line in lines))
    assert data == CODEC.encode(Publish(7, (0.5, 2.0), b"hi"))
