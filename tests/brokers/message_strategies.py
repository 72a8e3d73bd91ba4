"""Any message, made from what its fields are declared to hold."""

from __future__ import annotations

import dataclasses
import types
import typing

from hypothesis import strategies as st

from fanwise.brokers.messages import MESSAGES, Message

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
SCALARS = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: TEXT,
    bytes: st.binary(max_size=16),
    bool: st.booleans(),
    type(None): st.none(),
}
ANY = st.one_of(*SCALARS.values(), st.lists(SCALARS[int], max_size=3).map(tuple))


def values(hint) -> st.SearchStrategy:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return ANY
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(values(one) for one in inner))
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(one) for one in inner))
    if origin is dict:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=3)
    return SCALARS[hint]


def messages(kinds=None) -> st.SearchStrategy[Message]:
    def of(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, *(values(hints[one.name]) for one in dataclasses.fields(kind)))

    return st.one_of(*(of(kind) for kind in kinds or MESSAGES.values()))
