"""Folders and files that appear whole or not at all.

A folder is written under a hidden name beside its destination and renamed when complete. An error,
Ctrl-C or SIGTERM removes the hidden folder; what a killed process left is removed by the next run
that writes to the same destination.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fanwise.errors import InputError, OutputExistsError

_MARK = ".fanwise-"


def refuse_existing(destination: Path, *, overwrite: bool) -> None:
    """Raise unless ``destination`` is free, or overwriting was asked for."""
    _refuse_taken(destination, overwrite=overwrite)
    if destination.is_file():
        raise OutputExistsError(f"{destination}: is a file, not a folder; choose another name.")


def refuse_existing_file(destination: Path, *, overwrite: bool) -> None:
    """Raise unless a file ``destination`` is free, or overwriting was asked for."""
    if destination.is_dir():
        raise OutputExistsError(f"{destination}: is a folder, not a file; choose another name.")
    _refuse_taken(destination, overwrite=overwrite)


def _refuse_taken(destination: Path, *, overwrite: bool) -> None:
    if (destination.exists() or destination.is_symlink()) and not overwrite:
        raise OutputExistsError(
            f"{destination}: exists already; choose another name or pass --overwrite."
        )


@contextmanager
def atomic_folder(destination: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty staging folder that becomes ``destination`` when the block succeeds."""
    destination = Path(destination).absolute()
    refuse_existing(destination, overwrite=overwrite)
    remove_leftovers(destination)
    staging = staging_path(destination)
    created = _make_parents(destination.parent)
    try:
        staging.mkdir()
        yield staging
        _swap(staging, destination, overwrite=overwrite)
    except OSError as error:
        _remove(staging, created)
        raise InputError(f"{destination}: cannot be written: {error.strerror or error}.") from error
    except BaseException:
        _remove(staging, created)
        raise


@contextmanager
def atomic_file(destination: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a staging path; the file written there becomes ``destination`` on success."""
    destination = Path(destination).absolute()
    refuse_existing_file(destination, overwrite=overwrite)
    remove_leftovers(destination)
    staging = staging_path(destination)
    created = _make_parents(destination.parent)
    try:
        yield staging
        staging.replace(destination)
    except BaseException as error:
        with suppress(OSError):  # not there, or where it should be is no folder
            staging.unlink()
        _remove(staging, created)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise InputError(f"{destination}: cannot be written: {reason}.") from error
        raise


def staging_path(destination: Path) -> Path:
    """Return a name beside the destination that tells which process is writing there."""
    return destination.parent / f".{destination.name}{_MARK}{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _swap(staging: Path, destination: Path, *, overwrite: bool) -> None:
    if not destination.exists():
        staging.rename(destination)
        return
    refuse_existing(destination, overwrite=overwrite)  # it may have appeared meanwhile
    old = staging.with_name(staging.name + "-old")
    destination.rename(old)
    try:
        staging.rename(destination)
    except OSError:
        old.rename(destination)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _make_parents(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"{path}: cannot be made: {error.strerror}.") from error
    return missing


def _remove(staging: Path, created: list[Path]) -> None:
    shutil.rmtree(staging, ignore_errors=True)
    for folder in created:
        try:
            folder.rmdir()
        except OSError:
            return


def remove_leftovers(destination: Path) -> None:
    """Remove what processes that are gone left behind beside the destination."""
    for leftover in destination.parent.glob(f".{_escape(destination.name)}{_MARK}*"):
        process = leftover.name.split(_MARK)[-1].split("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            if leftover.is_file():
                leftover.unlink(missing_ok=True)
            else:
                shutil.rmtree(leftover, ignore_errors=True)


def _escape(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
