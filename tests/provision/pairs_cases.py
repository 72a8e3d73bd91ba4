"""Problems that the tests of stage 1 and of bounds pose."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.strategies import instances

import fanwise as fw
from fanwise.provision.catalogue import Instance as Machine

PERIOD = 8.0  # seconds: a machine of c / 1e6 mbps moves c bytes in a period


def machine(name, capacity, rent=1.0, **limits):
    """A machine that moves so many bytes in a period and costs so much for a horizon of 1 s."""
    return Machine(name, rent * 3600.0, capacity / 1e6, **limits)


def pose(instance, machines, sizes=1.0, *, price_in=0.005, price_out=0.005, **options):
    """A problem with prices per byte; several machines make a mix."""
    workload = instance.workload(message_bytes=sizes, period_seconds=PERIOD)
    return fw.Provisioning(
        workload,
        tau="column" if isinstance(instance.tau, list) else instance.tau,
        instance="auto" if len(machines) > 1 else machines[0].instance,
        catalogue=machines,
        price_gb_in=price_in * 1e9 * PERIOD,
        price_gb_out=price_out * 1e9 * PERIOD,
        horizon_seconds=1.0,
        **options,
    )


def needs_of(instance, sizes):
    return [rate * size for rate, size in zip(instance.rates, sizes, strict=True)]


@st.composite
def sized_instances(draw, *, max_topics=5, max_subscribers=5, **options):
    """Instances with message sizes: all alike, or each topic its own."""
    instance = draw(instances(max_topics=max_topics, max_subscribers=max_subscribers, **options))
    count = len(instance.rates)
    alike = st.integers(1, 4).map(lambda size: [float(size)] * count)
    own = st.lists(st.integers(1, 4).map(float), min_size=count, max_size=count)
    return instance, draw(st.one_of(alike, own))


prices = st.sampled_from([0.0, 0.005, 0.1])
capacities = st.one_of(st.integers(1, 400), st.integers(60, 2000))
