"""A plan whose allocation is on disk."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.planning.plan import Plan
from fanwise.workload.files import local_path
from fanwise.workload.folders import atomic_folder, remove_leftovers, staging_path


class Scratch:
    """A hidden folder for files in between; removed when closed, at the latest with the process.

    What a killed process left in the same place is removed as well.
    """

    def __init__(self, parent: str | Path | None) -> None:
        place = Path(tempfile.gettempdir() if parent is None else parent).absolute() / "scratch"
        remove_leftovers(place)
        folder = staging_path(place)
        folder.mkdir()
        self.folder = folder
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder."""
        self._finalizer()


class TablesOnDisk(Mapping[str, pa.Table]):
    """The tables of a plan; the allocation is read whenever it is asked for."""

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

    def parts(self) -> list[Path]:
        """Return the part files of the allocation, in the order of its rows."""
        return sorted(self.allocation.glob("*.parquet"))


@dataclass(frozen=True, eq=False)
class StreamedPlan(Plan):
    """A plan with its allocation in part files.

    The first :meth:`save` moves them to their place; :attr:`tables` finds them there afterwards.
    """

    scratch: Scratch | None = field(default=None, repr=False)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the plan so that the folder appears whole or not at all."""
        tables = self.tables
        assert isinstance(tables, TablesOnDisk)
        destination = local_path(path)
        is_own = self.scratch is not None and tables.allocation.parent == self.scratch.folder
        with atomic_folder(destination, overwrite=overwrite) as folder:
            kept = folder / "allocation.parquet"
            if is_own:
                shutil.move(tables.allocation, kept)
            else:
                shutil.copytree(tables.allocation, kept)
            pq.write_table(tables["vms"], folder / "vms.parquet", compression="snappy")
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
        tables.allocation = destination.absolute() / "allocation.parquet"
        if is_own and self.scratch is not None:
            self.scratch.close()
