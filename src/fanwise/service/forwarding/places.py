"""How far each broker has acknowledged, kept so that a restart goes on from there.

Two files are written in turn: one of them is whole whenever the other is being written. What is
lost with a place is knowledge alone: messages behind it are sent again, under the same ids.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

FILES = ("places-0", "places-1")


class Places:
    """Keeps places of one log."""

    def __init__(self, folder: Path, log: str) -> None:
        self._folder, self._log = folder, log
        self._count = 0
        self.places: dict[str, int] = {}
        for name in FILES:
            count, places = self._read(folder / name)
            if count > self._count:
                self._count, self.places = count, places

    def write(self, places: Mapping[str, int], *, to_disk: bool) -> None:
        """Keep places; ``to_disk`` also outlasts the machine."""
        self._count += 1
        content = {"log": self._log, "count": self._count, "places": dict(places)}
        body = json.dumps(content).encode()
        path = self._folder / FILES[self._count % 2]
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, b"%08x %s\n" % (zlib.crc32(body), body))
            if to_disk:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        self.places = dict(places)

    def _read(self, path: Path) -> tuple[int, dict[str, int]]:
        try:
            checksum, _, body = path.read_bytes().rstrip(b"\n").partition(b" ")
            if int(checksum, 16) != zlib.crc32(body):
                return 0, {}
            content = json.loads(body)
        except (OSError, ValueError):
            return 0, {}
        if content["log"] != self._log:
            return 0, {}
        return int(content["count"]), {str(name): int(at) for name, at in content["places"].items()}
