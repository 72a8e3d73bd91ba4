"""``fanwise doctor``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, NamedTuple

import typer

from fanwise import __version__
from fanwise.cli import console, options
from fanwise.errors import FanwiseError


class Finding(NamedTuple):
    """One thing looked for: whether it is there, what was found, how to get it."""

    name: str
    is_found: bool
    what: str
    remedy: str | None = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    compile_kernels: Annotated[
        bool, typer.Option("--compile", help="Compile every kernel now, so that no run waits.")
    ] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark and run a small job.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Tell what was found on this machine, what is missing and how to get it.

    Exit status 1 if something that fanwise needs is missing.

    Example: [bold]fanwise doctor --compile --spark[/bold]
    """
    findings = [
        Finding("fanwise", True, __version__),
        Finding("python", sys.version_info >= (3, 11), platform.python_version()),
        Finding("cores", True, str(len(os.sched_getaffinity(0)))),
        *(_package(name, extra) for name, extra in PACKAGES),
        _java(),
        _kernel_cache(),
    ]
    if compile_kernels:
        findings.append(_try("kernels", _compile, "report this with the message above"))
    if spark:
        findings.append(_try("spark job", _run_spark, "see the remedy for java or pyspark above"))
    if as_json:
        console.print_json(
            {"ok": all(finding.is_found for finding in findings),
             "findings": [finding._asdict() for finding in findings]}
        )  # fmt: skip
    else:
        rows = [
            ("ok" if finding.is_found else "MISSING", finding.name, finding.what)
            for finding in findings
        ]
        terminal = console.out()
        terminal.print(console.table(None, ("", "what", "found"), rows))
        for finding in findings:
            if not finding.is_found and finding.remedy:
                terminal.print(f"{finding.name}: {finding.remedy}", markup=False)
    if not all(finding.is_found for finding in findings):
        raise typer.Exit(1)


PACKAGES = (
    ("numpy", None),
    ("pyarrow", None),
    ("numba", None),
    ("matplotlib", None),
    ("pyspark", "spark"),
)


def _package(name: str, extra: str | None) -> Finding:
    wanted = "fanwise" if extra is None else f"fanwise[{extra}]"
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "not installed", f"pip install '{wanted}'")


def _java() -> Finding:
    from fanwise.pipeline.shared.java import find_java

    try:
        java = find_java()
    except FanwiseError as error:
        return Finding("java", False, "no Java 17 or newer", str(error))
    return Finding("java", True, f"{java.version} ({java.source}: {java.home})")


def _kernel_cache() -> Finding:
    from fanwise.arrays.csr import count_offsets
    from fanwise.arrays.jit import cache_folder

    folder = cache_folder(count_offsets)
    if folder is None:
        return Finding(
            "kernel cache",
            True,
            "nowhere writable: kernels are compiled in every process",
            "set NUMBA_CACHE_DIR to a folder that can be written",
        )
    return Finding("kernel cache", True, folder)


def _try(name: str, action: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(name, True, action())
    except FanwiseError as error:
        return Finding(name, False, str(error), remedy)


def _compile() -> str:
    from fanwise.planning.compilation import compile_kernels

    with console.progress() as progress:
        seconds, count = compile_kernels(progress)
    return f"{count} algorithms ready in {seconds:.1f} s"


def _run_spark() -> str:
    from fanwise.pipeline.shared.session import check_spark

    with console.progress() as progress, progress.step("starting Spark"):
        return check_spark()
