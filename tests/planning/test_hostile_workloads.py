"""Workload folders that are damaged, odd or extreme: a plan, or one line and exit 1 or 2, always.

Files are changed at random: entries of ``workload.json``, columns, cells, bytes, whole files. Every
command must end without a traceback, and write nothing where it refuses.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.families import ALGORITHMS, CASES
from tests.planning.mutations import HOSTILE, other_tables
from tests.planning.test_common_suite import TIE_FREE
from tests.planning.test_hostile_plans import change_bytes, change_entry, drop_file

import fanwise as fw
from fanwise.cli.main import main

VALUES = (*HOSTILE, None, "", 0, 1, -1, 1e308, 1e-320, 2**63, [], {}, "../../x", "é\u0000")
EXTREMES = (0.0, -0.0, -1.0, 5e-324, 1e-300, 1e-30, 1e-12, 1e12, 1e29, 1e31, 1e200, 1e308)
LIMITS = {
    "select": ("--tau", "--capacity"),
    "provision": ("--tau", "--price-gb", "--horizon", "--message-bytes", "--reserve"),
    "connect": ("--max-degree", "--max-edges", "--avg-degree", "--budget-ratio"),
    "assign": ("--alpha", "--max-delay", "--lbf", "--lbf-max"),
    "wire": ("--core-factor", "--capacity-factor"),
}
"""Options of each family whose values are numbers."""
NEEDED = {"select": {"--tau": "5", "--capacity": "50%"}, "provision": {"--tau": "5"}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for family, case in CASES.items():
        made[family] = tmp_path_factory.mktemp(family) / "workload"
        fw.write_workload(case.workload(TIE_FREE), made[family])
    return made


def change_header(folder: Path, rng: random.Random) -> None:
    change_entry(folder / "workload.json", VALUES, rng)


def change_column(folder: Path, rng: random.Random) -> None:
    file = rng.choice(sorted(folder.glob("*.parquet")))
    _, other = rng.choice(list(other_tables(pq.read_table(file), rng)))
    pq.write_table(other, file)


def put_extremes(folder: Path, rng: random.Random) -> None:
    """Put extreme numbers into a column, in one row, a few or all."""
    file = rng.choice(sorted(folder.glob("*.parquet")))
    table = pq.read_table(file)
    columns = [
        index for index, field in enumerate(table.schema) if pa.types.is_floating(field.type)
    ]
    if not columns or not table.num_rows:
        return
    index = rng.choice(columns)
    values = table.column(index).to_pylist()
    extreme, share = rng.choice(EXTREMES), rng.choice((0.1, 0.5, 1.0))
    changed = [extreme if rng.random() < share else value for value in values]
    name = table.column_names[index]
    pq.write_table(table.set_column(index, name, pa.array(changed, pa.float64())), file)


CHANGES = (change_header, change_column, put_extremes, put_extremes, change_bytes, drop_file)


def options(family: str, rng: random.Random) -> list[str]:
    """Return the options of a question, some of them extreme."""
    chosen = dict(NEEDED.get(family, {}))
    for name in LIMITS[family]:
        if rng.random() < 0.15:
            chosen[name] = repr(rng.choice((*EXTREMES, 1, 2, 3, 10**20)))
    algorithm = rng.choice([name for of, name in ALGORITHMS if of == family])
    names = algorithm.split("+")
    flags = ("--select", "--pack") if len(names) == 2 else ("--algorithm",)
    for flag, name in zip(flags, names, strict=True):
        chosen[flag] = name
    if "max" not in "".join(chosen) and family == "connect" and rng.random() < 0.7:
        chosen["--max-degree"] = "2"
    return [word for pair in chosen.items() for word in pair]


def plan_on_damage(family: str, folder: Path, scratch: Path, seed: int) -> tuple[str, int, Path]:
    """Change a copy of a workload and plan on it; return the change, the exit status, the plan."""
    rng = random.Random(seed)
    workload, plan = scratch / "workload", scratch / "plan"
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(folder, workload)
    change = rng.choice(CHANGES)
    change(workload, rng)
    words = [family, str(workload), *options(family, rng), "--time-limit", "2", "--json"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--out", str(plan)])
    return change.__name__, int(ended.value.code or 0), plan


def check_ending(what: str, status: int, plan: Path, capsys) -> None:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err, what
    assert status in (0, 1, 2), what
    if status == 2:
        assert captured.err.count("\n") == 1, (what, captured.err)
        assert captured.err.startswith("fanwise: ")
        assert not plan.exists(), what
    if plan.exists():  # what was written is a whole plan without NaN, and holds what it says
        assert "NaN" not in captured.out
        assert "Infinity" not in captured.out
        with pytest.raises(SystemExit) as ended:
            main(["verify", str(plan.parent / "workload"), str(plan), "--json"])
        told = capsys.readouterr()
        assert bool(ended.value.code) == (status == 1), (what, told.out, told.err)
    assert list(plan.parent.glob(".*")) == [], what


@pytest.mark.parametrize("family", CASES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_workloads_end_in_one_line(family, folders, tmp_path_factory, capsys, seed):
    scratch = tmp_path_factory.getbasetemp() / "damaged"
    what, status, plan = plan_on_damage(family, folders[family], scratch, seed)
    check_ending(f"{what}, seed {seed}", status, plan, capsys)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("family", CASES)
def test_thousands_of_damaged_workloads(family, folders, tmp_path, capsys, keep_counts):
    counts: Counter[tuple[str, int]] = Counter()
    for seed in range(2000):
        what, status, plan = plan_on_damage(family, folders[family], tmp_path / "damaged", seed)
        counts[what, status] += 1
        check_ending(f"{what}, seed {seed}", status, plan, capsys)
    keep_counts(**{f"{what}, exit {status}": count for (what, status), count in counts.items()})
