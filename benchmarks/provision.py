"""provision at full size: stage times in passes over the pairs, and cost against the bound.

"Scaled" is a catalogue with a thousandth of the bandwidth at the same prices: with the literal one
a whole Spotify fits a machine, and packing is not tried at all.
"""

from __future__ import annotations

import time

from benchmarks.measuring import row, time_runs
from benchmarks.public_data import public_workloads
from benchmarks.select import time_pass
from fanwise.planning.problem import Run
from fanwise.provision.catalogue import BUILT_IN, Instance
from fanwise.provision.pairs import greedy_pairs
from fanwise.provision.problem import Provisioning
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.topic import TopicWorkload

TAUS = (10, 100, 1000)
MESSAGE_BYTES = 200.0
SCALED = tuple(
    Instance(entry.instance, entry.usd_per_hour, entry.mbps / 1000) for entry in BUILT_IN
)
PASSES, MILLISECONDS, RATIO, PUBLIC_RATIO, SECONDS = 8, 50, 1.01, 1.03, 60.0
PUBLIC = ("higgs_twitter", "lastfm_hetrec2011")
PUBLIC_SHARES = (0.1, 1.0, 10.0, 30.0, 100.0)
"""Thresholds as shares of the mean rate."""
MACHINES = 50
"""With fewer, the largest topic allows no smaller machine, and a single one weighs much."""


def run() -> list[dict]:
    workload = spotify(seed=1)
    one_pass = time_pass(workload)
    rows = []
    for tau in TAUS:
        problem = state(workload, tau)
        rows += measure_stages(problem, one_pass)
        rows += measure_plans(problem)
    for name, public in public_workloads():
        if name in PUBLIC:
            rows += measure_public(name, public)
    return rows


def state(workload: TopicWorkload, tau: float, catalogue=SCALED) -> Provisioning:
    problem = Provisioning(workload, tau, catalogue=catalogue, message_bytes=MESSAGE_BYTES)
    _ = problem.demand, problem.needs, workload.followers
    return problem


def measure_stages(problem: Provisioning, one_pass: float) -> list[dict]:
    millions = problem.workload.num_pairs / 1e6
    gsp = time_runs(lambda: greedy_pairs.choose_pairs(problem, Run()))
    seconds = [problem.solve("gsp+cbp").seconds for _ in range(4)][1:]
    cbp = sorted(entry["pack"] for entry in seconds)[1]
    passes, each = gsp.median / one_pass, 1000 * gsp.median / millions
    ratio = cbp / gsp.median
    return [
        row(
            f"GSP, tau {problem.tau:g}",
            f"{passes:.1f} passes of {one_pass:.3f} s, {each:.0f} ms per million pairs: {gsp}",
            f"<= {PASSES} passes, {MILLISECONDS} ms",
            met=passes <= PASSES and each <= MILLISECONDS,
            passes=passes,
        ),
        row(
            f"CBP, tau {problem.tau:g}, scaled",
            f"{ratio:.2f} x GSP ({cbp:.3f} s)",
            "<= 0.5 x GSP",
            met=ratio <= 0.5,
            ratio=ratio,
        ),
    ]


def measure_plans(problem: Provisioning) -> list[dict]:
    start = time.perf_counter()
    plan = problem.solve("best+best")
    seconds = time.perf_counter() - start
    paper = problem.solve("gsp+cbp")
    naive = problem.solve("rsp+ffbp")
    ratio = plan.objective / plan.bound
    return [
        row(
            f"best+best, tau {problem.tau:g}, scaled: cost / bound",
            f"{ratio:.7f} with {plan.metrics['vms']} machines; gsp+cbp "
            f"{paper.objective / plan.bound:.5f}, rsp+ffbp {naive.objective / plan.bound:.3f}; the "
            f"paper's bound is {plan.metrics['paper_bound'] / plan.bound:.4f} of ours",
            f"<= {RATIO}",
            met=ratio <= RATIO,
            ratio=ratio,
        ),
        row(
            f"best+best, tau {problem.tau:g}: select + pack + bound at 12M pairs",
            f"{seconds:.1f} s",
            f"<= {SECONDS:g} s",
            met=seconds <= SECONDS,
            seconds=seconds,
        ),
    ]


def measure_public(name: str, workload: TopicWorkload) -> list[dict]:
    rows = []
    for share in PUBLIC_SHARES:
        tau = share * float(workload.rates.mean())
        problem = state(workload, tau, scaled_catalogue(workload, tau))
        plan = problem.solve("best+best", time_limit=SECONDS)
        plan.verify()
        paper = problem.solve("gsp+cbp")
        ratio = plan.objective / plan.bound
        rows.append(
            row(
                f"{name}, tau {tau:,.4g}, {plan.metrics['vms']} machines: cost / bound",
                f"{ratio:.5f}; gsp+cbp {paper.objective / plan.bound:.4f}",
                f"aim <= {PUBLIC_RATIO} with >= {MACHINES} machines",
                met=ratio <= PUBLIC_RATIO if plan.metrics["vms"] >= MACHINES else None,
                ratio=ratio,
            )
        )
    return rows


def scaled_catalogue(workload: TopicWorkload, tau: float) -> list[Instance]:
    """Return one type of machine such that about sixty are needed, if the largest topic allows."""
    probe = Provisioning(workload, tau, message_bytes=MESSAGE_BYTES)
    plan = probe.solve("gsp+cbp")
    traffic = plan.metrics["in_bytes"] + plan.metrics["out_bytes"]
    largest = 2.0 * float(probe.needs.max(initial=1.0))
    capacity = max(traffic / 60, 1.001 * largest)
    mbps = capacity * 8 / 1e6 / workload.period_seconds
    return [Instance("c3.large", 0.15, mbps)]
