"""The example of docs/concepts.md: a mix of types that saves more than 5%."""

import re
from pathlib import Path

import pytest

import fanwise as fw
from fanwise.provision.catalogue import Instance
from fanwise.workload.generators.spotify import spotify

DOCS = Path(__file__).parents[2] / "docs" / "concepts.md"
CATALOGUE = [Instance("big", 0.024, 10.0), Instance("small", 0.006, 2.0)]


@pytest.fixture(scope="module")
def plans():
    workload = spotify(scale=0.01)
    return {
        instance: fw.Provisioning(
            workload, tau=100, instance=instance, catalogue=CATALOGUE, message_bytes=20000,
            price_gb_in=0, price_gb_out=0,
        ).solve()
        for instance in ("big", "small", "auto")
    }  # fmt: skip


def test_the_mix_saves_more_than_five_percent_of_the_best_single_type(plans):
    for plan in plans.values():
        plan.verify()
        assert plan.gap == pytest.approx(0, abs=1e-9)
    single = min(plans["big"].objective, plans["small"].objective)
    assert plans["auto"].objective < 0.95 * single
    assert set(plans["auto"].tables["vms"].column("instance").to_pylist()) == {"big", "small"}


def test_the_documented_numbers_are_these(plans):
    text = DOCS.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(big|small|auto)` \| (.*)$", text, flags=re.MULTILINE))
    for instance, plan in plans.items():
        assert f"${plan.objective:.2f}" in rows[instance]
        assert f"{100 * plan.metrics['utilisation']:.3g}%" in rows[instance]
    single = min(plans["big"].objective, plans["small"].objective)
    assert f"{100 * (1 - plans['auto'].objective / single):.1f}% less" in rows["auto"]
