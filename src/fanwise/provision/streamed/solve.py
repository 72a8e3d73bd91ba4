"""Provisioning out of core: greedy pairs, packing by groups, the bound, and tables on disk.

Stage 2 needs no pairs, only how many each topic has; and subscribers of a split topic go to its
machines in ascending id. So the plan is the one that the same algorithms make in memory.

Guarantee
    The same plan as ``gsp`` with the same packing in memory. The bound may be lower than there,
    never above the optimum.

Complexity
    A few passes over the pairs on disk; memory for the topics, the subscribers' demands and one
    block of pairs.

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014, Alg. 2, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.errors import ParameterError
from fanwise.planning.assembling import stated_parameters
from fanwise.planning.family import resolve_settings
from fanwise.planning.problem import Run
from fanwise.progress import SILENT, Progress
from fanwise.provision.allocation import list_machines
from fanwise.provision.bounds import BoundSearch
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.feasibility import misses_out, refuse_impossible
from fanwise.provision.machines import group
from fanwise.provision.machines.packing import (
    Fill,
    Packing,
    group_counts,
    pack_on_types,
    total_price,
)
from fanwise.provision.problem import Provisioning
from fanwise.provision.streamed.allocation import lay_out, pile_up, write_parts
from fanwise.provision.streamed.bounds import streamed_bound
from fanwise.provision.streamed.identity import hash_plan
from fanwise.provision.streamed.measuring import put_together
from fanwise.provision.streamed.needs import CHOSEN_BYTES, estimate_needs, refuse_full_disk
from fanwise.provision.streamed.pairs import Chosen, choose_greedily_in_blocks
from fanwise.provision.streamed.plan import StreamedPlan
from fanwise.provision.streamed.scratch import Scratch
from fanwise.provision.streamed.source import map_workload
from fanwise.workload.files import local_path
from fanwise.workload.topic import Tau
from fanwise.workload.topic.files import read_header

FILLS: dict[str, Fill] = {
    "cbp": group.fill_by_cost,
    "most-free": group.fill_most_free,
    "expensive-first": group.fill_expensive_first,
    "group": group.fill,
}
"""What packs groups, for each packing that the engine is described with."""

ENGINE = DESCRIPTION.engines["stream"]
DEFAULT = "+".join(ENGINE.stands_in.values())


def solve_streamed(
    path: str | Path,
    *,
    tau: Tau,
    algorithm: str = DEFAULT,
    scratch: str | Path | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    gap: float | None = None,
    progress: Progress = SILENT,
    proof: bool = True,
    **parameters: Any,
) -> StreamedPlan:
    """Make a plan for a workload whose pairs need not fit in memory.

    Parameters
    ----------
    path
        A workload folder; its pairs must ascend by subscriber.
    tau, parameters
        As for :class:`fanwise.provision.problem.Provisioning`.
    algorithm
        ``gsp`` with ``cbp``, ``most-free``, ``expensive-first`` or ``group``.
    scratch
        Where a folder for files in between is made, and the allocation until the plan is saved:
        best on the disk it will be saved to. Default: the system's temporary folder.
    seed
        Kept in the plan; nothing is random here.
    time_limit, gap
        Once the time is over or the gap reached, the bound is improved no further. The plan is
        always finished, and is the same.
    proof
        Whether the plan carries the certificate of its bound.
    """
    fill = find_fill(algorithm)
    run = Run(
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        progress=progress,
        wants_proof=proof,
        settings=default_settings(algorithm),
    )
    needs = estimate_needs(read_header(local_path(path)))
    temporary = Scratch(scratch)
    try:
        refuse_full_disk(temporary.folder.parent, needs.disk, "streaming the interests")
        with run.timed("read"):
            workload = map_workload(path, temporary.folder / "interests.bin", progress)
            problem = Provisioning(workload, tau=tau, **parameters)
        made = _make(problem, fill, temporary, run)
        return _finish(problem, algorithm, made, temporary, run)
    except BaseException:
        temporary.close()
        raise


def find_fill(algorithm: str) -> Fill:
    """Return the packing of an algorithm that can be streamed; refuse others."""
    names = algorithm.split("+")
    if len(names) != len(ENGINE.algorithms) or not ENGINE.runs(names):
        known = " + ".join(map("|".join, ENGINE.algorithms.values()))
        raise ParameterError("algorithm", f"{known} where pairs stay on disk", algorithm)
    return FILLS[names[-1]]


def default_settings(algorithm: str) -> dict[str, Any]:
    """Return the knobs of an algorithm, which engines leave as they are by default."""
    return resolve_settings(DESCRIPTION.algorithms(algorithm), {})


@dataclass(frozen=True)
class _Made:
    chosen: Chosen
    packing: Packing
    cost: float
    file: Path


def _make(problem: Provisioning, fill: Fill, temporary: Scratch, run: Run) -> _Made:
    """Choose pairs and pack them; with several types also as if each were the only one."""
    refuse_impossible(problem)
    best: _Made | None = None
    for i, variant in enumerate(variants(problem)):
        if i and misses_out(problem, variant.is_usable).any():
            continue
        file = temporary.folder / f"chosen-{i}.bin"
        with run.timed("select"):
            chosen = choose_greedily_in_blocks(variant, file, run.progress)
        with run.timed("pack"), run.progress.step("packing groups"):
            packing = pack_on_types(problem, group_counts(problem, chosen.counts), fill)
            cost = total_price(problem, packing)
        if best is None or cost < best.cost:
            if best is not None:
                best.file.unlink()
            best = _Made(chosen, packing, cost, file)
        else:
            file.unlink()
    if best is None:
        raise RuntimeError("everybody can be satisfied, but no pairs were chosen")
    return best


def variants(problem: Provisioning) -> Iterator[Provisioning]:
    """Yield the problem, then with each type alone under which other topics can be used."""
    yield problem
    seen = [problem.is_usable]
    for machine in problem.types_allowed:
        is_usable = problem.fits(machine)
        if not any(np.array_equal(is_usable, other) for other in seen):
            seen.append(is_usable)
            yield replace(problem, instance=machine.instance)


def _finish(
    problem: Provisioning, algorithm: str, made: _Made, temporary: Scratch, run: Run
) -> StreamedPlan:
    """Write the allocation, prove the bound, and put the plan together."""
    parameters = stated_parameters(problem, run)
    vms = list_machines(problem, made.packing)
    layout = lay_out(made.packing)
    allocation = temporary.folder / "allocation.parquet"
    allocation.mkdir()
    left = CHOSEN_BYTES - 4.0
    refuse_full_disk(temporary.folder, left * layout.num_rows, "the allocation")
    with run.timed("allocate"):
        pile_up(
            made.chosen.rows, layout, problem.workload.num_topics, temporary.folder, run.progress
        )
        made.file.unlink()
        written: Iterator[IntArray] = write_parts(
            layout, temporary.folder, allocation, run.progress
        )
        columns = layout.columns(written)
        identity = hash_plan(algorithm, parameters, layout.num_rows, columns, vms)
    with run.timed("fingerprint"), run.progress.step("taking the workload's fingerprint"):
        fingerprint = problem.workload.hash
    with run.timed("bound"), run.progress.step("proving the bound") as step:
        search = BoundSearch(run, step, made.cost)
        proven = streamed_bound(problem, search)
    plan = put_together(
        problem,
        algorithm,
        made.packing,
        run,
        identity=identity,
        fingerprint=fingerprint,
        proven=proven,
        stopped=search.stopped,
        is_enough=made.chosen.is_enough,
        allocation=allocation,
        scratch=temporary,
    )
    (temporary.folder / "interests.bin").unlink()
    return plan
