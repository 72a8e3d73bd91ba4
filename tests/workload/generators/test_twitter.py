"""The statistics that the generator's docstring promises, most at a hundredth of the full size."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

import fanwise as fw
from fanwise.errors import InputError, OutputExistsError, ParameterError
from fanwise.progress import Progress, Step
from fanwise.workload.generators import chunked_files
from fanwise.workload.generators.streamed_matching import fill_rows
from fanwise.workload.generators.twitter import estimate_needs, twitter, write_twitter
from fanwise.workload.generators.twitter_degrees import (
    PAIRS,
    SUBSCRIBERS,
    TOPICS,
    draw_followers,
    draw_followings,
    twitter_laws,
)
from fanwise.workload.generators.twitter_rates import draw_rates, normal_quantiles

SEEDS = range(2)
SCALE = 0.01
SMALL = 0.0005


@pytest.fixture(scope="module")
def workloads():
    return [twitter(scale=SCALE, seed=seed) for seed in SEEDS]


def followings_of(workload):
    return np.diff(workload.interests.indptr)


def laws_at(scale):
    return twitter_laws(*(round(size * scale) for size in (TOPICS, SUBSCRIBERS, PAIRS)))


def assert_is_a_graph(workload):
    """No pair twice, nobody alone, topics ascending for each subscriber."""
    indptr, topics = workload.interests
    steps = np.diff(topics)
    steps[indptr[1:-1] - 1] = 1  # from one subscriber to the next
    assert steps.min(initial=1) > 0
    assert topics.min() >= 0
    assert topics.max() < workload.num_topics
    assert followings_of(workload).min() >= 1
    assert workload.num_followers.min() >= 1


def test_sizes(workloads):
    for workload in workloads:
        assert workload.num_topics == 80_000
        assert workload.num_subscribers == 300_000
        assert workload.num_pairs == 6_835_000
        assert workload.period_seconds == 864_000
        assert np.all(workload.message_bytes == 200)


def test_pairs_make_a_graph(workloads):
    for workload in workloads:
        assert_is_a_graph(workload)


def test_events(workloads):
    """Counts are those of the paper by the scale; the one bot is not scaled away."""
    for workload in workloads:
        rates = workload.rates
        assert np.array_equal(rates, np.round(rates))
        assert rates.min() == 1
        assert rates.sum() == pytest.approx(4_550_000, rel=0.001)
        assert np.sum(rates < 10) == pytest.approx(40_000, rel=0.005)
        assert np.sum(rates > 1000) == pytest.approx(460, abs=2)
        assert np.sum(rates > 1e5) == 1
        assert workload.num_followers[rates.argmax()] < 60


def test_glitches_of_followings(workloads):
    for workload in workloads:
        counts = np.bincount(followings_of(workload))
        assert counts[20] > 5 * max(counts[19], counts[21])
        assert counts[20] / 300_000 == pytest.approx(0.059, abs=0.002)
        assert counts[2000] == pytest.approx(90, abs=2)
        assert counts[1990:2000].max() <= 3
        assert counts[2001:2011].max() <= 3
        assert counts[2001:].sum() == pytest.approx(140, abs=3)
        assert counts[10_001:].sum() == pytest.approx(5.5, abs=1)


def test_popular_topics(workloads):
    """Two of the 80,000 count as celebrities, and none has more than a fifth of all followers."""
    for workload in workloads:
        followers = workload.num_followers
        assert np.sum(followers > 10_000) == pytest.approx(40, abs=3)
        assert np.sum(followers > laws_at(SCALE).celebrity) == pytest.approx(2.7, abs=1.8)
        assert followers.max() <= 61_000


def test_followers_are_those_of_the_law(workloads):
    """Topics met twice by a subscriber are not lost: quantiles of the law within a few percent."""
    for seed, workload in zip(SEEDS, workloads, strict=True):
        wanted = draw_followers(laws_at(SCALE).followers, 80_000, np.random.default_rng(seed))
        for share in (0.25, 0.5, 0.9, 0.99, 0.999):
            found = np.quantile(workload.num_followers, share)
            assert found == pytest.approx(np.quantile(wanted, share), rel=0.05, abs=1)
        top = np.sort(workload.num_followers)[-40:].sum()
        assert top == pytest.approx(np.sort(wanted)[-40:].sum(), rel=0.06)


def linear_law(workload, scale):
    """Intercept and slope: followers add 1,500 events at the border to celebrities."""
    slope = 1500 / laws_at(scale).celebrity
    ordinary = workload.num_followers <= laws_at(scale).celebrity
    usual = workload.rates < 1e5
    chosen = ordinary & usual
    intercept = np.mean(workload.rates[chosen] - slope * workload.num_followers[chosen])
    return intercept, slope


def test_mean_rate_is_linear_in_followers_and_lower_beyond(workloads):
    """Within 15% in every class, over all seeds; the bot aside."""
    celebrity = laws_at(SCALE).celebrity
    followers = np.concatenate([workload.num_followers for workload in workloads])
    rates = np.concatenate([workload.rates for workload in workloads])
    followers, rates = followers[rates < 1e5], rates[rates < 1e5]
    intercept, slope = linear_law(workloads[0], SCALE)
    edges = [1, 10, 100, 300, 1000, 3000, 10_000, celebrity]
    for low, high in pairwise(edges):
        chosen = (followers >= low) & (followers < high)
        expected = intercept + slope * followers[chosen].mean()
        assert rates[chosen].mean() == pytest.approx(expected, rel=0.15), (low, high)
    beyond = followers > celebrity
    assert rates[beyond].mean() < 0.3 * (intercept + slope * celebrity)


def test_what_subscribers_receive(workloads):
    """The paper's 3 of 30 million above 7,000; shorter tails shift it by a few points."""
    for workload in workloads:
        assert np.mean(workload.received > 7000) == pytest.approx(0.1, abs=0.05)


def test_followers_at_full_size():
    followers = draw_followers(laws_at(1).followers, TOPICS, np.random.default_rng(0))
    assert followers.sum() == pytest.approx(PAIRS, rel=0.001)
    assert followers.min() == 1
    assert np.sum(followers > 1e4) == pytest.approx(4000, abs=1)
    assert np.sum(followers > 1e6) == pytest.approx(66, abs=1)
    above = [np.sum(followers > x) for x in (1e4, 1e5, 1e6)]
    assert np.log10(above[0] / above[1]) > 1.1 > 0.7 > np.log10(above[1] / above[2])


def test_followings_at_full_size_in_a_tenth_of_the_subscribers():
    """The law of the full size, drawn for fewer."""
    count = SUBSCRIBERS // 10
    followings = draw_followings(
        laws_at(1).followings, count, PAIRS // 10, np.random.default_rng(0)
    )
    assert followings.sum() == PAIRS // 10
    assert followings.min() == 1
    assert np.sum(followings > 10_000) == pytest.approx(55, abs=1)
    assert np.sum(followings == 2000) == pytest.approx(900, abs=5)
    assert np.sum(followings == 20) > 5 * np.sum(followings == 21)
    assert followings.max() > 50_000


def test_rates_at_a_tenth():
    laws = laws_at(0.1)
    followers = draw_followers(laws.followers, 800_000, np.random.default_rng(0))
    rates = draw_rates(followers, laws.celebrity, np.random.default_rng(1))
    assert rates.sum() == pytest.approx(45_500_000, rel=1e-4)
    assert np.sum(rates < 10) == pytest.approx(400_000, rel=0.001)
    assert np.sum(rates > 1000) == pytest.approx(4600, abs=3)
    assert np.sum(rates > 1e5) == 1


def test_normal_quantiles():
    u = np.array([1e-7, 0.0228, 0.5, 0.8413447, 1 - 1e-7])
    assert normal_quantiles(u) == pytest.approx([-5.1993376, -1.9991, 0, 1, 5.1993376], abs=1e-4)


@pytest.mark.parametrize("scale", [0.0001, 0.0003, 0.001, 0.004])
def test_small_scales(scale):
    for seed in range(2):
        workload = twitter(scale=scale, seed=seed)
        assert workload.num_pairs == round(PAIRS * scale)
        assert_is_a_graph(workload)
        assert workload.rates.min() >= 1
        assert workload.rates.max() <= 1e5
        assert workload.rates.mean() == pytest.approx(56.875, rel=0.1)


def test_same_seed_same_workload():
    first, again, other = (twitter(scale=SMALL, seed=seed) for seed in (3, 3, 4))
    assert first.hash == again.hash != other.hash
    assert first.origin == {"generator": "twitter", "scale": SMALL, "seed": 3}


def test_written_is_what_is_in_memory(tmp_path, workloads):
    written = write_twitter(tmp_path / "w", scale=SCALE, seed=0)
    found = fw.read_workload(tmp_path / "w")
    assert found.hash == workloads[0].hash
    assert found.origin == workloads[0].origin
    assert (written.topics, written.subscribers, written.pairs) == (80_000, 300_000, 6_835_000)
    assert written.events == found.rates.sum()
    size = sum(file.stat().st_size for file in (tmp_path / "w").rglob("*.*") if file.is_file())
    assert size < estimate_needs(SCALE).disk < 1.6 * size


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize(("part_pairs", "chunk_pairs"), [(50_000, 7_000), (10**9, 1_000), (200, 1)])
def test_chunks_and_threads_do_not_matter(
    tmp_path, monkeypatch, num_threads, part_pairs, chunk_pairs
):
    scale = 0.0001 if chunk_pairs == 1 else SMALL
    monkeypatch.setattr(chunked_files, "num_threads", lambda: num_threads)
    sizes = {"part_pairs": part_pairs, "chunk_pairs": chunk_pairs}
    write_twitter(tmp_path / "w", scale=scale, seed=5, message_bytes=140, **sizes)
    expected = twitter(scale=scale, seed=5, message_bytes=140)
    assert fw.read_workload(tmp_path / "w").hash == expected.hash


def test_parts_ascend_and_chunks_are_small(tmp_path, monkeypatch):
    rows = []

    def fill_and_remember(deal, indptr, topics):
        rows.append(len(topics))
        fill_rows(deal, indptr, topics)

    monkeypatch.setattr("fanwise.workload.generators.twitter.fill_rows", fill_and_remember)
    write_twitter(tmp_path / "w", scale=SMALL, part_pairs=100_000, chunk_pairs=10_000)
    parts = sorted((tmp_path / "w" / "interests.parquet").iterdir())
    assert [part.name for part in parts] == [f"part-{i:05}.parquet" for i in range(len(parts))]
    assert len(parts) == 4
    subscribers = np.concatenate([pq.read_table(part)["subscriber"].to_numpy() for part in parts])
    assert np.all(np.diff(subscribers) >= 0)
    longest = int(np.bincount(subscribers).max())
    assert sum(rows) == len(subscribers)
    assert max(rows) <= 10_000 + longest


class Interrupting(Progress):
    """Acts as if Ctrl-C came after some chunks."""

    def __init__(self, chunks):
        self.left = chunks

    def step(self, description, total=None):
        outer = self

        class Counting(Step):
            def advance(self, amount=1.0):
                outer.left -= 1
                if outer.left < 0:
                    raise KeyboardInterrupt

        return nullcontext(Counting())


@pytest.mark.parametrize("chunks", [0, 3, 5, 8])
def test_an_interrupt_leaves_nothing(tmp_path, chunks):
    with pytest.raises(KeyboardInterrupt):
        write_twitter(
            tmp_path / "new" / "w",
            scale=SMALL,
            part_pairs=20_000,
            chunk_pairs=5_000,
            progress=Interrupting(chunks),
        )
    assert list(tmp_path.iterdir()) == []


def test_an_error_stops_the_other_parts_soon(tmp_path, monkeypatch):
    """One part fails at once; the other, of a hundred slow chunks, goes on for a few only."""
    monkeypatch.setattr(chunked_files, "num_threads", lambda: 2)
    chunks = []

    def find_rows(indptr):
        if indptr[0] == 0:
            raise OSError("no space left")
        chunks.append(len(indptr) - 1)
        time.sleep(0.02)
        return np.zeros(int(indptr[-1] - indptr[0]), dtype=np.int32)

    with pytest.raises(OSError, match="no space left"):
        chunked_files.write_interests(
            tmp_path, np.arange(201), find_rows, Step(), part_pairs=100, chunk_pairs=1
        )
    assert len(chunks) < 50


def run_fanwise(*arguments):
    return [sys.executable, "-m", "fanwise", "generate", "twitter", *map(str, arguments)]


def wait_for(condition, seconds=300.0):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    assert condition()


def heed_interrupts():
    """Undo what a shell does to commands in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_while_writing(tmp_path):
    command = run_fanwise("--scale", 0.03, "--out", tmp_path / "w")
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        wait_for(lambda: any(tmp_path.glob(".w*/interests.parquet/*")))
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_before_anything_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(
        chunked_files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=2**30)
    )
    with pytest.raises(InputError, match=r"needs about 3\.\d GiB of disk, where 1\.0 GiB are free"):
        write_twitter(tmp_path / "w", scale=1)
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_refused_unless_overwritten(tmp_path):
    write_twitter(tmp_path / "w", scale=0.0001, seed=1)
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write_twitter(tmp_path / "w", scale=0.0001, seed=2)
    write_twitter(tmp_path / "w", scale=0.0001, seed=2, overwrite=True)
    assert fw.read_workload(tmp_path / "w").origin["seed"] == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0.0}, "'scale' parameter must be from 0.0001 to 3, got 0.0"),
        ({"scale": float("nan")}, "'scale' parameter"),
        ({"scale": 4.0}, "'scale' parameter"),
        ({"scale": 0.0001, "message_bytes": -1.0}, "'message_bytes' parameter must be a finite"),
    ],
)
def test_parameters_out_of_range(tmp_path, parameters, message):
    with pytest.raises(ParameterError, match=message):
        twitter(**parameters)
    with pytest.raises(ParameterError, match=message):
        write_twitter(tmp_path / "w", **parameters)
    assert list(tmp_path.iterdir()) == []


def run_in_process(capsys, *arguments):
    from fanwise.cli.main import main

    with pytest.raises(SystemExit) as stopped:
        main(["generate", "twitter", *map(str, arguments)])
    return stopped.value.code, capsys.readouterr()


def test_command(tmp_path, capsys):
    out = tmp_path / "w"
    status, printed = run_in_process(capsys, "--scale", 0.0005, "--seed", 3, "--out", out, "--json")
    assert status == 0
    assert printed.err == ""
    found = json.loads(printed.out)
    assert (found["generator"], found["scale"], found["seed"]) == ("twitter", 0.0005, 3)
    assert (found["topics"], found["subscribers"], found["pairs"]) == (4000, 15_000, 341_750)
    assert fw.read_workload(out).rates.mean() == pytest.approx(found["mean_rate"])


def test_command_tells_large_needs_early(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        chunked_files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=2**20)
    )
    status, printed = run_in_process(capsys, "--scale", 1, "--out", tmp_path / "w")
    assert status == 2
    assert "twitter at scale 1 takes about" in printed.err
    assert "GiB of memory and 3." in printed.err
    assert "choose another place or a smaller scale" in printed.err
