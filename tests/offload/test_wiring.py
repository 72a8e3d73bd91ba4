"""Networks of plans: trees that span, entries for all components, and few restarts on a change."""

from __future__ import annotations

import numpy as np
import pytest
from tests.offload.networks import bridges_of, change_interests, plan_for, random_interests
from tests.oracles import offload_oracle as oracle

import fanwise as fw
from fanwise.errors import InputError, PlanError
from fanwise.offload.export import export_network
from fanwise.offload.options import Options
from fanwise.offload.wiring import wire_network


def check(wanted, network):
    """The network does what the plan says, by definition."""
    links = wanted.links
    assert oracle.find_fault(wanted.interests, links, bridges_of(network)) is None
    assert len(network.bridges) <= len(links)
    pieces = {
        (topic, piece)
        for topic in set().union(*wanted.interests.values())
        for piece in oracle.pieces_of(wanted.interests, links, topic)
    }
    found = set()
    for entry in network.entries:
        (piece,) = (
            piece for topic, piece in pieces if topic == entry.topic and entry.node in piece
        )
        assert entry.num_nodes == len(piece)
        found.add((entry.topic, piece))
    assert found == pieces
    assert len(network.entries) == len(pieces)
    for topic, count in network.divided.items():
        numbers = [one.component for one in network.entries if one.topic == topic]
        assert numbers == list(range(count))


@pytest.mark.parametrize("seed", range(8))
def test_every_topic_has_trees_that_span_it(seed):
    rng = np.random.default_rng(seed)
    budget = [{}, {"max_degree": 2}, {"max_degree": 3}, {"max_edges": 7}][seed % 4]
    wanted = plan_for(random_interests(rng), **budget)
    wired = wire_network(wanted.workload, wanted.plan, Options())
    check(wanted, wired.network)
    assert bool(wired.network.divided) == bool(budget)
    ports = [node.port for node in wired.network.nodes.values()]
    assert ports == list(range(18830, 18830 + len(ports)))


def test_a_planted_fault_is_found():
    wanted = plan_for(random_interests(np.random.default_rng(0)))
    network = wire_network(wanted.workload, wanted.plan, Options()).network
    bridges = bridges_of(network)
    ends = max(bridges, key=lambda one: len(bridges[one]))
    less = bridges | {ends: bridges[ends][1:]}
    assert "does not reach" in oracle.find_fault(wanted.interests, wanted.links, less)
    everything = {
        link: tuple(wanted.interests[link[0]] & wanted.interests[link[1]]) for link in wanted.links
    }
    assert "loop" in oracle.find_fault(wanted.interests, wanted.links, everything)


def test_a_chain_of_changes_keeps_what_it_can_and_restarts_the_fewest(tmp_path):
    restarts, of, kept_links = 0, 0, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        interests = random_interests(rng, num_nodes=6, num_topics=6, share=0.4)
        budget = {} if seed % 2 else {"max_degree": 2}
        wanted = plan_for(interests, **budget)
        out = tmp_path / str(seed)
        before = export_network(wanted.plan, wanted.workload, out).folder.network
        check(wanted, before)
        for _ in range(4):
            wanted = plan_for(change_interests(rng, wanted.interests), **budget)
            done = export_network(wanted.plan, wanted.workload, out, overwrite=True)
            after = done.folder.network
            check(wanted, after)
            topics_of_link = {frozenset(ends): topics for ends, topics in bridges_of(after).items()}
            staying = before.nodes.keys() & after.nodes.keys()
            fewest = oracle.fewest_restarts(bridges_of(before), topics_of_link, staying)
            assert done.is_least
            assert len(done.change.restarted) == fewest
            for name in staying:
                assert before.nodes[name] == after.nodes[name]
            # Trees keep every link that they may keep.
            links = {frozenset(link) for link in wanted.links}
            for ends, topics in bridges_of(before).items():
                for topic in topics:
                    if frozenset(ends) in links and all(
                        topic in wanted.interests.get(node, ()) for node in ends
                    ):
                        assert topic in topics_of_link[frozenset(ends)]
                        kept_links += 1
            restarts += len(done.change.restarted)
            of += len(after.nodes)
            before = after
    assert kept_links
    assert 0 < restarts < of


def test_nothing_restarts_when_nothing_changes(tmp_path):
    wanted = plan_for(random_interests(np.random.default_rng(3)), max_degree=3)
    first = export_network(wanted.plan, wanted.workload, tmp_path / "n")
    again = export_network(wanted.plan, wanted.workload, tmp_path / "n", overwrite=True)
    assert again.change.restarted == again.change.started == again.change.stopped == ()
    assert again.folder.generation == first.folder.generation
    assert (first.folder.number, again.folder.number) == (1, 1)
    assert len(first.change.started) == 12


def test_places_are_as_told():
    wanted = plan_for(random_interests(np.random.default_rng(3)))
    options = Options(host="10.0.0.1", places={"edge-3": ("example.org", 1883)}, first_port=5000)
    nodes = wire_network(wanted.workload, wanted.plan, options).network.nodes
    assert (nodes["edge-3"].host, nodes["edge-3"].port) == ("example.org", 1883)
    assert (nodes["edge-4"].host, nodes["edge-4"].port) == ("10.0.0.1", 5003)
    with pytest.raises(InputError, match=r"nodes\.nobody"):
        wire_network(wanted.workload, wanted.plan, Options(places={"nobody": ("h", 1)}))
    with pytest.raises(InputError, match="same host and port"):
        wire_network(
            wanted.workload,
            wanted.plan,
            Options(places={"edge-1": ("h", 1), "edge-2": ("h", 1)}),
        )
    with pytest.raises(PlanError, match="more ports"):
        wire_network(wanted.workload, wanted.plan, Options(first_port=65_530))


def test_ports_stay_unless_another_first_port_is_asked_for(tmp_path):
    wanted = plan_for(random_interests(np.random.default_rng(3)))
    changed = plan_for({"new": {"t/1"}} | wanted.interests)
    out = tmp_path / "n"

    def ports(some, **options):
        done = export_network(some.plan, some.workload, out, Options(**options), overwrite=True)
        return [node.port for node in done.folder.network.nodes.values()]

    assert ports(wanted, first_port=4000) == list(range(4000, 4012))
    assert ports(wanted) == list(range(4000, 4012))
    assert ports(changed, first_port=4000) == [4012, *range(4000, 4012)]
    assert ports(changed, first_port=5000) == list(range(5000, 5013))


def test_plans_of_other_families_are_refused():
    wanted = plan_for(random_interests(np.random.default_rng(3)))
    plan = fw.Selection(wanted.workload, tau=1.0, capacity="50%").solve("greedy")
    with pytest.raises(PlanError, match="only connect plans"):
        wire_network(wanted.workload, plan, Options())
