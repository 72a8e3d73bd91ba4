from __future__ import annotations

import pytest

from fanwise.formatting import looks_numeric, number, percent, size, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),  # noqa: RUF001
        (True, "yes"),
        (1234567, "1,234,567"),
        (1200.0, "1,200"),
        (1234.567, "1,234.57"),
        (0.000123456, "0.0001235"),
        (1e300, "1e+300"),
        ("text", "text"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_percent():
    assert percent(0.1234) == "12.3%"
    assert percent(0.0) == "0%"
    assert percent(2.3e-7) == "<0.0001%"
    assert percent(None) == "–"  # noqa: RUF001


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (58.25e9, "58.25 GB"),
        (2e21, "2,000 EB"),
    ],
)
def test_size(num_bytes, text):
    assert size(num_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(864000, "10 days"), (3600, "1 hour"), (90, "90 seconds"), (86400.0, "1 day"),
     (5400, "90 minutes"), (0.25, "0.25 seconds")],
)  # fmt: skip
def test_span(seconds, text):
    assert span(seconds) == text


def test_looks_numeric():
    assert all(map(looks_numeric, ["1,234", "-5", "12.3%", "1e-05", "–", "$4"]))  # noqa: RUF001
    assert not any(map(looks_numeric, ["t0", "10 days", "yes", "1 to 9", ""]))
