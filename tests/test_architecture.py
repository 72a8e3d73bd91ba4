"""The architecture page says what is true: its walks exist, its example runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(fanwise(?:\.\w+)+:[\w.]+)`", PAGE)))
MODULES = sorted(set(re.findall(r"`(fanwise(?:\.\w+)+)`", PAGE)))


def test_the_page_names_functions():
    assert len(NAMES) >= 25


@pytest.mark.parametrize("name", NAMES)
def test_every_function_on_the_walk_is_there(name):
    module, _, attributes = name.partition(":")
    found = import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_on_the_page_is_there(name):
    import_module(name)


def test_rooms_of_the_picture_are_those_of_the_package():
    picture = PAGE.split("```")[1]
    rooms = {path.parent.name for path in (ROOT / "src" / "fanwise").glob("*/__init__.py")}
    assert {room for room in rooms if not re.search(rf"\b{room}\b", picture)} == set()


def read_block(marker: str) -> str:
    """Return the block of code behind a marker."""
    found = re.search(rf"<!-- {re.escape(marker)} -->\n```\w*\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, marker
    return found[1]


def test_the_example_of_adding_an_algorithm_runs(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(
        ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    )
    (source / "fanwise" / "select" / "light.py").write_text(
        read_block("example: src/fanwise/select/light.py"), encoding="utf-8"
    )
    description = source / "fanwise" / "select" / "description.py"
    text = description.read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if one.lstrip().startswith('"cheapest":')]
    added = read_block('line: src/fanwise/select/description.py after "cheapest":')
    description.write_text(text.replace(line + "\n", line + "\n" + added, 1), encoding="utf-8")
    for command in read_block("commands").splitlines():
        name, *arguments = command.split()
        assert name == "fanwise"
        done = subprocess.run(
            [sys.executable, "-m", "fanwise", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin", "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
    assert "light" in done.stdout
