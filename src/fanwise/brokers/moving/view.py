"""All summaries together: a content workload, who is at home where, and what that costs.

A broker that proposes moves and an operator who plans centrally look at the same thing: the cost is
that of :mod:`fanwise.wire`, C1 + C2, of the workload that summaries make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.brokers.moving.summaries import BrokerSummary, ClientSummary, Rearrangement
from fanwise.errors import InputError, WorkloadError
from fanwise.wire.arrays import WiringArrays, build_arrays
from fanwise.wire.state import State, make_state
from fanwise.workload.content import ContentWorkload
from fanwise.workload.validation import LARGEST


@dataclass(frozen=True, eq=False)
class View:
    """Clients and brokers at a moment.

    Attributes
    ----------
    workload
        Clients in the order of their names; all brokers, known or not.
    broker_of_client
        The home of each.
    rearrangements
        What brokers propose, by broker.
    """

    workload: ContentWorkload
    broker_of_client: IntArray
    rearrangements: Mapping[str, Rearrangement]

    @cached_property
    def clients(self) -> tuple[str, ...]:
        return tuple(self.workload.subscriber_names.to_pylist())

    @cached_property
    def brokers(self) -> tuple[str, ...]:
        return tuple(self.workload.broker_names.to_pylist())

    @cached_property
    def id_of_client(self) -> dict[str, int]:
        return {name: client for client, name in enumerate(self.clients)}

    @cached_property
    def id_of_broker(self) -> dict[str, int]:
        return {name: broker for broker, name in enumerate(self.brokers)}

    @cached_property
    def arrays(self) -> WiringArrays:
        """The question of where clients should be, as `wire` asks it."""
        return build_arrays(self.workload)[0]

    def state(self) -> State:
        """Return the attachment as it is, with its cost; a new one each time."""
        return make_state(self.arrays, self.broker_of_client)

    def demands(self) -> dict[str, float]:
        """Return the load that each client puts on its broker."""
        return dict(zip(self.clients, self.arrays.demand.tolist(), strict=True))


class Scene:
    """What does not change: channels, brokers, prices, and what is known of clients beforehand.

    Parameters
    ----------
    workload
        With channels. Its subscribers need not be clients, nor the other way round; of those that
        are, positions and access costs are used.
    """

    def __init__(self, workload: ContentWorkload) -> None:
        workload.need("channels")
        if not workload.num_brokers:
            raise WorkloadError("brokers.parquet has no rows: there is nobody to serve clients.")
        self.workload = workload
        names = workload.subscriber_names.to_pylist()
        self._row_of_client = {name: row for row, name in enumerate(names)}
        self._id_of_broker = {
            name: broker for broker, name in enumerate(workload.broker_names.to_pylist())
        }
        self._centre = workload.broker_positions.mean(axis=0)

    def view(self, summaries: Iterable[BrokerSummary]) -> View:
        """Return what summaries say together.

        Brokers without a summary take nobody. A client that two brokers tell of is at home at the
        one whose summary is named last; it is on its way, and the next summaries will agree.
        """
        told = list(summaries)
        found: dict[str, tuple[ClientSummary, int]] = {}
        capacity = np.zeros(self.workload.num_brokers)
        for summary in told:
            broker = self._id_of_broker.get(summary.broker)
            if broker is None:
                raise InputError(
                    f"{summary.broker}: no such broker in the workload; give the workload that the "
                    "brokers were started with."
                )
            capacity[broker] = summary.capacity
            for client in summary.clients:
                found[client.name] = client, broker
        clients = [found[name] for name in sorted(found)]
        proposed = {one.broker: one.rearrangement for one in told if one.rearrangement is not None}
        homes = np.array([broker for _, broker in clients], dtype=np.int32)
        return View(self._make([client for client, _ in clients], capacity), homes, proposed)

    def _make(self, clients: list[ClientSummary], capacity: FloatArray) -> ContentWorkload:
        known = self.workload
        dims = known.event_dims
        nothing = (np.nan,) * dims
        rows = [self._row_of_client.get(client.name, -1) for client in clients]
        positions = [self._place(client, row) for client, row in zip(clients, rows, strict=True)]
        counts = [len(client.channels) for client in clients]
        columns = {
            "rates": (
                np.repeat(np.arange(len(clients), dtype=np.int32), counts),
                np.array([at for client in clients for at in client.channels], dtype=np.int32),
                np.array([rate for client in clients for rate in client.rates]),
            ),
            "capacity": np.minimum(capacity, LARGEST),
            "channels": known.channels,
            "broker_costs": known.broker_costs,
            "broker_names": known.broker_names,
            "subscriber_names": [client.name for client in clients],
            "origin": {"period_seconds": 1.0},
        }
        if known.access_costs is not None:
            mean = known.access_costs.mean(axis=0)
            columns["access_costs"] = np.array(
                [known.access_costs[row] if row >= 0 else mean for row in rows]
            ).reshape(len(clients), known.num_brokers)
        return ContentWorkload.from_arrays(
            np.array([client.lo or nothing for client in clients]).reshape(-1, dims),
            np.array([client.hi or nothing for client in clients]).reshape(-1, dims),
            np.array(positions, dtype=np.float64).reshape(len(clients), known.network_dims),
            known.broker_positions,
            **columns,
        )

    def _place(self, client: ClientSummary, row: int) -> FloatArray:
        """Return where a client is: as the workload has it, as it says, or in the middle."""
        if row >= 0:
            return np.asarray(self.workload.positions[row])
        says_so = len(client.position) == self.workload.network_dims
        place = np.array(client.position if says_so else self._centre, dtype=np.float64)
        return place if np.isfinite(place).all() else np.asarray(self._centre)


def summaries_of(workload: ContentWorkload, broker_of_client: IntArray) -> list[BrokerSummary]:
    """Return what brokers would tell if clients were exactly what a workload says."""
    workload.need("channels", "rates")
    assert workload.rates is not None
    indptr, indices, rate = workload.rates
    capacity = workload.capacity
    clients: list[list[ClientSummary]] = [[] for _ in range(workload.num_brokers)]
    for client, name in enumerate(workload.subscriber_names.to_pylist()):
        mine = slice(indptr[client], indptr[client + 1])
        wants = not workload.wants_nothing[client]
        clients[broker_of_client[client]].append(
            ClientSummary(
                name,
                tuple(workload.lo[client].tolist()) if wants else (),
                tuple(workload.hi[client].tolist()) if wants else (),
                tuple(indices[mine].tolist()),
                tuple(rate[mine].tolist()),
                tuple(workload.positions[client].tolist()),
            )
        )
    return [
        BrokerSummary(name, np.inf if capacity is None else float(capacity[broker]), tuple(found))
        for broker, (name, found) in enumerate(
            zip(workload.broker_names.to_pylist(), clients, strict=True)
        )
    ]
