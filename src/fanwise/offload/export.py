"""A connect plan as the folder of an offload network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fanwise.errors import InputError
from fanwise.offload.files import Change, Folder, compare, read_network, write_network
from fanwise.offload.options import Options
from fanwise.offload.wiring import wire_network
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True)
class Exported:
    """What was written, what it changes, and whether no choice of ends would restart fewer."""

    folder: Folder
    change: Change
    is_least: bool


def export_network(
    plan: Plan,
    workload: TopicWorkload,
    path: Path,
    options: Options | None = None,
    *,
    overwrite: bool = False,
) -> Exported:
    """Write the network that a connect plan describes.

    Where one is replaced, files, ports, trees and bridges stay as they were as far as the plan
    allows, so that few brokers restart.
    """
    options = options or Options()
    previous = None
    if overwrite and path.is_dir():
        try:
            previous = read_network(path)
        except InputError:
            previous = None  # an empty folder, or a damaged one: nothing to hold on to
    wired = wire_network(workload, plan, options, None if previous is None else previous.network)
    folder = write_network(
        wired.network, options, plan, path, previous=previous, overwrite=overwrite
    )
    return Exported(folder, compare(previous, folder), wired.is_least)
