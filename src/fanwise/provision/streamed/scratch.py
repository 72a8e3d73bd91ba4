"""A folder for files in between."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from fanwise.workload.folders import forget, remember, remove_leftovers, staging_path


class Scratch:
    """A hidden folder for files in between; removed when closed, at the latest with the process.

    What a killed process left in the same place is removed as well.
    """

    def __init__(self, parent: str | Path | None) -> None:
        around = Path(tempfile.gettempdir() if parent is None else parent).absolute() / "scratch"
        remove_leftovers(around)
        folder = staging_path(around)
        remember(folder)
        folder.mkdir()
        self.folder = folder
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder."""
        self._finalizer()
        forget(self.folder)
