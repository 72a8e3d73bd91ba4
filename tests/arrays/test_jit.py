"""Kernels survive what an older version left in the cache on disk."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.kernels

OLD = """
from typing import NamedTuple
import numpy as np
from fanwise.arrays.jit import kernel

class {name}(NamedTuple):
    values: np.ndarray

@kernel
def add(bag):
    return bag.values.sum()

print(add({name}(np.arange(4.0))))
"""


def test_a_cache_that_names_a_class_of_the_past_is_forgotten(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)  # the cache is the compiler's
    for name in ("Bag", "Sack"):
        (tmp_path / "module.py").write_text(OLD.format(name=name))
        # Two runs of one source: the first fills the cache, the second reads it.
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", "import module"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout == "6.0\n"
