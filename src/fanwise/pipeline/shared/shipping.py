"""Brings this package to Spark's executors, whether or not they have it installed.

What travels is an archive of the sources and a module ``fanwise.py`` that stands in for the package
there: Spark puts the folder of shipped modules before everything that is installed. On its first
import it unpacks the archive into a folder of the machine that is named after what is in it, once,
so that compiled kernels are kept there from one application to the next; Python cannot keep them
for a package that stays in its archive. What the package needs itself (NumPy, PyArrow, Numba) must
be on the executors.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = "fanwise"
_LOCAL = re.compile(r"local(\[.*\])?$")
_SHIPPED = "_fanwise_shipped"  # an attribute of the contexts that have it
_STAND_IN = '''"""Stands in for the package on executors: unpacks its archive, and becomes it."""

import os as _os
import tempfile as _tempfile
import uuid as _uuid
import zipfile as _zipfile

_here = _os.path.dirname(_os.path.abspath(__file__))
_folder = _os.path.join(_tempfile.gettempdir(), f"{name}-{{_os.getuid()}}")
_os.makedirs(_folder, mode=0o700, exist_ok=True)
_status = _os.lstat(_folder)
if _status.st_uid != _os.getuid() or _status.st_mode & 0o022:
    _folder = _here  # somebody else's, who could put code there
_root = _os.path.join(_folder, "{digest}")
if not _os.path.isdir(_root):
    _part = _root + "-" + _uuid.uuid4().hex
    with _zipfile.ZipFile(_os.path.join(_here, "{archive}")) as _archive:
        _archive.extractall(_part)
    try:
        _os.rename(_part, _root)
    except OSError:  # another process was first
        import shutil as _shutil

        _shutil.rmtree(_part, ignore_errors=True)
__path__ = [_os.path.join(_root, "{name}")]
__file__ = _os.path.join(_root, "{name}", "__init__.py")
__spec__.submodule_search_locations = __path__
with open(__file__, encoding="utf-8") as _source:
    exec(compile(_source.read(), __file__, "exec"))
'''


def is_single_machine(master: str) -> bool:
    """Whether a master runs everything in the driver's own JVM."""
    return _LOCAL.match(master) is not None


def ship_package(spark: SparkSession) -> None:
    """Have executors import this very package; does nothing where driver and workers are one."""
    context: Any = spark.sparkContext
    if is_single_machine(context.master) or getattr(context, _SHIPPED, False):
        return
    from pyspark import SparkFiles

    # The driver serves files from where they lie, as long as the context lives.
    folder = Path(SparkFiles.getRootDirectory()) / "to-ship"
    folder.mkdir(exist_ok=True)
    archive, stand_in = write_archive(folder)
    context.addFile(str(archive))
    context.addPyFile(str(stand_in))
    setattr(context, _SHIPPED, True)


def write_archive(folder: Path) -> tuple[Path, Path]:
    """Write the archive of the sources, named after what is in it, and the module that opens it."""
    root = Path(__file__).resolve().parents[2]
    sources = {
        f"{PACKAGE}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.rglob("*.py"))
    }
    digest = hashlib.sha256()
    for name, text in sources.items():
        digest.update(f"{name} {len(text)}\n".encode() + text)
    known = digest.hexdigest()[:16]
    archive = folder / f"{PACKAGE}-{known}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, text in sources.items():
            file.writestr(zipfile.ZipInfo(name), text)
    stand_in = folder / f"{PACKAGE}.py"
    module = _STAND_IN.format(name=PACKAGE, digest=known, archive=archive.name)
    stand_in.write_text(module, encoding="utf-8")
    return archive, stand_in
