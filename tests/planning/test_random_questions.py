"""Random tiny questions with odd features, against brute force: every algorithm of every family.

Each family draws its own questions, with the true optimum from code that shares nothing with the
package. No bound may cross the optimum, no plan may be better than it, ``exact`` must reach it,
and ``best`` may not be worse than any other algorithm's plan.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from importlib import import_module

import pytest
from tests.families import ALGORITHMS, CASES

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.families import FAMILIES
from fanwise.planning.problem import Problem

IN_CI, IN_SOAK = 12, 2000
TOLERANCE = 1e-7
"""Of the optimum: beyond it, values count as different."""
EXACT = {"provision": ("exact+exact",)}
"""Algorithms that must find the optimum, where it is not only ``exact``."""


def draw(family: str, seed: int) -> tuple[Problem, Callable[[Problem], float | None]]:
    question = import_module(f"tests.{family}.random_questions").draw_question
    problem, optimum = question(random.Random(seed))
    return problem, optimum


def is_worse(family: str, value: float, than: float) -> bool:
    slack = TOLERANCE * max(1e-9, abs(than))
    return value < than - slack if FAMILIES[family].sense == "max" else value > than + slack


def try_solving(problem: Problem, algorithm: str, seed: int, **limits) -> fw.Plan | str:
    """Return the plan, or why there is none."""
    try:
        return problem.solve(algorithm, seed=seed, **limits)
    except InfeasibleError:
        return "infeasible"
    except ParameterError as error:
        if "exact" in algorithm.split("+") and ("above" in str(error) or "at most" in str(error)):
            return "too large"
        if "given with algorithm" in str(error):
            return "needs another budget"
        raise


def check_plan(family: str, algorithm: str, plan: fw.Plan, optimum: float | None) -> str:
    """Check a plan against the optimum, and that it verifies; return the kind of its proof."""
    if not plan.feasible:
        assert plan.gap is None
        return "infeasible"
    assert optimum is not None, f"{algorithm}: a plan where there is none"
    result = plan.verify()
    assert not is_worse(family, optimum, plan.objective), f"{algorithm}: better than the optimum"
    if plan.bound is not None:
        assert not is_worse(family, plan.bound, optimum), f"{algorithm}: the bound crosses"
    if algorithm in EXACT.get(family, ("exact",)):
        assert not is_worse(family, plan.objective, optimum), f"{algorithm}: not the optimum"
    if plan.proof is None:
        return "no bound"
    assert result.is_bound_checked or plan.proof.kind == "solver"
    return plan.proof.kind


def ask(family: str, seed: int) -> Counter[str]:
    """Put one question to every algorithm; return counts of what came of it."""
    counts: Counter[str] = Counter()
    problem, find_optimum = draw(family, seed)
    best = problem.posed_for(FAMILIES[family].default)
    optima: dict[str, float | None] = {}
    plans: dict[str, fw.Plan] = {}
    for algorithm in (name for of, name in ALGORITHMS if of == family):
        posed = problem.posed_for(algorithm)
        key = repr(posed.parameters())
        if key not in optima:
            optima[key] = find_optimum(posed)
        plan = try_solving(posed, algorithm, seed)
        if isinstance(plan, str):
            is_no_answer = plan in ("too large", "needs another budget")
            assert is_no_answer or optima[key] is None, f"{algorithm}: says {plan}"
            counts[plan] += 1
            continue
        counts[check_plan(family, algorithm, plan, optima[key])] += 1
        if key == repr(best.parameters()):
            plans[algorithm] = plan
    chosen = plans.get(FAMILIES[family].default)
    hurried = try_solving(best, FAMILIES[family].default, seed, time_limit=0.0)
    for algorithm, plan in plans.items():
        if plan.feasible:
            for other, when in ((chosen, ""), (hurried, " in no time")):
                assert isinstance(other, fw.Plan), f"best finds no plan, {algorithm} does"
                assert other.feasible, f"best{when} breaks a limit, {algorithm} does not"
                if when and {"exact", "best"} & set(algorithm.split("+")):
                    continue  # these took their time
                assert not is_worse(family, other.objective, plan.objective), (
                    f"best{when} {other.objective}, {algorithm} {plan.objective}"
                )
    return counts


@pytest.mark.parametrize("family", CASES)
def test_a_few_random_questions(family):
    kinds: Counter[str] = Counter()
    for seed in range(IN_CI):
        try:
            kinds += ask(family, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert kinds["duals"] + kinds["leaves"] > IN_CI


@pytest.mark.soak
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("family", CASES)
def test_thousands_of_random_questions(family, keep_counts):
    kinds: Counter[str] = Counter()
    wrong = []
    for seed in range(IN_SOAK):
        try:
            kinds += ask(family, seed)
        except Exception as error:
            wrong.append(f"seed {seed}: {type(error).__name__}: {error}"[:300])
    keep_counts(questions=IN_SOAK, wrong=len(wrong), **kinds)
    assert not wrong, f"{len(wrong)} of {IN_SOAK}: {wrong[:20]}"
