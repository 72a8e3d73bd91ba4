"""Each family is described once, and everything else follows from that."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import MISSING, dataclass, fields, replace
from importlib import import_module
from importlib.resources import files

import jsonschema
import pytest
import typer
from tests.families import CASES
from tests.strategies import Instance
from typer.testing import CliRunner

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.planning import values
from fanwise.planning.families import DESCRIPTIONS, FAMILIES, find_family
from fanwise.planning.family import Algorithm, load
from fanwise.planning.parameter import Axis, Parameter
from fanwise.planning.plan import read_plan
from fanwise.planning.schemas import parameters_schema, plan_parameters_schema, plan_schema
from fanwise.planning.verify import examine

SHADE = Parameter(
    "shade",
    values.number(0),
    "How dark it may be.",
    default=0.5,
    axis=Axis("shades", "shades to try: 0.1,0.9."),
)

SMALL = Instance([3.0, 5.0], [[0], [0, 1]], tau=3)


def app_of(command):
    """Return an application with one command, made anew."""
    app = typer.Typer()
    app.callback()(lambda: None)
    import_module(f"fanwise.cli.{command}").register(app)
    return app


def options_of(command):
    """Return the options of a command that is made anew, with their help."""
    made = typer.main.get_command(app_of(command)).commands[command]
    return {option: one.help for one in made.params for option in one.opts if option[0] == "-"}


@pytest.fixture
def changed(monkeypatch):
    """Describe a family anew, as if its file had one more line."""

    def change(family, **changes):
        home, _, name = DESCRIPTIONS[family].partition(":")
        monkeypatch.setattr(import_module(home), name, replace(FAMILIES[family], **changes))
        return FAMILIES[family]

    return change


@pytest.fixture
def shaded(changed, monkeypatch):
    """Give a family one more parameter: a field of the problem and an entry in the description."""

    def add(family):
        home, _, name = FAMILIES[family].problem.partition(":")
        module = import_module(home)
        body = {"__annotations__": {"shade": float}, "shade": 0.5, "__module__": home}
        problem = dataclass(frozen=True, eq=False)(type(name, (getattr(module, name),), body))
        monkeypatch.setattr(module, name, problem)
        return changed(family, parameters=(*FAMILIES[family].parameters, SHADE))

    return add


def run_command(command, *arguments):
    """Run a command that is made anew; return what it prints."""
    done = CliRunner().invoke(app_of(command), [command, *map(str, arguments)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


QUESTIONS = {
    "select": ["--tau", "3", "--capacity", "60%"],
    "provision": ["--tau", "3"],
    "connect": ["--max-degree", "2"],
    "assign": ["--max-delay", "1e6", "--lbf", "4", "--lbf-max", "4"],
    "wire": [],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_parameter_is_a_field_and_an_entry(shaded, tmp_path, family):
    """Stated, solved, saved, verified, read and swept: nothing else had to be told."""
    described, (folder, plan) = shaded(family), (tmp_path / "workload", tmp_path / "plan")
    workload = CASES[family].workload(SMALL)
    fw.write_workload(workload, folder)
    asked = [folder, *QUESTIONS[family]]
    run_command(family, *asked, "--shade", "0.25", "--out", plan)
    run_command("verify", folder, plan)
    read = read_plan(plan, workload)
    assert read.parameters["shade"] == 0.25
    jsonschema.validate(read.parameters, plan_parameters_schema(described))
    question = load(described.problem).state_from(workload, read.parameters)
    assert question.shade == 0.25
    assert question.parameters()["shade"] == 0.25
    swept = run_command("sweep", family, *asked, "--shades", "0.1,0.9", "--json")
    assert [point["shade"] for point in json.loads(swept)["points"]] == [0.1, 0.9]
    older = {name: value for name, value in read.parameters.items() if name != "shade"}
    assert load(described.problem).state_from(workload, older).shade == 0.5
    for wrong in (-1, "dark", True):
        false = replace(read, parameters={**read.parameters, "shade": wrong})
        found = examine(workload, replace(false, id=false.compute_id())).first
        assert found == f"parameters.shade: must be a number >= 0, got {wrong!r}"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_parameter_is_an_option_of_every_command(changed, family):
    assert not any("--shade" in options_of(command) for command in (family, "compare", "sweep"))
    described = changed(family, parameters=(*FAMILIES[family].parameters, SHADE))
    assert options_of(family)["--shade"] == "How dark it may be."
    told = f"{family}: how dark it may be. Default: 0.5."
    assert options_of("compare")["--shade"] == options_of("sweep")["--shade"] == told
    assert options_of("sweep")["--shades"] == f"{family}: shades to try: 0.1,0.9."
    assert "--shades" not in options_of("compare")
    field = parameters_schema(described)["properties"]["shade"]
    assert (field["type"], field["minimum"], field["default"]) == ("number", 0, 0.5)
    assert "shade" in plan_parameters_schema(described)["required"]
    assert "shade" in described.recorded
    assert described.arguments({"shade": 0.1})["shade"] == 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_an_algorithm_is_one_line(changed, family):
    stages = {name: dict(stage) for name, stage in FAMILIES[family].stages.items()}
    last = list(stages)[-1]
    stages[last]["by-dice"] = Algorithm("fanwise.nowhere:solve", "whatever the dice say")
    described = changed(family, stages=stages)
    names = [*described.default.split("+")[:-1], "by-dice"]
    (*_, found) = find_family(family).algorithms("+".join(names))
    assert found.summary == "whatever the dice say"
    assert "by-dice" in options_of(family)[f"--{last}"]
    field = parameters_schema(described)["properties"]["algorithm"]
    assert "by-dice: whatever the dice say" in field["description"]
    jsonschema.validate("+".join(names), field)


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_are_those_of_the_problem(family):
    described = FAMILIES[family]
    taken = {field.name: field.default for field in fields(load(described.problem))}
    for one in described.parameters:
        assert set(one.sets) <= taken.keys()
        for name in one.sets:
            default = taken[name]
            assert one.is_required == (default is MISSING) or one.column
            if one.default is not None:
                assert type(default)(one.default) == default
    assert len({one.option for one in described.parameters}) == len(described.parameters)
    assert described.algorithm_after in (None, *(one.name for one in described.parameters))
    assert described.curve is None or described.parameter(described.curve.along).axis is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_plans_record_what_is_described(family):
    described = FAMILIES[family]
    problem = load(described.problem).example(CASES[family].workload(SMALL))
    always = set(plan_parameters_schema(described)["required"]) - {"seed"}
    assert always <= problem.parameters().keys() <= set(described.recorded)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_form_of_a_question_is_a_schema(family):
    described = FAMILIES[family]
    schema = parameters_schema(described)
    jsonschema.Draft202012Validator.check_schema(schema)
    needed = {one.name: one.example for one in described.parameters if one.is_required}
    jsonschema.validate(needed, schema)
    for name, field in schema["properties"].items():
        for value in (
            *([field["default"]] if "default" in field else []),
            *field.get("examples", []),
        ):
            jsonschema.validate({**needed, name: value}, schema)
    for wrong in ({"algorithm": "quantum"}, {"nonsense": 1}, {described.parameters[0].name: []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**needed, **wrong}, schema)


def test_the_schema_of_plans_follows_the_descriptions():
    stored = json.loads((files("fanwise") / "schemas" / "plan.schema.json").read_text())
    assert stored == plan_schema(), "run python -m fanwise.planning.schemas"
    jsonschema.Draft202012Validator.check_schema(stored)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_explained_is_said(family):
    described = FAMILIES[family]
    assert {"plan"} < set(described.explains) <= {"plan", "topic", "subscriber", "machine"}
    assert all(described.explains.values())


def test_descriptions_are_light():
    names = [target.partition(":")[0] for target in DESCRIPTIONS.values()]
    code = f"import sys, {', '.join(names)}; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_families_are_found_by_name():
    assert list(FAMILIES) == list(DESCRIPTIONS)
    assert len(FAMILIES) == len(DESCRIPTIONS)
    for name in FAMILIES:
        assert find_family(name).name == name
    with pytest.raises(ParameterError, match="one of select, provision"):
        find_family("dance")


@pytest.mark.parametrize(
    ("family", "engine"), [(name, one) for name in FAMILIES for one in FAMILIES[name].engines]
)
def test_engines_run_and_take_what_the_family_has(family, engine):
    described, one = FAMILIES[family], FAMILIES[family].engines[engine]
    assert list(one.algorithms) == list(one.stands_in) == list(described.stages)
    for stage, names in one.algorithms.items():
        assert set(names) <= described.stages[stage].keys()
    assert set(one.takes or ()) <= {parameter.name for parameter in described.parameters}
    best = ["best"] * len(described.stages)
    assert not one.runs(best)
    assert one.runs(one.replaced(best))
    assert one.replaced(one.stands_in.values()) == tuple(one.stands_in.values())
    assert callable(one.load())


def test_every_packing_of_the_streaming_engine_has_a_function():
    from fanwise.provision.streamed.solve import FILLS

    assert tuple(FILLS) == FAMILIES["provision"].engines["stream"].algorithms["pack"]


def test_an_engine_refuses_a_parameter_that_it_was_not_made_for(shaded, tmp_path):
    shaded("select")
    asked = ["--tau", "3", "--capacity", "60%", "--engine", "spark", "--out", tmp_path / "plan"]
    done = CliRunner().invoke(
        app_of("select"), ["select", *map(str, [tmp_path, *asked, "--shade", "0.7"])]
    )
    assert str(done.exception) == (
        "The 'shade' parameter must be left out with --engine spark, got '0.7'."
    )
