"""The queue towards the application: bounded, in order, and safe to give up waiting on."""

from __future__ import annotations

import asyncio

import pytest

from fanwise.brokers.library import AsyncClient, Message
from fanwise.brokers.library.received import Inbox
from fanwise.errors import ParameterError


def message(number: int) -> Message:
    return Message("p", number, (0.5,), b"")


def test_messages_come_in_order_and_hold_back_the_next_ones():
    async def work():
        held: list[bool] = []
        inbox = Inbox(4, held.append)
        for number in range(6):
            inbox.put(message(number))
        assert held == [True]
        found = [(await inbox.get()).sequence for _ in range(4)]
        assert held == [True, False]
        inbox.close()
        found += [(await inbox.get()).sequence for _ in range(2)]
        assert found == list(range(6))
        assert await inbox.get() is None

    asyncio.run(work())


def test_who_gives_up_waiting_takes_nothing_away():
    async def work():
        inbox = Inbox(4, lambda is_held: None)
        first = asyncio.create_task(inbox.get())
        second = asyncio.create_task(inbox.get())
        await asyncio.sleep(0)
        inbox.put(message(1))
        first.cancel()
        assert (await second).sequence == 1
        third = asyncio.create_task(inbox.get())
        await asyncio.sleep(0)
        inbox.close()
        assert await third is None

    asyncio.run(work())


def test_options_of_a_client_are_checked():
    with pytest.raises(ParameterError, match="there is no such setting"):
        AsyncClient("ann", "here:1", nonsense=1)
    with pytest.raises(ParameterError, match="most_waiting"):
        AsyncClient("ann", "here:1", most_waiting=0)
    with pytest.raises(ParameterError, match="token") as error:
        AsyncClient("ann", "here:1", token="short")
    assert "short" not in str(error.value)
    with pytest.raises(ParameterError, match="directory"):
        AsyncClient("ann")
