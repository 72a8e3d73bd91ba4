"""Overlays for other programs, read back by readers of their own; odd names survive."""

from __future__ import annotations

import builtins
import csv
import json
import re

import networkx
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import overlay_structure_oracle as oracle

import fanwise as fw
from fanwise.connect.exports import quote_label, to_networkx, write_forests, write_graphml
from fanwise.connect.problem import edges_of
from fanwise.errors import MissingDependencyError, ParameterError

ODD = ['a "b"', "back\\slash\\", "two\nlines\r\n", "\tümlaut 深 🦜", "<&amp;>]]>", "\\N", "n1", ""]
INTERESTS = [[0, 1, 2], [0, 1], [0, 2, 3], [1, 3], [2], [0, 3], [1, 2], [3]]


def odd_workload(**columns):
    pairs = [(v, t) for v, topics in enumerate(INTERESTS) for t in topics]
    return fw.TopicWorkload.from_arrays(
        [4.0, 2.0, 1.0, 8.0],
        np.array([v for v, _ in pairs]),
        np.array([t for _, t in pairs]),
        num_subscribers=len(INTERESTS),
        subscriber_names=ODD,
        topic_names=["x,y", 'q"', "line\nbreak", "t"],
        **columns,
    )


@pytest.fixture
def workload():
    return odd_workload()


@pytest.fixture
def plan(workload):
    return fw.Connection(workload, max_degree=2).solve("gpm")


def read_label(text):
    """Read a quoted label as Graphviz does: first the quoting, then the label's own escapes."""
    assert text[0] == text[-1] == '"'
    inner, label, i = text[1:-1], "", 0
    assert "\n" not in inner
    while i < len(inner):
        if inner[i] == "\\":
            label += {"\\": "\\", '"': '"', "n": "\n"}[inner[i + 1]]
            i += 2
        else:
            assert inner[i] != '"', "ends the label"
            label += inner[i]
            i += 1
    return label.replace("&amp;", "&")


def test_graphml_is_read_back(workload, plan, tmp_path):
    assert write_graphml(workload, plan, tmp_path / "o.graphml") == plan.metrics["edges"]
    graph = networkx.read_graphml(tmp_path / "o.graphml")
    assert [data["name"] for _, data in graph.nodes(data=True)] == ODD
    assert [data["topics"] for _, data in graph.nodes(data=True)] == [len(r) for r in INTERESTS]
    assert dict(graph.degree()) == {n: data["degree"] for n, data in graph.nodes(data=True)}
    edges = edges_of(plan.tables["edges"]).tolist()
    found = sorted(graph.edges(data=True), key=lambda edge: edge[2]["order"])
    assert [sorted((u, v)) for u, v, _ in found] == [[f"n{u}", f"n{v}"] for u, v in edges]
    assert sum(data["gain"] for *_, data in found) == plan.objective
    for (u, v), (*_, data) in zip(edges, found, strict=True):
        assert data["topics"] == len(set(INTERESTS[u]) & set(INTERESTS[v]))


def test_positions_and_link_costs_are_exported(tmp_path):
    places = np.arange(16.0).reshape(8, 2) / 3
    workload = odd_workload(positions=places)
    plan = fw.Connection(workload, max_degree=2, link_cost="distance").solve("gpm")
    write_graphml(workload, plan, tmp_path / "o.graphml")
    graph = networkx.read_graphml(tmp_path / "o.graphml")
    assert [[data["net_0"], data["net_1"]] for _, data in graph.nodes(data=True)] == places.tolist()
    total = sum(data["cost"] for *_, data in graph.edges(data=True))
    assert total == pytest.approx(plan.metrics["link_cost"])


def test_what_xml_cannot_hold_is_spelled(tmp_path):
    workload = fw.TopicWorkload.from_arrays(
        [1.0], [0, 1], [0, 0], subscriber_names=["bell\x07", "end\uffff"]
    )
    plan = fw.Connection(workload, max_degree=1).solve("gpm")
    write_graphml(workload, plan, tmp_path / "o.graphml")
    graph = networkx.read_graphml(tmp_path / "o.graphml")
    assert [data["name"] for _, data in graph.nodes(data=True)] == ["bell\\u0007", "end\\uffff"]


@given(st.text(alphabet=st.sampled_from('ab"\\\n&;nNG<>{}|é深')))
def test_labels_show_names_as_they_are(name):
    assert read_label(quote_label(name)) == name


def test_labels_hold_no_control_characters():
    assert quote_label("a\x00\r\tb") == '"a\\\\u0000\\\\u000d b"'


def test_forests_reach_everybody_once(workload, plan, tmp_path):
    topics = dict(zip(workload.topic_names.to_pylist(), range(4), strict=True))
    nodes = {name: node for node, name in enumerate(ODD)}
    edges = edges_of(plan.tables["edges"]).tolist()
    count = write_forests(workload, plan, tmp_path / "f.csv")
    assert count == plan.objective
    with open(tmp_path / "f.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["topic", "u", "v"]
    assert len(rows) == count
    for name, topic in topics.items():
        links = [(nodes[row["u"]], nodes[row["v"]]) for row in rows if row["topic"] == name]
        assert oracle.is_forest(links)
        assert oracle.pieces(oracle.sub_overlay(INTERESTS, links, topic)) == oracle.pieces(
            oracle.sub_overlay(INTERESTS, edges, topic)
        )
    write_forests(workload, plan, tmp_path / "f.parquet")
    assert pq.read_table(tmp_path / "f.parquet").to_pylist() == rows
    with pytest.raises(ParameterError, match="'forests'"):
        write_forests(workload, plan, tmp_path / "f.txt")


@settings(max_examples=15)
@given(st.lists(st.lists(st.integers(0, 3), unique=True), max_size=7), st.integers(0, 3))
def test_networkx_has_what_the_plan_has(interests, degree):
    pairs = [(v, t) for v, topics in enumerate(interests) for t in topics]
    workload = fw.TopicWorkload.from_arrays(
        [1.0] * 4,
        np.array([v for v, _ in pairs], dtype=int),
        np.array([t for _, t in pairs], dtype=int),
        num_subscribers=len(interests),
    )
    plan = fw.Connection(workload, max_degree=degree).solve("gpm")
    graph = to_networkx(plan)
    joined = 0
    for topic in range(4):
        name = workload.topic_names[topic].as_py()
        wanting = [node for node, data in graph.nodes(data=True) if name in data["topics"]]
        inside = graph.subgraph(wanting)
        joined += len(wanting) - networkx.number_connected_components(inside)
    assert joined == plan.objective
    assert [data["id"] for _, data in graph.nodes(data=True)] == list(range(len(interests)))
    assert graph.number_of_edges() == plan.metrics["edges"]
    assert all(data["degree"] == graph.degree(node) for node, data in graph.nodes(data=True))


def test_networkx_is_needed_only_here(workload, plan, monkeypatch, tmp_path):
    plan.save(tmp_path / "plan")
    with pytest.raises(ParameterError, match="'workload'"):
        to_networkx(fw.read_plan(tmp_path / "plan"))
    assert len(to_networkx(fw.read_plan(tmp_path / "plan"), workload)) == len(ODD)
    load = builtins.__import__

    def without(name, *rest):
        if name == "networkx":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match="pip install networkx"):
        to_networkx(plan)


def run_main(capsys, *arguments):
    from fanwise.cli.main import main

    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code, capsys.readouterr()


def test_the_commands(workload, plan, tmp_path, capsys):
    fw.write_workload(workload, tmp_path / "w")
    plan.save(tmp_path / "p")
    files = {
        "--graphml": tmp_path / "o.graphml",
        "--dot": tmp_path / "o.dot",
        "--forests": tmp_path / "f.csv",
        "--csv": tmp_path / "csv",
    }
    given_files = [word for pair in files.items() for word in pair]
    status, _ = run_main(
        capsys, "export", tmp_path / "p", "--workload", tmp_path / "w", *given_files
    )
    assert status == 0
    with open(tmp_path / "csv" / "edges.csv", newline="", encoding="utf-8") as file:
        named = [(row["u"], row["v"]) for row in csv.DictReader(file)]
    assert named == [(ODD[u], ODD[v]) for u, v in edges_of(plan.tables["edges"])]
    text = (tmp_path / "o.dot").read_text(encoding="utf-8")
    labels = re.findall(r'label=("(?:[^"\\]|\\.)*")', text)
    assert [read_label(label).replace("\\u000d", "\r") for label in labels] == [
        name.replace("\t", " ") for name in ODD
    ]
    links = re.findall(r"n(\d+) -- n(\d+)", text)
    assert [(int(u), int(v)) for u, v in links] == [
        tuple(edge) for edge in edges_of(plan.tables["edges"]).tolist()
    ]
    for arguments in (
        given_files,  # all there already
        [],
        ["--forests", tmp_path / "g.txt", "--dot", tmp_path / "g.dot"],
    ):
        status, printed = run_main(
            capsys, "export", tmp_path / "p", "--workload", tmp_path / "w", *arguments
        )
        assert status == 2
        assert printed.err.count("\n") == 1
    assert not (tmp_path / "g.dot").exists()
    fw.Selection(workload, tau=1, capacity="50%").solve("greedy").save(tmp_path / "s")
    status, printed = run_main(
        capsys, "export", tmp_path / "s", "--workload", tmp_path / "w", "--dot", tmp_path / "s.dot"
    )
    assert status == 2
    assert "only plans of connect" in printed.err
    for arguments, words in (
        ([], "Topics from which most nodes are cut off"),
        (["--topic", "t"], "t: "),
    ):
        status, printed = run_main(
            capsys, "explain", tmp_path / "p", "--workload", tmp_path / "w", *arguments
        )
        assert status == 0
        assert words in printed.out
        status, printed = run_main(
            capsys, "explain", tmp_path / "p", "--workload", tmp_path / "w", *arguments, "--json"
        )
        assert status == 0
        assert json.loads(printed.out)["plan"] == plan.id
