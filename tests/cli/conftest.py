"""Running the command line inside the test process."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from tests.strategies import Instance

import fanwise as fw


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """Run ``fanwise`` with arguments; return its status and what it printed."""
    from fanwise.cli.main import main

    def run(*arguments) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        code = stopped.value.code
        return Done(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run


@pytest.fixture
def workload(tmp_path):
    """A small workload on disk."""
    instance = Instance(
        [30.0, 20.0, 50.0, 7.0], [[0, 1], [1, 2], [2], [0, 3], [3], [1, 3]], tau=25.0
    )
    folder = tmp_path / "workload"
    names = {"topic_names": ["pop", "jazz", "folk", "ska"]}
    fw.write_workload(instance.workload(**names), folder)
    return folder


def is_one_line(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text
