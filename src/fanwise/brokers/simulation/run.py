"""A run: trouble, then peace until nothing is left to do, and what is there then."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.client import ClientMachine
from fanwise.brokers.simulation.scenario import DIRECTORY, TROUBLE_SECONDS, Machines, Scenario
from fanwise.brokers.simulation.world import Trace, World

PATIENCE = 60.0
"""Virtual seconds after which peace must have come."""


@dataclass(frozen=True)
class Outcome:
    """What a run has shown.

    Attributes
    ----------
    trace
        ``(time, what, who, …)``: all that clients asked for and got, and that machines noted.
    remains
        What was not yet in order at the end, as sentences; empty if all is.
    """

    seed: int
    trace: Trace
    remains: tuple[str, ...]
    steps: int
    seconds: float


def simulate(
    seed: int, machines: Machines | None = None, make_world: type[World] = World
) -> Outcome:
    """One run; the same seed gives the same."""
    draw = Random(seed)
    world = make_world(draw.getrandbits(48))
    scenario = Scenario(world, Random(draw.getrandbits(48)), machines or Machines())
    scenario.populate()
    scenario.schedule()
    world.run(1.0 + TROUBLE_SECONDS)
    world.note("peace", "")
    _heal(world)
    end = world.now + PATIENCE
    # Twice in a row: what has gone wrong just before may not have been heard of yet.
    in_order = 0
    while in_order < 2 and world.now < end:
        world.run(world.now + 0.5)
        _heal(world)
        in_order = 0 if _remains(world) else in_order + 1
    return Outcome(seed, world.trace, tuple(_remains(world)), world.steps, world.now)


def _heal(world: World) -> None:
    world.apart.clear()
    world.slow.clear()
    world.disk_seconds = 0.0005
    for node in list(world.nodes.values()):
        if node.is_disk_full:
            world.fill_disk(node.name, False)
        if node.machine is None:
            world.start(node.name)


def _remains(world: World) -> list[str]:
    """What is not in order yet."""
    remains: list[str] = []
    homes: dict[str, list[str]] = {}
    for node in world.nodes.values():
        machine: Any = node.machine
        if isinstance(machine, BrokerMachine):
            remains += _remains_of_broker(node.name, machine, homes)
    for node in world.nodes.values():
        machine = node.machine
        if isinstance(machine, ClientMachine):
            if not machine.is_served or homes.get(node.name) != [machine.home]:
                at = ", ".join(homes.get(node.name, ["nowhere"]))
                remains.append(f"{node.name}: believes to be at {machine.home!r}, is at {at}")
            if machine.core.state.unanswered:
                remains.append(f"{node.name}: publications wait for an answer")
    return remains


def _remains_of_broker(name: str, machine: BrokerMachine, homes: dict[str, list[str]]) -> list[str]:
    remains = []
    state = machine.core.state
    for client in state.clients.values():
        if client.role == "home":
            homes.setdefault(client.name, []).append(name)
        else:
            remains.append(f"{name}: {client.name} is still {client.role}")
        if client.queue:
            remains.append(f"{name}: {len(client.queue)} wait for {client.name}")
        if client.target or client.sources:
            remains.append(f"{name}: the move of {client.name} is not over")
    for member in state.members.values():
        if len(member.stream):
            remains.append(f"{name}: {len(member.stream)} wait for {member.name}")
        if not member.is_up:
            remains.append(f"{name}: is not linked with {member.name}")
        if member.knows != state.version:
            remains.append(f"{name}: {member.name} does not know its routes")
    if not state.is_ready:
        remains.append(f"{name}: is not ready")
    return remains


__all__ = ["DIRECTORY", "Outcome", "simulate"]
