"""Folders and files that appear whole or not at all, in place of nothing that is not ours.

An output is written under a hidden name beside its destination and put there when complete. An
error, Ctrl-C or SIGTERM removes the hidden one; what a killed process left is removed by the next
run that writes to the same destination. What stands at the destination is replaced only if
overwriting was asked for and it is an output of the same kind, with nothing else in it; it stays
until the new one is whole.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fanwise.errors import InputError, OutputExistsError
from fanwise.workload import remote
from fanwise.workload.exchange import exchange
from fanwise.workload.outputs import FileKind, FolderKind, LocalContents, OutputKind

_MARK = ".fanwise-"
_OLD = "-old"
_WHOLE_INPUTS = ("workload.json", "plan.json", "windows.json")
"""Folders with one of these have files of their own names; of others everything is read."""
_SPECIAL = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_unfinished: set[Path] = set()
"""Hidden outputs of this process that are neither in place nor removed yet."""
_placing = threading.Lock()
"""Held while an output is put in its place: what is going there is not to be removed."""
_PATIENCE = 2.0  # seconds to wait for that


def refuse_existing(
    destination: str | Path,
    kind: OutputKind,
    *,
    overwrite: bool,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Raise unless an output may be written to ``destination``; nothing is changed.

    Parameters
    ----------
    destination
        Where the output will be.
    kind
        What will be written: only such a thing may be replaced.
    overwrite
        Whether replacing was asked for.
    inputs
        What is read meanwhile; an output neither replaces nor disturbs it.

    Raises
    ------
    OutputExistsError
        If something is there that must stay.
    InputError
        If nothing can be written there at all.
    """
    address = remote.address_of(destination)
    if address is not None:
        _refuse_at(address, kind, inputs, overwrite=overwrite)
        return
    given, target = Path(destination), locate(destination)
    sources = [
        locate(path) for path in inputs if path is not None and remote.address_of(path) is None
    ]
    _refuse_inside(given, target, sources)
    status = _status(target)
    if status is None:
        _refuse_parent(given, target)
        return
    _refuse_other_type(given, status, kind)
    if not overwrite:
        raise OutputExistsError(
            f"{given}: exists already; choose another name or pass --overwrite."
        )
    _refuse_important(given, target, sources)
    _refuse_parent(given, target)
    _refuse_strange(given, target, kind)


def _refuse_at(
    address: str, kind: OutputKind, inputs: Iterable[str | Path | None], *, overwrite: bool
) -> None:
    if not isinstance(kind, FolderKind):
        raise InputError(f"{address}: a file is written to this machine alone; give a path.")
    for source in inputs:
        other = None if source is None else remote.address_of(source)
        if other is not None and f"{other}/".startswith(f"{address}/"):
            raise OutputExistsError(f"{address}: is or holds what is read; choose another name.")
    remote.refuse_existing(address, kind, overwrite=overwrite)


def locate(path: str | Path) -> Path:
    """Return where a path leads, with links in its parents followed but not the last one."""
    path = Path(path)
    try:
        if path.name in ("", ".."):
            return path.resolve()
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{path}: leads nowhere: {_reason(error)}.") from None


def _status(target: Path) -> os.stat_result | None:
    try:
        return os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{target}: cannot be looked at: {_reason(error)}.") from None


def _refuse_other_type(given: Path, status: os.stat_result, kind: OutputKind) -> None:
    special = _SPECIAL.get(stat.S_IFMT(status.st_mode))
    wanted = "folder" if isinstance(kind, FolderKind) else "file"
    found = special or ("a folder" if stat.S_ISDIR(status.st_mode) else "a file")
    if found != f"a {wanted}":
        raise OutputExistsError(f"{given}: is {found}, not a {wanted}; choose another name.")


def _refuse_important(given: Path, target: Path, inputs: list[Path]) -> None:
    """Refuse folders that stay whatever is in them."""
    mounted = [point for point in mount_points() if _holds(target, point)]
    reasons = [
        (os.path.ismount(target) or target in mounted, "is a mount point"),
        (bool(mounted), f"has a mount point in it ({next(iter(mounted), None)})"),
        (_holds(target, locate(".")), "is the folder this runs in, or above it"),
        (_holds(target, _home()), "is the home folder, or above it"),
        *(
            (_holds(target, source), f"holds what is read ({source})" if source != target else
             "is what is read")
            for source in inputs
        ),
    ]  # fmt: skip
    for holds, reason in reasons:
        if holds:
            raise OutputExistsError(f"{given}: {reason}; choose another name.")


def _refuse_inside(given: Path, target: Path, inputs: list[Path]) -> None:
    """Refuse a place inside an input where it would be read as part of it next time."""
    for source in inputs:
        if source == target or not _holds(source, target) or not source.is_dir():
            continue
        is_named = any((source / name).is_file() for name in _WHOLE_INPUTS)
        below = target.relative_to(source).parts[:-1]
        if not is_named or any(part.endswith(".parquet") or part == "proof" for part in below):
            raise OutputExistsError(
                f"{given}: is inside {source}, which is read; choose another name."
            )


def _refuse_parent(given: Path, target: Path) -> None:
    """Refuse a place below a file, or in a folder that cannot be written."""
    parent = target.parent
    while not parent.exists() and parent != parent.parent:
        if parent.is_symlink():
            raise InputError(f"{given}: cannot be written: {parent} is a link that leads nowhere.")
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{given}: cannot be written: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{given}: cannot be written: {parent} does not permit it.")


def _refuse_strange(given: Path, target: Path, kind: OutputKind) -> None:
    try:
        if isinstance(kind, FolderKind):
            flaw = kind.find_flaw(LocalContents(target))
        else:
            flaw = kind.find_flaw(target)
    except OSError as error:
        flaw = f"cannot be looked at ({_reason(error)})"
    if flaw is not None:
        raise OutputExistsError(
            f"{given}: {flaw}; --overwrite replaces {kind.what} and nothing else, "
            "so choose another name."
        )


def _holds(folder: Path, path: Path | None) -> bool:
    """Whether a folder is a path or above it."""
    return path is not None and (folder == path or folder in path.parents)


def mount_points() -> list[Path]:
    """Return where disks and folders are mounted, as far as the system tells."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:  # not Linux
        return []
    points = (line.split(b" ")[4] for line in lines if line.count(b" ") > 4)
    return [Path(os.fsdecode(re.sub(rb"\\([0-7]{3})", _spell_out, point))) for point in points]


def _spell_out(octal: re.Match[bytes]) -> bytes:
    """Return the character that stands as an octal number, such as a blank."""
    return bytes([int(octal[1], 8)])


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@contextmanager
def atomic_folder(
    destination: str | Path, kind: FolderKind, *, overwrite: bool = False
) -> Iterator[Path]:
    """Yield an empty staging folder that becomes ``destination`` when the block succeeds."""
    address = remote.address_of(destination)
    if address is not None:
        with remote.published_folder(address, kind, overwrite=overwrite) as staging:
            yield staging
        return
    refuse_existing(destination, kind, overwrite=overwrite)
    with _staged(Path(destination)) as (staging, target):
        staging.mkdir()
        yield staging
        with _placing:
            _put(staging, Path(destination), target, kind, overwrite=overwrite)


@contextmanager
def atomic_file(
    destination: str | Path, kind: FileKind, *, overwrite: bool = False
) -> Iterator[Path]:
    """Yield a staging path; the file written there becomes ``destination`` on success."""
    refuse_existing(destination, kind, overwrite=overwrite)
    with _staged(Path(destination)) as (staging, target):
        yield staging
        with _placing:
            _put(staging, Path(destination), target, kind, overwrite=overwrite)


@contextmanager
def _staged(given: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a hidden path and the target beside it; remove what is there afterwards."""
    target = locate(given)
    remove_leftovers(target)
    staging = staging_path(target)
    created: list[Path] = []
    remember(staging)
    try:
        _make_parents(target.parent, created)
        yield staging, target
    except OSError as error:
        raise InputError(f"{given}: cannot be written: {_reason(error)}.") from error
    finally:
        _remove(staging)
        for folder in created:
            with suppress(OSError):  # not empty, as it should be
                folder.rmdir()
        forget(staging)


def _put(staging: Path, given: Path, target: Path, kind: OutputKind, *, overwrite: bool) -> None:
    """Put a whole output in its place, if nothing has appeared there that must stay."""
    refuse_existing(given, kind, overwrite=overwrite)
    if _status(target) is None:
        if isinstance(kind, FileKind):
            _add_file(staging, given, target)
        else:
            staging.rename(target)
        return
    if exchange(staging, target):
        # What is at the hidden name now can be looked at undisturbed.
        try:
            _refuse_strange(given, staging, kind)
        except BaseException:
            exchange(staging, target)
            raise
        return
    old = staging.with_name(staging.name + _OLD)
    target.rename(old)
    try:
        _refuse_strange(given, old, kind)
        staging.rename(target)
    except BaseException:
        old.rename(target)
        raise
    _remove(old)


def _add_file(staging: Path, given: Path, target: Path) -> None:
    """Give a file its name, unless another file has taken it meanwhile."""
    try:
        os.link(staging, target)
    except FileExistsError:
        raise OutputExistsError(f"{given}: has appeared meanwhile; choose another name.") from None
    except OSError:  # no second names on this disk
        staging.rename(target)


def staging_path(destination: Path) -> Path:
    """Return a name beside the destination that tells which process is writing there."""
    return destination.parent / f".{destination.name}{_MARK}{os.getpid()}-{uuid.uuid4().hex[:8]}"


def remember(path: Path) -> None:
    """Have a hidden file or folder removed with this process, if nobody does before."""
    _unfinished.add(path)


def forget(path: Path) -> None:
    """Take back :func:`remember`."""
    _unfinished.discard(path)


def remove_unfinished() -> None:
    """Remove every hidden output that this process has not finished; called at its end.

    Nothing can be put in its place any more afterwards.
    """
    if _placing.acquire(timeout=_PATIENCE):  # and never released: the process is ending
        own = f"{_MARK}{os.getpid()}-"  # a forked process ends without harm
        for path in tuple(_unfinished):
            if own in path.name:
                _remove(path)


atexit.register(remove_unfinished)


def _make_parents(folder: Path, created: list[Path]) -> None:
    """Make folders that are missing; ``created`` gets them, the innermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir()
        except FileExistsError:
            continue
        created.insert(0, path)


def _remove(path: Path) -> None:
    status = _status(path)
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def remove_leftovers(destination: Path) -> None:
    """Remove what processes that are gone left behind beside the destination.

    What one had just set aside to replace it goes back to its place.
    """
    pattern = re.compile(re.escape(f".{destination.name}{_MARK}") + rf"(\d+)-[0-9a-f]+({_OLD})?")
    try:
        names = os.listdir(destination.parent)
    except OSError:
        return
    for name in sorted(names):
        match = pattern.fullmatch(name)
        if match is None or _is_alive(int(match[1])):
            continue
        leftover = destination.parent / name
        if match[2] and _status(destination) is None:
            with suppress(OSError):
                leftover.rename(destination)
        elif not leftover.is_symlink():
            _remove(leftover)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
