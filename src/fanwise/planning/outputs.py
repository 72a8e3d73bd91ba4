"""How folders and files made of plans are told from everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.planning.families import FAMILIES
from fanwise.planning.proof import FOLDER as PROOF_FOLDER
from fanwise.workload.outputs import (
    PROGRAM,
    Contents,
    FileKind,
    FolderKind,
    Head,
    is_picture,
    matching,
    read_object,
    tables_pattern,
)

PLAN_FORMAT = "fanwise.plan"
TABLES_FORMAT = "fanwise.tables"
TABLES_FILE = "tables.json"
REMARK = f"written by {PROGRAM}"
"""Stands in files of formats that know remarks."""
FORESTS_COLUMNS = ("topic", "u", "v")
FORESTS_METADATA = {b"fanwise": b"forests"}
"""Stands in the schema of spanning forests as Parquet."""


def _in_plan(contents: Contents) -> Callable[[str], bool] | None:
    header = read_object(contents, "plan.json")
    if not isinstance(header, dict) or header.get("format") != PLAN_FORMAT:
        return None
    problem = header.get("problem")
    if not isinstance(problem, str) or problem not in FAMILIES:
        return None
    proof = header.get("proof")
    listed = proof.get("files") if isinstance(proof, dict) else None
    proof_files = {name for name in listed or () if isinstance(name, str)}
    if proof_files:
        proof_files.add(f"{PROOF_FOLDER}/")
    is_own = matching(rf"plan\.json|{tables_pattern(FAMILIES[problem].keys)}")
    return lambda name: name in proof_files or is_own(name)


def _in_tables(contents: Contents) -> Callable[[str], bool] | None:
    header = read_object(contents, TABLES_FILE)
    if not isinstance(header, dict) or header.get("format") != TABLES_FORMAT:
        return None
    tables = header.get("tables")
    names = [name for name in tables if isinstance(name, str)] if isinstance(tables, list) else []
    files = {TABLES_FILE, *(f"{name}.csv" for name in names)}
    return files.__contains__


def _in_curve(contents: Contents) -> Callable[[str], bool] | None:
    if "points.csv" not in contents.names or "curve.png" not in contents.names:
        return None
    if not is_picture(contents, "curve.png"):
        return None
    return {"points.csv", "curve.png"}.__contains__


PLAN = FolderKind("a plan", "no plan.json that says so", _in_plan)
TABLES = FolderKind("a folder of exported tables", f"no {TABLES_FILE} that says so", _in_tables)
CURVE = FolderKind("a sweep's output", f"no curve.png that {PROGRAM} drew", _in_curve)


def _is_forests(path: Path) -> bool:
    if Head(b"PAR1").is_of(path):
        try:
            metadata = pq.read_schema(path).metadata or {}
        except pa.ArrowException:
            return False
        return all(metadata.get(key) == value for key, value in FORESTS_METADATA.items())
    header = ",".join(f'"{name}"' for name in FORESTS_COLUMNS)
    return Head(header.encode() + b"\n").is_of(path)


EXPORTS: Mapping[str, FileKind] = {
    "graphml": FileKind("a GraphML file", Head(b"<?xml", f"<!-- {REMARK} -->".encode()).is_of),
    "dot": FileKind("a DOT file", Head(b"graph overlay {", f"// {REMARK}".encode()).is_of),
    "forests": FileKind("a table of spanning forests", _is_forests),
}
"""Files that plans of some families are written as."""
