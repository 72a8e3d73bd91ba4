from __future__ import annotations

import pytest

from fanwise.brokers.protocol.settings import BrokerSettings, ClientSettings, DirectorySettings
from fanwise.errors import ParameterError


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: BrokerSettings("", "b:1"), "name"),
        (lambda: BrokerSettings("b", "b:1", capacity=0), "capacity"),
        (lambda: BrokerSettings("b", "b:1", capacity=float("nan")), "capacity"),
        (lambda: BrokerSettings("b", "b:1", window=0), "window"),
        (lambda: BrokerSettings("b", "b:1", redirect_seconds=-1), "redirect_seconds"),
        (lambda: BrokerSettings("b", "b:1", covers=(((0.0,), (1.0,)),)), "covers"),
        (lambda: ClientSettings("", "d:1"), "name"),
        (lambda: ClientSettings("c"), "directory"),
        (lambda: ClientSettings("c", "d:1", confirm_count=0), "confirm_count"),
        (lambda: DirectorySettings(alive_seconds=0), "alive_seconds"),
    ],
)
def test_settings_are_checked(make, name):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        make()
