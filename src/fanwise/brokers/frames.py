"""Frames: a message behind its length, and what refuses whatever is none.

A frame is ``length`` (4 bytes, big-endian) and ``length`` bytes of MessagePack: an array of the
number of the message's type and its fields in order. A message is a frozen dataclass with a class
attribute ``TYPE``; what its fields may hold is read from their annotations. Fields at the end that
are not known are left aside, so that later versions may add some; fields at the end that have a
default may be missing.
"""

from __future__ import annotations

import dataclasses
import struct
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import msgpack

from fanwise.errors import FanwiseError

HEAD = struct.Struct(">I")
MOST_BYTES = 16 * 2**20
"""Bytes of a frame, once the other end is known."""
MOST_STRANGER_BYTES = 64 * 2**10
"""Bytes of a frame before that: a stranger makes nobody keep more."""

Check = Callable[[Any], Any]


class FrameError(FanwiseError):
    """Bytes that are no frame of a known message."""


class Codec:
    """Messages to frames and back.

    Parameters
    ----------
    classes
        Message classes by the number of their type.
    """

    def __init__(self, classes: Mapping[int, type[Any]]) -> None:
        self._pack = msgpack.Packer(use_bin_type=True, autoreset=True).pack
        self._getters: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}
        self._makers: dict[int, Callable[[tuple[Any, ...]], Any]] = {}
        for number, cls in classes.items():
            names = [field.name for field in dataclasses.fields(cls)]
            self._getters[cls] = _getter(number, names)
            self._makers[number] = _maker(cls)

    def encode(self, message: Any) -> bytes:
        """Return a message as a frame.

        Raises
        ------
        FrameError
            Where a field holds what cannot be sent.
        """
        try:
            body: bytes = self._pack(self._getters[type(message)](message))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FrameError(f"{type(message).__name__} cannot be sent: {error}") from None
        return HEAD.pack(len(body)) + body

    def decode(self, body: bytes | memoryview) -> Any:
        """Return the message of a frame's content.

        Raises
        ------
        FrameError
            Where it is none; the message never shows the content.
        """
        try:
            values = msgpack.unpackb(body, use_list=False, raw=False, strict_map_key=False)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
            raise FrameError("a frame is not MessagePack") from None
        if type(values) is not tuple or not values or type(values[0]) is not int:
            raise FrameError("a frame is not an array that begins with a type")
        return self.build(values)

    def build(self, values: tuple[Any, ...]) -> Any:
        """Return the message of a type and its fields in order.

        Raises
        ------
        FrameError
            Where there is none.
        """
        maker = self._makers.get(values[0]) if values and type(values[0]) is int else None
        if maker is None:
            raise FrameError(
                f"a message has the unknown type {values[0] if values else None!r:.20}"
            )
        return maker(values)


class Decoder:
    """Cuts what arrives into messages.

    Attributes
    ----------
    limit
        Bytes that a frame may have.
    """

    def __init__(self, codec: Codec, limit: int = MOST_BYTES) -> None:
        self._codec = codec
        self._rest = b""
        self.limit = limit

    def feed(self, data: bytes) -> Iterable[Any]:
        """Yield the messages that are whole now; the limit may change between two of them.

        Raises
        ------
        FrameError
            At the first frame that is too large or no message; nothing is to be read after it.
        """
        data = self._rest + data if self._rest else data
        self._rest = b""
        view = memoryview(data)
        place, end = 0, len(data)
        head = HEAD.size
        while end - place >= head:
            (length,) = HEAD.unpack_from(data, place)
            if length > self.limit:
                raise FrameError(f"a frame of {length:,} bytes, at most {self.limit:,} are taken")
            stop = place + head + length
            if stop > end:
                break
            yield self._codec.decode(view[place + head : stop])
            place = stop
        self._rest = bytes(view[place:])


def _getter(number: int, names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what makes the array of a frame of a message."""
    if not names:
        return lambda message: (number,)
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda message: (number, only(message))
    many = attrgetter(*names)
    return lambda message: (number, *many(message))


def _maker(cls: type[Any]) -> Callable[[tuple[Any, ...]], Any]:
    """Return what makes a message of the values of a frame, of which the first is the type."""
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    checks = [_check_of(hints[field.name]) for field in fields]
    num_needed = sum(
        field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        for field in fields
    )
    most = len(fields) + 1
    name = cls.__name__

    def make(values: tuple[Any, ...]) -> Any:
        if len(values) <= num_needed:
            raise FrameError(f"{name} has {len(values) - 1} fields, {num_needed} are needed")
        try:
            return cls(*[check(one) for check, one in zip(checks, values[1:most], strict=False)])
        except FrameError as error:
            raise FrameError(f"{name}: {error}") from None
        except (FanwiseError, TypeError, ValueError) as error:
            raise FrameError(f"{name}: {error}") from None

    return make


def _check_of(hint: Any) -> Check:
    """Return what passes a value of an annotated type on, and refuses others."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _either([_check_of(one) for one in inner])
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return _sequence(_check_of(inner[0]))
    if origin is tuple:
        return _row([_check_of(one) for one in inner])
    if origin in (dict, Mapping) or (origin is not None and issubclass(origin, Mapping)):
        return _table(_check_of(inner[0]), _check_of(inner[1]))
    if hint is float:
        return _number
    if hint is Any:
        return lambda value: value
    if hint is None:
        return _exactly(type(None))
    return _exactly(hint)


def _exactly(kind: type[Any]) -> Check:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise FrameError(f"{type(value).__name__} where {kind.__name__} is due")
        return value

    return check


def _number(value: Any) -> float:
    if type(value) is int:
        return float(value)
    if type(value) is not float or value != value:
        raise FrameError("something else where a number is due")
    return value


def _either(checks: list[Check]) -> Check:
    def check(value: Any) -> Any:
        for one in checks:
            try:
                return one(value)
            except FrameError:
                continue
        raise FrameError(f"{type(value).__name__} is none of the types that are due")

    return check


def _sequence(check: Check) -> Check:
    def check_all(value: Any) -> tuple[Any, ...]:
        if type(value) is not tuple:
            raise FrameError(f"{type(value).__name__} where an array is due")
        return tuple([check(one) for one in value])

    return check_all


def _row(checks: list[Check]) -> Check:
    def check_all(value: Any) -> tuple[Any, ...]:
        if type(value) is not tuple or len(value) != len(checks):
            raise FrameError(f"not an array of {len(checks)} where one is due")
        return tuple([check(one) for check, one in zip(checks, value, strict=True)])

    return check_all


def _table(key: Check, content: Check) -> Check:
    def check_all(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise FrameError(f"{type(value).__name__} where a map is due")
        return {key(name): content(one) for name, one in value.items()}

    return check_all
