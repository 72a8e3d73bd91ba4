from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import statistics_oracle as oracle
from typer.testing import CliRunner

from fanwise.cli import stats as stats_command
from fanwise.workload.summaries import SUMMARY
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic import statistics as module
from fanwise.workload.topic.files import write_workload
from fanwise.workload.topic.statistics import Means, ccdf, mean_by, workload_statistics
from fanwise.workload.topic.tables import counts, tables

NAMES = ("followers", "followings", "rates", "received", "subscription_cardinality")
rates_and_sizes = st.tuples(
    st.one_of(st.integers(1, 50).map(float), st.floats(1e-6, 1e9)), st.integers(0, 2000).map(float)
)


@st.composite
def small(draw):
    """Rates, sizes and interests: empty interests, one topic or none, equal rates."""
    topics = draw(st.lists(rates_and_sizes, max_size=8))
    one = st.sets(st.integers(0, len(topics) - 1)) if topics else st.just(set())
    interests = draw(st.lists(one, max_size=10))
    return [rate for rate, _ in topics], [size for _, size in topics], interests


def build(rates, sizes, interests, **options):
    pairs = [(v, t) for v, topics in enumerate(interests) for t in topics]
    return TopicWorkload.from_arrays(
        rates,
        [v for v, _ in pairs],
        [t for _, t in pairs],
        num_subscribers=len(interests),
        message_bytes=sizes,
        **options,
    )


@given(small())
def test_agrees_with_the_oracle(instance):
    found = workload_statistics(build(*instance))
    expected = oracle.statistics(*instance)
    assert found.num_topics == len(instance[0])
    assert found.num_subscribers == len(instance[2])
    assert found.num_pairs == sum(map(len, instance[2]))
    for name in ("events", "deliveries", "bytes_published", "bytes_delivered"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-12)
    for name in NAMES:
        values = expected["values"][name]
        distribution = getattr(found, name)
        assert distribution.count == len(values)
        for key, value in oracle.summary(values).items():
            found_value = getattr(distribution, key)
            assert found_value == (None if value is None else pytest.approx(value, rel=1e-9)), key
    for means in ("rate_by_followers", "cardinality_by_followings"):
        curve = getattr(found, means)
        rows = list(zip(curve.x, curve.mean, curve.count, strict=True))
        assert len(rows) == len(expected[means])
        for row, expected_row in zip(rows, expected[means], strict=True):
            assert row == pytest.approx(expected_row, rel=1e-9)


@given(small())
def test_counts_have_the_ccdf_of_the_oracle(instance):
    found = workload_statistics(build(*instance))
    expected = oracle.statistics(*instance)["values"]
    for name in ("followers", "followings", "rates"):  # exact values: no rounding in between
        curve = getattr(found, name).ccdf
        points = oracle.ccdf(expected[name])
        assert curve.x.tolist() == [x for x, _ in points]
        assert curve.p.tolist() == pytest.approx([p for _, p in points])


@given(st.lists(st.integers(0, 6).map(float), min_size=1), st.floats(-1, 8))
def test_ccdf_between_its_points(values, x):
    curve = ccdf(np.array(values))
    assert curve.at(x) == pytest.approx(sum(v > x for v in values) / len(values))
    assert curve.p[-1] == 0
    assert (np.diff(curve.x) > 0).all()
    assert (np.diff(curve.p) < 0).all()


@given(small())
def test_subscription_cardinality_is_a_share_of_all_events(instance):
    rates, sizes, interests = instance
    everything = [*interests, set(range(len(rates)))]
    found = module.subscription_cardinality(build(rates, sizes, everything))
    assert (found >= 0).all()
    assert (found <= 100 * (1 + 1e-12)).all()
    assert found[-1] == pytest.approx(100 if rates else 0)
    # what all subscribers get together is what is delivered
    workload = build(rates, sizes, everything)
    statistics = workload_statistics(workload)
    assert found.sum() / 100 * statistics.events == pytest.approx(statistics.deliveries)


def test_an_example_by_hand():
    # topics of 10, 30 and 60 events; the second subscriber has both of the first two
    workload = build([10, 30, 60], [100, 100, 50], [{0}, {0, 1}, set()], period_seconds=3600)
    found = workload_statistics(workload)
    assert (found.events, found.deliveries) == (100, 50)
    assert (found.bytes_published, found.bytes_delivered) == (7000, 5000)
    assert found.subscription_cardinality.ccdf.x.tolist() == [0, 10, 40]
    assert found.subscription_cardinality.ccdf.p == pytest.approx([2 / 3, 1 / 3, 0])
    assert found.followers.ccdf.x.tolist() == [0, 1, 2]
    assert found.rate_by_followers.x.tolist() == [0, 1, 2]
    assert found.rate_by_followers.mean.tolist() == [60, 30, 10]
    assert found.cardinality_by_followings.mean.tolist() == [0, 10, 40]
    assert found.followings.median == 1


def test_nothing_at_all():
    found = workload_statistics(build([], [], []))
    assert found.to_dict()["followers"]["median"] is None
    assert found.followers.ccdf.at(0) == 0
    assert tables(found)[0].title == "Distributions"
    json.dumps(found.to_dict(), allow_nan=False)


def test_followers_are_counted_in_chunks(monkeypatch):
    workload = random_workload(40, 300)
    monkeypatch.setattr(module, "CHUNK", 7)
    assert module.count_followers(workload).tolist() == workload.num_followers.tolist()


def test_the_largest_rates_there_may_be():
    found = workload_statistics(build([1e30, 1e30], [200, 200], [{0, 1}, {0}]))
    assert found.subscription_cardinality.max == pytest.approx(100)
    assert found.subscription_cardinality.min == pytest.approx(50)
    result = found.to_dict()
    assert result["events"] == pytest.approx(2e30)
    assert result["rates"]["max"] == 1e30
    json.dumps(result, allow_nan=False)


def random_workload(num_topics, num_subscribers, seed=3):
    random = np.random.default_rng(seed)
    wanted = random.random((num_subscribers, num_topics)) < random.random(num_topics) ** 3
    subscriber, topic = np.nonzero(wanted)
    rates = random.lognormal(3, 2, num_topics)
    return TopicWorkload.from_arrays(rates, subscriber, topic, num_subscribers=num_subscribers)


def test_thin_curves_keep_their_shape():
    values = np.random.default_rng(1).pareto(1.1, 20_000)
    full = ccdf(values)
    thin = full.thin(300)
    assert 100 < len(thin.x) <= 300
    assert np.isin(thin.x, full.x).all()
    assert thin.p.tolist() == [full.at(x) for x in thin.x]
    assert (thin.x[0], thin.x[-1]) == (full.x[0], full.x[-1])
    # at any value the step drawn from the thin curve is within one cell of the grid
    held = np.array([thin.at(x) for x in full.x[:-1]])
    assert np.log(held / full.p[:-1]).max() <= np.log(20_000) / 100
    assert full.thin(len(full.x)) is full


def test_thin_means_add_up():
    random = np.random.default_rng(2)
    full = mean_by(random.integers(0, 5000, 20_000), random.random(20_000))
    thin = full.thin(40)
    assert len(thin.x) <= 40
    assert thin.count.sum() == full.count.sum()
    assert np.dot(thin.mean, thin.count) == pytest.approx(np.dot(full.mean, full.count))
    assert thin.x[0] == 0  # zero has no place on a logarithmic axis: it is never merged


def test_decades_split_at_powers_of_ten():
    x = np.array([0, 1, 9, 10, 99, 100, 999, 1000], dtype=float)
    decades = Means(x, x, np.ones(8, dtype=np.int64)).decades()
    assert decades.x.tolist() == [0, 1, 10, 100, 1000]
    assert decades.count.tolist() == [1, 2, 2, 2, 1]
    assert decades.mean.tolist() == [0, 5, 54.5, 549.5, 1000]


def test_tables_show_the_statistics():
    found = workload_statistics(random_workload(30, 200))
    assert dict(counts(found))["topics"] == 30
    distributions, shares, rates, cardinality = tables(found)
    assert [row[1] for row in distributions.rows] == [
        getattr(found.followers, name) for name in SUMMARY
    ]
    assert shares.rows[0][3] == "100%"
    assert sum(row[1] for row in rates.rows) == 30
    assert sum(row[1] for row in cardinality.rows) == 200


@pytest.fixture
def run():
    app = typer.Typer()
    app.callback()(lambda: None)
    stats_command.register(app)
    return lambda *arguments: CliRunner().invoke(
        app, [str(argument) for argument in arguments], catch_exceptions=True
    )


@pytest.fixture
def folder(tmp_path):
    write_workload(random_workload(30, 200), tmp_path / "workload")
    return tmp_path / "workload"


def test_command_prints_json(run, folder):
    result = run("stats", folder, "--json")
    assert result.exit_code == 0
    expected = workload_statistics(random_workload(30, 200)).to_dict()
    assert json.loads(result.stdout) == expected


def test_command_prints_tables(run, folder):
    result = run("stats", folder)
    assert result.exit_code == 0
    for text in ("subscribers", "Distributions", "Shares above x", "mean SC"):
        assert text in result.stdout


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"),
                                               ("svg", b"<?xml")])  # fmt: skip
def test_command_writes_plots(run, folder, tmp_path, suffix, start):
    out = tmp_path / "plots"
    result = run("stats", folder, "--plots", out, "--format", suffix, "--json")
    assert result.exit_code == 0
    files = sorted(path.name for path in out.iterdir())
    assert files == sorted(json.loads(result.stdout)["plots"])
    assert len(files) == 5
    assert all((out / name).read_bytes().startswith(start) for name in files)


def test_command_refuses_an_existing_folder(run, folder, tmp_path):
    out = tmp_path / "plots"
    out.mkdir()
    (out / "mine").write_text("keep")
    result = run("stats", folder, "--plots", out)
    assert "exists already" in str(result.exception)
    result = run("stats", folder, "--plots", out, "--overwrite")
    assert "not a folder of pictures" in str(result.exception)
    assert (out / "mine").read_text() == "keep"
    (out / "mine").unlink()
    for _ in range(2):
        assert run("stats", folder, "--plots", out, "--overwrite").exit_code == 0
