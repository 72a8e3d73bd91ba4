"""Plan folders that somebody has tampered with or damaged: one line and exit 1 or 2, always.

Files are changed at random: entries of ``plan.json`` at any depth, columns and cells of tables and
certificates, bytes. Verification must end without a traceback, and must not believe what is false.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.families import CASES
from tests.planning.mutations import HOSTILE, other_tables
from tests.planning.test_common_suite import TIE_FREE

import fanwise as fw
from fanwise.cli.main import main
from fanwise.planning.families import FAMILIES

VALUES = (*HOSTILE, None, "", 0, -1, 1e308, 2**63, [], {}, "0" * 64, "../../x", "é\u0000")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A workload and a plan of each family, as they lie on disk."""
    made = {}
    for family, case in CASES.items():
        folder = tmp_path_factory.mktemp(family)
        workload = case.workload(TIE_FREE)
        fw.write_workload(workload, folder / "workload")
        plan = case.pose(workload, TIE_FREE).solve(FAMILIES[family].default)
        plan.save(folder / "plan")
        made[family] = folder
    return made


def places(value, path=()):
    """Yield the way to every entry of a JSON value."""
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def change_entry(file: Path, values: Sequence[Any], rng: random.Random) -> tuple[dict, tuple]:
    """Drop an entry of a JSON file or give it another value; return the whole and its place."""
    header = json.loads(file.read_text())
    path = rng.choice(list(places(header)))
    target = header
    for key in path[:-1]:
        target = target[key]
    if rng.random() < 0.2:
        del target[path[-1]]
    else:
        target[path[-1]] = rng.choice(values)
    file.write_text(json.dumps(header))
    return header, path


def spelled(value: Any) -> str:
    """Return JSON as text in which 0 and 0.0 are one number, and 0 and false are not."""
    text = json.dumps(value, sort_keys=True)
    return json.dumps(json.loads(text, parse_int=float), sort_keys=True)


def change_json(folder: Path, rng: random.Random) -> bool:
    before = json.loads((folder / "plan.json").read_text())
    header, path = change_entry(folder / "plan.json", VALUES, rng)
    if spelled(before) == spelled(header):
        return False
    # What says nothing that could be false: times, remarks, why it stopped; a proof left out.
    if path[0] in ("seconds", "warnings", "fanwise", "limits", "stopped", "proof"):
        return False
    unchecked = FAMILIES[header.get("problem", "")].unchecked if path[0] == "metrics" else {}
    return not (len(path) > 1 and path[1] in unchecked)


def change_table(folder: Path, rng: random.Random) -> bool:
    file = rng.choice(sorted(folder.glob("*.parquet")) + sorted(folder.glob("proof/*.parquet")))
    table = pq.read_table(file)
    _, other = rng.choice(list(other_tables(table, rng)))
    if other.equals(table):
        return False
    pq.write_table(other, file)
    return file.parent.name != "proof"  # another certificate may still prove the bound


def change_bytes(folder: Path, rng: random.Random) -> bool:
    file = rng.choice([path for path in folder.rglob("*") if path.is_file()])
    content = bytearray(file.read_bytes())
    if rng.random() < 0.3:
        content = content[: rng.randrange(len(content))]
    else:
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    file.write_bytes(bytes(content))
    return False  # a space instead of another changes nothing


def drop_file(folder: Path, rng: random.Random) -> bool:
    file = rng.choice([path for path in folder.rglob("*") if path.is_file()])
    file.unlink()
    if rng.random() < 0.5:
        file.mkdir()
    return True


CHANGES = (change_json, change_json, change_table, change_bytes, drop_file)


def tamper(folder: Path, scratch: Path, seed: int) -> tuple[str, int, bool]:
    """Change a copy of a plan; return the kind of change, the exit status, whether it must fail."""
    rng = random.Random(seed)
    plan = scratch / "plan"
    shutil.rmtree(plan, ignore_errors=True)
    shutil.copytree(folder / "plan", plan)
    change = rng.choice(CHANGES)
    must_fail = change(plan, rng)
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(folder / "workload"), str(plan), "--json"])
    return change.__name__, int(ended.value.code or 0), must_fail


def check_ending(what: str, status: int, must_fail: bool, captured) -> None:
    assert "Traceback" not in captured.err
    assert status in (0, 1, 2)
    if status:
        assert captured.err.count("\n") == 1, captured.err
        assert captured.err.startswith("fanwise: ")
    if must_fail:
        assert status, f"{what} was believed"
    elif status == 0:
        assert json.loads(captured.out)["verified"]


@pytest.mark.parametrize("family", CASES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_tampered_plans_end_in_one_line(family, folders, tmp_path_factory, capsys, seed):
    scratch = tmp_path_factory.getbasetemp()
    what, status, must_fail = tamper(folders[family], scratch, seed)
    check_ending(f"{what}, seed {seed}", status, must_fail, capsys.readouterr())


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", CASES)
def test_thousands_of_tampered_plans(family, folders, tmp_path, capsys, keep_counts):
    counts: Counter[tuple[str, int]] = Counter()
    for seed in range(3000):
        what, status, must_fail = tamper(folders[family], tmp_path, seed)
        counts[what, status] += 1
        check_ending(f"{what}, seed {seed}", status, must_fail, capsys.readouterr())
    keep_counts(**{f"{what}, exit {status}": count for (what, status), count in counts.items()})


def test_no_tampering_no_complaint(folders, capsys):
    for folder in folders.values():
        with pytest.raises(SystemExit) as ended:
            main(["verify", str(folder / "workload"), str(folder / "plan")])
        assert not ended.value.code
