"""The house rules that no linter sees."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from tests.strategies import Instance

import fanwise as fw
from fanwise.cli.main import COMMANDS
from fanwise.planning.families import FAMILIES

HEAVY = ("pyspark", "numba", "matplotlib", "scipy", "pandas")
ROOT = Path(__file__).parents[1]
HELP = "from fanwise.cli.main import main\ntry: main({})\nexcept SystemExit: pass"


def modules_loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys, json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "code",
    [
        "import fanwise",
        HELP.format("['--help']"),
        HELP.format("['select', '--help']"),
    ],
    ids=["import", "help", "select help"],
)
def test_nothing_heavy_is_loaded(code):
    loaded = modules_loaded_by(code)
    assert not loaded & set(HEAVY)


def test_the_public_surface_resolves():
    for name in fw.__all__:
        assert getattr(fw, name) is not None
    assert set(fw.__all__) <= set(dir(fw))
    with pytest.raises(AttributeError, match="nonsense"):
        fw.nonsense  # noqa: B018


def test_workload_json_follows_its_schema(tmp_path):
    fw.write_workload(Instance([1.0], [[0]], tau=1).workload(), tmp_path / "w")
    schema = json.loads((files("fanwise") / "schemas" / "workload.schema.json").read_text())
    header = json.loads((tmp_path / "w" / "workload.json").read_text())
    jsonschema.validate(header, schema)
    for broken in ({"topics": -1}, {"format": "x"}, {"period_seconds": 0}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**header, **broken}, schema)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    from fanwise.cli.main import main

    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert f"fanwise {command}" in capsys.readouterr().out


def test_oracles_share_no_code_with_the_package():
    for oracle in (ROOT / "tests" / "oracles").glob("*.py"):
        for node in ast.walk(ast.parse(oracle.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            assert not any(name.split(".")[0] == "fanwise" for name in modules), oracle.name


SOURCE = ROOT / "src" / "fanwise"
VERIFIERS = sorted(
    path for path in SOURCE.rglob("*.py") if "verify" in str(path.relative_to(SOURCE))
    and path.relative_to(SOURCE).parts[0] != "cli"
)  # fmt: skip
"""By their names, in every room: nothing that verifies escapes the rule below."""
MAY_USE = (
    "errors",
    *("planning.families", "planning.family", "planning.plan", "planning.proof", "planning.verify"),
    *("workload.topic", "workload.content", "workload.json_numbers", "workload.validation"),
)
"""What verification may import beside its own modules: what plans and workloads are."""
ON_DISK = ("provision.streamed.plan", "provision.streamed.scratch")
"""How plans that are larger than memory are read: no solver is in there."""


def imports_of(tree: ast.Module) -> list[str]:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names]  # fmt: skip
    return names + [
        node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]


def test_every_family_verifies():
    rooms = {path.relative_to(SOURCE).parts[0] for path in VERIFIERS}
    assert rooms == {"planning", *FAMILIES}


@pytest.mark.parametrize("path", VERIFIERS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_verification_uses_no_kernel_and_nothing_of_the_solver(path):
    own = f"fanwise.{path.relative_to(SOURCE).parts[0]}.verify"
    allowed = [f"fanwise.{name}" for name in (*MAY_USE, *ON_DISK)]
    for name in imports_of(ast.parse(path.read_text())):
        root = name.split(".")[0]
        if root == "fanwise":
            is_allowed = name.startswith(own) or any(
                name == one or name.startswith(f"{one}.") for one in allowed
            )
            assert is_allowed, f"{path.name} imports {name}"
        else:
            assert root in sys.stdlib_module_names or root in ("numpy", "pyarrow"), name
    # Formulas that workloads offer to solvers.
    for word in (".demand(", ".serving_cost(", "sum_rows", ".followers."):
        assert word not in path.read_text(), f"{path.name} uses {word}"


DECORATORS = ("kernel", "parallel_kernel", "callable_in_kernels")


def kernels_of(path: Path) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any(getattr(one, "id", "") in DECORATORS for one in node.decorator_list)
    ]


KERNELS = sorted(path for path in SOURCE.rglob("*.py") if kernels_of(path))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_say_which_arrays_they_change(path):
    """In a sentence: "Changes ``load``.", "Changes nothing." """
    silent = [
        function.name
        for function in kernels_of(path)
        if not re.search(r"\bChanges\b", ast.get_docstring(function) or "")
    ]
    assert not silent


def written_by(function: ast.FunctionDef) -> set[str]:
    """Return the parameters that a function assigns to entries of, itself."""
    found = set()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else (
            [node.target] if isinstance(node, ast.AugAssign) else []
        )  # fmt: skip
        for target in targets:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(one, ast.Subscript):
                    while isinstance(one, ast.Subscript | ast.Attribute):
                        one = one.value
                    found.add(getattr(one, "id", ""))
    own = {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    return (found & {argument.arg for argument in function.args.args}) - own


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_that_change_arrays_do_not_deny_it(path):
    lying = {
        function.name: sorted(written_by(function))
        for function in kernels_of(path)
        if written_by(function)
        and re.search(r"Changes (nothing\.|no array)", ast.get_docstring(function) or "")
    }
    assert not lying


HEADINGS = ("Guarantee", "Complexity", "References")


def algorithm_modules() -> set[Path]:
    """Return the modules that families name as algorithms or engines, and those of bounds."""
    targets = [engine.target for family in FAMILIES.values() for engine in family.engines.values()]
    targets += [
        algorithm.target
        for family in FAMILIES.values()
        for stage in family.stages.values()
        for algorithm in stage.values()
    ]
    named = {target.split(":")[0].removeprefix("fanwise.") for target in targets}
    bounds = {path for path in SOURCE.rglob("*.py") if re.search(r"(^|_)bounds?$", path.stem)}
    return bounds | {SOURCE / f"{name.replace('.', '/')}.py" for name in named}


def headings_of(path: Path) -> list[str]:
    """Return what a module's docstring has headings for, in order."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    pattern = r"^(?:(Guarantee|Complexity)\n {4}\S|(References)\n-{10}\n {4}\S)"
    return [one or other for one, other in re.findall(pattern, text, re.MULTILINE)]


MODULES = sorted(
    algorithm_modules()
    | {path for path in SOURCE.rglob("*.py") if "Guarantee" in headings_of(path)}
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_algorithms_and_bounds_say_what_they_promise_cost_and_rest_on(path):
    """Under the same three headings, in the same style and order, wherever there is one."""
    assert headings_of(path) == list(HEADINGS)
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert len(re.findall(rf"^(?:{'|'.join(HEADINGS)})$", text, re.MULTILINE)) == len(HEADINGS)
