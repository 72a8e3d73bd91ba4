"""Clients of a broker network: a sensor that publishes points, and an alarm that wants some.

Begin a directory and brokers first, as docs/brokers/running.md says, and give its address:

    python examples/broker_clients.py 127.0.0.1:7400
"""

from __future__ import annotations

import asyncio
import random
import sys

from fanwise.brokers.library import AsyncClient, at_most_every

READINGS = 200
HOT, WET = 0.8, 0.6


async def watch(alarm: AsyncClient, expected: int) -> list[str]:
    """Return what the alarm hears: each reading once, whatever happens to brokers meanwhile."""
    heard = []
    async for message in alarm:
        heard.append(message.payload.decode())
        if len(heard) == expected:
            break
    return heard


async def main(directory: str) -> None:
    """Publish readings of temperature and humidity; print those that are hot and wet."""
    chosen = random.Random(7)
    readings = [(chosen.random(), chosen.random()) for _ in range(READINGS)]
    # The alarm agrees to move to another broker, but not more often than once an hour.
    policy = at_most_every(3600)
    async with (
        AsyncClient("alarm", directory, policy=policy) as alarm,
        AsyncClient("sensor", directory) as sensor,
    ):
        # From here on it gets all that is published in the rectangle, whatever is killed.
        await alarm.subscribe("hot and wet", (HOT, WET), (1.0, 1.0), settle="everywhere")
        expected = sum(heat >= HOT and wetness >= WET for heat, wetness in readings)
        watching = asyncio.create_task(watch(alarm, expected))
        # Without waiting for each answer: many share one write to the broker's disk.
        answers = [
            sensor.send(point, f"reading {number}".encode())
            for number, point in enumerate(readings)
        ]
        await asyncio.gather(*answers)
        heard = await watching
    print(f"{len(heard)} of {READINGS} readings are hot and wet, the first is {heard[0]}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
