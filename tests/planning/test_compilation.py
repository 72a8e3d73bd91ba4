"""Compiling ahead: every algorithm of every family is asked, on a question that it takes."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from tests.families import ALGORITHMS

from fanwise.planning.compilation import compile_kernels
from fanwise.planning.problem import Problem
from fanwise.progress import Progress, Step


class Heard(Progress, Step):
    """Keeps what it is told."""

    total_told, done = None, 0.0

    @contextmanager
    def step(self, description, total=None):
        self.total_told = total
        yield self

    def advance(self, amount=1.0):
        self.done += amount


@pytest.fixture
def asked(monkeypatch):
    """Note what is to be solved, and solve nothing."""
    found = []
    monkeypatch.setattr(
        Problem, "solve", lambda problem, algorithm: found.append((problem, algorithm))
    )
    return found


def test_every_algorithm_is_asked(asked):
    _, count = compile_kernels()
    assert count == len(asked)
    assert {(problem.family, algorithm) for problem, algorithm in asked} == set(ALGORITHMS)


def test_no_question_is_refused_or_empty(asked):
    compile_kernels()
    for problem, algorithm in asked:
        assert problem.limited_for(algorithm).emptiness() is None, (problem.family, algorithm)


def test_questions_between_them_use_every_kernel(asked):
    compile_kernels()
    best = [problem for problem, algorithm in asked if algorithm == "best"]
    assert {one.topology for one in best if one.family == "wire"} == {"mesh", "tree"}
    assert {one.topic_weight for one in best if one.family == "connect"} == {"one", "rate"}


def test_progress_hears_of_each(asked):
    heard = Heard()
    _, count = compile_kernels(heard)
    assert heard.total_told == heard.done == count
