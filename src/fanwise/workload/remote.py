"""Workloads and plans at addresses such as ``s3a://bucket/music``, through PyArrow or fsspec.

Folders are read by a copy in a temporary folder of this machine, made anew when something there has
changed. They are written there first and then copied, the JSON file that makes them valid last: on
an object store nothing can be renamed, so nothing is. Until that file is there nobody takes the
folder for a workload or a plan, and it is removed first where one is replaced.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlparse

from fanwise.errors import InputError, OutputExistsError, WorkloadError
from fanwise.workload.outputs import MAX_HEADER_BYTES, FolderKind

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)$", re.DOTALL)  # C: is a drive
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfss", "abfs": "abfs"}
"""Names of schemes that Hadoop and PyArrow write differently."""
_LAST = ("workload.json", "plan.json", "windows.json")
"""The files that make a folder valid."""
_NOT_READ = "quarantine/"
_copies: dict[str, _Copy] = {}


class _Copy(NamedTuple):
    """A copy on this machine, and what the folder looked like when it was made."""

    folder: Path
    seen: tuple[Any, ...]


def address_of(path: str | Path) -> str | None:
    """Return the address that a path is, None where it is one of this machine.

    :class:`~pathlib.Path` leaves one slash of two after the scheme; with HDFS a first part with a
    port is the name node, and without one it belongs to the path.
    """
    match = _SCHEME.match(str(path))
    if match is None or match[1].lower() == "file":
        return None
    scheme, slashes, rest = match[1], match[2], match[3].rstrip("/")
    if len(slashes) == 1 and scheme == "hdfs" and ":" not in rest.split("/", 1)[0]:
        return f"{scheme}:///{rest}"
    return f"{scheme}:{slashes if len(slashes) > 1 else '//'}{rest}"


class Address(PurePosixPath):
    """An address that is taken apart and put together like a path, and shown as an address."""

    def __str__(self) -> str:
        text = super().__str__()
        return address_of(text) or text


class Place(NamedTuple):
    """A folder at an address: contents as :mod:`fanwise.workload.outputs` looks at them."""

    address: str
    system: Any
    root: str

    @property
    def infos(self) -> list[Any]:
        """What is inside, at any depth."""
        from pyarrow import fs

        selector = fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        found: list[Any] = sorted(self.system.get_file_info(selector), key=lambda info: info.path)
        return found

    def name(self, info: Any) -> str:
        """Return the path inside."""
        text: str = info.path[len(self.root) :].lstrip("/")
        return text

    @property
    def names(self) -> tuple[str, ...]:
        found = ((self.name(info), "/" * (not info.is_file)) for info in self.infos)
        return tuple(name + end for name, end in found)

    @property
    def odd(self) -> str | None:
        return None

    def exists(self) -> bool:
        """Whether there is a file or a folder with something in it."""
        from pyarrow import fs

        kind = self.system.get_file_info(self.root).type
        return kind == fs.FileType.File or bool(self.infos)

    def read(self, name: str) -> bytes:
        with self.system.open_input_stream(f"{self.root}/{name}", compression=None) as stream:
            return bytes(stream.read(MAX_HEADER_BYTES))

    def delete(self) -> None:
        """Remove everything, first what makes it valid."""
        infos = [info for info in self.infos if info.is_file]
        for info in sorted(infos, key=lambda info: os.path.basename(info.path) not in _LAST):
            self.system.delete_file(info.path)
        with suppress(OSError):  # an object store has no folders
            self.system.delete_dir(self.root)

    def put(self, source: Path, name: str) -> None:
        """Copy a file of this machine here."""
        target = f"{self.root}/{name}"
        with suppress(OSError):
            self.system.create_dir(os.path.dirname(target), recursive=True)
        with (
            source.open("rb") as file,
            self.system.open_output_stream(target, compression=None) as stream,
        ):
            shutil.copyfileobj(file, stream, 2**20)


def open_place(address: str) -> Place:
    """Return the folder at an address; PyArrow's file systems first, else those of fsspec."""
    from pyarrow import fs

    parsed = urlparse(address)
    scheme = _SAME.get(parsed.scheme.lower(), parsed.scheme.lower())
    text = f"{scheme}://{parsed.netloc}{parsed.path}"
    options = [parsed.query] if parsed.query else []
    if scheme == "s3":
        options += [urlencode(_s3_options())] if _s3_options() else []
    try:
        system, root = fs.FileSystem.from_uri(text + ("?" + "&".join(options) if options else ""))
        return Place(address, system, root.rstrip("/"))
    except Exception as error:
        try:
            fsspec: Any = import_module("fsspec.core")
            other, root = fsspec.url_to_fs(address)
        except Exception:
            raise InputError(f"{address}: cannot be opened: {_reason(error)}.") from None
        return Place(address, fs.PyFileSystem(fs.FSSpecHandler(other)), root.rstrip("/"))


def _s3_options() -> dict[str, str]:
    """Return what the usual variables of the environment say of a store other than Amazon's."""
    options = {}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        parsed = urlparse(endpoint)
        options = {"scheme": parsed.scheme or "https", "endpoint_override": parsed.netloc}
        region = region or "us-east-1"
    if region:
        options["region"] = region
    return options


def fetch(address: str, only: tuple[str, ...] = ()) -> Path:
    """Return a copy of a folder on this machine; of ``only`` some files, where they are named.

    Raises
    ------
    WorkloadError
        Nothing is there, or it cannot be read.
    """
    try:
        place = open_place(address)
        infos = [info for info in place.infos if info.is_file]
        seen = tuple((info.path, info.size, info.mtime_ns) for info in infos)
        key = f"{address} {' '.join(only)}"
        known = _copies.get(key)
        if known is not None and known.seen == seen and known.folder.is_dir():
            return known.folder
        if not infos:
            raise WorkloadError(f"{address}: nothing is there; check the address.")
        forget(address)
        folder = _new_folder(address)
        for info in infos:
            name = place.name(info)
            if name.startswith(_NOT_READ) or (only and name not in only):
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                place.system.open_input_stream(info.path, compression=None) as stream,
                target.open("wb") as file,
            ):
                shutil.copyfileobj(stream, file, 2**20)
    except OSError as error:
        raise WorkloadError(f"{address}: cannot be read: {_reason(error)}.") from None
    _copies[key] = _Copy(folder, seen)
    return folder


def _new_folder(address: str) -> Path:
    """Make a temporary folder, whose last part is the address's, for messages that name files."""
    outer = Path(tempfile.mkdtemp(prefix="fanwise-copy-"))
    atexit.register(shutil.rmtree, outer, ignore_errors=True)
    folder = outer / (address.rsplit("/", 1)[-1] or "folder")
    folder.mkdir()
    return folder


def forget(address: str) -> None:
    """Remove copies of a folder, which is about to change."""
    for key in [key for key in _copies if key.split(" ", 1)[0] == address]:
        shutil.rmtree(_copies.pop(key).folder.parent, ignore_errors=True)


def with_addresses(text: str) -> str:
    """Return a message that names copies with the addresses they are copies of."""
    for key, copy in _copies.items():
        text = text.replace(str(copy.folder), key.split(" ", 1)[0])
    return text


def refuse_existing(address: str, kind: FolderKind, *, overwrite: bool) -> Place:
    """Raise unless a folder may be written to an address; return it."""
    place = open_place(address)
    try:
        if not place.exists():
            return place
        if not overwrite:
            raise OutputExistsError(
                f"{address}: exists already; choose another name or pass --overwrite."
            )
        flaw = kind.find_flaw(place)
    except OSError as error:
        raise InputError(f"{address}: cannot be looked at: {_reason(error)}.") from None
    if flaw is not None:
        raise OutputExistsError(
            f"{address}: {flaw}; --overwrite replaces {kind.what} and nothing else, "
            "so choose another name."
        )
    return place


@contextmanager
def published_folder(address: str, kind: FolderKind, *, overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder that is copied to an address when the block succeeds.

    What is there is replaced only then; what fails half way is removed again.
    """
    refuse_existing(address, kind, overwrite=overwrite)
    with tempfile.TemporaryDirectory(prefix="fanwise-out-") as temporary:
        staging = Path(temporary) / "staging"
        staging.mkdir()
        yield staging
        place = refuse_existing(address, kind, overwrite=overwrite)
        forget(address)
        files = sorted(path for path in staging.rglob("*") if path.is_file())
        try:
            place.delete()
            for file in sorted(files, key=lambda file: (file.name in _LAST, _depth(file))):
                place.put(file, file.relative_to(staging).as_posix())
        except OSError as error:
            with suppress(OSError):
                place.delete()
            raise InputError(f"{address}: cannot be written: {_reason(error)}.") from None


def _depth(file: Path) -> int:
    """Return what sorts deep files first: the outermost JSON file comes last of all."""
    return -len(file.parts)


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
