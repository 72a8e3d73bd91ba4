"""What edge brokers want, gathered from clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import is_one_line
from tests.cli.conftest import run as run
from tests.strategies import Instance, instances

import fanwise as fw
from fanwise.errors import PlanError
from fanwise.offload.interests import gather_interests


def wants(workload):
    topics, names = workload.topic_names.to_pylist(), workload.subscriber_names.to_pylist()
    bounds, indices = workload.interests
    return {
        name: {topics[t] for t in indices[bounds[v] : bounds[v + 1]]}
        for v, name in enumerate(names)
    }


@given(instance=instances(), data=st.data())
def test_an_edge_wants_what_one_of_its_clients_wants(instance, data):
    workload = instance.workload()
    places = st.sampled_from(["east", "west", "north", None])
    edge_of = {
        name: edge
        for name in workload.subscriber_names.to_pylist()
        if (edge := data.draw(places)) is not None
    }
    expected = {edge: set() for edge in edge_of.values()}
    for name, topics in wants(workload).items():
        if name in edge_of:
            expected[edge_of[name]] |= topics
    gathered = gather_interests(workload, edge_of)
    assert wants(gathered) == expected
    assert gathered.num_topics == len(set().union(*expected.values()))
    rate = dict(zip(workload.topic_names.to_pylist(), workload.rates.tolist(), strict=True))
    for topic, found in zip(gathered.topic_names.to_pylist(), gathered.rates, strict=True):
        assert found == rate[topic]


def test_the_command(run, tmp_path):
    workload = Instance([3.0, 2.0, 1.0], [[0, 1], [1], [2], [2]], tau=1.0).workload()
    fw.write_workload(workload, tmp_path / "clients")
    plan = fw.Selection(workload, tau=1.0, capacity="50%").solve("greedy")
    plan.save(tmp_path / "served")
    file = tmp_path / "edges.csv"
    file.write_text("subscriber,edge\ns0,a\ns1,b\ns2,b\n")
    spell = ("deploy", "interests", tmp_path / "clients", "--edges", file)
    done = run(*spell, "--out", tmp_path / "all", "--json")
    assert done.json == {"out": str(tmp_path / "all"), "edges": 2, "topics": 3, "pairs": 4}
    done = run(*spell, "--served", tmp_path / "served", "--out", tmp_path / "some", "--json")
    names = workload.topic_names.to_pylist()
    rows = plan.tables["topics"].to_pylist()
    served = {names[row["topic"]] for row in rows if row["served"]}
    assert served
    left = fw.read_workload(tmp_path / "some")
    assert not served & set(left.topic_names.to_pylist())
    assert run(*spell, "--out", tmp_path / "all").status == 2
    for text, word in (
        ("a,b\n", "column 'subscriber' is missing; there are a, b"),
        ("subscriber,edge\ns0\n", "line 2 has too few fields"),
        ("subscriber,edge\ns0,a\ns0,b\n", "line 3: 's0' is at 'a' already"),
        (None, "cannot be read"),
    ):
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
        refused = run(*spell, "--out", tmp_path / "x")
        assert (refused.status, is_one_line(refused.err)) == (2, True)
        assert word in refused.err
    overlay = fw.Connection(workload).solve("gm")
    with pytest.raises(PlanError, match="only select plans"):
        gather_interests(workload, {}, overlay)
