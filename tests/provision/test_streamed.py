"""Streaming makes the plan that the same algorithms make in memory, with a bound that holds."""

import os
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.oracles import provision_pairs_oracle as oracle
from tests.provision.pairs_cases import (
    capacities,
    machine,
    needs_of,
    pose,
    prices,
    sized_instances,
)
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InfeasibleError, InputError, ParameterError, WorkloadError
from fanwise.provision.bounds import proven_bound
from fanwise.provision.pairs import dual_ascent
from fanwise.provision.pairs.charges import charge
from fanwise.provision.streamed import allocation, bounds, needs, solve, source
from fanwise.provision.streamed.bounds import streamed_bound
from fanwise.provision.streamed.solve import FILLS, solve_streamed

TINY_BLOCKS = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(params=[1, 3, 1000])
def size_of_blocks(request, monkeypatch):
    monkeypatch.setattr(source, "PAIRS_AT_ONCE", request.param)
    monkeypatch.setattr(allocation, "ROWS_PER_SHELF", request.param)
    return request.param


def options_of(problem):
    names = ("tau", "instance", "catalogue", "price_gb_in", "price_gb_out", "horizon_seconds")
    return {name: getattr(problem, name) for name in names}


def stream(problem, folder, algorithm="gsp+cbp", **options):
    fw.write_workload(problem.workload, folder / "workload", overwrite=True)
    return solve_streamed(
        folder / "workload", algorithm=algorithm, scratch=folder, **options_of(problem), **options
    )


def attempt(solve):
    """Return a plan, or why there is none."""
    try:
        return solve(), ""
    except InfeasibleError as error:
        return None, str(error)


def assert_same(streamed, plan):
    assert (streamed.id, streamed.workload) == (plan.id, plan.workload)
    assert streamed.tables["allocation"].equals(plan.tables["allocation"])
    assert streamed.tables["vms"].equals(plan.tables["vms"])
    assert streamed.objective == pytest.approx(plan.objective, rel=1e-9)
    assert (streamed.feasible, streamed.parameters) == (plan.feasible, plan.parameters)
    assert streamed.bound <= plan.objective * (1 + 1e-9)
    for name, value in plan.metrics.items():
        if name != "cost_above_bound":
            known = value if value is None else pytest.approx(value, rel=1e-9)
            assert streamed.metrics[name] == known, name


@TINY_BLOCKS
@given(
    sized_instances(), st.lists(capacities, min_size=1, max_size=3), st.sampled_from(sorted(FILLS))
)
def test_the_same_plan_as_in_memory(tmp_path, size_of_blocks, case, sizes_of_machines, pack):
    instance, sizes = case
    machines = [
        machine(f"m{i}", capacity, 1.0 + capacity / 100)
        for i, capacity in enumerate(sizes_of_machines)
    ]
    problem = pose(instance, machines, sizes)
    algorithm = f"gsp+{pack}"
    plan, told = attempt(lambda: problem.solve(algorithm, seed=3))
    if plan is None:
        with pytest.raises(InfeasibleError) as refused:
            stream(problem, tmp_path, algorithm)
        assert str(refused.value) == told
        return
    streamed = stream(problem, tmp_path, algorithm, seed=3)
    assert_same(streamed, plan)
    streamed.save(tmp_path / "plan", overwrite=True)
    assert fw.read_plan(tmp_path / "plan", problem.workload).verify().is_bound_checked
    assert {entry.name for entry in tmp_path.iterdir()} == {"workload", "plan"}


def test_thousands_of_subscribers_of_split_topics(tmp_path, size_of_blocks):
    generator = np.random.default_rng(5)
    rates = generator.integers(1, 30, 12).astype(float)
    interests = [sorted(generator.choice(12, 3, replace=False).tolist()) for _ in range(700)]
    problem = pose(Instance(list(rates), interests, 20.0), [machine("m", 900.0, 1.0)], [1.0] * 12)
    plan = problem.solve("gsp+cbp")
    assert plan.metrics["split_topics"] > 5
    assert_same(stream(problem, tmp_path), plan)


@TINY_BLOCKS
@given(
    sized_instances(max_topics=4, max_subscribers=4),
    capacities,
    prices,
    prices,
    st.sampled_from([0, 1, 32]),
    st.sampled_from([0, 3, 1000]),
)
def test_no_plan_is_below_the_bound(
    monkeypatch, size_of_blocks, case, capacity, price_in, price_out, short, most_items
):
    instance, sizes = case
    types = [(1.0, capacity, None, None)]
    optimum = oracle.optimum(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau, types,
        price_in, price_out,
    )  # fmt: skip
    assume(optimum is not None)
    problem = pose(
        instance, [machine("m", capacity, 1.0)], sizes, price_in=price_in, price_out=price_out
    )
    monkeypatch.setattr(bounds, "SHORT", short)
    monkeypatch.setattr(bounds, "MOST_ITEMS", most_items)
    assert streamed_bound(problem).value <= float(optimum) * (1 + 1e-9) + 1e-12


@TINY_BLOCKS
@given(sized_instances(), st.lists(capacities, min_size=1, max_size=2), prices, prices)
def test_the_bound_in_memory_where_choices_are_short(
    monkeypatch, size_of_blocks, case, sizes_of_machines, price_in, price_out
):
    instance, sizes = case
    machines = [machine(f"m{i}", each, 1.0) for i, each in enumerate(sizes_of_machines)]
    problem = pose(instance, machines, sizes, price_in=price_in, price_out=price_out)
    assume(problem.is_usable.all())
    monkeypatch.setattr(bounds, "SWEEPS", 12)
    streamed = streamed_bound(problem).value
    assert streamed <= proven_bound(problem) * (1 + 1e-9) + 1e-12
    with monkeypatch.context() as patch:  # what needs the pairs in memory
        patch.setattr("fanwise.provision.bounds._rent_by_loads", lambda *_: None)
        assert streamed == pytest.approx(proven_bound(problem), rel=1e-9, abs=1e-12)


@pytest.fixture
def folder(tmp_path):
    instance = Instance([13.0, 29.0, 53.0], [[0, 2], [1], [], [0, 1, 2], [2]], tau=40.0)
    fw.write_workload(instance.workload(), tmp_path / "workload")
    return tmp_path


def rewrite_pairs(folder, subscriber, topic, **columns):
    file = folder / "workload" / "interests.parquet"
    pairs = {"subscriber": pa.array(subscriber), "topic": pa.array(topic), **columns}
    pq.write_table(pa.table(pairs), file)


BROKEN = {
    "pairs do not ascend by subscriber": ([1, 0, 3, 3, 3, 4, 0], [1, 0, 0, 1, 2, 2, 2]),
    "(subscriber 3, topic 1) is there more than once": (
        [0, 0, 1, 3, 3, 3, 4],
        [0, 2, 1, 0, 1, 1, 2],
    ),
    "unknown topic: ids run from 0 to 2, got 3": ([0, 0, 1, 3, 3, 3, 4], [0, 2, 1, 0, 1, 3, 2]),
    "unknown subscriber: ids run from 0 to 4, got 9": (
        [0, 0, 1, 3, 3, 3, 9],
        [0, 2, 1, 0, 1, 2, 2],
    ),
    "pairs = 7, but interests.parquet has 2 rows": ([0, 1], [0, 1]),
}


@pytest.mark.parametrize("told", BROKEN)
def test_broken_interests_are_named(folder, told, size_of_blocks):
    rewrite_pairs(folder, *BROKEN[told])
    with pytest.raises(WorkloadError) as refused:
        solve_streamed(folder / "workload", tau=40, scratch=folder)
    assert told in str(refused.value)
    assert [entry.name for entry in folder.iterdir()] == ["workload"]


def test_topics_of_a_subscriber_may_stand_in_any_order(folder, size_of_blocks):
    expected = fw.Provisioning(fw.read_workload(folder / "workload"), tau=40).solve("gsp+cbp")
    rewrite_pairs(folder, [0, 0, 1, 3, 3, 3, 4], [2, 0, 1, 1, 2, 0, 2])
    assert_same(solve_streamed(folder / "workload", tau=40, scratch=folder), expected)


def test_part_files_one_after_the_other(folder, size_of_blocks):
    expected = fw.Provisioning(fw.read_workload(folder / "workload"), tau=40).solve("gsp+cbp")
    file = folder / "workload" / "interests.parquet"
    pairs = pq.read_table(file)
    file.unlink()
    file.mkdir()
    for number, (start, end) in enumerate([(0, 1), (1, 4), (4, 4), (4, 7)]):
        pq.write_table(pairs.slice(start, end - start), file / f"part-{number}.parquet")
    assert_same(solve_streamed(folder / "workload", tau=40, scratch=folder), expected)


def test_a_damaged_file_and_a_missing_column(folder):
    file = folder / "workload" / "interests.parquet"
    pq.write_table(pa.table({"subscriber": [0], "thing": [1]}), file)
    with pytest.raises(WorkloadError, match="no column 'topic'; it has 'subscriber', 'thing'"):
        solve_streamed(folder / "workload", tau=40, scratch=folder)
    file.write_bytes(b"PAR1")
    with pytest.raises(WorkloadError, match="not readable as Parquet"):
        solve_streamed(folder / "workload", tau=40, scratch=folder)


@pytest.mark.parametrize("algorithm", ["gsp+ffbp", "gsp+best", "rsp+cbp", "gsp", "cbp"])
def test_what_looks_at_pairs_is_refused(folder, algorithm):
    with pytest.raises(ParameterError, match="gsp \\+ cbp"):
        solve_streamed(folder / "workload", tau=40, algorithm=algorithm, scratch=folder)


def test_a_full_disk_is_told_before_anything_is_read(folder, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(needs.shutil, "disk_usage", lambda path: usage(100, 90, 10))
    with pytest.raises(InputError, match=r"takes 28 bytes, but only 10 bytes are free"):
        solve_streamed(folder / "workload", tau=40, scratch=folder)


def test_an_interrupt_leaves_nothing(folder, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "streamed_bound", interrupt)
    with pytest.raises(KeyboardInterrupt):
        solve_streamed(folder / "workload", tau=40, scratch=folder)
    assert [entry.name for entry in folder.iterdir()] == ["workload"]


def test_what_a_killed_process_left_is_removed(folder):
    left = folder / ".scratch.fanwise-999999999-12345678"
    left.mkdir()
    (left / "interests.bin").write_bytes(b"1234")
    solve_streamed(folder / "workload", tau=40, scratch=folder).save(folder / "plan")
    assert {entry.name for entry in folder.iterdir()} == {"workload", "plan"}


def test_a_plan_that_is_not_saved_leaves_nothing(folder):
    plan = solve_streamed(folder / "workload", tau=40, scratch=folder)
    hidden = plan.tables.allocation.parent
    assert sorted(os.listdir(hidden)) == ["allocation.parquet"]
    del plan
    assert not hidden.exists()


def test_a_plan_can_be_saved_twice(folder):
    plan = solve_streamed(folder / "workload", tau=40, scratch=folder)
    workload = fw.read_workload(folder / "workload")
    for name in ("one", "two"):
        plan.save(folder / name)
        fw.read_plan(folder / name, workload).verify()
    plan.verify(workload)


def spread_problem(**prices):
    """Return a problem whose bound takes sweeps to prove."""
    generator = np.random.default_rng(3)
    rates = generator.integers(5, 60, 20).astype(float)
    interests = [sorted(generator.choice(20, 5, replace=False).tolist()) for _ in range(40)]
    return pose(Instance(list(rates), interests, 40.0), [machine("m", 500.0, 1.0)], [1.0] * 20,
                **prices)  # fmt: skip


@pytest.mark.parametrize("prices", [{}, {"price_in": 3.0, "price_out": 1.0}])
@pytest.mark.parametrize(
    ("limits", "is_swept"),
    [({}, True), ({"gap": 0.9}, False), ({"gap": 0.0}, True), ({"time_limit": 0.0}, False)],
)
def test_limits_stop_the_sweeps_of_a_streamed_bound(
    tmp_path, monkeypatch, prices, limits, is_swept
):
    swept = []
    sweep = dual_ascent.Sharing.sweep
    monkeypatch.setattr(
        dual_ascent.Sharing, "sweep", lambda self, is_over: swept.append(1) or sweep(self, is_over)
    )
    problem = spread_problem(**prices)
    plan = stream(problem, tmp_path, **limits)
    rent_alone = bool(prices) and "gap" in limits  # nobody knows the gap before the traffic
    assert bool(swept) == (is_swept or rent_alone)
    assert plan.gap > 0
    swept.clear()
    free = stream(problem, tmp_path)
    assert plan.tables["allocation"].equals(free.tables["allocation"])
    assert plan.bound <= free.bound
    assert (plan.bound < free.bound) == (not is_swept)
    plan.save(tmp_path / "plan")
    assert fw.read_plan(tmp_path / "plan", problem.workload).verify().is_bound_checked


def test_limits_stop_the_sweeps_of_a_bound_in_memory():
    short = spread_problem().solve("gsp+cbp", time_limit=0.0)
    loose = spread_problem().solve("gsp+cbp", gap=0.9)
    problem = spread_problem()
    tight = problem.solve("gsp+cbp", gap=0.0, time_limit=1e6)
    free = problem.solve("gsp+cbp")
    assert short.bound == loose.bound < tight.bound == free.bound == problem.bound()
    for plan in (free, short, loose):
        plan.verify()


def test_a_bound_that_is_known_is_not_proven_again(monkeypatch):
    problem = spread_problem()
    known = problem.bound()
    monkeypatch.setattr("fanwise.provision.bounds.prove_bound", None)
    assert problem.solve("gsp+cbp").bound == known
    assert problem.solve("gsp+ffbp", time_limit=0.0).bound == known


def test_a_sweep_ends_where_the_time_does(monkeypatch):
    monkeypatch.setattr(dual_ascent, "PIECE", 1)
    problem = spread_problem()
    core = bounds.find_core(problem, charge(problem, 1.0, 1.0, 1e-9))
    bounds_by_looks = []
    for looks in (0, 1, 5, 10**6):
        clock = iter([False] * looks + [True])
        found = dual_ascent.Sharing(core)
        found.sweep(lambda clock=clock: next(clock))
        bounds_by_looks.append(found.bound)
    assert bounds_by_looks == sorted(bounds_by_looks)
    assert bounds_by_looks[0] < bounds_by_looks[2] < bounds_by_looks[3]
