"""A plan whose allocation is on disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.planning.outputs import PLAN
from fanwise.planning.plan import (
    Plan,
    check_keys,
    not_readable,
    plan_of,
    plan_parts,
    read_plan_header,
    read_table,
)
from fanwise.planning.proof import write_proof
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.streamed.identity import hash_plan
from fanwise.provision.streamed.scratch import Scratch
from fanwise.provision.verify_chunks import KEYS, AllocationRows
from fanwise.workload.files import local_path, output_path
from fanwise.workload.folders import atomic_folder

ALLOCATION = "allocation.parquet"


class TablesOnDisk(Mapping[str, pa.Table]):
    """The tables of a plan; the allocation is read whenever it is asked for.

    Parameters
    ----------
    vms
        The table of machines.
    allocation
        A Parquet file, or a folder of part files.
    """

    def __init__(self, vms: pa.Table, allocation: Path) -> None:
        self.vms = vms
        self.allocation = allocation

    def __getitem__(self, name: str) -> pa.Table:
        if name == "vms":
            return self.vms
        if name == "allocation":
            return pa.concat_tables(pq.read_table(part) for part in self.parts())
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("vms", "allocation"))

    def __len__(self) -> int:
        return 2

    @property
    def unread(self) -> dict[str, pa.Table]:
        """The allocation without its rows, of the part file that has most columns."""
        schemas = [read_schema(part) for part in self.parts()]
        return {"allocation": max(schemas, key=lambda schema: len(schema.names)).empty_table()}

    def parts(self) -> list[Path]:
        """Return the part files of the allocation, in the order of its rows."""
        return plan_parts(self.allocation)

    @cached_property
    def rows(self) -> AllocationRows:
        """The rows of the allocation, in chunks."""
        num_rows = 0
        for part in self.parts():
            check_keys(part, read_schema(part).empty_table(), KEYS)
            try:
                num_rows += pq.read_metadata(part).num_rows
            except (pa.ArrowException, OSError) as error:
                raise not_readable(part, error) from None
        return AllocationRows(self._read, num_rows)

    def _read(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for part in self.parts():
            try:
                with pq.ParquetFile(part) as file:
                    check_keys(part, file.schema_arrow.empty_table(), columns)
                    for batch in file.iter_batches(size, columns=list(columns)):
                        check_keys(part, batch, columns)
                        yield batch
            except (pa.ArrowException, OSError) as error:
                raise not_readable(part, error) from None


def read_schema(part: Path) -> pa.Schema:
    """Return the columns of a part file."""
    try:
        return pq.read_schema(part)
    except (pa.ArrowException, OSError) as error:
        raise not_readable(part, error) from None


@dataclass(frozen=True, eq=False)
class StreamedPlan(Plan):
    """A plan with its allocation in part files.

    The first :meth:`save` moves them to their place; :attr:`tables` finds them there afterwards.
    """

    scratch: Scratch | None = field(default=None, repr=False)

    @property
    def on_disk(self) -> TablesOnDisk:
        """The tables, which are on disk."""
        if not isinstance(self.tables, TablesOnDisk):
            raise TypeError("the tables of a streamed plan are on disk")
        return self.tables

    @property
    def num_rows(self) -> int:
        """How many rows the allocation has."""
        return self.on_disk.rows.num_rows

    def compute_id(self) -> str:
        """Hash the contents anew; the allocation in chunks where it has no columns of its own."""
        tables = self.on_disk
        schemas = [read_schema(part) for part in tables.parts()]
        if any(sorted(schema.names) != sorted(KEYS) for schema in schemas):
            return super().compute_id()
        columns = {name: tables.rows.columns(name) for name in sorted(KEYS)}
        types = {name: schemas[0].field(name).type.to_pandas_dtype() for name in KEYS}
        return hash_plan(self.algorithm, self.parameters, self.num_rows, columns, tables.vms, types)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the plan so that the folder appears whole or not at all."""
        tables = self.on_disk
        destination = output_path(path)
        is_own = self.scratch is not None and tables.allocation.parent == self.scratch.folder
        with atomic_folder(destination, PLAN, overwrite=overwrite) as folder:
            kept = folder / ALLOCATION
            if is_own:
                shutil.move(tables.allocation, kept)
            else:
                shutil.copytree(tables.allocation, kept)
            pq.write_table(tables["vms"], folder / "vms.parquet", compression="snappy")
            write_proof(folder, self.proof)
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
        tables.allocation = local_path(path).absolute() / ALLOCATION
        if is_own and self.scratch is not None:
            self.scratch.close()


def read_plan_in_chunks(path: str | Path) -> StreamedPlan:
    """Read a plan whose allocation stays on disk; its columns are checked as they are read."""
    folder = local_path(path)
    header = read_plan_header(folder)
    vms = read_table(folder / "vms.parquet", DESCRIPTION.keys["vms"])
    tables = TablesOnDisk(vms, folder / ALLOCATION)
    _ = tables.rows  # raises what is not readable
    return plan_of(header, tables, StreamedPlan, folder)
