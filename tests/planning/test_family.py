"""What a family answers about itself: arguments, names, algorithms, words."""

from __future__ import annotations

import pytest

from fanwise.errors import ParameterError
from fanwise.planning.families import FAMILIES
from fanwise.planning.family import WRITERS, Metric, Objective, load


def test_targets_are_resolved():
    assert load("fanwise.planning.family:load") is load
    with pytest.raises(ModuleNotFoundError):
        load("fanwise.nowhere:solve")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_target_is_there(family):
    described = FAMILIES[family]
    targets = [described.problem, described.checks, described.plots, described.facts,
               described.explain, *described.exports.values()]  # fmt: skip
    targets += [target for target in (described.proofs, described.details) if target]
    for stage in described.stages.values():
        targets += [algorithm.target for algorithm in stage.values()]
    for target in targets:
        assert callable(load(target)), target


@pytest.mark.parametrize("family", FAMILIES)
def test_algorithms_are_found_by_stage(family):
    described = FAMILIES[family]
    assert len(described.algorithms(described.default)) == len(described.stages)
    for wrong in ("", "nonsense", f"{described.default}+{described.default}"):
        with pytest.raises(ParameterError, match="'algorithm' parameter must be one of"):
            described.algorithms(wrong)


def test_arguments_are_what_was_given_and_columns_for_the_rest():
    select = FAMILIES["select"]
    assert select.arguments({"capacity": "10%"}) == {"tau": "column", "capacity": "10%"}
    assert select.arguments({"capacity": 5, "tau": 27.0}) == {"tau": 27.0, "capacity": 5}


@pytest.mark.parametrize("family", FAMILIES)
def test_shared_parameters_leave_out_what_is_the_commands_own(family):
    described = FAMILIES[family]
    own = {one.name for one in described.parameters if one.is_own}
    shared = {one.name for one in described.shared_parameters}
    assert own.isdisjoint(shared)
    assert own | shared == {one.name for one in described.parameters}
    for one in described.parameters:
        assert described.parameter(one.name) is one


def test_an_objective_goes_by_the_question():
    one = Objective("satisfied", otherwise={("partial", True): "events"}, unit="subscribers")
    assert one.named({}) == one.named({"partial": False}) == "satisfied"
    assert one.named({"partial": True}) == "events"
    assert one.title({}) == "subscribers"
    assert Objective("cost").title({}) == "cost"


@pytest.mark.parametrize("writes", WRITERS)
def test_amounts_are_written_for_people(writes):
    assert Metric("it", "it", writes=writes).write(0.5) == Objective("it", writes).write(0.5)
    assert Metric("it", "it", writes=writes).write(0.5) == WRITERS[writes](0.5)


@pytest.mark.parametrize("family", FAMILIES)
def test_metrics_have_names_and_labels_of_their_own(family):
    described = FAMILIES[family]
    assert len({metric.name for metric in described.metrics}) == len(described.metrics)
    assert all(metric.label for metric in described.metrics)
    assert set(described.curve_metrics) <= {metric.name for metric in described.metrics}
