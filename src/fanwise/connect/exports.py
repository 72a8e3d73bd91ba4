"""An overlay for other programs: GraphML, DOT, NetworkX, and spanning forests as a table.

Nodes are named ``n0``, ``n1``, … by their ids, with the subscriber's name beside it: files stay
valid whatever names contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from fanwise.connect.kernels import count_shared
from fanwise.connect.structure import overlay_of, spanning_forests
from fanwise.errors import MissingDependencyError, ParameterError
from fanwise.planning.outputs import EXPORTS, FORESTS_METADATA, REMARK
from fanwise.planning.plan import Plan
from fanwise.workload.folders import atomic_file
from fanwise.workload.outputs import FileKind
from fanwise.workload.topic import TopicWorkload

if TYPE_CHECKING:
    import networkx

TYPE_NAMES: dict[type, str] = {str: "string", int: "int", float: "double"}
FOREST_FORMATS = (".csv", ".parquet")


class Graph(NamedTuple):
    """An overlay with what other programs want to know of each node and link.

    Attributes
    ----------
    nodes, links
        Columns by name, an entry per node or link.
    ends
        The ids of each link's ends.
    """

    nodes: dict[str, list[Any]]
    links: dict[str, list[Any]]
    ends: list[list[int]]


def graph_of(workload: TopicWorkload, plan: Plan) -> Graph:
    """Return names, degrees and positions of nodes, and what each link adds, in the order chosen.

    ``gain`` is what a link added to mu when it was chosen, ``topics`` how many it carries: those
    that both its ends want.
    """
    network, edges = overlay_of(workload, plan)
    nodes: dict[str, list[Any]] = {
        "name": workload.subscriber_names.to_pylist(),
        "degree": network.degrees(edges).tolist(),
        "topics": np.diff(network.indptr).tolist(),
    }
    if workload.positions is not None:
        for axis in range(workload.positions.shape[1]):
            nodes[f"net_{axis}"] = workload.positions[:, axis].tolist()
    links: dict[str, list[Any]] = {
        "order": list(range(1, len(edges) + 1)),
        "gain": network.gains(edges).tolist(),
        "topics": count_shared(network.indptr, network.topics, edges).tolist(),
    }
    if network.has_costs:
        links["cost"] = network.costs(edges).tolist()
    return Graph(nodes, links, edges.tolist())


def write_graphml(
    workload: TopicWorkload, plan: Plan, path: str | Path, *, overwrite: bool = False
) -> int:
    r"""Write the overlay as GraphML; return the number of links.

    Characters that XML 1.0 cannot hold stand as ``\u0001`` and the like.
    """
    graph = graph_of(workload, plan)
    _write_lines(path, graphml_lines(graph), EXPORTS["graphml"], overwrite=overwrite)
    return len(graph.ends)


def graphml_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of a GraphML file."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f"<!-- {REMARK} -->"
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for owner, columns in (("node", graph.nodes), ("edge", graph.links)):
        for name, values in columns.items():
            kind = TYPE_NAMES[type(values[0]) if values else str]
            yield (
                f'  <key id="{owner}-{name}" for="{owner}" attr.name="{name}" attr.type="{kind}"/>'
            )
    yield '  <graph id="overlay" edgedefault="undirected">'
    for node in range(len(graph.nodes["name"])):
        yield f'    <node id="n{node}">{_data("node", graph.nodes, node)}</node>'
    for link, (u, v) in enumerate(graph.ends):
        data = _data("edge", graph.links, link)
        yield f'    <edge source="n{u}" target="n{v}">{data}</edge>'
    yield "  </graph>"
    yield "</graphml>"


def _data(owner: str, columns: dict[str, list[Any]], row: int) -> str:
    return "".join(
        f'<data key="{owner}-{name}">{_xml(values[row])}</data>' for name, values in columns.items()
    )


def _xml(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    return escape("".join(map(_spell_for_xml, value)), {"\r": "&#13;"})


def _spell_for_xml(character: str) -> str:
    code = ord(character)
    is_allowed = character in "\t\n\r" or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
    return character if is_allowed or code >= 0x10000 else f"\\u{code:04x}"


def write_dot(
    workload: TopicWorkload, plan: Plan, path: str | Path, *, overwrite: bool = False
) -> int:
    r"""Write the overlay as a DOT file for Graphviz; return the number of links.

    Control characters other than line breaks stand as ``\u0001`` and the like.
    """
    graph = graph_of(workload, plan)
    _write_lines(path, dot_lines(graph), EXPORTS["dot"], overwrite=overwrite)
    return len(graph.ends)


def dot_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of a DOT file."""
    yield "graph overlay {"
    yield f"  // {REMARK}"
    yield "  node [shape=ellipse];"
    for node, name in enumerate(graph.nodes["name"]):
        yield f"  n{node} [label={quote_label(name)}, degree={graph.nodes['degree'][node]}];"
    for link, (u, v) in enumerate(graph.ends):
        gain = graph.links["gain"][link]
        yield f'  n{u} -- n{v} [order={graph.links["order"][link]}, gain="{gain!r}"];'
    yield "}"


def quote_label(name: str) -> str:
    """Quote a label so that Graphviz shows the name as it is.

    Labels know escapes of their own (a backslash and N is the node's name) and HTML entities.
    """
    return '"' + "".join(map(_spell_for_dot, name)) + '"'


def _spell_for_dot(character: str) -> str:
    known = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "&": "&amp;", "\t": " "}
    if character in known:
        return known[character]
    return f"\\\\u{ord(character):04x}" if ord(character) < 0x20 else character


def forest_table(workload: TopicWorkload, plan: Plan) -> pa.Table:
    """Return the spanning forests of all topics: topic, u, v, with names; u is nearer the root."""
    topic, nearer, farther = spanning_forests(overlay_of(workload, plan))
    return pa.table(
        {
            "topic": workload.topic_names.take(pa.array(topic)),
            "u": workload.subscriber_names.take(pa.array(nearer)),
            "v": workload.subscriber_names.take(pa.array(farther)),
        }
    )


def write_forests(
    workload: TopicWorkload, plan: Plan, path: str | Path, *, overwrite: bool = False
) -> int:
    """Write the spanning forests of all topics as CSV or Parquet; return the number of rows."""
    suffix = Path(path).suffix.lower()
    if suffix not in FOREST_FORMATS:
        raise ParameterError("forests", f"a file that ends in {' or '.join(FOREST_FORMATS)}",
                             str(path))  # fmt: skip
    write: Callable[..., Any] = pa_csv.write_csv if suffix == ".csv" else pq.write_table
    table = forest_table(workload, plan).replace_schema_metadata(FORESTS_METADATA)
    with atomic_file(path, EXPORTS["forests"], overwrite=overwrite) as staging:
        write(table, staging)
    return int(table.num_rows)


def to_networkx(plan: Plan, workload: TopicWorkload | None = None) -> networkx.Graph:
    """Return the overlay as a NetworkX graph.

    Nodes are the subscribers' names, in the order of ids, with the attributes ``id``, ``degree``
    and ``topics`` (a list of names); links have ``order``, ``gain`` and ``topics`` (a number), as
    :func:`graph_of` has them.

    Parameters
    ----------
    workload
        What the plan was made for; needed for a plan that was read without it.

    Raises
    ------
    MissingDependencyError
        If NetworkX is not installed.
    """
    try:
        import networkx
    except ImportError:
        raise MissingDependencyError(
            "networkx is not installed; get it with: pip install networkx"
        ) from None
    source = workload if workload is not None else plan.source
    if source is None:
        raise ParameterError("workload", "given: this plan was read without one", None)
    graph, interests = graph_of(source, plan), source.interests
    names = graph.nodes["name"]
    topic_names = source.topic_names.to_pylist()
    rows = np.split(interests.indices, interests.indptr[1:-1]) if names else []
    result = networkx.Graph(algorithm=plan.algorithm, support=plan.metrics.get("support"))
    for node, name in enumerate(names):
        facts = {key: values[node] for key, values in graph.nodes.items() if key != "name"}
        facts["topics"] = [topic_names[topic] for topic in rows[node].tolist()]
        result.add_node(name, id=node, **facts)
    for link, (u, v) in enumerate(graph.ends):
        facts = {key: values[link] for key, values in graph.links.items()}
        result.add_edge(names[u], names[v], **facts)
    return result


def _write_lines(
    path: str | Path, lines: Iterator[str], kind: FileKind, *, overwrite: bool
) -> None:
    with (
        atomic_file(path, kind, overwrite=overwrite) as staging,
        open(staging, "w", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(line + "\n" for line in lines)
