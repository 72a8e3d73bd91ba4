"""Plans: what an algorithm decided, how good it is, and the proof of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise._version import __version__
from fanwise.errors import (
    MissingDependencyError,
    ParameterError,
    PlanError,
    WorkloadError,
)
from fanwise.planning.families import FAMILIES, REPORT, find_family
from fanwise.planning.family import load
from fanwise.planning.identity import plan_id
from fanwise.planning.outputs import PLAN
from fanwise.planning.outputs import PLAN_FORMAT as FORMAT
from fanwise.planning.proof import Proof, read_proof, write_proof
from fanwise.workload.files import local_path, output_path, part_files
from fanwise.workload.folders import atomic_folder
from fanwise.workload.headers import read_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fanwise.planning.diff import PlanDiff
    from fanwise.planning.explanation import Explanation
    from fanwise.planning.verify import Verification
    from fanwise.workload.topic import TopicWorkload

VERSION = 1


def certified_gap(objective: float, bound: float | None, *, is_feasible: bool) -> float | None:
    """Return how far the plan can be from the optimum: |bound - objective| over the larger.

    0 when both are 0; None without a bound or for an infeasible plan.
    """
    if bound is None or not is_feasible:
        return None
    largest = max(abs(bound), abs(objective))
    return 0.0 if largest == 0 else abs(bound - objective) / largest


@dataclass(frozen=True, eq=False)
class Plan:
    """A decision with its certificate; made by ``solve`` of a problem, or read by ``read_plan``.

    :meth:`to_pandas` and :meth:`to_arrow` give the decision with names, :attr:`tables` with ids.

    Attributes
    ----------
    problem, algorithm, parameters
        What was asked and how it was answered.
    objective, bound, gap
        The plan's value, a proven bound on the best possible, and the distance between them.
    feasible
        Whether every limit holds.
    tables
        The decision itself, as Arrow tables with the workload's ids.
    workload
        The hash of the workload it was made for.
    seconds, metrics
        Time spent by part; what else was measured.
    proof
        What the bound follows from; None where it was left out.
    stopped, limits
        Why the algorithm ended, and every limit that could have ended it.
    warnings
        What a reader must know before the numbers, by a short code: ``empty-question``,
        ``no-useful-bound``.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.TopicWorkload.from_edges(
    ...     [("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")], rate={"rock": 30, "jazz": 10}
    ... )
    >>> plan = fw.Selection(workload, tau=10, capacity=20).solve("greedy")
    >>> plan
    Plan(select by greedy: satisfied subscribers 2, at most 2 possible, gap 0%)
    >>> plan.verify().holds
    True
    >>> plan.to_pandas()[["topic", "served"]]
      topic  served
    0  jazz    True
    1  rock   False
    >>> print(plan.explain("jazz"))  # doctest: +ELLIPSIS
    jazz: ...
    """

    problem: str
    algorithm: str
    parameters: Mapping[str, Any]
    objective: float
    bound: float | None
    gap: float | None
    feasible: bool
    workload: str
    tables: Mapping[str, pa.Table]
    seconds: Mapping[str, float]
    metrics: Mapping[str, Any]
    id: str
    version: str = __version__
    is_interrupted: bool = False
    proof: Proof | None = field(default=None, repr=False)
    stopped: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    source: TopicWorkload | None = field(default=None, repr=False)

    def verify(self, workload: TopicWorkload | None = None) -> Verification:
        """Check every constraint, the objective and the bound from the workload alone.

        Returns
        -------
        Verification
            Every check, and whether the bound was among them: a plan without a proof, or one that
            rests on a solver's word, has a bound that cannot be checked.

        Raises
        ------
        VerificationError
            Names the first violated constraint.
        """
        from fanwise.planning.verify import verify

        return verify(self._source(workload), self)

    @property
    def stopped_by(self) -> str:
        """Why the algorithm ended, in words, with the limit that ended it."""
        from fanwise.formatting import percent

        words = {
            "gap": f"the gap asked for ({percent(self.limits.get('gap'))})",
            "limit": f"the time limit ({self.limits.get('time_limit', 0):g} s)",
            "work": "its own limit on work",
            "exhausted": "nothing left to try",
            "interrupted": "an interruption",
        }
        return words.get(self.stopped or "", "unknown")

    def compute_id(self) -> str:
        """Hash the contents anew, whatever :attr:`id` says."""
        return plan_id(self.problem, self.algorithm, self.parameters, self.tables)

    def figures(self, workload: TopicWorkload | None = None) -> dict[str, Figure]:
        """Draw the family's pictures of this plan, by title."""
        figures: dict[str, Figure] = load(find_family(self.problem).plots)(
            self._source(workload), self
        )
        return figures

    def plot(self, workload: TopicWorkload | None = None) -> Figure:
        """Draw the family's main picture of this plan."""
        return next(iter(self.figures(workload).values()))

    def explain(
        self,
        item: TopicWorkload | str | int | None = None,
        workload: TopicWorkload | None = None,
        **about: str | int,
    ) -> Explanation:
        """Say why the plan is what it is, or why one item of it is.

        Parameters
        ----------
        item
            The name of a topic or subscriber, or the number of a machine, as far as the family
            explains such items. A workload in its place is taken as ``workload``.
        workload
            What the plan was made for; by default the one it was made from or read with.
        about
            The item by its kind: ``topic="t42"``, ``subscriber="ann"`` or ``machine=3``.
        """
        from fanwise.planning.explanation import find_kind

        family = find_family(self.problem)
        if item is not None and not isinstance(item, str | int):
            item, workload = None, item
        source = self._source(workload)
        if item is not None:
            if about:
                raise ParameterError("item", f"left out beside {', '.join(about)}", item)
            about = find_kind(source, item, [kind for kind in family.explains if kind != "plan"])
        explanation: Explanation = load(family.explain)(source, self, **about)
        return explanation

    def diff(self, other: Plan) -> PlanDiff:
        """Return what changes from this plan to another one of the same family.

        Rows are matched by id, so both should be for one workload.
        """
        from fanwise.planning.diff import diff_plans

        return diff_plans(self, other)

    def to_arrow(
        self,
        table: str | None = None,
        *,
        ids: bool = False,
        workload: TopicWorkload | None = None,
    ) -> pa.Table:
        """Return a table of the decision with names, for anything that reads Arrow, as Polars does.

        Parameters
        ----------
        table
            Which one; by default the first of :attr:`tables`.
        ids
            Whether to keep the workload's ids in place of names.
        workload
            What the plan was made for; by default the one it was made from or read with.
        """
        from fanwise.planning.export import named_tables

        name = table if table is not None else next(iter(find_family(self.problem).keys))
        if name not in self.tables:
            raise ParameterError("table", f"one of {', '.join(map(repr, self.tables))}", name)
        found = self.tables[name]
        if ids:
            return found
        return named_tables(replace(self, tables={name: found}), self._source(workload))[name]

    def to_pandas(
        self,
        table: str | None = None,
        *,
        ids: bool = False,
        workload: TopicWorkload | None = None,
    ) -> Any:
        """Return a table of the decision as a pandas frame; see :meth:`to_arrow`."""
        return as_pandas(self.to_arrow(table, ids=ids, workload=workload))

    def report(
        self,
        path: str | Path,
        *others: Plan,
        workload: TopicWorkload | None = None,
        title: str = "Pub/sub plan report",
        overwrite: bool = False,
    ) -> None:
        """Write this plan, and others of the same workload beside it, as one HTML page.

        Raises
        ------
        VerificationError
            Where a plan does not hold what it says; the page is written all the same and tells.
        """
        load(REPORT)(
            self._source(workload), [self, *others], path, title=title, overwrite=overwrite
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the plan so that the folder appears whole or not at all."""
        with atomic_folder(output_path(path), PLAN, overwrite=overwrite) as folder:
            for name, table in self.tables.items():
                pq.write_table(table, folder / f"{name}.parquet", compression="snappy")
            write_proof(folder, self.proof)
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "plan.json").write_text(text + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of ``plan.json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "workload": self.workload,
            "problem": self.problem,
            "algorithm": self.algorithm,
            "parameters": dict(self.parameters),
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "feasible": self.feasible,
            "proof": None if self.proof is None else self.proof.to_dict(),
            "stopped": self.stopped or ("interrupted" if self.is_interrupted else "exhausted"),
            "limits": dict(self.limits),
            "warnings": dict(self.warnings),
            "seconds": dict(self.seconds),
            "metrics": dict(self.metrics),
            "fanwise": self.version,
        }

    def check_made_for(self, workload: Any) -> None:
        """Raise if the plan was made for another workload."""
        if self.workload != workload.hash:
            raise PlanError(
                f"the plan was made for workload {self.workload[:12]}…, not this one "
                f"({workload.hash[:12]}…); give the workload it was made for."
            )

    def __repr__(self) -> str:
        from fanwise.planning.showing import plan_in_words

        return plan_in_words(self)

    def _repr_html_(self) -> str:
        from fanwise.planning.showing import plan_as_html

        return plan_as_html(self)

    def _source(self, workload: TopicWorkload | None) -> TopicWorkload:
        source = workload if workload is not None else self.source
        if source is None:
            raise ParameterError("workload", "given: this plan was read without one", None)
        return source


def as_pandas(table: pa.Table) -> Any:
    """Return an Arrow table as a pandas frame."""
    if find_spec("pandas") is None:
        raise MissingDependencyError(
            "pandas is not installed; pip install pandas, or use to_arrow()."
        )
    return table.to_pandas()


def read_plan(path: str | Path, workload: TopicWorkload | None = None) -> Plan:
    """Read a plan.

    Parameters
    ----------
    path
        A folder with ``plan.json`` and tables.
    workload
        What the plan was made for; needed to verify or draw it.

    Raises
    ------
    PlanError
        In one line: what is missing or malformed. Whether the plan tells the truth is for
        :meth:`Plan.verify`.

    Examples
    --------
    >>> import tempfile
    >>> import fanwise as fw
    >>> workload = fw.TopicWorkload.from_edges([("ann", "bob"), ("bob", "ann")])
    >>> folder = tempfile.mkdtemp() + "/plan"
    >>> fw.Selection(workload, tau=1, capacity=1).solve("greedy").save(folder)
    >>> fw.read_plan(folder, workload)
    Plan(select by greedy: satisfied subscribers 1, at most 1 possible, gap 0%)
    """
    folder = local_path(path)
    header = read_plan_header(folder)
    family = FAMILIES[header["problem"]]
    tables = {name: read_table(folder / f"{name}.parquet", keys) for name, keys in
              family.keys.items()}  # fmt: skip
    plan = plan_of(header, tables, Plan, folder)
    return plan if workload is None else replace(plan, source=workload)


AnyPlan = TypeVar("AnyPlan", bound=Plan)


def plan_of(
    header: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    kind: type[AnyPlan],
    folder: Path,
) -> AnyPlan:
    """Put the entries of ``plan.json`` and tables together."""
    entries = {name: header[name] for name in _ENTRIES if name != "fanwise"}
    entries |= {name: header[name] for name in _LATER_ENTRIES if header.get(name) is not None}
    proof = read_proof(folder, header.get("proof"))
    return kind(**entries, version=header["fanwise"], tables=tables, proof=proof)


_ENTRIES: Mapping[str, tuple[type | tuple[type, ...], bool]] = {
    "id": (str, False),
    "workload": (str, False),
    "problem": (str, False),
    "algorithm": (str, False),
    "parameters": (dict, False),
    "objective": ((int, float), False),
    "bound": ((int, float), True),
    "gap": ((int, float), True),
    "feasible": (bool, False),
    "seconds": (dict, False),
    "metrics": (dict, False),
    "fanwise": (str, False),
}
_LATER_ENTRIES: Mapping[str, tuple[type | tuple[type, ...], bool]] = {
    "stopped": (str, True),
    "limits": (dict, True),
    "warnings": (dict, True),
}
"""Entries that plans of older versions do not have."""


def read_plan_header(folder: Path) -> dict[str, Any]:
    """Read and check ``plan.json``."""
    file = folder / "plan.json"
    if not folder.is_dir():
        raise PlanError(f"{folder}: no such folder; give the folder that has plan.json.")
    try:
        header = read_json(file, "a plan")
    except WorkloadError as error:
        raise PlanError(str(error)) from None
    if header.get("format") != FORMAT:
        raise PlanError(f"{file}: format is {header.get('format')!r}, not {FORMAT!r}: not a plan.")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PlanError(f"{file}: version must be a whole number >= 1, got {version!r}.")
    if version > VERSION:
        raise PlanError(
            f"{file}: version {version} is newer than {VERSION}, the newest this fanwise reads; "
            "upgrade fanwise."
        )
    for entry, (kind, may_be_null) in {**_ENTRIES, **_LATER_ENTRIES}.items():
        if entry in _LATER_ENTRIES and entry not in header:
            continue
        if entry not in header:
            raise PlanError(f"{file}: no entry {entry!r}; the file is cut or not from fanwise.")
        value = header[entry]
        if value is None and may_be_null:
            continue
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise PlanError(f"{file}: {entry} has the wrong type, got {value!r}.")
        if isinstance(value, float) and not math.isfinite(value):
            raise PlanError(f"{file}: {entry} must be finite, got {value!r}.")
    if header["problem"] not in FAMILIES:
        raise PlanError(
            f"{file}: problem must be one of {', '.join(FAMILIES)}, got {header['problem']!r}."
        )
    return header


def read_table(path: Path, keys: tuple[str, ...]) -> pa.Table:
    """Read a table of a plan, and check the columns that identify a row."""
    try:
        table = pa.concat_tables([pq.read_table(part) for part in plan_parts(path)])
        _ = table.column_names  # names that are no text are found only here
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise not_readable(path, error) from None
    check_keys(path, table, keys)
    return table


def plan_parts(path: Path) -> list[Path]:
    """Return the part files of a plan's table."""
    try:
        return part_files(path)
    except WorkloadError:
        raise PlanError(f"{path}: not there; a plan folder needs it.") from None


def not_readable(path: Path, error: Exception) -> PlanError:
    """Return what to raise where Parquet cannot be read."""
    reason = str(error).splitlines()[0]
    return PlanError(f"{path}: not readable as Parquet, cut or damaged ({reason}).")


def check_keys(path: Path, table: pa.Table | pa.RecordBatch, keys: Sequence[str]) -> None:
    """Raise unless the columns that identify a row are there, whole and of integers."""
    for key in keys:
        if key not in table.schema.names:
            present = ", ".join(map(repr, table.schema.names)) or "none"
            raise PlanError(f"{path}: no column {key!r}; it has {present}.")
        if table.schema.names.count(key) > 1:
            raise PlanError(f"{path}: column {key!r} is there more than once.")
        column = table.column(key)
        if not pa.types.is_integer(column.type):
            raise PlanError(f"{path}: column {key!r} has type {column.type}, int32 is needed.")
        if column.null_count:
            raise PlanError(f"{path}: column {key!r} has an empty cell; every row needs an id.")
