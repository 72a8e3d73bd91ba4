"""Who listens on a port of this machine."""

from __future__ import annotations

import errno
import os
import re
import socket
from contextlib import suppress
from pathlib import Path

_LISTENING = "0A"  # as /proc/net/tcp says it


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def name_listener(port: int) -> str:
    """Say which process listens on a port, as far as the system tells."""
    sockets = _listening_sockets(port)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile, or somebody else's
            links = {os.readlink(file) for file in (folder / "fd").iterdir()}
            if links & sockets:
                name = (folder / "comm").read_text(errors="replace").strip()
                return f"process {folder.name} ({name})"
    return "another process"


def _listening_sockets(port: int) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):  # not Linux
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and re.search(rf":{port:04X}$", fields[1]):
                    found.add(f"socket:[{fields[9]}]")
    return found
