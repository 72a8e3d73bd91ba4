"""Certificates of provisioning: accepted, checked by a third party, never beyond the optimum."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles import certificate_provision, provision_pairs_oracle
from tests.planning.mutations import other_proofs
from tests.provision.pairs_cases import capacities, machine, needs_of, pose, prices, sized_instances
from tests.provision.test_bounds import fleets, machines_of
from tests.strategies import Instance, odd_rates

import fanwise as fw
from fanwise.planning.proof import ProofError
from fanwise.planning.verify import examine
from fanwise.provision import verify_covers
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.proving import weights as proving_weights
from fanwise.provision.proving.cover_price_kernels import price_covers
from fanwise.provision.proving.leaves import list_leaves
from fanwise.provision.streamed.bounds import streamed_bound
from fanwise.provision.verify_proof import proven_bound
from fanwise.provision.verify_rent import least_rent
from fanwise.workload.generators.spotify import spotify


def by_third_party(plan, folder):
    """What somebody else finds in the files of a plan."""
    fw.write_workload(plan.source, folder / "workload", overwrite=True)
    plan.save(folder / "plan", overwrite=True)
    return certificate_provision.proven_bound(folder / "workload", folder / "plan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@settings(max_examples=120, deadline=None)
@given(sized_instances(max_topics=4, max_subscribers=4), fleets(), prices, prices)
def test_the_third_party_finds_the_same_and_never_too_much(folder, case, types, in_, out):
    instance, sizes = case
    optimum = provision_pairs_oracle.optimum(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau, types, in_, out
    )
    assume(optimum is not None)
    plan = pose(instance, machines_of(types), sizes, price_in=in_, price_out=out).solve("gsp+cbp")
    found = proven_bound(plan.source, plan)
    assert plan.verify().is_bound_checked
    assert plan.bound == pytest.approx(found, rel=1e-9, abs=1e-12)
    assert found <= float(optimum) * (1 + 1e-9) + 1e-12
    assert by_third_party(plan, folder) == pytest.approx(found, rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    sized_instances(max_topics=9, max_subscribers=12, rates=odd_rates),
    st.floats(1.0, 9.0),
    prices,
    prices,
    st.sampled_from([0.0, 0.2]),
)
def test_odd_rates_and_split_topics(folder, case, factor, in_, out, reserve):
    instance, sizes = case
    capacity = 2 * factor * max(needs_of(instance, sizes), default=1.0) / (1 - reserve)
    problem = pose(instance, [machine("one", capacity * (1 + 1e-6))], sizes, price_in=in_,
                   price_out=out, reserve=reserve)  # fmt: skip
    plan = problem.solve("gsp+ffbp")
    found = proven_bound(plan.source, plan)
    assert plan.verify().is_bound_checked
    assert plan.bound == pytest.approx(found, rel=1e-9, abs=1e-12)
    assert by_third_party(plan, folder) == pytest.approx(found, rel=1e-9, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(sized_instances(max_topics=6, max_subscribers=6), fleets(), prices, prices, st.integers())
def test_whatever_weights_say_is_true(case, types, in_, out, seed):
    """Certificates changed at random still prove nothing beyond the optimum."""
    instance, sizes = case
    assume(len(instance.rates) <= 4 and len(instance.interests) <= 4)
    optimum = provision_pairs_oracle.optimum(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau, types, in_, out
    )
    assume(optimum is not None)
    plan = pose(instance, machines_of(types), sizes, price_in=in_, price_out=out).solve("gsp+cbp")
    for _, proof in other_proofs(plan.proof, plan.bound, random.Random(seed)):
        if proof is None:
            continue
        try:
            found = proven_bound(plan.source, replace(plan, proof=proof))
        except ProofError:
            continue
        assert found <= float(optimum) * (1 + 1e-9) + 1e-12


def least_by_hand(rates, prices, enough, tried):
    """All choices of the largest, fractions of the rest: one subscriber at a time."""
    total = sum(rates)
    forced = [i for i, rate in enumerate(rates) if rate > max(total - enough, 0)]
    paid = sum(prices[i] for i in forced)
    lacks = enough - sum(rates[i] for i in forced)
    open_ = [(rates[i], prices[i]) for i in range(len(rates)) if i not in forced]
    if lacks <= 0:
        return paid
    rates, prices = (np.array([item[i] for item in open_], dtype=float) for i in (0, 1))
    return paid + certificate_provision.cover(rates, prices, lacks, tried)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(1, 12), st.integers(0, 9)), max_size=9),
            st.integers(0, 40),
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 9),
)
def test_least_covers_of_many_rows_at_once(rows, tried):
    """Rows of all lengths together: each has the price it has alone, and none is too dear."""
    demand = [float(min(enough, sum(rate for rate, _ in items))) for items, enough in rows]
    indptr = np.cumsum([0, *(len(items) for items, _ in rows)]).astype(np.int64)
    flat = [item for items, _ in rows for item in items]
    rate, price = (np.array([item[i] for item in flat], dtype=np.float64) for i in (0, 1))
    row = np.repeat(np.arange(len(rows)), np.diff(indptr))
    pairs = verify_covers.Pairs(row, rate, np.array(demand))
    found = verify_covers.least_prices(pairs, price, verify_covers.find_forced(pairs), tried)
    topics, nobody = np.arange(len(flat), dtype=np.int32), np.zeros(0, dtype=np.int64)
    workspace = make_workspace(10, 8000)
    for v, (items, _) in enumerate(rows):
        rates, prices = [float(rate) for rate, _ in items], [float(price) for _, price in items]
        expected = least_by_hand(rates, prices, demand[v], tried)
        assert found[v] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        exact = provision_pairs_oracle.cheapest_cover(rates, prices, demand[v])
        assert found[v] <= float(exact) * (1 + 1e-12)
        if len(items) <= tried:
            assert found[v] == pytest.approx(float(exact))
        one = price_covers(v, v + 1, indptr, topics, rate, np.array(demand), price, nobody,
                           np.zeros(0), tried, workspace)  # fmt: skip
        assert one == pytest.approx(expected, rel=1e-11, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(3, 30)), min_size=1, max_size=3),
    st.integers(0, 90),
)
def test_the_least_rent_is_the_oracles(offers, amount):
    rents, rooms = ([float(offer[i]) for offer in offers] for i in (0, 1))
    expected = float(provision_pairs_oracle.least_rent(offers, amount))
    assert least_rent(rents, float(amount), rooms) == pytest.approx(expected, rel=1e-11)
    assert certificate_provision.cheapest(rents, rooms, amount) == pytest.approx(expected)


def test_a_catalogue_made_to_take_for_ever_ends_in_fractions():
    generator = np.random.default_rng(1)
    rooms = (1e6 + generator.random(40)).tolist()
    rents = (1.0 + 1e-7 * generator.random(40)).tolist()
    found = least_rent(rents, 1e12, rooms)
    assert 0.999e6 <= found <= 1.001e6


# Rent alone, six topics that fill two machines to the brim, but cannot be parted so.
PARTED = Instance([7.0, 7.0, 7.0, 6.0, 6.0, 6.0], [[t] for t in range(6)], tau=9.0)
# Of one type, loads prove three machines without leaves.
TWO_TYPES = [machine("m", 39.0), machine("n", 30.0, 2.0)]


@pytest.fixture(scope="module")
def parted():
    problem = pose(PARTED, TWO_TYPES, [1.0] * 6, price_in=0.0, price_out=0.0)
    plan = problem.solve("exact+exact")
    assert (plan.proof.kind, plan.bound, plan.gap) == ("leaves", 3.0, 0.0)
    assert problem.bound() == pytest.approx(2.0)
    return plan


def test_leaves_are_accepted_and_found_by_the_third_party(folder, parted):
    assert parted.verify().is_bound_checked
    assert by_third_party(parted, folder) == 3.0


def leaves_of(rows):
    names = ("leaf", "topic", "pairs")
    return pa.table({name: pa.array([row[i] for row in rows], pa.int32())
                     for i, name in enumerate(names)})  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: [(0, t, 2 if t == 0 else n) for _, t, n in rows], "in no leaf"),
        (lambda rows: [*rows, (2, 0, 1)], "numbered from 0"),
        (lambda rows: [], "numbered from 0"),
        (lambda rows: [*rows, rows[0]], "stands twice"),
        (lambda rows: [(0, 6, 1)], "topic is out of range"),
        (lambda rows: [(0, -1, 1)], "topic is out of range"),
        (lambda rows: [(0, 0, 0)], "pairs is out of range"),
        (lambda rows: [(0, 0, 2**30)], "pairs is out of range"),
        (lambda rows: [(-1, 0, 1)], "leaf is out of range"),
        (lambda rows: [(0, t, 10) for t in range(6)], "in no leaf"),
    ],
)
def test_leaves_that_prove_nothing_are_refused(parted, change, words):
    rows = [tuple(row.values()) for row in parted.proof.tables["leaves"].to_pylist()]
    proof = replace(parted.proof, tables={"leaves": leaves_of(change(rows))})
    with pytest.raises(ProofError, match=words):
        proven_bound(parted.source, replace(parted, proof=proof))


def test_leaves_that_prove_less_are_worth_less(parted):
    """A leaf that stands for more plans than it must is true, and cheaper."""
    proof = replace(parted.proof, tables={"leaves": leaves_of([(0, 0, 1), (0, 1, 1)])})
    assert proven_bound(parted.source, replace(parted, proof=proof)) == 1.0
    assert not examine(parted.source, replace(parted, proof=proof)).holds


@settings(max_examples=80, deadline=None)
@given(sized_instances(max_topics=4, max_subscribers=4), fleets(), prices, prices)
def test_the_optimum_is_proven_where_it_is_claimed(folder, case, types, in_, out):
    instance, sizes = case
    optimum = provision_pairs_oracle.optimum(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau, types, in_, out
    )
    assume(optimum is not None)
    plan = pose(instance, machines_of(types), sizes, price_in=in_, price_out=out).solve(
        "exact+exact"
    )
    assert plan.verify().is_bound_checked
    assert plan.bound == pytest.approx(float(optimum), rel=2e-9, abs=1e-12)
    found = by_third_party(plan, folder)
    assert found == pytest.approx(proven_bound(plan.source, plan), rel=1e-9, abs=1e-12)
    assert found <= float(optimum) * (1 + 1e-9) + 1e-12


def test_large_questions_have_no_leaves():
    workload = Instance([float(t + 5) for t in range(13)], [list(range(13))] * 6, tau=30.0)
    assert list_leaves(pose(workload, [machine("m", 900.0)], [1.0] * 13)) is None
    few = Instance([5.0] * 13, [list(range(13))], tau=30.0)
    assert list_leaves(pose(few, [machine("m", 900.0)], [1.0] * 13)) is None


def contested():
    """Subscribers that choose from topics nobody is forced to take, and a few that are forced."""
    generator = np.random.default_rng(3)
    rates = generator.integers(5, 60, 30).astype(float)
    interests = [sorted(generator.choice(30, generator.integers(2, 14), replace=False).tolist())
                 for _ in range(60)]  # fmt: skip
    return Instance(list(rates), interests, 70.0)


@pytest.fixture(scope="module")
def plan():
    problem = pose(contested(), [machine("m", 900.0), machine("n", 1500.0, 1.6)],
                   [1.0] * 30, price_in=0.02)  # fmt: skip
    plan = problem.solve("gsp+cbp")
    assert plan.proof.tables["together_shares" if "together_shares" in plan.proof.tables
                             else "bytes_shares"].num_rows > 20  # fmt: skip
    return plan


@pytest.mark.parametrize("prices", [{}, {"price_in": 0.05}, {"price_out": 0.0}])
def test_long_choices(folder, prices):
    problem = pose(contested(), [machine("m", 900.0)], [1.0] * 30, **prices)
    plan = problem.solve("gsp+cbp")
    assert plan.verify().is_bound_checked
    assert by_third_party(plan, folder) == pytest.approx(plan.bound, rel=1e-9)


def test_choices_beyond_those_tried(folder, monkeypatch):
    """Where some count by fractions, everybody's numbers still agree."""
    monkeypatch.setattr(proving_weights, "SMALL_WORKLOAD", 0)
    monkeypatch.setattr("fanwise.provision.verify_covers.SMALL", 0)
    problem = pose(contested(), [machine("m", 900.0)], [float(i % 3 + 1) for i in range(30)])
    plan = problem.solve("gsp+cbp")
    assert plan.verify().is_bound_checked
    assert plan.bound == pytest.approx(proven_bound(plan.source, plan), rel=1e-12)
    monkeypatch.undo()
    full = pose(contested(), [machine("m", 900.0)], [float(i % 3 + 1) for i in range(30)])
    assert plan.bound <= full.bound() <= plan.bound * 1.05


def change(table, column, values):
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def spoilt(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    return change(table, column, values)


@pytest.mark.parametrize(
    ("name", "column", "row", "value", "words"),
    [
        ("shares", "subscriber", -1, 60, "unknown"),
        ("shares", "subscriber", 0, -1, "unknown"),
        ("shares", "place", 0, 99, "no place"),
        ("shares", "place", 0, -1, "no place"),
        ("shares", "weight", 0, 65536, "not from 0 to 65535"),
        ("shares", "weight", 0, -1, "not from 0 to 65535"),
        ("shares", "weight", 0, 2**40, "not from 0 to 65535"),
    ],
)
def test_malformed_tables_are_refused(plan, name, column, row, value, words):
    kind = next(iter(plan.proof.tables)).partition("_")[0]
    table = plan.proof.tables[f"{kind}_{name}"]
    tables = {**plan.proof.tables, f"{kind}_{name}": spoilt(table, column, row, value)}
    with pytest.raises(ProofError, match=words):
        proven_bound(plan.source, replace(plan, proof=replace(plan.proof, tables=tables)))


@pytest.mark.parametrize(
    ("topics", "words"),
    [([30], "unknown"), ([-1], "unknown"), ([1, 0], "ascending"), ([2, 2], "ascending")],
)
def test_malformed_lists_of_even_topics_are_refused(plan, topics, words):
    name = next(key for key in plan.proof.tables if key.endswith("even"))
    even = pa.table({"topic": pa.array(topics, pa.int32())})
    proof = replace(plan.proof, tables={**plan.proof.tables, name: even})
    with pytest.raises(ProofError, match=words):
        proven_bound(plan.source, replace(plan, proof=proof))


def test_other_malformed_proofs_are_refused(plan):
    tables = dict(plan.proof.tables)
    name = next(key for key in tables if key.endswith("shares"))
    twice = pa.concat_tables([tables[name].slice(0, 1), tables[name]])
    weightless = replace(plan.proof, tables={**tables, name: tables[name].drop(["weight"])})
    for proof, words in (
        (replace(plan.proof, tables={**tables, "glory_topics": twice}), "nobody knows"),
        (replace(plan.proof, tables={**tables, name: twice}), "not in ascending order"),
        (weightless, "no column 'weight'"),
        (replace(plan.proof, tables={key: tables[key] for key in tables if key != name}),
         "no table"),
    ):  # fmt: skip
        with pytest.raises(ProofError, match=words):
            proven_bound(plan.source, replace(plan, proof=proof))
        assert not examine(plan.source, replace(plan, proof=proof)).holds


def test_a_share_for_a_topic_that_is_not_weighed_is_refused(plan):
    kind = next(iter(plan.proof.tables)).partition("_")[0]
    even = pa.table({"topic": pa.array(range(plan.source.num_topics), pa.int32())})
    proof = replace(plan.proof, tables={**plan.proof.tables, f"{kind}_even": even})
    with pytest.raises(ProofError, match="has no weights"):
        proven_bound(plan.source, replace(plan, proof=proof))


def test_a_planted_bug_is_seen_by_the_third_party(folder, monkeypatch):
    """Shares that add up to more than a copy costs: the two checks no longer agree."""
    plan = pose(contested(), [machine("m", 900.0)], [1.0] * 30).solve("gsp+cbp")
    honest = by_third_party(plan, folder)

    def too_little(workload, held, sharing):
        return np.ones(workload.num_topics)

    monkeypatch.setattr("fanwise.provision.verify_proof._add_up_weights", too_little)
    assert proven_bound(plan.source, plan) > honest * (1 + 1e-6)


def test_only_a_whole_question_may_rest_on_a_solver(parted):
    """What an integer program claims of up to 300 pairs; nothing else is taken on trust."""
    word = replace(parted.proof, kind="solver", tables=_shares_of(PARTED), proves=2.0)
    result = examine(parted.source, replace(parted, proof=word))
    assert (result.holds, result.is_bound_checked) == (True, False)
    assert any("HiGHS" in remark for remark in result.remarks)
    for algorithm in ("best+best", "exact+best", "gsp+cbp"):
        problem = pose(PARTED, TWO_TYPES, [1.0] * 6, price_in=0.0, price_out=0.0)
        plan = problem.solve(algorithm)
        claimed = replace(plan, bound=3.0, gap=0.0, proof=replace(plan.proof, kind="solver"))
        claimed = replace(claimed, metrics={**claimed.metrics, "cost_above_bound": 0.0})
        assert "no bound of such a plan" in examine(plan.source, claimed).first


def _shares_of(instance):
    problem = pose(instance, [machine("m", 39.0)], [1.0] * 6, price_in=0.0, price_out=0.0)
    return problem.solve("gsp+cbp").proof.tables


def test_coarse_weights_lose_little_and_fit(monkeypatch):
    problem = pose(contested(), [machine("m", 900.0)], [1.0] * 30)
    fine = problem.bound()
    for most_bytes, levels in ((1500, 255), (1000, 15), (700, 0)):
        monkeypatch.setattr(proving_weights, "SMALL_PROOF", most_bytes)
        monkeypatch.setattr(proving_weights, "BYTES_EACH", 0)
        again = pose(contested(), [machine("m", 900.0)], [1.0] * 30).solve("gsp+cbp")
        assert again.verify().is_bound_checked
        assert fine * 0.98 <= again.bound <= fine * 1.001, levels


@settings(max_examples=30, deadline=None)
@given(sized_instances(), capacities, prices, prices)
def test_streamed_certificates_are_accepted(case, capacity, price_in, price_out):
    instance, sizes = case
    problem = pose(instance, [machine("m", capacity)], sizes, price_in=price_in,
                   price_out=price_out)  # fmt: skip
    assume(problem.is_usable.all())
    plan = problem.solve("gsp+cbp")
    proven = streamed_bound(problem)
    proof = replace(plan.proof, tables=proven.tables, proves=proven.value)
    found = proven_bound(plan.source, replace(plan, proof=proof))
    assert found == pytest.approx(proven.value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("tau", [10.0, 100.0])
def test_certificates_are_small(tmp_path, tau):
    workload = spotify(scale=0.01, seed=2)
    scaled = [Machine("small", 0.15, 64.0 / 1000)]
    problem = fw.Provisioning(workload, tau=tau, instance="small", catalogue=scaled)
    plan = problem.solve("gsp+cbp")
    plan.save(tmp_path / "plan")
    tables = sum(file.stat().st_size for file in (tmp_path / "plan").glob("*.parquet"))
    proof = sum(file.stat().st_size for file in (tmp_path / "plan" / "proof").iterdir())
    each = 16 * (workload.num_subscribers + workload.num_topics)
    assert proof <= tables / 10 + each
    assert plan.verify().is_bound_checked
