"""What the package shows to Python programs is documented by examples, and these run."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fanwise as fw

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(tests, globs=None):
    """Run examples one after the other; returns how many there were."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in tests:
        if globs is not None:
            test.globs = globs
        runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    return runner.tries


def test_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parser = doctest.DocTestParser()
    tests = [
        parser.get_doctest(block, {}, f"example {number}", "docs/python.md", 0)
        for number, block in enumerate(BLOCKS)
    ]
    assert run(tests, {}) > 30
    assert len(BLOCKS) >= 7


@pytest.mark.parametrize("name", [name for name in fw.__all__ if not name.startswith("__")])
def test_what_is_public_has_examples_that_run(name):
    found = getattr(fw, name)
    tests = doctest.DocTestFinder(recurse=False).find(found, name, globs={})
    assert run(tests) > 0


@pytest.mark.parametrize("method", ["from_frames", "from_edges", "from_networkx", "from_sparse"])
def test_every_way_into_a_workload_has_an_example_that_runs(method):
    found = getattr(fw.TopicWorkload, method)
    globs = {"TopicWorkload": fw.TopicWorkload}
    assert run(doctest.DocTestFinder(recurse=False).find(found, method, globs=globs)) > 0


def test_what_is_public_is_on_the_page_or_in_the_help():
    about = inspect.getdoc(fw) or ""
    for name in fw.__all__:
        assert name in PAGE or name in about or (getattr(fw, name).__doc__ or "").strip()
    assert "__version__" in PAGE


def test_data_is_taken_and_shown_where_no_library_of_others_is_installed():
    code = (
        "import importlib.machinery, sys\n"
        "others = ('pandas', 'polars', 'networkx', 'pyspark', 'matplotlib')\n"
        "class Finder(importlib.machinery.PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        is_other = name.partition('.')[0] in others\n"
        "        return None if is_other else super().find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Finder\n"
        "import fanwise as fw, fanwise.errors\n"
        "w = fw.TopicWorkload.from_frames({'topic': ['a'], 'events': [1]},"
        " {'subscriber': ['b'], 'topic': ['a']})\n"
        "plan = fw.Selection(w, tau=1, capacity=1).solve('greedy')\n"
        "shown = w._repr_html_() + plan._repr_html_()\n"
        "assert fw.TopicWorkload.from_edges([(1, 2)]).num_pairs == 1 and '<table>' in shown\n"
        "print(plan.to_arrow().to_pylist())\n"
        "try: plan.to_pandas()\n"
        "except fw.errors.MissingDependencyError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'topic': 'a', 'served': True" in done.stdout
    assert "pandas is not installed; pip install pandas" in done.stdout
