"""Certificates are hints and no more: whatever their tables say, what they prove is true.

On random tiny questions, whose optimum is known by brute force, certificates are changed at random:
rows lost, doubled, swapped, prices scaled, shifted, exchanged, ids moved. What the changed one
proves may be worse than before or nothing at all, but must never cross the optimum.
"""

from __future__ import annotations

import ast
import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.families import ALGORITHMS, CASES
from tests.planning.test_random_questions import draw, is_worse, try_solving

import fanwise as fw
from fanwise.errors import VerificationError
from fanwise.planning.families import FAMILIES
from fanwise.planning.family import load
from fanwise.planning.proof import KINDS
from fanwise.planning.verify import NOT_OF_THE_KIND

CHANGES_EACH = 12
ORACLES = Path(__file__).parents[1] / "oracles"
PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"


def lines_of_code(text: str) -> int:
    """Return the number of lines without those of docstrings, and empty ones."""
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            told = node.body[0]
            lines -= set(range(told.lineno, (told.end_lineno or 0) + 1))
    return len(lines)


def test_a_third_partys_checkers_are_as_short_as_the_page_says():
    """Plain code as the formatter leaves it."""
    texts = {name: (ORACLES / f"certificate_{name}.py").read_text() for name in CASES}
    codes = {name: lines_of_code(text) for name, text in texts.items()}
    counts = [len(text.splitlines()) for text in texts.values()]
    page = " ".join(PAGE.read_text().split())
    assert max(codes.values()) < 100
    assert ", ".join(f"{name} {code}" for name, code in codes.items()) in page
    assert f"with them {', '.join(map(str, counts))}." in page
    for text in texts.values():
        assert "fmt:" not in text
        assert "noqa" not in text


@pytest.mark.parametrize("name", ["files", "content_files", "network_files", "wiring_files"])
def test_what_a_third_party_reads_files_by_is_as_short_as_the_page_says(name):
    count = len((ORACLES / f"certificate_{name}.py").read_text().splitlines())
    assert count < 100
    assert f"certificate_{name}.py` ({count} lines)" in " ".join(PAGE.read_text().split())


def change(table: pa.Table, rng: random.Random) -> pa.Table:
    """Return a table with the same columns and other contents."""
    if not table.num_rows:
        return table
    kind = rng.choice(("drop", "double", "swap", "cell", "cell", "scale", "shift", "shuffle"))
    rows = list(range(table.num_rows))
    if kind == "drop":
        kept = [row for row in rows if rng.random() < 0.7]
        return table.take(pa.array(kept, pa.int64()))
    if kind == "double":
        return table.take(pa.array([*rows, rng.choice(rows)], pa.int64()))
    if kind == "swap":
        rng.shuffle(rows)
        return table.take(pa.array(rows, pa.int64()))
    index = rng.randrange(table.num_columns)
    column = table.column(index)
    values = column.to_pylist()
    if kind == "shuffle":
        rng.shuffle(values)
    elif pa.types.is_boolean(column.type):
        values = [not value if rng.random() < 0.3 else value for value in values]
    elif pa.types.is_integer(column.type):
        values = [value + rng.choice((-1, 0, 0, 1)) for value in values]
    elif pa.types.is_floating(column.type) and kind == "scale":
        factor = rng.choice((-1.0, 0.0, 0.5, 0.9, 1.1, 2.0, 100.0))
        values = [value * factor for value in values]
    elif pa.types.is_floating(column.type) and kind == "shift":
        amount = rng.choice((-1.0, 1e-3, 1.0, 10.0))
        values = [value + amount for value in values]
    elif pa.types.is_floating(column.type):
        row = rng.randrange(len(values))
        values[row] = rng.choice((0.0, 1.0, -1.0, 1e9, values[row] * 1.5, rng.random()))
    try:
        other = pa.array(values, column.type)
    except (pa.ArrowException, OverflowError):
        return table
    return table.set_column(index, table.column_names[index], other)


def prove(plan: fw.Plan) -> float | None:
    """Return what a plan's certificate proves, or None where it is refused."""
    try:
        proven = float(load(FAMILIES[plan.problem].proofs)(plan.source, plan))
    except (VerificationError, *NOT_OF_THE_KIND):
        return None
    return proven if math.isfinite(proven) else None


def crossed(family: str, seed: int) -> tuple[list[str], Counter[str]]:
    """Return certificates that prove what is false, and counts of all that were tried."""
    rng = random.Random(seed)
    problem, find_optimum = draw(family, seed)
    algorithm = rng.choice([name for of, name in ALGORITHMS if of == family])
    posed = problem.posed_for(algorithm)
    optimum = find_optimum(posed)
    plan = try_solving(posed, algorithm, seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    if optimum is None or isinstance(plan, str) or plan.proof is None:
        return wrong, counts
    for _ in range(CHANGES_EACH):
        tables = dict(plan.proof.tables)
        for _ in range(rng.choice((1, 1, 2, 3))):
            if tables:
                name = rng.choice(sorted(tables))
                tables[name] = change(tables[name], rng)
        kind = plan.proof.kind if rng.random() < 0.8 else rng.choice(KINDS)
        changed = replace(plan, proof=replace(plan.proof, tables=tables, kind=kind))
        with np.errstate(all="ignore"):
            proven = prove(changed)
        counts["refused" if proven is None else "evaluated"] += 1
        if proven is not None and is_worse(family, proven, optimum):
            wrong.append(f"{algorithm}, seed {seed}: proves {proven}, the optimum is {optimum}")
    return wrong, counts


@pytest.mark.parametrize("family", CASES)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_no_certificate_proves_what_is_false(family, seed):
    wrong, _ = crossed(family, seed)
    assert not wrong


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("family", CASES)
def test_none_of_thousands_of_certificates_proves_what_is_false(family, keep_counts):
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(2000):
        found, tried = crossed(family, seed)
        wrong += found
        counts += tried
    keep_counts(wrong=len(wrong), **counts)
    assert not wrong, f"{len(wrong)}: {wrong[:10]}"
